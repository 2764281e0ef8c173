//! Judging files that somebody else has read, as a runtime does at registration.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, parse};
use daemon_validate::{Profile, SupportEntry, registrable};
use daemon_watch::Grammar;
use jiff::Timestamp;
use serde_json::Value;

use crate::judge::{Around, compare, insert};
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
            let around = Around {
                path: Some(&given.path),
                directory: Some(&given.directory),
                support: Some(&given.support),
                zone: &given.zone,
                now,
            };
            let diagnostics = around.judge(&Grammar, &parsed, Profile::Spec);
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
    for (index, found) in compare(&neighbours, Profile::Spec) {
        if let Some(one) = judged.get_mut(index) {
            insert(&mut one.diagnostics, found);
        }
    }
    judged
}
