//! Checking files that the caller has read, as a runtime does at registration.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, parse};
use daemon_validate::{Profile, SupportEntry, registrable};
use jiff::Timestamp;
use serde_json::Value;

use crate::check::{FileContext, compare, insert};
use crate::interpretations::CachedInterpreter;
use crate::report::findings;

/// A daemon file of a repository, as the caller read it.
#[derive(Clone, Debug)]
pub struct FileInput {
    /// The path relative to the repository's root, with `/` between its parts.
    pub path: String,
    /// The name of the directory that contains the file.
    pub directory: String,
    /// The exact bytes of the file.
    pub bytes: Vec<u8>,
    /// The entries of the daemon's directory.
    pub support: Vec<SupportEntry>,
    /// The time zone of the schedule.
    pub zone: Zone,
}

/// A daemon file with its diagnostics under the profile `spec`.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    /// The parsed file.
    pub file: DaemonFile,
    /// The diagnostics, ordered by position.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckedFile {
    /// Returns `true` if the file may be registered; see [`daemon_validate::registrable`].
    pub fn is_registrable(&self) -> bool {
        registrable(&self.diagnostics)
    }

    /// Returns the diagnostics as in a JSON report.
    pub fn diagnostics_json(&self) -> Value {
        findings(self.file.source(), &self.diagnostics)
    }
}

/// Checks all daemon files of a repository, each one separately and in comparison with the others.
///
/// The result has the order of `files`.
pub fn check_files(files: Vec<FileInput>, now: Timestamp) -> Vec<CheckedFile> {
    let paths: Vec<String> = files.iter().map(|input| input.path.clone()).collect();
    let interpreter = CachedInterpreter::default();
    let mut checked: Vec<CheckedFile> = files
        .into_iter()
        .map(|input| {
            let parsed = parse(input.bytes);
            let context = FileContext {
                path: Some(&input.path),
                directory: Some(&input.directory),
                support: Some(&input.support),
                zone: &input.zone,
                now,
            };
            let diagnostics = context
                .check(&interpreter, &parsed, Profile::Spec)
                .diagnostics;
            CheckedFile {
                file: parsed.file,
                diagnostics,
            }
        })
        .collect();
    let neighbours: Vec<(&str, &DaemonFile)> = paths
        .iter()
        .map(String::as_str)
        .zip(checked.iter().map(|one| &one.file))
        .collect();
    for (index, found) in compare(&neighbours, Profile::Spec) {
        if let Some(one) = checked.get_mut(index) {
            insert(&mut one.diagnostics, found);
        }
    }
    checked
}
