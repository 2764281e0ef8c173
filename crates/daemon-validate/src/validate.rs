//! Running all rules over a subject.

use daemon_spec::{Code, Diagnostic, Severity};

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

/// Runs all rules over a subject and returns the diagnostics, ordered by position and code.
///
/// The severities are those of `profile`. The diagnostics of the parser are included.
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
    let mut acc = Vec::new();
    for entry in rules() {
        let before = acc.len();
        entry.check(subject, &mut acc);
        if acc.len() > before + MAX_PER_CODE {
            cap(&mut acc, before);
        }
    }
    for found in &mut acc {
        apply_severity(found, profile);
    }
    acc.sort_by_key(|found| (found.span, found.code));
    acc
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
    let n_more = acc.len() - before - MAX_PER_CODE;
    acc.truncate(before + MAX_PER_CODE);
    if let Some(last) = acc.last_mut() {
        last.message = format!("{} (and {n_more} more)", last.message);
    }
}
