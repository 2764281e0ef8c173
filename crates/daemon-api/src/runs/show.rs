//! Reads the logs and file names of run folders.

use std::path::Path;

use daemon_records::record_problem;
use daemon_run_folder::{Folder, FolderError, LogPlace};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The maximum number of events of a timeline.
const MAX_EVENTS: usize = 10_000;
/// The maximum size of a part of a log, in bytes.
const MAX_PART: u64 = 1 << 20;

/// One line of a run's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TimelineEntry {
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) detail: String,
}

pub(super) fn folder(runs: &Path, id: &str) -> Option<Folder> {
    // Only a valid run id names a folder, so no path can leave the directory of runs.
    Some(Folder::new(runs, id.parse().ok()?))
}

impl TimelineEntry {
    /// Creates the line of an event of the log.
    pub(crate) fn of(event: &Map<String, Value>) -> Self {
        let text = |name: &str| {
            let text = event.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let rest = event
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "ts" | "event"));
        let detail = rest.map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        });
        Self {
            at: text("ts"),
            kind: text("event"),
            detail: detail.collect::<Vec<_>>().join(" "),
        }
    }
}

/// What `run` shows of a folder.
#[derive(Debug, Default)]
pub(crate) struct FolderReading {
    /// Why parts of the run are unknown.
    pub(crate) problem: Option<&'static str>,
    pub(crate) timeline: Vec<TimelineEntry>,
    /// The names of the files.
    pub(crate) files: Vec<String>,
}

/// Reads the timeline of a run and the names of its files.
pub(crate) fn read(runs: &Path, id: &str) -> FolderReading {
    let Some(folder) = folder(runs, id) else {
        return FolderReading::default();
    };
    let log = folder.last_events(MAX_EVENTS).unwrap_or_default();
    FolderReading {
        problem: record_problem(&folder),
        timeline: log.events.iter().map(TimelineEntry::of).collect(),
        files: files(folder.path(), folder.path()),
    }
}

/// Reads the log of a run after a place; returns the lines and the place after them.
///
/// # Errors
/// If the log exists but cannot be read.
pub(crate) fn read_after(
    runs: &Path,
    id: &str,
    place: LogPlace,
) -> Result<(Vec<TimelineEntry>, LogPlace), FolderError> {
    let Some(folder) = folder(runs, id) else {
        return Ok((Vec::new(), place));
    };
    let part = folder.log_after(place, MAX_PART)?;
    let lines = part.events.iter().chain(&part.output);
    Ok((lines.map(TimelineEntry::of).collect(), part.next))
}

pub(super) fn files(root: &Path, directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(entries) = std::fs::read_dir(directory) else {
        return names;
    };
    // Entries that cannot be read are left out: `retain.runs` may be removing the folder.
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            // The child's own home and the directory with secrets are not shown.
            Ok(kind)
                if kind.is_dir()
                    && entry.file_name() != "session"
                    && entry.file_name() != "private" =>
            {
                names.extend(files(root, &path));
            }
            Ok(kind) if kind.is_file() => {
                names.extend(
                    path.strip_prefix(root)
                        .ok()
                        .map(|path| path.display().to_string()),
                );
            }
            _ => {}
        }
    }
    names.sort();
    names
}
