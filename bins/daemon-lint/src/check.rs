//! Checking a file separately and in comparison with the other files of its repository.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, Parse, parse};
use daemon_validate::{
    Profile, Subject, SupportEntry, Validation, apply_severity, validate_repository, validation,
};
use daemon_watch::Interpreter;
use jiff::Timestamp;

use crate::conditions::verdicts;
use crate::fix::{CheckResult, withdraw_bad_ones};

/// The context of a file. A missing part disables the rules that need it.
pub(crate) struct FileContext<'a> {
    pub(crate) path: Option<&'a str>,
    pub(crate) directory: Option<&'a str>,
    pub(crate) support: Option<&'a [SupportEntry]>,
    pub(crate) zone: &'a Zone,
    pub(crate) now: Timestamp,
}

impl FileContext<'_> {
    /// Returns the diagnostics of a file without those that compare it with others.
    ///
    /// A fix is part of them only if the file is better after it.
    pub(crate) fn check(
        &self,
        interpreter: &dyn Interpreter,
        parsed: &Parse,
        profile: Profile,
    ) -> Validation {
        let mut checked = self.run_rules(interpreter, parsed, profile);
        if checked.diagnostics.iter().all(|found| found.fix.is_none()) {
            return checked;
        }
        let found = checked.diagnostics.clone();
        let before = CheckResult {
            completeness: parsed.file.completeness(),
            diagnostics: &found,
        };
        let bytes = parsed.file.source().as_bytes();
        withdraw_bad_ones(bytes, &mut checked.diagnostics, |bytes, codes| {
            let parsed = parse(bytes);
            let after = CheckResult {
                completeness: parsed.file.completeness(),
                diagnostics: &self.run_rules(interpreter, &parsed, profile).diagnostics,
            };
            before.is_improved_by(codes, after)
        });
        checked
    }

    fn run_rules(
        &self,
        interpreter: &dyn Interpreter,
        parsed: &Parse,
        profile: Profile,
    ) -> Validation {
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
        validation(&subject, profile)
    }
}

/// Returns the diagnostics that result from comparing the files of a repository.
pub(crate) fn compare(files: &[(&str, &DaemonFile)], profile: Profile) -> Vec<(usize, Diagnostic)> {
    let mut found = validate_repository(files);
    for (_, finding) in &mut found {
        apply_severity(finding, profile);
    }
    found
}

/// Adds a diagnostic and keeps the order by position.
pub(crate) fn insert(diagnostics: &mut Vec<Diagnostic>, finding: Diagnostic) {
    diagnostics.push(finding);
    diagnostics.sort_by_key(|found| (found.span, found.code));
}
