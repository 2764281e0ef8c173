//! Builds the row that the store keeps of a checked daemon file.

use daemon_engine::Gate;
use daemon_event::{DaemonKey, RepoName};
use daemon_repo::DaemonSource;
use daemon_store::{DaemonRow, Modes, ScheduleText, Validity};
use daemon_validate::visible;
use jiff::Timestamp;
use serde_json::Value;

use crate::driver::Checked;
use daemon_registry::{Definition, RegisteredFile};

/// The origin of a daemon file, and the zone of its schedule.
#[derive(Clone, Debug)]
pub struct FileOrigin {
    /// The repository that contains the file.
    pub repo: RepoName,
    /// The id of the commit; empty for a working tree.
    pub commit: String,
    /// The IANA name of the zone.
    pub zone: String,
    /// The time at which the file was read.
    pub at: Timestamp,
}

/// Builds the row of a daemon; `None` if the name of its directory is not a valid id.
pub fn row(source: &DaemonSource, checked: Checked, origin: FileOrigin) -> Option<DaemonRow> {
    // By the name of the directory: an invalid file has a row too, and two of them can claim one `id`.
    let id = source.dir.as_str().parse().ok()?;
    let support = source.support.files.iter().map(|file| RegisteredFile {
        path: file.path.as_str().to_owned(),
        bytes: file.size,
        executable: file.executable,
    });
    let definition = Definition {
        v: 1,
        watch: checked.watch,
        support: support.collect(),
    };
    let schedule = checked.schedule.map(|expression| ScheduleText {
        expression,
        zone: origin.zone,
    });
    Some(DaemonRow {
        key: DaemonKey {
            repo: origin.repo,
            id,
        },
        path: source.path(),
        rev: source.rev.as_str().to_owned(),
        commit: origin.commit,
        purpose: checked.purpose,
        validity: if checked.is_registrable {
            Validity::Valid
        } else {
            Validity::Invalid
        },
        diagnostics: checked.diagnostics.to_string(),
        modes: Modes {
            watch: !definition.watch.is_empty(),
            schedule: schedule.is_some(),
        },
        definition: serde_json::to_string(&definition).expect("a definition is representable"),
        schedule,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: origin.at,
    })
}

/// Logs the first error of an invalid daemon.
pub(crate) fn warn_if_invalid(row: &DaemonRow) {
    if row.validity == Validity::Valid {
        return;
    }
    let diagnostics: Value = serde_json::from_str(&row.diagnostics).unwrap_or_default();
    let all = diagnostics.as_array().into_iter().flatten();
    let errors: Vec<&Value> = all.filter(|one| one["severity"] == "error").collect();
    // The strings are from the repository and may contain characters that a log would hide.
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    let first = errors.first().map(|error| {
        let line = &error["start"]["line"];
        format!(
            ":{line}: error[{}]: {}",
            text(&error["code"]),
            text(&error["message"])
        )
    });
    let more = errors.len().saturating_sub(1);
    tracing::warn!(
        repo = %row.key.repo, more_errors = more,
        "a daemon is invalid and does not wake: {}{}", visible(&row.path), first.unwrap_or_default()
    );
}
