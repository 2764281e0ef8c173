//! Reading run folders while another process may be writing them.

pub(crate) mod orphan;

use std::fs;
use std::io;
use std::path::Path;

use daemon_lifecycle::{RunId, RunState};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value};

use crate::disk::{Action, FolderError, failed, read_tail};
use crate::document::{DATA_VERSION, Document};
use crate::folder::Folder;

/// The content of `daemon.json` as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentReading {
    /// A document of the version this crate writes.
    Known(Box<Document>),
    /// A document of a later version. It may be shown, but is never rewritten.
    Newer(Box<NewerDocument>),
    /// There is no usable document; [`Folder::rebuild`] makes one.
    Broken(Broken),
}

/// A document of a later version, as far as this version can read it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewerDocument {
    /// The fields whose type this version knows. The others have the values of a run of which nothing is known: the state is
    /// [`RunState::Unknown`].
    pub document: Document,
    /// The fields that [`NewerDocument::document`] does not reproduce, by name, as the file contains them; null for one that the
    /// file does not contain. With them the file is shown unchanged.
    pub verbatim: Map<String, Value>,
}

impl NewerDocument {
    fn of(id: RunId, file: &Map<String, Value>) -> Self {
        let blank = Document::blank(id, RunState::Unknown, id.started());
        let document = blank.with_fields(file.clone());
        let read = document.to_members();
        let absent = read.keys().filter(|key| !file.contains_key(*key));
        let other = file
            .iter()
            .filter(|(key, value)| read.get(*key) != Some(value));
        // Compared by value, not by type: a member of an object that this version drops counts as not reproduced, too.
        let verbatim = other
            .map(|(key, value)| (key.clone(), value.clone()))
            .chain(absent.map(|key| (key.clone(), Value::Null)))
            .collect();
        Self { document, verbatim }
    }
}

/// Why a folder has no usable document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// The file does not exist.
    Missing,
    /// The file is not JSON, or a field has the wrong type.
    Invalid,
    /// The file is JSON, but not an object.
    NotObject,
    /// The version is older than [`DATA_VERSION`], or is not a number.
    VersionMismatch,
}

impl Broken {
    /// Returns the word that a rebuilt document records as its reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "daemon_json_missing",
            Self::Invalid => "daemon_json_invalid",
            Self::NotObject => "daemon_json_not_object",
            Self::VersionMismatch => "daemon_json_data_version_mismatch",
        }
    }
}

/// The last lines of an event log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventLog {
    /// The last events, oldest first.
    pub events: Vec<Map<String, Value>>,
    /// The number of events in the whole log, without torn lines.
    pub total: usize,
}

impl Folder {
    /// Lists the run folders in the directory `daemons`, newest first.
    ///
    /// Entries whose name is not a run id are skipped. A directory that does not exist has no folders.
    ///
    /// # Errors
    /// The directory could not be read.
    pub fn list(daemons: &Path) -> Result<Vec<Self>, FolderError> {
        let entries = match fs::read_dir(daemons) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed(Action::Read, daemons))?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed(Action::Read, daemons))?;
            let id = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<RunId>().ok());
            folders.extend(id.map(|id| Self::new(daemons, id)));
        }
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.id()));
        Ok(folders)
    }

    /// Returns whether the folder is only reserved: the run has written no file.
    pub fn is_blank(&self) -> bool {
        [self.document(), self.lock(), self.events()]
            .iter()
            .all(|path| !path.exists())
    }

    /// Reads `daemon.json`. During a write this returns the old document or the new one.
    ///
    /// # Errors
    /// The file exists but could not be read.
    pub fn read(&self) -> Result<DocumentReading, FolderError> {
        let path = self.document();
        match fs::read(&path) {
            Ok(text) => Ok(reading(self.id(), &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(DocumentReading::Broken(Broken::Missing))
            }
            Err(error) => Err(failed(Action::Read, &path)(error)),
        }
    }

    /// Reads the last `most` events of the log.
    ///
    /// # Errors
    /// The log exists but could not be read.
    pub fn last_events(&self, most: usize) -> Result<EventLog, FolderError> {
        let path = self.events();
        match fs::read(&path) {
            Ok(text) => {
                // A log can have tens of thousands of lines. Only the returned ones are parsed into maps; the others are counted.
                let mut lines = text.rsplit(|byte| *byte == b'\n');
                let mut events: Vec<_> = lines.by_ref().filter_map(row).take(most).collect();
                events.reverse();
                let total = events.len() + lines.filter(|line| is_row(line)).count();
                Ok(EventLog { events, total })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EventLog::default()),
            Err(error) => Err(failed(Action::Read, &path)(error)),
        }
    }

    /// Returns the time of the last heartbeat of the owner; `None` if there is no heartbeat file.
    pub fn last_heartbeat(&self) -> Option<Timestamp> {
        let modified = fs::symlink_metadata(self.heartbeat())
            .ok()?
            .modified()
            .ok()?;
        Timestamp::try_from(modified).ok()
    }

    /// Returns whether a writer holds the lock of the folder.
    ///
    /// # Errors
    /// The lock file exists but could not be opened or tested.
    pub fn is_live(&self) -> Result<bool, FolderError> {
        let path = self.lock();
        let file = match fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file.map_err(failed(Action::Lock, &path))?,
        };
        // A shared lock, so that two readers that test at the same time do not take each other for a writer.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(failed(Action::Lock, &path)(error.into())),
        }
    }

    pub(crate) fn event_tail(&self, most: u64) -> (Vec<Map<String, Value>>, bool) {
        // The callers recover what they can: an unreadable log is treated like a missing one.
        read_tail(&self.events(), most)
            .map(|(text, length)| (rows(&text), length <= most))
            .unwrap_or_default()
    }
}

fn reading(id: RunId, text: &[u8]) -> DocumentReading {
    let value = match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return DocumentReading::Broken(Broken::NotObject),
        Err(_) => return DocumentReading::Broken(Broken::Invalid),
    };
    match value.get("data_version").and_then(Value::as_u64) {
        Some(DATA_VERSION) => serde_json::from_value(Value::Object(value))
            .map_or(DocumentReading::Broken(Broken::Invalid), |document| {
                DocumentReading::Known(Box::new(document))
            }),
        Some(version) if version > DATA_VERSION => {
            DocumentReading::Newer(Box::new(NewerDocument::of(id, &value)))
        }
        _ => DocumentReading::Broken(Broken::VersionMismatch),
    }
}

/// Parses JSON lines and skips every line that is not an object, such as a torn one.
pub(crate) fn rows(text: &[u8]) -> Vec<Map<String, Value>> {
    text.split(|byte| *byte == b'\n').filter_map(row).collect()
}

fn row(line: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(line).ok()
}

/// Returns whether a line is a JSON object, without building it.
fn is_row(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}
