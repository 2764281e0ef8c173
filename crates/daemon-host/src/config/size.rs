//! Amounts of disk space in the configuration.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The units that a size can have, with their bytes.
const UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("kB", 1000),
    ("MB", 1000_u64.pow(2)),
    ("GB", 1000_u64.pow(3)),
    ("TB", 1000_u64.pow(4)),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A number of bytes: a number, or a string with a unit such as `8GiB`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(try_from = "Written", into = "u64")]
#[schemars(with = "Written")]
pub struct ByteSize(u64);

/// The two forms of a size.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Number(u64),
    WithUnit(String),
}

/// The error for a string that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a size such as `8GiB`, `500MB` or a number of bytes")]
pub struct InvalidSize {
    text: String,
}

impl ByteSize {
    /// Creates a size of whole GiB.
    pub const fn from_gib(n: u32) -> Self {
        Self((n as u64) << 30)
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit.trim_start());
        let number: Option<u64> = number.parse().ok();
        let bytes = number.zip(unit).and_then(|(n, (_, of))| n.checked_mul(*of));
        bytes.map(Self).ok_or_else(|| InvalidSize {
            text: text.chars().take(40).collect(),
        })
    }
}

impl TryFrom<Written> for ByteSize {
    type Error = InvalidSize;

    fn try_from(written: Written) -> Result<Self, InvalidSize> {
        match written {
            Written::Number(bytes) => Ok(Self(bytes)),
            Written::WithUnit(text) => text.parse(),
        }
    }
}

impl From<ByteSize> for u64 {
    fn from(size: ByteSize) -> Self {
        size.0
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSize;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("8GiB", 8 << 30),
            ("8 GiB", 8 << 30),
            ("500MB", 500_000_000),
            ("3kB", 3000),
        ] {
            assert_eq!(text.parse().map(ByteSize::bytes), Ok(bytes), "{text}");
        }
        assert_eq!(ByteSize::from_gib(8).bytes(), 8 << 30);
    }

    #[test]
    fn other_text_is_refused_and_so_is_what_no_disk_holds() {
        for text in [
            "",
            "GiB",
            "-1",
            "1.5GiB",
            "8gib",
            "8G",
            "8GiBs",
            "99999999TiB",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
