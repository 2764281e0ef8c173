//! One run as its folder records it, in a document of any version.

use daemon_run_folder::{Document, DocumentReading, Folder, RunState};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One run as its folder records it. The entry of `list`, the details of `check`, the row of the store and the wire object are
/// made from this value.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRun {
    folder: Folder,
    document: Document,
    /// Members of a document of a later version that `document` does not reproduce; empty for this version.
    verbatim: Map<String, Value>,
}

impl RecordedRun {
    /// Joins a folder and a document of this version.
    pub fn new(folder: &Folder, document: Document) -> Self {
        Self {
            folder: folder.clone(),
            document,
            verbatim: Map::new(),
        }
    }

    /// Reads the folder of a run and changes nothing. Without a usable document, the run is restored from the other files.
    ///
    /// `None` if the document exists but cannot be read.
    pub fn read(folder: &Folder, now: Timestamp) -> Option<Self> {
        let reading = folder.read().ok()?;
        Some(Self::of_reading(folder, reading, now))
    }

    /// Makes the run of what a reading of its folder gave.
    pub fn of_reading(folder: &Folder, reading: DocumentReading, now: Timestamp) -> Self {
        match reading {
            DocumentReading::Known(document) => Self::new(folder, *document),
            DocumentReading::Newer(newer) => Self {
                folder: folder.clone(),
                document: newer.document,
                verbatim: newer.verbatim,
            },
            DocumentReading::Broken(reason) => Self::new(folder, folder.restored(reason, now)),
        }
    }

    /// Returns the folder of the run.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns the document. In one of a later version, fields that this version cannot read are empty.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the members of the document, those of a later version as its file contains them.
    pub fn to_members(&self) -> Map<String, Value> {
        let mut members = self.document.to_members();
        members.extend(self.verbatim.clone());
        members
    }

    /// Returns the JSON of a member of the document: what the file of a later version contains, or else `value`.
    pub fn member(&self, name: &str, value: impl Serialize) -> Value {
        match self.verbatim.get(name) {
            Some(verbatim) => verbatim.clone(),
            None => json!(value),
        }
    }

    /// Returns whether the run has not ended.
    pub fn is_running(&self) -> bool {
        self.document.state == RunState::Running
    }

    /// Returns the JSON of the duration in seconds: the recorded one, or that from the start to `now` while the run is running.
    pub fn elapsed(&self, now: Timestamp) -> Value {
        // A start that this version cannot read gives no duration; the recorded one is then the best there is.
        if !self.is_running() || self.verbatim.contains_key("started_at") {
            return self.member("elapsed_s", self.document.elapsed_s);
        }
        let elapsed = now.duration_since(self.document.started_at);
        json!((elapsed.as_secs_f64().max(0.0) * 1000.0).round() / 1000.0)
    }
}

/// Returns the time since the last heartbeat of a run's owner; `None` if the folder has no heartbeat file.
pub fn heartbeat_age(folder: &Folder, now: Timestamp) -> Option<SignedDuration> {
    let last = folder.last_heartbeat()?;
    // The clock of the file system may be ahead of the host's.
    Some(now.duration_since(last).max(SignedDuration::ZERO))
}
