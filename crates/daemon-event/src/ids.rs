//! Identifiers of events and of what they are about.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Reports that a text is not a valid identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct InvalidId {
    text: Box<str>,
    expected: &'static str,
}

impl InvalidId {
    /// Names the refused text (its first 80 characters) and what was expected of it.
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.chars().take(80).collect(),
            expected,
        }
    }
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Writes a millisecond instant and 80 random bits as a 26-character ULID.
///
/// ULIDs made later sort later, to the millisecond. The instant and the randomness are the caller's, so
/// that this crate reads neither a clock nor a generator.
pub fn ulid(unix_millis: u64, random: [u8; 10]) -> String {
    let mut wide = u128::from(unix_millis & 0xFFFF_FFFF_FFFF) << 80;
    for (index, byte) in random.iter().enumerate() {
        wide |= u128::from(*byte) << (72 - 8 * index);
    }
    let mut text = String::with_capacity(26);
    text.extend((0..26).rev().map(|place| {
        let digit = usize::try_from((wide >> (5 * place)) & 31).expect("five bits fit");
        char::from(ALPHABET[digit])
    }));
    text
}

fn is_ulid(text: &str) -> bool {
    text.len() == 26 && text.bytes().all(|b| ALPHABET.contains(&b)) && text.as_bytes()[0] <= b'7'
}

/// Declares a newtype over a checked ULID text.
macro_rules! ulid_newtype {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes an identifier from a millisecond instant and 80 random bits.
            pub fn new(unix_millis: u64, random: [u8; 10]) -> Self {
                Self(ulid(unix_millis, random).into())
            }

            /// Returns the 26 characters.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_ulid(text) { Ok(Self(text.into())) } else { Err(InvalidId::new(text, $what)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

ulid_newtype!(
    /// Identifies one stored event.
    EventId,
    "an event id (26 characters of Crockford base 32)"
);
ulid_newtype!(
    /// Identifies one activation.
    ActivationId,
    "an activation id (26 characters of Crockford base 32)"
);

/// Declares a newtype over a non-empty text without control characters, of bounded length in bytes.
macro_rules! text_newtype {
    ($(#[$doc:meta])* $name:ident, $max:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let fits = !text.is_empty() && text.len() <= $max && !text.chars().any(char::is_control);
                if fits { Ok(Self(text.into())) } else { Err(InvalidId::new(text, $what)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_newtype!(
    /// The sender's name for one delivery; a second delivery of the same name is a duplicate.
    DeliveryId,
    512,
    "a delivery id (1 to 512 bytes without control characters)"
);
text_newtype!(
    /// What an event is about, for coalescing: `github:o/r#42`, `git:<repo>:refs/heads/main`.
    Subject,
    1024,
    "a subject (1 to 1024 bytes without control characters)"
);
text_newtype!(
    /// The name of a repository: `owner/name`, or a folder's name.
    RepoName,
    512,
    "a repository name (1 to 512 bytes without control characters)"
);
text_newtype!(
    /// The `id` of a daemon, as its file spells it.
    DaemonId,
    256,
    "a daemon id (1 to 256 bytes without control characters)"
);

impl RepoName {
    /// Returns the form by which names are compared: services ignore case in repository names.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// A daemon: its repository and its `id`, whatever its revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DaemonKey {
    /// The repository that holds the daemon file.
    pub repo: RepoName,
    /// The daemon's `id`.
    pub id: DaemonId,
}

impl fmt::Display for DaemonKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repo, self.id)
    }
}
