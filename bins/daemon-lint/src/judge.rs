//! Judging one file by itself and beside the others of its repository, whoever read them.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, Parse};
use daemon_validate::{Profile, Subject, SupportEntry, validate, validate_repository, weigh};
use daemon_watch::Interpreter;
use jiff::Timestamp;

use crate::conditions::verdicts;

/// What is known around a file; what is not known silences the rules about it.
pub(crate) struct Around<'a> {
    /// Its path in the repository.
    pub(crate) path: Option<&'a str>,
    /// The name of its directory.
    pub(crate) directory: Option<&'a str>,
    /// What stands beside it.
    pub(crate) support: Option<&'a [SupportEntry]>,
    /// The zone of its schedule.
    pub(crate) zone: &'a Zone,
    /// The present instant.
    pub(crate) now: Timestamp,
}

impl Around<'_> {
    /// Returns everything that is found in one file by itself.
    pub(crate) fn judge(
        &self,
        interpreter: &dyn Interpreter,
        parsed: &Parse,
        profile: Profile,
    ) -> Vec<Diagnostic> {
        let verdicts = verdicts(interpreter, &parsed.file);
        let mut subject = Subject::new(parsed)
            .with_conditions(&verdicts)
            .in_zone(self.zone)
            .seen_at(self.now);
        if let Some(path) = self.path {
            subject = subject.at_path(path);
        }
        if let Some(name) = self.directory {
            subject = subject.in_directory(name);
        }
        if let Some(support) = self.support {
            subject = subject.with_support(support);
        }
        validate(&subject, profile)
    }
}

/// Returns what only shows when the files of one repository are held against each other.
pub(crate) fn compare(files: &[(&str, &DaemonFile)], profile: Profile) -> Vec<(usize, Diagnostic)> {
    let mut found = validate_repository(files);
    for (_, finding) in &mut found {
        weigh(finding, profile);
    }
    found
}

/// Adds a finding in its place.
pub(crate) fn insert(diagnostics: &mut Vec<Diagnostic>, finding: Diagnostic) {
    diagnostics.push(finding);
    diagnostics.sort_by_key(|found| (found.span, found.code));
}
