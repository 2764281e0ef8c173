//! Identifiers of events, subjects, repositories and daemons.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The error of parsing a string that is not a valid identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct InvalidId {
    text: Box<str>,
    expected: &'static str,
}

impl InvalidId {
    /// Creates the error from the rejected string (its first 80 characters are kept) and the expected form.
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.chars().take(80).collect(),
            expected,
        }
    }
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Formats a millisecond timestamp and 80 random bits as a 26-character ULID.
///
/// A ULID with a later timestamp sorts later. The caller supplies the timestamp and the random bits.
pub fn ulid(unix_millis: u64, random: [u8; 10]) -> String {
    // The format has 48 bits for the timestamp; the rest of the 128 bits is random.
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
    // 26 digits of five bits are 130 bits; a first digit above 7 would not fit into the 128 of a ULID.
    text.len() == 26 && text.bytes().all(|b| ALPHABET.contains(&b)) && text.as_bytes()[0] <= b'7'
}

/// Declares a newtype over a checked ULID.
macro_rules! ulid_newtype {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates an identifier from a millisecond timestamp and 80 random bits.
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

impl EventId {
    /// Returns the id that sorts next: of several events that one request brings, each has the next id.
    #[must_use]
    pub fn next(&self) -> Self {
        let mut digits = self.0.as_bytes().to_vec();
        for digit in digits.iter_mut().rev() {
            let value = ALPHABET.iter().position(|known| known == digit);
            let value = value.expect("a ULID has digits of the alphabet only");
            match ALPHABET.get(value + 1) {
                Some(next) => {
                    *digit = *next;
                    break;
                }
                None => *digit = ALPHABET[0],
            }
        }
        let text = String::from_utf8(digits).expect("the alphabet is ASCII");
        // The successor of the greatest id would not be one; its time is thousands of years away.
        text.parse().unwrap_or_else(|_: InvalidId| self.clone())
    }
}

/// Declares a newtype over a non-empty string without control characters, of bounded length in bytes.
macro_rules! text_newtype {
    ($(#[$doc:meta])* $name:ident, $max:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the identifier as a string.
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
    /// The sender's id of a delivery; a second delivery with the same id is a duplicate.
    DeliveryId,
    512,
    "a delivery id (1 to 512 bytes without control characters)"
);
text_newtype!(
    /// The subject of an event, by which activations are coalesced: `github:o/r#42`, `git:<repo>:refs/heads/main`.
    Subject,
    1024,
    "a subject (1 to 1024 bytes without control characters)"
);
text_newtype!(
    /// The name of a repository: `owner/name`, or a directory's name.
    RepoName,
    512,
    "a repository name (1 to 512 bytes without control characters)"
);
text_newtype!(
    /// The `id` of a daemon, as spelled in its file.
    DaemonId,
    256,
    "a daemon id (1 to 256 bytes without control characters)"
);

impl RepoName {
    /// Returns the lower-case form by which names are compared: services ignore case in repository names.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// The identity of a daemon across revisions: its repository and its `id`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DaemonKey {
    /// The repository that contains the daemon file.
    pub repo: RepoName,
    /// The `id` in the daemon file.
    pub id: DaemonId,
}

impl fmt::Display for DaemonKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repo, self.id)
    }
}
