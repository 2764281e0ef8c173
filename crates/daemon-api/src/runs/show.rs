//! Showing the logs and files of run folders.

use std::path::Path;

use daemon_run_folder::{Folder, FolderError, LogPlace};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// How many events of a log are shown at most.
const MAX_EVENTS: usize = 10_000;
/// How many bytes of a log are told at once.
const MAX_PART: u64 = 1 << 20;

/// One line of a run's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TimelineEntry {
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) detail: String,
}

pub(super) fn folder(runs: &Path, id: &str) -> Option<Folder> {
    Some(Folder::new(runs, id.parse().ok()?))
}

impl TimelineEntry {
    /// Makes the line that tells of an event of a log.
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

/// Reads the timeline of a run and the names of its files.
pub(crate) fn read(runs: &Path, id: &str) -> (Vec<TimelineEntry>, Vec<String>) {
    let Some(folder) = folder(runs, id) else {
        return (Vec::new(), Vec::new());
    };
    let log = folder.last_events(MAX_EVENTS).unwrap_or_default();
    let timeline = log.events.iter().map(TimelineEntry::of);
    (timeline.collect(), files(folder.path(), folder.path()))
}

/// Reads what a run's log holds after a place, and tells where that ends.
///
/// # Errors
/// The log is there but could not be read.
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
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            // Neither the child's own home nor what holds secrets is anybody's business.
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
