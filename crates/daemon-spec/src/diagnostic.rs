//! Diagnostics and fixes, as data.

use std::fmt;
use std::str::FromStr;

use crate::Span;

/// A stable diagnostic code, printed as `D` and three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

impl Code {
    /// Creates the code with this number.
    ///
    /// # Panics
    ///
    /// Panics if `number` has more than three digits.
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

/// The error of a string that is not a diagnostic code.
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

    /// Parses `D` and three digits, such as `D201`. A lower-case `d` is accepted.
    ///
    /// # Errors
    ///
    /// Returns an error if the string has another form.
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

/// The severity of a diagnostic, ordered from least to most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// A suggestion. It does not change the exit code of a program.
    Advice,
    /// A probable mistake.
    Warning,
    /// A mistake because of which the daemon, or a part of it, cannot be used.
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

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code of the violated rule.
    pub code: Code,
    /// The severity, which can depend on the profile.
    pub severity: Severity,
    /// The problem, in lower case and without a trailing period.
    pub message: String,
    /// The byte range of the problem. Empty at byte 0 if it concerns the whole file.
    pub span: Span,
    /// Advice for the author, in the imperative.
    pub help: Option<String>,
    /// Edits that remove the problem, if there is an obvious way.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Creates a diagnostic without help and without a fix.
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

/// A set of edits that removes a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// A short description in the imperative, such as "quote the value".
    pub title: String,
    /// The edits, ordered by span. They do not overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Creates a fix of one edit.
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

/// The replacement of a byte range by a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The byte range to replace. Empty for an insertion.
    pub span: Span,
    /// The new text. Empty for a deletion.
    pub text: String,
}

/// The result of [`apply_fixes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The new content of the file.
    pub bytes: Vec<u8>,
    /// The number of applied fixes. Fixes that conflict with an earlier one are not applied.
    pub applied: usize,
}

/// Applies fixes to the bytes of a file. Each fix is applied completely or not at all.
///
/// A fix that touches the bytes of an earlier fix, or is outside the file, is not applied. Parsing the
/// result offers it again if it is still needed.
///
/// # Examples
///
/// ```
/// use daemon_spec::{Fix, Span, apply_fixes};
///
/// let fixes = [
///     Fix::replace("rename", Span::new(4, 5), "b"),
///     Fix::replace("conflicts with the first", Span::new(4, 5), "c"),
/// ];
/// let fixed = apply_fixes(b"id: a\n", &fixes);
/// assert_eq!(fixed.bytes, b"id: b\n");
/// assert_eq!(fixed.applied, 1);
/// ```
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

/// Returns `true` if two edits share a byte or have the same position.
fn touches(a: Span, b: Span) -> bool {
    // Two insertions at the same place have no defined order, so they conflict too.
    if a.is_empty() || b.is_empty() {
        return a.start <= b.end && b.start <= a.end;
    }
    a.start < b.end && b.start < a.end
}
