//! One run as its folder records it, in a document of any version.

use daemon_run_folder::{Broken, Document, DocumentReading, Folder, RunState};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One run as its folder records it. The entry of `list`, the details of `check`, the row of the store and the wire object are
/// made from this value.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRun {
    folder: Folder,
    document: Document,
    /// Members that `document` does not reproduce: those of a later version, and null for those that a rebuild did not restore.
    verbatim: Map<String, Value>,
}

impl RecordedRun {
    /// Joins a folder and a document of this version.
    pub fn new(folder: &Folder, document: Document) -> Self {
        Self {
            folder: folder.clone(),
            verbatim: document.not_restored(),
            document,
        }
    }

    /// Reads the folder of a run and changes nothing. Without a usable document, the run is restored from the other files.
    ///
    /// `None` if the folder does not exist, or the document exists but cannot be read.
    pub fn read(folder: &Folder, now: Timestamp) -> Option<Self> {
        if !folder.path().is_dir() {
            return None;
        }
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

    /// Returns whether the document was missing, damaged or old, so that only what the other files contain is known.
    pub fn is_rebuilt(&self) -> bool {
        self.document.migration.is_some()
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

/// The problem of a run without a folder.
pub const FOLDER_MISSING: &str = "the run's folder is missing";

/// Returns why parts of a run are unknown, as a sentence for a person; `None` if its document can be read.
pub fn record_problem(folder: &Folder) -> Option<&'static str> {
    if !folder.path().is_dir() {
        return Some(FOLDER_MISSING);
    }
    let reason = match folder.read() {
        Ok(DocumentReading::Known(document)) => document.migration?.reason,
        Ok(DocumentReading::Newer(_)) => return None,
        Ok(DocumentReading::Broken(reason)) => reason.as_str().to_owned(),
        Err(_) => return Some("`daemon.json` of the run cannot be read"),
    };
    Some(if reason == Broken::Missing.as_str() {
        "`daemon.json` was missing: only what the other files contain is known"
    } else if reason == Broken::VersionMismatch.as_str() {
        "`daemon.json` was of an earlier version, and was converted as far as it could be read"
    } else {
        "`daemon.json` was damaged: only what the other files contain is known"
    })
}

/// Returns the time since the last heartbeat of a run's owner; `None` if the folder has no heartbeat file.
pub fn heartbeat_age(folder: &Folder, now: Timestamp) -> Option<SignedDuration> {
    let last = folder.last_heartbeat()?;
    // The clock of the file system may be ahead of the host's.
    Some(now.duration_since(last).max(SignedDuration::ZERO))
}
