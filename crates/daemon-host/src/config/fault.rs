//! Errors of a configuration and their positions.

use std::fmt;

use toml::de::{DeTable, DeValue};

/// One error of a configuration, located by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The key, from the outermost table; the entry of a list is given by its index.
    pub(super) path: Vec<String>,
    /// Whether the position is that of the key or of its value.
    pub(super) part: Part,
    /// The error message, which names the key.
    pub message: String,
}

/// The part of an entry that a fault points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The key.
    Key,
    /// Its value.
    Value,
}

impl ConfigFault {
    /// Creates an error at the position of a key.
    pub fn of_key<S: AsRef<str>>(path: &[S], message: impl Into<String>) -> Self {
        Self::new(path, Part::Key, message.into())
    }

    /// Creates an error at the position of a key's value.
    pub fn of_value<S: AsRef<str>>(path: &[S], message: impl Into<String>) -> Self {
        Self::new(path, Part::Value, message.into())
    }

    fn new<S: AsRef<str>>(path: &[S], part: Part, message: String) -> Self {
        Self {
            path: path.iter().map(|key| key.as_ref().to_owned()).collect(),
            part,
            message,
        }
    }
}

/// One error of a configuration with its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The error message, which names the key.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            message,
        } = self;
        write!(f, "{message} (line {line}, column {column})")
    }
}

/// A configuration that cannot be used, with all its errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ConfigError {
    /// The errors in the order of their positions; at least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { problems }
    }
}

/// Finds the positions of errors in a configuration. A key that it does not contain is located at its nearest table, or at
/// the beginning.
pub fn locate(text: &str, faults: &[ConfigFault]) -> ConfigError {
    // Syntax errors were reported before; what could be parsed has positions.
    let (tree, _) = DeTable::parse_recoverable(text);
    let problems = faults
        .iter()
        .map(|fault| problem(text, byte_of(tree.get_ref(), fault), fault.message.clone()));
    ConfigError::new(problems.collect())
}

/// Converts an error at a byte to one with line and column.
pub(super) fn problem(text: &str, byte: usize, message: String) -> Problem {
    let mut end = byte.min(text.len());
    // A span of the parser may end inside a character.
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Problem {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
    }
}

fn byte_of(tree: &DeTable<'_>, fault: &ConfigFault) -> usize {
    let mut table = Some(tree);
    let mut list: Option<&[toml::Spanned<DeValue<'_>>]> = None;
    let mut byte = 0;
    for (at, step) in fault.path.iter().enumerate() {
        let is_last = at + 1 == fault.path.len();
        let found = match (table, list) {
            (Some(table), _) => table
                .get_key_value(step.as_str())
                .map(|(key, value)| (key.span().start, value)),
            (None, Some(list)) => step
                .parse()
                .ok()
                .and_then(|index: usize| list.get(index))
                .map(|value| (value.span().start, value)),
            (None, None) => None,
        };
        let Some((key, value)) = found else {
            return byte;
        };
        byte = match fault.part {
            Part::Value if is_last => value.span().start,
            Part::Key | Part::Value => key,
        };
        table = value.get_ref().as_table();
        list = value.get_ref().as_array().map(|array| &array[..]);
    }
    byte
}

/// Formats a key as in a configuration: with dots, and with quotes around parts that are not plain.
pub fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    let is_plain = |part: &str| {
        // The characters that TOML allows in a key without quotes.
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !part.is_empty() && part.bytes().all(allowed)
    };
    let parts = path.iter().map(|part| match part.as_ref() {
        part if is_plain(part) => part.to_owned(),
        part => format!("{part:?}"),
    });
    parts.collect::<Vec<_>>().join(".")
}
