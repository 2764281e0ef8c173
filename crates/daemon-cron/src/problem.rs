//! The problems of a rejected expression.

use std::fmt;
use std::ops::Range;

use crate::CronField;

/// The error of a string that is not an expression: every problem, ordered by position.
///
/// `Display` joins the messages of the problems with `; `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    input: Box<str>,
    problems: Vec<CronProblem>,
}

impl Error {
    pub(crate) fn new(input: &str, mut problems: Vec<CronProblem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        Self {
            input: input.into(),
            problems,
        }
    }

    /// Returns the rejected text. The spans of the problems refer to it.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Returns the problems, ordered by the start of their spans. There is at least one.
    pub fn problems(&self) -> &[CronProblem] {
        &self.problems
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// One problem of a rejected expression. `Display` prints the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronProblem {
    /// The field that contains the problem, or `None` if it concerns the whole text.
    pub field: Option<CronField>,
    /// The kind, which determines the diagnostic code and the message.
    pub kind: CronProblemKind,
    /// The byte range of the problem in [`Error::input`].
    pub span: Range<usize>,
    /// The text at `span`. Empty for [`CronProblemKind::TooLong`].
    pub token: Box<str>,
    /// Advice for the author, such as the valid range or a correct spelling.
    pub help: Box<str>,
    /// An edit that removes the problem, if there is an obvious one.
    pub fix: Option<Replacement>,
}

impl CronProblem {
    /// Returns the stable diagnostic code, `D201` to `D208`.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// An edit of the author's text: replaces the bytes at `span` with `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// A short description in the imperative, such as "split the range".
    pub title: Box<str>,
    /// The byte range to replace.
    pub span: Range<usize>,
    /// The new text. Empty if the bytes are removed.
    pub text: Box<str>,
}

/// The kinds of [`CronProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronProblemKind {
    /// The text has this number of fields instead of five.
    FieldCount(usize),
    /// The text is a macro such as `@daily`.
    Macro,
    /// A number is outside the range of its field.
    OutOfRange,
    /// A token belongs to another scheduler: `?`, `L`, `W`, `#`, `H`, `%`.
    OtherSyntax,
    /// A list has an empty item: a comma at its start or end, or two in a row.
    EmptyItem,
    /// A word is not a name of the field.
    UnknownName,
    /// A character cannot occur in an expression.
    Character(char),
    /// A number has more than four digits.
    LongNumber,
    /// An item has none of the forms `*`, `*/n`, `a`, `a-b` and `a-b/n`.
    Malformed,
    /// The text is longer than 512 bytes.
    TooLong,
    /// A step is zero.
    StepZero,
    /// A step follows a single value.
    StepOnValue,
    /// A range descends.
    Reversed,
    /// `TZ=` or `CRON_TZ=` precedes the fields.
    Zone,
}

impl CronProblemKind {
    /// Returns the stable diagnostic code, `D201` to `D208`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::FieldCount(_) => "D201",
            Self::Macro => "D202",
            Self::OutOfRange => "D203",
            Self::OtherSyntax
            | Self::EmptyItem
            | Self::UnknownName
            | Self::Character(_)
            | Self::LongNumber
            | Self::Malformed
            | Self::TooLong => "D204",
            Self::StepZero | Self::StepOnValue => "D205",
            Self::Reversed => "D206",
            Self::Zone => "D208",
        }
    }
}

impl fmt::Display for CronProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = &self.token;
        match (self.kind, self.field) {
            (CronProblemKind::FieldCount(found), _) => {
                write!(
                    f,
                    "`schedule` must have five fields, found {}",
                    in_words(found)
                )
            }
            (CronProblemKind::Macro, _) => write!(f, "`{token}` is not five fields"),
            (CronProblemKind::OutOfRange, Some(field)) => {
                write!(f, "{field} {token} is out of range")
            }
            (CronProblemKind::OutOfRange, None) => write!(f, "{token} is out of range"),
            (CronProblemKind::OtherSyntax | CronProblemKind::Malformed, _) => {
                write!(f, "`{token}` is not five-field syntax")
            }
            (CronProblemKind::EmptyItem, Some(field)) => write!(f, "empty item in {field}"),
            (CronProblemKind::EmptyItem, None) => f.write_str("empty item"),
            (CronProblemKind::UnknownName, Some(field)) => write!(f, "unknown {field} `{token}`"),
            (CronProblemKind::UnknownName, None) => write!(f, "unknown name `{token}`"),
            (CronProblemKind::Character(found), _) => {
                write!(
                    f,
                    "character U+{:04X} is not five-field syntax",
                    u32::from(found)
                )
            }
            (CronProblemKind::LongNumber, _) => write!(f, "number `{token}` has too many digits"),
            (CronProblemKind::TooLong, _) => f.write_str("`schedule` is longer than 512 bytes"),
            (CronProblemKind::StepZero, _) => write!(f, "step 0 in `{token}`"),
            (CronProblemKind::StepOnValue, _) => {
                write!(
                    f,
                    "`{token}` has a step on a single value; a step needs `*` or a range"
                )
            }
            (CronProblemKind::Reversed, _) => write!(f, "`{token}` descends"),
            (CronProblemKind::Zone, _) => write!(f, "`{token}` puts a zone inside the expression"),
        }
    }
}

fn in_words(n: usize) -> String {
    const WORDS: [&str; 13] = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS
        .get(n)
        .map_or_else(|| n.to_string(), |word| (*word).to_owned())
}
