//! Running all rules over a subject.

use daemon_spec::{Code, Diagnostic, Severity};

use crate::rules::conditions;
use crate::suppress::Suppressions;
use crate::{Profile, Subject, rule, rules};

/// The maximum number of diagnostics with the same code that are reported for a file.
///
/// A file can contain tens of thousands of paths or hidden characters. The last diagnostic that is
/// reported counts the rest.
pub const MAX_PER_CODE: usize = 100;

/// A check with a code.
pub trait Rule {
    /// Returns the code of all diagnostics of the rule.
    fn code(&self) -> Code;

    /// Appends the diagnostics of the rule to `acc`. It must not panic for any file.
    fn check(&self, subject: &Subject<'_>, acc: &mut Vec<Diagnostic>);
}

/// The result of running all rules over a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validation {
    /// The diagnostics, ordered by position and code.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of diagnostics that comments of the file suppress.
    pub suppressed: usize,
}

/// Runs all rules over a subject and returns the diagnostics, ordered by position and code.
///
/// The severities are those of `profile`. The diagnostics of the parser are included, those that
/// comments of the file suppress are not; [`validation`] counts them.
///
/// # Examples
///
/// ```
/// use daemon_validate::{Profile, Subject, validate};
///
/// let parse = daemon_spec::parse(b"no front matter\n".to_vec());
/// let found = validate(&Subject::new(&parse), Profile::Spec);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].code.to_string(), "D003");
/// ```
#[must_use]
pub fn validate(subject: &Subject<'_>, profile: Profile) -> Vec<Diagnostic> {
    validation(subject, profile).diagnostics
}

/// Runs all rules over a subject, and counts the diagnostics that comments of the file suppress.
///
/// # Examples
///
/// ```
/// use daemon_validate::{Profile, Subject, validation};
///
/// let text = "---\nid: tidy\npurpose: Tidies up.\nschedule: 0 9 * * *\nroutines:\n  - list issues\n\
///             owner: me # daemon-lint: allow D100\n---\nBe brief.\n";
/// let parse = daemon_spec::parse(text.as_bytes().to_vec());
/// let found = validation(&Subject::new(&parse), Profile::Spec);
/// assert_eq!((found.diagnostics.len(), found.suppressed), (0, 1));
///
/// // Under `strict` an unknown field is an error, which cannot be suppressed.
/// let found = validation(&Subject::new(&parse), Profile::Strict);
/// assert_eq!((found.diagnostics.len(), found.suppressed), (1, 0));
/// ```
#[must_use]
pub fn validation(subject: &Subject<'_>, profile: Profile) -> Validation {
    let mut acc = Vec::new();
    let mut suppressed = 0;
    let mut suppressions = Suppressions::read(subject);
    for entry in rules() {
        let before = acc.len();
        entry.check(subject, &mut acc);
        suppressed += suppressions.apply(entry, profile, &mut acc, before);
        // Only what is left after suppression has a common diagnostic.
        if entry.code() == conditions::REMAINDER {
            conditions::join_remainders(subject, &mut acc, before);
        }
        cap(&mut acc, before);
    }
    let before = acc.len();
    suppressions.report_unused(subject, &mut acc);
    cap(&mut acc, before);
    for found in &mut acc {
        apply_severity(found, profile);
    }
    acc.sort_by_key(|found| (found.span, found.code));
    Validation {
        diagnostics: acc,
        suppressed,
    }
}

/// Sets the severity of a diagnostic to that of its rule under `profile`.
pub fn apply_severity(diagnostic: &mut Diagnostic, profile: Profile) {
    if let Some(entry) = rule(diagnostic.code) {
        diagnostic.severity = entry.severity(profile);
    }
}

/// Returns `true` if a daemon with these diagnostics may be registered.
///
/// An error under [`Profile::Spec`] prevents registration, independently of the profile that was used.
/// Diagnostics about conditions (`D3xx`) do not prevent it, because other conditions or the schedule
/// can still wake the daemon.
#[must_use]
pub fn registrable(diagnostics: &[Diagnostic]) -> bool {
    !diagnostics.iter().any(|found| {
        let severity =
            rule(found.code).map_or(found.severity, |entry| entry.severity(Profile::Spec));
        let is_about_conditions = (300..400).contains(&found.code.number());
        severity == Severity::Error && !is_about_conditions
    })
}

fn cap(acc: &mut Vec<Diagnostic>, before: usize) {
    if acc.len() <= before + MAX_PER_CODE {
        return;
    }
    let n_more = acc.len() - before - MAX_PER_CODE;
    acc.truncate(before + MAX_PER_CODE);
    if let Some(last) = acc.last_mut() {
        last.message = format!("{} (and {n_more} more)", last.message);
    }
}
