//! Checks the daemon files of a discovery with the rules of the linter.

use daemon_cron::Zone;
use daemon_host::driver::Checked;
use daemon_lint::{CheckedFile, FileInput, check_files};
use daemon_repo::{DaemonContent, DaemonSource, Discovery, EntryKind, EntryRefusal};
use daemon_validate::{SupportEntry, SupportKind};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// Checks every daemon of a discovery; the results are in the order of the daemons.
pub(crate) fn check(discovery: &Discovery, zone_of: &dyn Fn(&str) -> String) -> Vec<Checked> {
    let given = discovery
        .daemons
        .iter()
        .map(|source| given(source, zone_of))
        .collect();
    let judged = check_files(given, daemon_records::clock::now());
    discovery
        .daemons
        .iter()
        .zip(judged)
        .map(|(source, judged)| checked(source, &judged))
        .collect()
}

fn given(source: &DaemonSource, zone_of: &dyn Fn(&str) -> String) -> FileInput {
    let bytes = match &source.content {
        DaemonContent::Text(bytes) => bytes.to_vec(),
        // The support tree is checked all the same; `unreadable` replaces the diagnostics of the file.
        DaemonContent::TooLarge { .. }
        | DaemonContent::NotAFile(_)
        | DaemonContent::Unreadable(_) => Vec::new(),
    };
    let zone = TimeZone::get(&zone_of(source.dir.as_str())).unwrap_or(TimeZone::UTC);
    FileInput {
        path: source.path(),
        directory: source.dir.as_str().to_owned(),
        bytes,
        support: support(source),
        zone: Zone::new(zone),
    }
}

fn support(source: &DaemonSource) -> Vec<SupportEntry> {
    let files = source.support.files.iter().map(|file| {
        let mut entry = SupportEntry::file(file.path.as_str(), file.size);
        if file.executable {
            // Git stores no other mode for an executable file.
            entry.permissions = Some(0o755);
        }
        if file.lacks_mode {
            // Discovery recorded only that the script is not executable; the rule about modes reads the first bytes.
            entry.head = b"#!".to_vec();
        }
        entry
    });
    let refused = source.support.refused.iter().map(|entry| {
        let kind = match &entry.reason {
            EntryRefusal::Kind(EntryKind::Symlink) => SupportKind::Symlink,
            EntryRefusal::Kind(EntryKind::Submodule) => SupportKind::Submodule,
            EntryRefusal::Kind(EntryKind::Directory) => SupportKind::Unlisted,
            EntryRefusal::Kind(_) | EntryRefusal::Name | EntryRefusal::Unreadable(_) => {
                SupportKind::Special
            }
        };
        SupportEntry {
            kind,
            ..SupportEntry::file(entry.path.as_str(), 0)
        }
    });
    let left_out = source
        .support
        .left_out
        .iter()
        .map(|file| SupportEntry::file(file.path.as_str(), file.size));
    let stray = source
        .support
        .stray
        .iter()
        .map(|path| SupportEntry::file(path.as_str(), 0));
    files.chain(refused).chain(left_out).chain(stray).collect()
}

fn checked(source: &DaemonSource, judged: &CheckedFile) -> Checked {
    let file = &judged.file;
    let text = |field: &daemon_spec::Field<daemon_spec::Text>| {
        field.value().map(|text| text.value.clone())
    };
    let unreadable = unreadable(source);
    let is_registrable = unreadable.is_none() && judged.is_registrable();
    let schedule = text(file.schedule())
        .filter(|schedule| is_registrable && schedule.parse::<daemon_cron::CronExpr>().is_ok());
    Checked {
        purpose: text(file.purpose()).unwrap_or_default(),
        watch: file.watch().value().map_or_else(Vec::new, |list| {
            list.texts().map(|text| text.value.clone()).collect()
        }),
        schedule,
        diagnostics: unreadable.unwrap_or_else(|| judged.diagnostics_json()),
        is_registrable,
    }
}

/// Returns the diagnostic for a file that was not read, as JSON.
fn unreadable(source: &DaemonSource) -> Option<Value> {
    let (code, message, help) = match &source.content {
        DaemonContent::Text(_) => return None,
        DaemonContent::TooLarge { size } => (
            "D002",
            format!("the file has {size} bytes, at most 262144 are read"),
            "move detail to `references/`".to_owned(),
        ),
        DaemonContent::NotAFile(kind) => (
            "D000",
            "cannot read the file".to_owned(),
            format!("it is {}", kind.why_unread()),
        ),
        DaemonContent::Unreadable(reason) => (
            "D000",
            "cannot read the file".to_owned(),
            reason.to_string(),
        ),
    };
    let place = json!({"line": 1, "column": 1, "byte": 0});
    Some(json!([{
        "code": code, "severity": "error", "message": message, "start": place, "end": place, "help": help, "fix": null,
    }]))
}
