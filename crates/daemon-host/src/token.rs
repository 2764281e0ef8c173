//! Tokens of services, as the configuration names them: a file or a variable of the environment, never the token itself.

use std::path::{Path, PathBuf};

use crate::config::{Access, SecretPlaces};
use crate::random;

/// A token that is configured and not there.
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
    /// The variable is not set.
    #[error("{key}: `{name}` is not set")]
    Unset {
        /// The key of the configuration.
        key: String,
        /// The variable.
        name: String,
    },
    /// What is there is blank.
    #[error("{key}: it holds no token")]
    Blank {
        /// The key of the configuration.
        key: String,
    },
}

/// Reads the token of a source; `None` where none is configured.
///
/// # Errors
/// If one is configured and cannot be read.
pub fn service_token(
    home: &Path,
    source: &str,
    access: Access<'_>,
) -> Result<Option<String>, TokenError> {
    let places = SecretPlaces {
        file: access.token_file,
        env: access.token_env,
    };
    configured(home, &format!("sources.{source}.token"), places)
}

/// Reads what the keys `<key>_file` and `<key>_env` of the configuration name; `None` where neither is set.
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

/// Reads a secret from a file, relative to the home; `key` names it in the configuration.
///
/// # Errors
/// It cannot be read, or is blank.
pub(crate) fn of_file(home: &Path, key: String, file: &Path) -> Result<String, TokenError> {
    let path = home.join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => whole(key, &text),
        Err(source) => Err(TokenError::Unreadable { key, path, source }),
    }
}

/// Reads a secret from a variable of this process; `key` names it in the configuration.
///
/// # Errors
/// It is not set, or blank.
pub(crate) fn of_variable(key: String, name: &str) -> Result<String, TokenError> {
    let value = random::environment(name).and_then(|value| value.into_string().ok());
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
