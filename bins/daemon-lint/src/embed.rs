//! Checking files that the caller has read, as a runtime does at registration.

use daemon_cron::Zone;
use daemon_spec::{DaemonFile, Diagnostic, parse};
use daemon_validate::{Profile, SupportEntry, registrable};
use jiff::Timestamp;
use serde_json::Value;

use crate::Format;
use crate::check::{FileContext, compare, insert};
use crate::exit;
use crate::interpretations::CachedInterpreter;
use crate::lint::Linted;
use crate::report::{LintReport, Warnings, findings};

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

/// A daemon file in memory, and what is known about its place.
#[derive(Clone, Debug)]
pub struct TextInput {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The path from the repository's root, with `/` between its parts. Without it, rules about the place of the file and the
    /// name of its directory are off.
    pub path: Option<String>,
    /// The profile, which sets the severities.
    pub profile: Profile,
    /// The time zone of the schedule.
    pub zone: Zone,
}

/// Checks one file in memory and returns the report of `daemon-lint --format json`.
///
/// No file is read, so rules about the support tree are off.
pub fn report_text(input: TextInput, now: Timestamp) -> String {
    let TextInput {
        bytes,
        path,
        profile,
        zone,
    } = input;
    let parsed = parse(bytes);
    // A draft with another name is not compared with its directory.
    let directory = path
        .as_deref()
        .and_then(|path| path.strip_suffix("/DAEMON.md"))
        .and_then(|directory| directory.rsplit('/').next());
    let context = FileContext {
        path: path.as_deref(),
        directory,
        support: None,
        zone: &zone,
        now,
    };
    let checked = context.check(&CachedInterpreter::default(), &parsed, profile);
    let linted = Linted {
        path: path.unwrap_or_else(|| "<text>".to_owned()),
        root: None,
        file: Some(parsed.file),
        diagnostics: checked.diagnostics,
        suppressed: checked.suppressed,
    };
    let report = LintReport {
        files: &[linted],
        fixed: 0,
        warnings: Warnings::Allowed,
        exit_floor: exit::DONE,
        suggestions: None,
    };
    let mut acc = Vec::new();
    report
        .print(Format::Json, false, &mut acc)
        .expect("writing to memory cannot fail");
    // The report ends with a line break for streams.
    acc.truncate(acc.trim_ascii_end().len());
    String::from_utf8(acc).expect("JSON is UTF-8")
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
