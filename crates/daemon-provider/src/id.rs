//! The identifiers a provider sees.

use std::fmt;
use std::str::FromStr;

/// The text of an identifier is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a {what}: it takes 1 to 128 of A-Z, a-z, 0-9, `.`, `_`, `:` and `-`, and begins with a letter or digit"
)]
pub struct InvalidId {
    what: &'static str,
    text: String,
}

fn parse(what: &'static str, text: &str) -> Result<String, InvalidId> {
    let is_id = text.len() <= 128
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
        && !text.contains("..");
    if is_id {
        Ok(text.to_owned())
    } else {
        Err(InvalidId {
            what,
            text: text.chars().take(128).collect(),
        })
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse($what, text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// The identity of one run.
    ///
    /// It marks every process of the run through the environment, and is safe as a file name and as an argument.
    RunId,
    "run id"
);
id!(
    /// The identity of a provider's own session, by which it can be resumed.
    ///
    /// It comes from a program that is not trusted, so its grammar admits no path and no leading dash.
    SessionId,
    "session id"
);

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
            let error = text.parse::<RunId>().unwrap_err().to_string();
            assert!(error.starts_with(&format!(
                "`{}` is not a run id: ",
                &text[..text.len().min(128)]
            )));
        }
    }
}
