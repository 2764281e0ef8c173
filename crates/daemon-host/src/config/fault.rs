//! What is wrong with a configuration, and where it stands in the text.

use std::fmt;

use toml::de::{DeTable, DeValue};

/// One thing that is wrong with a configuration, by the key that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, from the outermost table; an entry of a list is its index.
    pub(super) path: Vec<String>,
    /// What of the key is pointed at.
    pub(super) part: Part,
    /// What is wrong, naming the key.
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

impl Fault {
    /// Makes a fault of a key.
    pub fn of_key<S: AsRef<str>>(path: &[S], message: impl Into<String>) -> Self {
        Self::new(path, Part::Key, message.into())
    }

    /// Makes a fault of a key's value.
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

/// One thing that is wrong with a configuration, with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, naming the key.
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

/// A configuration that cannot be used, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ConfigError {
    /// What is wrong, in the order of the text; at least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { problems }
    }
}

/// Finds the places of faults in the text of a configuration; a key that is not in the text is at its nearest table, or
/// else at the beginning.
pub fn locate(text: &str, faults: &[Fault]) -> ConfigError {
    let (tree, _) = DeTable::parse_recoverable(text);
    let problems = faults
        .iter()
        .map(|fault| problem(text, byte_of(tree.get_ref(), fault), fault.message.clone()));
    ConfigError::new(problems.collect())
}

/// Makes a problem of what is wrong at a byte.
pub(super) fn problem(text: &str, byte: usize, message: String) -> Problem {
    let mut end = byte.min(text.len());
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

fn byte_of(tree: &DeTable<'_>, fault: &Fault) -> usize {
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

/// Writes a key as a configuration spells it: with dots, and quotes where a part is not plain.
pub fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    let is_plain = |part: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !part.is_empty() && part.bytes().all(allowed)
    };
    let parts = path.iter().map(|part| match part.as_ref() {
        part if is_plain(part) => part.to_owned(),
        part => format!("{part:?}"),
    });
    parts.collect::<Vec<_>>().join(".")
}
