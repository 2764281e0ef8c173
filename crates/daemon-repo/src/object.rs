//! Names of git objects and refs.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// The error of parsing a string that is not the name of an object or a ref.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct InvalidName {
    text: Box<str>,
    expected: &'static str,
}

impl InvalidName {
    pub(crate) fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.chars().take(80).collect(),
            expected,
        }
    }
}

/// The hash function of a repository's object names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// SHA-1, the default of git.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl ObjectFormat {
    /// Returns the object name that git gives to a blob with this content.
    pub fn blob_id(self, content: &[u8]) -> ObjectId {
        let header = format!("blob {}\0", content.len());
        let hex = match self {
            Self::Sha1 => hex(&Sha1::new_with_prefix(header)
                .chain_update(content)
                .finalize()),
            Self::Sha256 => hex(&Sha256::new_with_prefix(header)
                .chain_update(content)
                .finalize()),
        };
        ObjectId(hex.into_boxed_str())
    }

    /// Returns the name of the empty tree, which git knows in every repository.
    pub(crate) fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }

    /// Returns the name that git prints in place of a missing object.
    pub(crate) fn zero(self) -> &'static str {
        const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
        match self {
            Self::Sha1 => &ZEROS[..40],
            Self::Sha256 => ZEROS,
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .map(char::from)
        .collect()
}

/// The full name of an object: 40 or 64 lower-case hexadecimal digits, not all zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(Box<str>);

impl ObjectId {
    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the hash function of this name, which follows from its length.
    pub fn format(&self) -> ObjectFormat {
        if self.0.len() == 40 {
            ObjectFormat::Sha1
        } else {
            ObjectFormat::Sha256
        }
    }
}

impl FromStr for ObjectId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) && text.bytes().any(|b| b != b'0') {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::new(text, "the full name of an object"))
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The namespace of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefKind {
    /// Below `refs/heads/`.
    Branch,
    /// Below `refs/tags/`.
    Tag,
}

impl RefKind {
    /// Returns the word used in webhooks: `branch` or `tag`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Tag => "tag",
        }
    }
}

/// The full name of a branch or a tag: `refs/heads/main`.
///
/// It starts with `refs/`, so git cannot mistake it for an option, and follows the rules of `git check-ref-format`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefName(Box<str>);

impl RefName {
    /// Creates the full name of a branch from its short name.
    ///
    /// # Errors
    /// Returns [`InvalidName`] if git would reject the name.
    pub fn branch(short: &str) -> Result<Self, InvalidName> {
        format!("refs/heads/{short}").parse()
    }

    /// Returns the full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name without `refs/heads/` or `refs/tags/`.
    pub fn short(&self) -> &str {
        self.split().1
    }

    /// Returns whether the ref is a branch or a tag.
    pub fn kind(&self) -> RefKind {
        self.split().0
    }

    fn split(&self) -> (RefKind, &str) {
        self.0
            .strip_prefix("refs/heads/")
            .map(|short| (RefKind::Branch, short))
            .or_else(|| {
                self.0
                    .strip_prefix("refs/tags/")
                    .map(|short| (RefKind::Tag, short))
            })
            .expect("the constructor admits branches and tags only")
    }
}

impl FromStr for RefName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let short = text
            .strip_prefix("refs/heads/")
            .or_else(|| text.strip_prefix("refs/tags/"));
        if short.is_some_and(is_well_formed) && text.len() <= 4096 {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::new(text, "the full name of a branch or a tag"))
        }
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the rules of `git check-ref-format` for the part after `refs/heads/`.
fn is_well_formed(short: &str) -> bool {
    let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !short.is_empty()
        && !short.contains(forbidden)
        && !short.contains("..")
        && !short.contains("@{")
        && !short.ends_with('.')
        && short
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

#[cfg(test)]
mod tests;
