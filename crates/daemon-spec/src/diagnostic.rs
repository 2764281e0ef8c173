//! What is wrong with a file, as data.

use std::fmt;
use std::str::FromStr;

use crate::Span;

/// A stable diagnostic code, printed as `D` and three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

impl Code {
    /// Makes the code with this number.
    ///
    /// # Panics
    /// When `number` needs more than three digits.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        assert!(number < 1000, "a diagnostic code has three digits");
        Self(number)
    }

    /// Returns the number without the letter.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "D{:03}", self.0)
    }
}

/// Text that is not a diagnostic code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeError {
    text: String,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a diagnostic code: expected `D` and three digits",
            self.text
        )
    }
}

impl std::error::Error for CodeError {}

impl FromStr for Code {
    type Err = CodeError;

    /// Reads `D201`; a lower-case `d` is accepted.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        let digits = text
            .strip_prefix(['D', 'd'])
            .filter(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()));
        match digits.map(str::parse) {
            Some(Ok(number)) => Ok(Self(number)),
            _ => Err(CodeError {
                text: text.to_owned(),
            }),
        }
    }
}

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Something to consider; never changes an exit code.
    Advice,
    /// Something that probably does not do what the author means.
    Warning,
    /// The daemon cannot be used as it stands.
    Error,
}

impl Severity {
    /// Returns `advice`, `warning` or `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule speaks.
    pub code: Code,
    /// How much it weighs.
    pub severity: Severity,
    /// What is wrong, without a trailing period.
    pub message: String,
    /// Where; empty at byte 0 when it is about the whole file.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
    /// An edit that removes the finding.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Makes a diagnostic without help and without a fix.
    #[must_use]
    pub fn new(code: Code, severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            span,
            help: None,
            fix: None,
        }
    }

    /// Adds the help text.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Adds the fix.
    #[must_use]
    pub fn with_fix(self, fix: Fix) -> Self {
        Self {
            fix: Some(fix),
            ..self
        }
    }
}

/// Edits that together remove one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the edits do, in the imperative.
    pub title: String,
    /// The edits, in the order of their spans, none overlapping.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Makes a fix of one edit.
    #[must_use]
    pub fn replace(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            edits: vec![Edit {
                span,
                text: text.into(),
            }],
        }
    }
}

/// One replacement of bytes by text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub span: Span,
    /// What stands there instead.
    pub text: String,
}

/// A file after fixes were applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The new content.
    pub bytes: Vec<u8>,
    /// How many fixes it contains; those that met an earlier one were left out.
    pub applied: usize,
}

/// Applies fixes to a file, each whole or not at all.
///
/// A fix that touches bytes of an earlier one, or lies outside the file, is left out: linting the
/// result offers it again if it is still needed.
pub fn apply_fixes<'a>(bytes: &[u8], fixes: impl IntoIterator<Item = &'a Fix>) -> Fixed {
    let mut accepted: Vec<&Edit> = Vec::new();
    let mut applied = 0;
    for fix in fixes {
        let fits = !fix.edits.is_empty()
            && fix.edits.iter().all(|edit| {
                edit.span.start <= edit.span.end
                    && edit.span.end <= bytes.len()
                    && accepted.iter().all(|other| !touches(edit.span, other.span))
            });
        if fits {
            accepted.extend(&fix.edits);
            applied += 1;
        }
    }
    accepted.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut acc = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in accepted {
        acc.extend_from_slice(bytes.get(at..edit.span.start).unwrap_or_default());
        acc.extend_from_slice(edit.text.as_bytes());
        at = at.max(edit.span.end);
    }
    acc.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Fixed {
        bytes: acc,
        applied,
    }
}

/// Two edits touch when they share a byte or stand at the same place.
fn touches(a: Span, b: Span) -> bool {
    if a.is_empty() || b.is_empty() {
        return a.start <= b.end && b.start <= a.end;
    }
    a.start < b.end && b.start < a.end
}
