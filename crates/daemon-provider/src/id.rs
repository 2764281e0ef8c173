//! The id of a provider's own session.

use std::fmt;
use std::str::FromStr;

/// The text is not the id of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a session id: it takes 1 to 128 of A-Z, a-z, 0-9, `.`, `_`, `:` and `-`, and begins with a letter or digit"
)]
pub struct InvalidSessionId {
    text: String,
}

/// The id of a provider's own session, by which the session can be resumed.
///
/// A program that is not trusted chooses it, so the grammar admits neither a path nor a leading dash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, InvalidSessionId> {
        let is_id = text.len() <= 128
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
            // The id may become a part of a path, and `..` would leave its directory.
            && !text.contains("..");
        if is_id {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSessionId {
                // A program chooses it, so an error message repeats only a bounded part.
                text: text.chars().take(128).collect(),
            })
        }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_neither_a_path_nor_a_flag() {
        for text in ["em-1-20260102-030405-0a1b2c", "a", "ses_1", "0f:1.2"] {
            assert_eq!(
                text.parse::<SessionId>().map(|id| id.to_string()),
                Ok(text.to_owned())
            );
        }
        let long = "x".repeat(129);
        for text in [
            "", "-x", "../x", "a..b", "a/b", "a b", "é", ".a", "a\n", &long,
        ] {
            let error = text.parse::<SessionId>().unwrap_err().to_string();
            assert!(error.starts_with(&format!(
                "`{}` is not a session id: ",
                &text[..text.len().min(128)]
            )));
        }
    }
}
