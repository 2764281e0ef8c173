//! Runs every rule over a subject.

use daemon_spec::{Code, Diagnostic, Severity};

use crate::{Profile, Subject, rule, rules};

/// Most findings of one code that a file reports.
///
/// A file can hold tens of thousands of places with the same fault; a reader is served by the first
/// hundred and the number of the rest.
pub const MAX_PER_CODE: usize = 100;

/// One check: reads a subject and adds what it finds.
pub trait Rule {
    /// Returns the code of everything the rule finds.
    fn code(&self) -> Code;

    /// Adds the rule's findings to `acc`; never panics, whatever the file holds.
    fn check(&self, subject: &Subject<'_>, acc: &mut Vec<Diagnostic>);
}

/// Runs every rule over a subject and returns all findings, by place and then by code.
///
/// Severities are those of `profile`. What the reader found is part of the result.
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
        weigh(found, profile);
    }
    acc.sort_by_key(|found| (found.span, found.code));
    acc
}

/// Gives a diagnostic the severity that `profile` lays down.
pub fn weigh(diagnostic: &mut Diagnostic, profile: Profile) {
    if let Some(entry) = rule(diagnostic.code) {
        diagnostic.severity = entry.severity(profile);
    }
}

/// Reports whether a daemon with these findings may be registered.
///
/// It may, unless one of them is an error under [`Profile::Spec`]; whatever profile weighed them,
/// findings about conditions (`D3xx`) never stand in the way, because what else can wake the daemon
/// still does.
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
