//! Rebuilding `daemon.json` from the other files of a folder.

use std::fs;

use daemon_lifecycle::{ErrorClass, RunState};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::disk::{Durability, FolderError, write_whole};
use crate::document::{Document, Migration};
use crate::error::RunError;
use crate::folder::Folder;
use crate::reader::{Broken, DocumentReading};
use crate::time::second;
use crate::writer::lock;

/// Bytes of the event log that are read.
const TAIL: u64 = 64 << 10;
const PREVIEW: usize = 200;

impl Folder {
    /// Rebuilds the document from the other files and writes it.
    ///
    /// - The last 64 KiB of the event log give the state, the times and the error. Without a terminal event, `result.txt` means
    ///   that the run was `done`; without that, the state is `unknown`.
    /// - `.prompt` after `Task:`, or else the old document, gives the task.
    /// - Readable fields of the old document and unknown keys are kept. Other fields are empty.
    ///
    /// If the document has become readable meanwhile, it is returned unchanged.
    ///
    /// # Errors
    /// A writer holds the lock of the folder, or the document could not be read or written.
    pub fn rebuild(&self, reason: Broken, now: Timestamp) -> Result<Document, FolderError> {
        let _lock = lock(self)?;
        // The writer may have finished its start between the read that failed and the lock.
        if let DocumentReading::Known(document) = self.read()? {
            return Ok(*document);
        }
        let document = self.restored(reason, now);
        write_whole(
            &self.document(),
            document.to_json().as_bytes(),
            Durability::Synced,
        )?;
        Ok(document)
    }

    /// Returns the document that [`Folder::rebuild`] would write, and writes nothing.
    pub fn restored(&self, reason: Broken, now: Timestamp) -> Document {
        over(self.remembered(), self.old_object(), reason, now)
    }

    /// Returns the old document if it is a JSON object.
    fn old_object(&self) -> Map<String, Value> {
        let text = fs::read(self.document()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Makes a document from the other files, without the old document.
    fn remembered(&self) -> Document {
        let (events, is_whole) = self.event_tail(TAIL);
        let end = End::read(&events);
        let result = fs::read_to_string(self.result()).ok();
        let state = match (&end, &result) {
            (Some(end), _) => end.state,
            (None, Some(_)) => RunState::Done,
            (None, None) => RunState::Unknown,
        };
        let started_at = events
            .first()
            .filter(|_| is_whole)
            .and_then(time_of)
            .unwrap_or_else(|| self.id().started());
        let finished_at = events
            .last()
            .and_then(time_of)
            .or_else(|| self.last_heartbeat());
        let elapsed_s = finished_at.map_or(0.0, |end| crate::time::elapsed(started_at, end));
        let mut document = Document::blank(self.id(), state, started_at);
        document.finished_at = finished_at.map(second);
        document.elapsed_s = end
            .as_ref()
            .and_then(|end| end.elapsed_s)
            .unwrap_or(elapsed_s);
        document.error = end.and_then(|end| end.error);
        document.task = self.task_from_prompt().unwrap_or_default();
        if let Some(text) = result {
            document.result_path = Some(self.result().to_string_lossy().into_owned());
            if state == RunState::Done {
                document.result_preview = Some(text.chars().take(PREVIEW).collect());
            }
        }
        document
    }

    fn task_from_prompt(&self) -> Option<String> {
        let prompt = fs::read(self.prompt()).ok()?;
        let prompt = String::from_utf8_lossy(&prompt);
        let task = match prompt.strip_prefix("Task:") {
            Some(task) => task,
            None => prompt.rsplit_once("\nTask:")?.1,
        };
        Some(task.trim().to_owned())
    }
}

impl Document {
    /// Returns the members that a rebuild could not restore, each with null; none for a document that was not rebuilt.
    ///
    /// A rebuilt document has empty values for them, because its format has no null there.
    pub fn not_restored(&self) -> Map<String, Value> {
        let (Some(_), Ok(id)) = (&self.migration, self.run_id.parse()) else {
            return Map::new();
        };
        let blank = Self::blank(id, self.state, self.started_at).to_members();
        let found = self.to_members();
        let known = ["data_version", "handle", "run_id", "state", "started_at"];
        let unknown = blank.into_iter().filter(|(name, value)| {
            !known.contains(&name.as_str()) && found.get(name) == Some(value)
        });
        unknown.map(|(name, _)| (name, Value::Null)).collect()
    }
}

/// The end of a run, as the last terminal event of its log records it.
struct End {
    state: RunState,
    elapsed_s: Option<f64>,
    error: Option<RunError>,
}

impl End {
    fn read(events: &[Map<String, Value>]) -> Option<Self> {
        events.iter().rev().find_map(|row| {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            let state = match text("event")? {
                "daemon_done" => RunState::Done,
                "daemon_error" => RunState::Failed,
                "daemon_cancelled" => RunState::Cancelled,
                "daemon_timeout" => RunState::Timeout,
                _ => return None,
            };
            let error = (state == RunState::Failed).then(|| RunError {
                kind: text("exception").unwrap_or("unknown").to_owned(),
                message: text("message").unwrap_or_default().to_owned(),
                // The log does not contain the class. No attempt follows a rebuilt run, so the class only must not promise one.
                class: ErrorClass::Final,
            });
            let elapsed_s = row.get("elapsed_s").and_then(Value::as_f64);
            Some(Self {
                state,
                elapsed_s,
                error,
            })
        })
    }
}

fn time_of(row: &Map<String, Value>) -> Option<Timestamp> {
    row.get("ts")?.as_str()?.parse().ok()
}

/// Merges the old object into the document made from the other files. Fields that the other files determine are not taken from it.
fn over(remembered: Document, old: Map<String, Value>, reason: Broken, now: Timestamp) -> Document {
    let known = [
        "data_version",
        "handle",
        "run_id",
        "child",
        "state",
        "started_at",
        "finished_at",
        "elapsed_s",
        "error",
        "result_path",
        "result_preview",
        "current_tool",
        "migration",
    ];
    let has_task = !remembered.task.is_empty();
    let kept = old
        .into_iter()
        .filter(|(key, _)| !(known.contains(&key.as_str()) || key == "task" && has_task));
    let mut document = remembered.with_fields(kept);
    document.migration = Some(Migration {
        reason: reason.as_str().to_owned(),
        rebuilt_at: second(now),
        source: "daemon_list_best_effort".to_owned(),
    });
    document
}
