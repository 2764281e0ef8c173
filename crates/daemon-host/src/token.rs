//! Reads tokens of services, for which the configuration names a file or an environment variable.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use daemon_ingest::{SenderTokens, TokenLineError};
use daemon_records::environment;

use crate::config::{ApiAccess, SecretPlaces, Sources};

/// The mode bits of users who are neither the owner of a file nor in its group.
// The group bits may be set: service managers give a secret to the host by its group.
const OTHERS: u32 = 0o007;

/// The error of a configured token that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("{key}: cannot read `{path}`", path = path.display())]
    Unreadable {
        /// The key of the configuration.
        key: String,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Other users can read the file, which is outside of the home.
    #[error("{key}: `{path}` is open to other users; make it 0600", path = path.display())]
    Open {
        /// The key of the configuration.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// The variable is not set.
    #[error("{key}: `{name}` is not set")]
    Unset {
        /// The key of the configuration.
        key: String,
        /// The variable.
        name: String,
    },
    /// A line of the file is not a sender's token.
    #[error("{key}: `{path}`", path = path.display())]
    Line {
        /// The key of the configuration.
        key: String,
        /// The file.
        path: PathBuf,
        /// The defect.
        #[source]
        source: TokenLineError,
    },
    /// The file or the variable is blank.
    #[error("{key}: the file or variable is blank")]
    Blank {
        /// The key of the configuration.
        key: String,
    },
}

/// Reads the token of a source; `None` if no token is configured.
///
/// # Errors
/// If one is configured and cannot be read.
pub(crate) fn service_token(
    home: &Path,
    source: &str,
    access: ApiAccess<'_>,
) -> Result<Option<String>, TokenError> {
    configured(home, &format!("sources.{source}.token"), access.places())
}

/// Reads the secret that the keys `<key>_file` and `<key>_env` of the configuration name; `None` if neither is set.
///
/// # Errors
/// If one is set and cannot be read.
pub fn configured(
    home: &Path,
    key: &str,
    places: SecretPlaces<'_>,
) -> Result<Option<String>, TokenError> {
    match (places.file, places.env) {
        (Some(file), _) => of_file(home, format!("{key}_file"), file).map(Some),
        (None, Some(name)) => of_variable(format!("{key}_env"), name).map(Some),
        (None, None) => Ok(None),
    }
}

/// Reads the tokens of the configured senders of CloudEvents, and adds them to the host's own.
///
/// # Errors
/// If the file cannot be read, is blank, or has a line that is not `name:token`.
pub(crate) fn senders(
    home: &Path,
    sources: &Sources,
    own: SenderTokens,
) -> Result<SenderTokens, TokenError> {
    let Some(config) = &sources.cloudevents else {
        return Ok(own);
    };
    let key = "sources.cloudevents.token_file".to_owned();
    let text = file_text(home, &key, &config.token_file)?;
    if text.trim().is_empty() {
        return Err(TokenError::Blank { key });
    }
    own.with_lines(&text).map_err(|source| TokenError::Line {
        key,
        path: home.join(&config.token_file),
        source,
    })
}

/// Reads a secret from a file, relative to the home; `key` names it in the configuration.
///
/// # Errors
/// If the file cannot be read, is blank, or is accessible to other users.
pub(crate) fn of_file(home: &Path, key: String, file: &Path) -> Result<String, TokenError> {
    let text = file_text(home, &key, file)?;
    whole(key, &text)
}

/// Reads a file of secrets, relative to the home; `key` names it in the configuration.
///
/// # Errors
/// If the file cannot be read, or is outside of the home and accessible to other users.
pub(crate) fn file_text(home: &Path, key: &str, file: &Path) -> Result<String, TokenError> {
    let path = home.join(file);
    let read = || {
        let mut file = File::open(&path)?;
        // Of the open file, so that it cannot be replaced between the check and the read.
        let mode = file.metadata()?.permissions().mode();
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // Other users cannot enter the home, so the modes of its files do not matter.
        let is_inside = path.canonicalize()?.starts_with(home.canonicalize()?);
        Ok((text, is_inside || mode & OTHERS == 0))
    };
    match read() {
        Ok((text, true)) => Ok(text),
        Ok((_, false)) => Err(TokenError::Open {
            key: key.to_owned(),
            path,
        }),
        Err(source) => Err(TokenError::Unreadable {
            key: key.to_owned(),
            path,
            source,
        }),
    }
}

/// Reads a secret from a variable of this process; `key` names it in the configuration.
///
/// # Errors
/// If the variable is not set, or is blank.
pub(crate) fn of_variable(key: String, name: &str) -> Result<String, TokenError> {
    let value = environment::variable(name).and_then(|value| value.into_string().ok());
    match value {
        Some(text) => whole(key, &text),
        None => {
            let name = name.to_owned();
            Err(TokenError::Unset { key, name })
        }
    }
}

fn whole(key: String, text: &str) -> Result<String, TokenError> {
    match text.trim() {
        "" => Err(TokenError::Blank { key }),
        token => Ok(token.to_owned()),
    }
}
