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
    let (key, text) = if let Some(file) = places.file {
        let key = format!("{key}_file");
        let path = home.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => (key, text),
            Err(source) => return Err(TokenError::Unreadable { key, path, source }),
        }
    } else if let Some(name) = places.env {
        let key = format!("{key}_env");
        let value = random::environment(name).and_then(|value| value.into_string().ok());
        match value {
            Some(text) => (key, text),
            None => {
                let name = name.to_owned();
                return Err(TokenError::Unset { key, name });
            }
        }
    } else {
        return Ok(None);
    };
    match text.trim() {
        "" => Err(TokenError::Blank { key }),
        token => Ok(Some(token.to_owned())),
    }
}
