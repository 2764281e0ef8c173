//! Filters: a field, a comparison and values, with the words they came from.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use daemon_event::vocabulary::RowGuard;
use daemon_event::{EventFacts, Field, FieldValue, InvalidId, Need};
use globset::GlobSet;

use crate::compare::{Folding, begins_with, contains_folded, glob_set, is_command_in, same};
use crate::span::Span;

/// How a reading was derived from the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The words name it without a default or a correction.
    Exact,
    /// A default reading; a note says which.
    Inferred,
    /// A typo was corrected; a note names it.
    Corrected,
}

impl Mark {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Inferred => "inferred",
            Self::Corrected => "corrected",
        }
    }

    /// Returns the less certain of two marks.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (Self::Corrected, _) | (_, Self::Corrected) => Self::Corrected,
            (Self::Inferred, _) | (_, Self::Inferred) => Self::Inferred,
            (Self::Exact, Self::Exact) => Self::Exact,
        }
    }
}

/// How a field is compared with the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The field has one of the values.
    Is,
    /// The field has none of the values.
    IsNot,
    /// Matches one of the globs.
    Matches,
    /// Matches none of the globs.
    MatchesNot,
    /// Contains one of the strings, ignoring case.
    Contains,
    /// Contains none of the strings.
    Lacks,
    /// Begins with one of the strings.
    Begins,
    /// Begins with none of the strings.
    BeginsNot,
    /// Has a line that begins with one of the commands.
    Command,
    /// Has no line that begins with one of the commands.
    CommandNot,
    /// Some path matches; globs after `!` take paths out.
    Any,
    /// Every path matches, and there is one.
    Only,
    /// No changed path matches one of the globs.
    None,
    /// The field has a value that is not empty.
    Present,
    /// Is known to hold nothing.
    Absent,
}

impl Op {
    /// Every comparison, in the order of this enum.
    pub const ALL: [Self; 15] = [
        Self::Is,
        Self::IsNot,
        Self::Matches,
        Self::MatchesNot,
        Self::Contains,
        Self::Lacks,
        Self::Begins,
        Self::BeginsNot,
        Self::Command,
        Self::CommandNot,
        Self::Any,
        Self::Only,
        Self::None,
        Self::Present,
        Self::Absent,
    ];

    /// Returns the name used in printed filters and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::IsNot => "is_not",
            Self::Matches => "matches",
            Self::MatchesNot => "matches_not",
            Self::Contains => "contains",
            Self::Lacks => "lacks",
            Self::Begins => "begins",
            Self::BeginsNot => "begins_not",
            Self::Command => "command",
            Self::CommandNot => "command_not",
            Self::Any => "any_of",
            Self::Only => "only",
            Self::None => "none_of",
            Self::Present => "present",
            Self::Absent => "absent",
        }
    }

    /// Whether the comparison excludes its values.
    pub fn is_negated(self) -> bool {
        matches!(
            self,
            Self::IsNot
                | Self::MatchesNot
                | Self::Lacks
                | Self::BeginsNot
                | Self::CommandNot
                | Self::None
                | Self::Absent
        )
    }

    fn takes_globs(self) -> bool {
        matches!(
            self,
            Self::Matches | Self::MatchesNot | Self::Any | Self::Only | Self::None
        )
    }
}

/// The verdict of an event on a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterVerdict {
    /// The field has a value that passes the filter.
    Pass,
    /// The filter fails, or the event cannot have the fact.
    Fail,
    /// A fact that decides it has not been fetched yet.
    Missing,
}

impl FilterVerdict {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Missing => "missing",
        }
    }
}

/// A comparison of one field.
///
/// Patterns are compiled at the first comparison and shared by all clones: an index contains one clone for each daemon
/// that has the same line, and a program that only interprets lines compiles none.
#[derive(Clone, Debug)]
pub struct Test {
    field: Field,
    op: Op,
    values: Arc<[String]>,
    globs: Arc<OnceLock<Globs>>,
}

/// The globs of a comparison, and those that are taken out of them again.
#[derive(Debug)]
struct Globs {
    included: GlobSet,
    excluded: Option<GlobSet>,
}

impl Globs {
    fn of(values: &[String], folding: Folding) -> Self {
        let (out, inside): (Vec<&str>, Vec<&str>) = values
            .iter()
            .map(String::as_str)
            .partition(|value| value.starts_with('!'));
        let out: Vec<&str> = out.into_iter().map(|value| &value[1..]).collect();
        Self {
            included: glob_set(inside.into_iter(), folding),
            excluded: (!out.is_empty()).then(|| glob_set(out.into_iter(), folding)),
        }
    }
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field && self.op == other.op && self.values == other.values
    }
}

impl Eq for Test {}

impl From<&RowGuard> for Test {
    /// Returns what a row of the vocabulary requires, as a comparison.
    fn from(guard: &RowGuard) -> Self {
        let (field, op, values): (_, _, &[&str]) = match guard {
            RowGuard::Is(field, values) => (field, Op::Is, values),
            RowGuard::IsNot(field, values) => (field, Op::IsNot, values),
            RowGuard::Present(field) => (field, Op::Present, &[]),
            RowGuard::Absent(field) => (field, Op::Absent, &[]),
        };
        let owned = values.iter().map(|value| (*value).to_owned());
        Self::new(*field, op, owned.collect())
    }
}

impl Test {
    /// Makes a comparison; globs that are no globs match themselves.
    pub fn new(field: Field, op: Op, values: Vec<String>) -> Self {
        Self {
            field,
            op,
            values: values.into(),
            globs: Arc::default(),
        }
    }

    /// Returns the field that is compared.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Returns how it is compared.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Returns the values that the field is compared with.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Decides the comparison for the facts of an event of a kind.
    ///
    /// An unknown fact is [`FilterVerdict::Missing`] if a host can fetch it, else [`FilterVerdict::Fail`].
    pub fn verdict(&self, facts: &EventFacts, kind: &str) -> FilterVerdict {
        let Some(value) = facts.get(self.field) else {
            return match Need::of(self.field, kind) {
                // What is on no pull request has none of its facts.
                Some(Need::PullRequests)
                    if facts
                        .text(Field::CommentOn)
                        .is_some_and(|on| on != "pull_request") =>
                {
                    FilterVerdict::Fail
                }
                Some(_) => FilterVerdict::Missing,
                None => FilterVerdict::Fail,
            };
        };
        if self.holds(value) {
            FilterVerdict::Pass
        } else {
            FilterVerdict::Fail
        }
    }

    fn holds(&self, value: &FieldValue) -> bool {
        match self.op {
            Op::Is => self.equals(value),
            Op::IsNot => !self.equals(value),
            Op::Contains => self.holds_text(value),
            Op::Lacks => !self.holds_text(value),
            Op::Begins => self.begins(value),
            Op::BeginsNot => !self.begins(value),
            Op::Command => self.commands(value),
            Op::CommandNot => !self.commands(value),
            Op::Matches | Op::Any => value.texts().any(|text| self.is_glob_match(text)),
            Op::MatchesNot | Op::None => !value.texts().any(|text| self.is_glob_match(text)),
            Op::Only => {
                value.texts().next().is_some() && value.texts().all(|text| self.is_glob_match(text))
            }
            Op::Present => value.texts().any(|text| !text.is_empty()),
            Op::Absent => !value.texts().any(|text| !text.is_empty()),
        }
    }

    fn commands(&self, value: &FieldValue) -> bool {
        value.texts().any(|text| {
            self.values
                .iter()
                .any(|command| is_command_in(command, text))
        })
    }

    fn equals(&self, value: &FieldValue) -> bool {
        match value {
            FieldValue::Flag(flag) => {
                let text = if *flag { "true" } else { "false" };
                self.values.iter().any(|wanted| wanted == text)
            }
            FieldValue::Number(number) => self
                .values
                .iter()
                .any(|wanted| wanted.parse() == Ok(*number)),
            FieldValue::Text(_) | FieldValue::Texts(_) => {
                let folding = Folding::of(self.field);
                value
                    .texts()
                    .any(|text| self.values.iter().any(|wanted| same(wanted, text, folding)))
            }
        }
    }

    fn holds_text(&self, value: &FieldValue) -> bool {
        value.texts().any(|text| {
            self.values
                .iter()
                .any(|wanted| contains_folded(text, wanted))
        })
    }

    fn begins(&self, value: &FieldValue) -> bool {
        let folding = Folding::of(self.field);
        value.texts().any(|text| {
            self.values
                .iter()
                .any(|wanted| begins_with(text, wanted, folding))
        })
    }

    /// Whether one of the globs matches a string, and none of the globs after `!` does.
    pub(crate) fn is_glob_match(&self, text: &str) -> bool {
        if !self.op.takes_globs() {
            return false;
        }
        let folding = Folding::of(self.field);
        let globs = self.globs.get_or_init(|| Globs::of(&self.values, folding));
        let is_excluded = globs.excluded.as_ref();
        globs.included.is_match(text) && !is_excluded.is_some_and(|out| out.is_match(text))
    }
}

/// Whether a value must be quoted to be read back.
fn is_plain(value: &str) -> bool {
    !value.is_empty()
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-./*@#[]{},!?:+".contains(&b))
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.op.as_str())?;
        for (index, value) in self.values.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { " | " })?;
            if is_plain(value) {
                f.write_str(value)?;
            } else {
                f.write_str(&serde_json::Value::from(value.as_str()).to_string())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Test {
    type Err = InvalidId;

    /// Parses a printed filter: `field op value | value`, with JSON strings for values that need quotes.
    ///
    /// # Errors
    /// Fails if the field or the comparison is unknown, or a value is not closed.
    ///
    /// # Examples
    /// ```
    /// use daemon_event::Field;
    /// use daemon_watch::{Op, Test};
    ///
    /// let test: Test = r#"labels is bug | "help wanted""#.parse()?;
    /// assert_eq!((test.field(), test.op()), (Field::Labels, Op::Is));
    /// assert_eq!(test.values(), ["bug", "help wanted"]);
    /// assert_eq!(test.to_string(), r#"labels is bug | "help wanted""#);
    /// # Ok::<(), daemon_event::InvalidId>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let refused = || InvalidId::new(text, "a filter (`field op value | value`)");
        let (field, rest) = text.split_once(' ').ok_or_else(refused)?;
        let field: Field = field.parse()?;
        let (op, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let op = Op::ALL
            .into_iter()
            .find(|known| known.as_str() == op)
            .ok_or_else(refused)?;
        let mut values = Vec::new();
        while !rest.is_empty() {
            let end = if rest.starts_with('"') {
                let mut quoted = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let value = quoted.next().and_then(Result::ok).ok_or_else(refused)?;
                values.push(value);
                quoted.byte_offset()
            } else {
                let end = rest.find(" | ").unwrap_or(rest.len());
                values.push(rest[..end].to_owned());
                end
            };
            let after = &rest[end..];
            rest = match after.strip_prefix(" | ") {
                Some(next) if !next.is_empty() => next,
                Some(_) => return Err(refused()),
                None if after.is_empty() => after,
                None => return Err(refused()),
            };
        }
        Ok(Self::new(field, op, values))
    }
}

/// A comparison and the words it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The comparison with the field of an event.
    pub test: Test,
    /// The author's words for the filter.
    pub span: Span,
    /// How the reading came about.
    pub mark: Mark,
}
