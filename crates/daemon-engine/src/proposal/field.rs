//! The fields of proposals: their kinds, and values that were checked against them.

use std::collections::BTreeMap;
use std::fmt;

use daemon_validate::without_unseen;
use serde_json::{Map, Value};

use super::MAX_BODY_CHARS;

/// The longest name of a slot, in bytes.
const MAX_SLOT: usize = 64;
/// The longest element of a list of lines, in characters.
const MAX_LINE_CHARS: usize = 256;
/// The longest path, in bytes.
const MAX_PATH: usize = 1024;

/// The kind of the value of a field.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// Text of any number of lines.
    Text,
    /// One line, with its maximum length in characters.
    Line(usize),
    /// A list of lines, with its maximum length.
    Lines(usize),
    /// A name of letters, digits, `_` and `-`.
    Name,
    /// The name of a branch.
    Branch,
    /// A path relative to the root of the repository.
    Path,
    /// The key of an output.
    Output,
    /// A whole number within these bounds.
    Number(u64, u64),
    /// True or false.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of objects with these fields, with its maximum length.
    Rows(&'static [FieldRow], usize),
    /// An object with any values.
    Values,
}

/// One field of a verb.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// Its name.
    pub name: &'static str,
    /// Another name that is accepted.
    pub also: Option<&'static str>,
    /// The kind of its value.
    pub kind: FieldKind,
    /// Whether a proposal without it is refused.
    pub is_required: bool,
    /// What it is, in a few words.
    pub summary: &'static str,
}

pub(super) const fn required(
    name: &'static str,
    kind: FieldKind,
    summary: &'static str,
) -> FieldRow {
    FieldRow {
        name,
        also: None,
        kind,
        is_required: true,
        summary,
    }
}

pub(super) const fn optional(
    name: &'static str,
    kind: FieldKind,
    summary: &'static str,
) -> FieldRow {
    FieldRow {
        is_required: false,
        ..required(name, kind, summary)
    }
}

/// A field that does not have the form that its verb requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{place}` {problem}")]
pub struct FieldError {
    /// The field, such as `comments[2].line`.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

impl FieldError {
    fn new(place: &Place<'_>, problem: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            problem: problem.into(),
        }
    }
}

/// The place of a value within a proposal.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The list and the index of the object that contains the field.
    within: Option<(&'a str, usize)>,
    field: &'a str,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((list, index)) = self.within {
            write!(f, "{list}[{index}].")?;
        }
        // The name may be one that the run made up.
        let name: String = self.field.chars().take(80).collect();
        f.write_str(&name)
    }
}

/// The checked fields of a proposal, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalFields(Map<String, Value>);

impl ProposalFields {
    /// Checks the members of an object.
    ///
    /// # Errors
    /// Names the first field that is missing, unknown, or of the wrong form.
    pub(super) fn check(
        members: Map<String, Value>,
        rows: &'static [FieldRow],
    ) -> Result<Self, FieldError> {
        checked(members, rows, None)
    }

    /// Returns a field of text; `None` if it is absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns the elements of a list of lines; none if it is absent.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns a number; `None` if it is absent.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// Returns a flag; `None` if it is absent.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// Returns the objects of a list; none if it is absent.
    pub fn rows(&self, name: &str) -> impl Iterator<Item = Self> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(|row| row.as_object().cloned().map(Self))
    }

    /// Returns the members of an object by their names; none if it is absent.
    pub fn values(&self, name: &str) -> impl Iterator<Item = (&str, &Value)> {
        let object = self.0.get(name).and_then(Value::as_object);
        let members = object.into_iter().flatten();
        let sorted: BTreeMap<&str, &Value> =
            members.map(|(key, value)| (key.as_str(), value)).collect();
        sorted.into_iter()
    }

    /// Reports whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns every text in the fields, those of lists and of their objects included.
    pub fn texts(&self) -> Vec<&str> {
        fn collect<'v>(value: &'v Value, acc: &mut Vec<&'v str>) {
            match value {
                Value::String(text) => acc.push(text),
                Value::Array(list) => list.iter().for_each(|value| collect(value, acc)),
                Value::Object(members) => members.values().for_each(|value| collect(value, acc)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        let mut acc = Vec::new();
        self.0.values().for_each(|value| collect(value, &mut acc));
        acc
    }

    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.0
    }
}

fn checked(
    mut members: Map<String, Value>,
    rows: &'static [FieldRow],
    within: Option<(&str, usize)>,
) -> Result<ProposalFields, FieldError> {
    let mut acc = Map::new();
    for row in rows {
        let also = row.also.and_then(|also| members.remove(also));
        let value = members.remove(row.name).or(also);
        let place = Place {
            within,
            field: row.name,
        };
        // A model fills fields that it does not need with nulls and empty strings.
        let is_absent = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => !row.is_required && text.trim().is_empty(),
            _ => false,
        };
        match value.filter(|value| !is_absent(value)) {
            Some(value) => {
                let value = row.kind.check(value, &place)?;
                acc.insert(row.name.to_owned(), value);
            }
            None if row.is_required => return Err(FieldError::new(&place, "is missing")),
            None => {}
        }
    }
    // The smallest, because the order of the members depends on a feature of the JSON library.
    match members.keys().min() {
        Some(field) => {
            let known: Vec<&str> = rows.iter().map(|row| row.name).collect();
            let problem = format!("is unknown; the fields are `{}`", known.join("`, `"));
            Err(FieldError::new(&Place { within, field }, problem))
        }
        None => Ok(ProposalFields(acc)),
    }
}

impl FieldKind {
    /// Describes the values of this kind.
    fn wanted(self) -> String {
        match self {
            Self::Text => format!("text of at most {MAX_BODY_CHARS} characters"),
            Self::Line(most) => format!("one line of at most {most} characters"),
            Self::Lines(most) => format!("a list of at most {most} lines"),
            Self::Name => format!("a name of at most {MAX_SLOT} letters, digits, `_` and `-`"),
            Self::Branch => "the name of a branch".to_owned(),
            Self::Path => "a path relative to the root of the repository".to_owned(),
            Self::Output => "the key of an output".to_owned(),
            Self::Number(least, most) => format!("a whole number from {least} to {most}"),
            Self::Flag => "true or false".to_owned(),
            Self::OneOf(words) => format!("one of `{}`", words.join("`, `")),
            Self::Rows(_, most) => format!("a list of at most {most} objects"),
            Self::Values => "an object".to_owned(),
        }
    }

    fn check(self, value: Value, place: &Place<'_>) -> Result<Value, FieldError> {
        let fits = match (self, &value) {
            (Self::Text, Value::String(text)) => is_text(text),
            (Self::Line(most), Value::String(text)) => is_line(text, most),
            (Self::Name, Value::String(text)) => is_name(text),
            (Self::Branch, Value::String(text)) => is_branch(text),
            (Self::Path, Value::String(text)) => is_path(text),
            (Self::Output, Value::String(text)) => text.parse::<crate::OutputKey>().is_ok(),
            (Self::OneOf(words), Value::String(text)) => words.contains(&text.as_str()),
            (Self::Number(least, most), Value::Number(number)) => number
                .as_u64()
                .is_some_and(|number| (least..=most).contains(&number)),
            (Self::Flag, Value::Bool(_)) | (Self::Values, Value::Object(_)) => true,
            (Self::Lines(most), Value::Array(list)) => {
                let is_line = |line: &Value| {
                    line.as_str()
                        .is_some_and(|line| is_line(line, MAX_LINE_CHARS))
                };
                list.len() <= most && list.iter().all(is_line)
            }
            (Self::Rows(_, most), Value::Array(list)) => {
                list.len() <= most && list.iter().all(Value::is_object)
            }
            _ => false,
        };
        if !fits {
            return Err(FieldError::new(place, format!("is not {}", self.wanted())));
        }
        match (self, value) {
            (Self::Rows(rows, _), Value::Array(list)) => {
                let objects = list.into_iter().enumerate().map(|(index, value)| {
                    let Value::Object(members) = value else {
                        unreachable!("every element is an object")
                    };
                    let row = checked(members, rows, Some((place.field, index)))?;
                    Ok(Value::Object(row.0))
                });
                objects.collect::<Result<_, FieldError>>().map(Value::Array)
            }
            (_, value) => Ok(value),
        }
    }
}

/// Removes what is not shown from the prose among members, before anything else looks at it: every rule has to see what is sent.
pub(super) fn remove_unseen(members: &mut Map<String, Value>, rows: &[FieldRow]) {
    for row in rows {
        for name in row.also.into_iter().chain([row.name]) {
            match (row.kind, members.get_mut(name)) {
                // A null character, and a line end in a line, are refused and not removed.
                (FieldKind::Text, Some(Value::String(text))) if !text.contains('\0') => {
                    *text = without_unseen(text);
                }
                (FieldKind::Line(_), Some(Value::String(text)))
                    if !text.contains(char::is_control) =>
                {
                    *text = without_unseen(text);
                }
                (FieldKind::Rows(rows, _), Some(Value::Array(list))) => {
                    let objects = list.iter_mut().filter_map(Value::as_object_mut);
                    objects.for_each(|members| remove_unseen(members, rows));
                }
                _ => {}
            }
        }
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_BODY_CHARS && !text.contains('\0')
}

fn is_line(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control)
}

fn is_name(text: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=MAX_SLOT).contains(&text.len()) && text.bytes().all(is_word)
}

/// Reports whether git takes a name for a branch; the rules of `git check-ref-format`, without names that look like options.
fn is_branch(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    text.len() <= MAX_LINE_CHARS
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@"
        && !text.chars().any(is_forbidden)
        && text.split('/').all(is_part)
}

fn is_path(text: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    text.len() <= MAX_PATH && !text.chars().any(char::is_control) && text.split('/').all(is_part)
}
