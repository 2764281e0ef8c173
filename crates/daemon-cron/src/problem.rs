//! What can be wrong with the text of an expression.

use std::fmt;
use std::ops::Range;

use crate::Field;

/// Tells why a text is not an expression: every problem found, in order of place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    input: Box<str>,
    problems: Vec<Problem>,
}

impl Error {
    pub(crate) fn new(input: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        Self {
            input: input.into(),
            problems,
        }
    }

    /// Returns the text that was refused.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Returns the problems, never empty, ordered by where they begin.
    pub fn problems(&self) -> &[Problem] {
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

/// One problem: `Display` is its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field it stands in; none when it concerns the whole text.
    pub field: Option<Field>,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The bytes of the text it concerns.
    pub span: Range<usize>,
    /// The words at `span`.
    pub token: Box<str>,
    /// What the author can do about it.
    pub help: Box<str>,
    /// A replacement that makes the problem go away, where there is one.
    pub fix: Option<Fix>,
}

impl Problem {
    /// Returns the stable diagnostic code, `D201` to `D208`.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// Says what to put in place of a part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What applying it does, as an imperative.
    pub title: Box<str>,
    /// The bytes of the text to replace.
    pub span: Range<usize>,
    /// What stands there afterwards.
    pub text: Box<str>,
}

/// Classifies a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Not five fields but this many.
    FieldCount(usize),
    /// A macro such as `@daily`.
    Macro,
    /// A number outside the field's range.
    OutOfRange,
    /// Syntax of other schedulers: `?`, `L`, `W`, `#`, `H`, `%`.
    OtherSyntax,
    /// Nothing before, between or after commas.
    EmptyItem,
    /// Letters that are no name of the field.
    UnknownName,
    /// A character that no expression contains.
    Character(char),
    /// A number of more than four digits.
    LongNumber,
    /// An item that has none of the five forms.
    Malformed,
    /// More than 512 bytes.
    TooLong,
    /// A step of zero.
    StepZero,
    /// A step behind a single value.
    StepOnValue,
    /// A range that descends.
    Reversed,
    /// A `TZ=` or `CRON_TZ=` before the fields.
    Zone,
}

impl ProblemKind {
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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = &self.token;
        match (self.kind, self.field) {
            (ProblemKind::FieldCount(found), _) => {
                write!(
                    f,
                    "`schedule` must have five fields, found {}",
                    in_words(found)
                )
            }
            (ProblemKind::Macro, _) => write!(f, "`{token}` is not five fields"),
            (ProblemKind::OutOfRange, Some(field)) => write!(f, "{field} {token} is out of range"),
            (ProblemKind::OutOfRange, None) => write!(f, "{token} is out of range"),
            (ProblemKind::OtherSyntax | ProblemKind::Malformed, _) => {
                write!(f, "`{token}` is not five-field syntax")
            }
            (ProblemKind::EmptyItem, Some(field)) => write!(f, "empty item in {field}"),
            (ProblemKind::EmptyItem, None) => f.write_str("empty item"),
            (ProblemKind::UnknownName, Some(field)) => write!(f, "unknown {field} `{token}`"),
            (ProblemKind::UnknownName, None) => write!(f, "unknown name `{token}`"),
            (ProblemKind::Character(found), _) => {
                write!(
                    f,
                    "character U+{:04X} is not five-field syntax",
                    u32::from(found)
                )
            }
            (ProblemKind::LongNumber, _) => write!(f, "number `{token}` has too many digits"),
            (ProblemKind::TooLong, _) => f.write_str("`schedule` is longer than 512 bytes"),
            (ProblemKind::StepZero, _) => write!(f, "step 0 in `{token}`"),
            (ProblemKind::StepOnValue, _) => {
                write!(
                    f,
                    "`{token}` has a step on a single value; a step needs `*` or a range"
                )
            }
            (ProblemKind::Reversed, _) => write!(f, "`{token}` descends"),
            (ProblemKind::Zone, _) => write!(f, "`{token}` puts a zone inside the expression"),
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
