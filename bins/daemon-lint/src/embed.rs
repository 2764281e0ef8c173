//! Judging files that somebody else has read, as a runtime does at registration.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, parse};
use daemon_validate::{
    Profile, Subject, SupportEntry, registrable, validate, validate_repository, weigh,
};
use daemon_watch::Grammar;
use jiff::Timestamp;
use serde_json::Value;

use crate::conditions::verdicts;
use crate::report::findings;

/// One daemon file of a repository, as it was read.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its path in the repository.
    pub path: String,
    /// The name of its directory.
    pub directory: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What stands beside it.
    pub support: Vec<SupportEntry>,
    /// The zone of its schedule.
    pub zone: Zone,
}

/// A daemon file and what was found in it, under the profile `spec`.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The file as far as it was read.
    pub file: DaemonFile,
    /// What was found, by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Judged {
    /// Reports whether the file may be registered: no error but about conditions.
    pub fn is_registrable(&self) -> bool {
        registrable(&self.diagnostics)
    }

    /// Writes the findings as the array of a JSON report.
    pub fn diagnostics_json(&self) -> Value {
        findings(self.file.source(), &self.diagnostics)
    }
}

/// Judges all daemon files of one repository, each alone and beside the others.
pub fn judge(files: Vec<Given>, now: Timestamp) -> Vec<Judged> {
    let paths: Vec<String> = files.iter().map(|given| given.path.clone()).collect();
    let mut judged: Vec<Judged> = files
        .into_iter()
        .map(|given| {
            let parsed = parse(given.bytes);
            let verdicts = verdicts(&Grammar, &parsed.file);
            let subject = Subject::new(&parsed)
                .with_conditions(&verdicts)
                .in_zone(&given.zone)
                .seen_at(now)
                .at_path(&given.path)
                .in_directory(&given.directory)
                .with_support(&given.support);
            let diagnostics = validate(&subject, Profile::Spec);
            Judged {
                file: parsed.file,
                diagnostics,
            }
        })
        .collect();
    let neighbours: Vec<(&str, &DaemonFile)> = paths
        .iter()
        .map(String::as_str)
        .zip(judged.iter().map(|one| &one.file))
        .collect();
    for (index, mut found) in validate_repository(&neighbours) {
        weigh(&mut found, Profile::Spec);
        if let Some(one) = judged.get_mut(index) {
            one.diagnostics.push(found);
            one.diagnostics
                .sort_by_key(|found| (found.span, found.code));
        }
    }
    judged
}
