//! Reading run folders, whoever writes them meanwhile.

pub(crate) mod orphan;

use std::fs;
use std::io;
use std::path::Path;

use daemon_lifecycle::RunId;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value};

use crate::disk::{Action, FolderError, failed, read_tail};
use crate::document::{DATA_VERSION, Document};
use crate::folder::Folder;

/// What the `daemon.json` of a folder holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// A document of the version this crate writes.
    Known(Box<Document>),
    /// A document of a later version; it is shown, and never rewritten.
    Newer(Map<String, Value>),
    /// No usable document.
    Broken(Broken),
}

/// Why a folder has no usable document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// There is no file.
    Missing,
    /// The file is not JSON, or a field has the wrong type.
    Invalid,
    /// The file is JSON, but no object.
    NotObject,
    /// The version is older than this crate's, or is none.
    VersionMismatch,
}

impl Broken {
    /// Returns the word that a rebuilt document gives as its reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "daemon_json_missing",
            Self::Invalid => "daemon_json_invalid",
            Self::NotObject => "daemon_json_not_object",
            Self::VersionMismatch => "daemon_json_data_version_mismatch",
        }
    }
}

/// Lines of an event log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventLog {
    /// The last ones, oldest first.
    pub events: Vec<Map<String, Value>>,
    /// How many the log holds; torn lines do not count.
    pub total: usize,
}

impl Folder {
    /// Lists the folders below the directory that holds all of them, newest first.
    ///
    /// What is not named like a run is left out, and so is everything when the directory is not there.
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

    /// Reports whether the folder is only reserved so far: its run has written nothing.
    pub fn is_blank(&self) -> bool {
        [self.document(), self.lock(), self.events()]
            .iter()
            .all(|path| !path.exists())
    }

    /// Reads `daemon.json`: the old one or the new one, whatever its writer is doing.
    ///
    /// # Errors
    /// The file is there but could not be read.
    pub fn read(&self) -> Result<Reading, FolderError> {
        let path = self.document();
        match fs::read(&path) {
            Ok(text) => Ok(reading(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Reading::Broken(Broken::Missing))
            }
            Err(error) => Err(failed(Action::Read, &path)(error)),
        }
    }

    /// Reads the last events of the log.
    ///
    /// # Errors
    /// The log is there but could not be read.
    pub fn last_events(&self, most: usize) -> Result<EventLog, FolderError> {
        let path = self.events();
        match fs::read(&path) {
            Ok(text) => {
                // A log may have tens of thousands of lines, of which a few are asked for: the others are only counted.
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

    /// Returns when the owner last showed that it lives; `None` without a heartbeat.
    pub fn last_heartbeat(&self) -> Option<Timestamp> {
        let modified = fs::symlink_metadata(self.heartbeat())
            .ok()?
            .modified()
            .ok()?;
        Timestamp::try_from(modified).ok()
    }

    /// Returns whether a writer holds the folder.
    ///
    /// # Errors
    /// The lock is there but could not be asked.
    pub fn is_live(&self) -> Result<bool, FolderError> {
        let path = self.lock();
        let file = match fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file.map_err(failed(Action::Lock, &path))?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(failed(Action::Lock, &path)(error.into())),
        }
    }

    pub(crate) fn event_tail(&self, most: u64) -> (Vec<Map<String, Value>>, bool) {
        // A log that cannot be read tells nothing, like one that is not there.
        read_tail(&self.events(), most)
            .map(|(text, length)| (rows(&text), length <= most))
            .unwrap_or_default()
    }
}

fn reading(text: &[u8]) -> Reading {
    let value = match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Reading::Broken(Broken::NotObject),
        Err(_) => return Reading::Broken(Broken::Invalid),
    };
    match value.get("data_version").and_then(Value::as_u64) {
        Some(DATA_VERSION) => serde_json::from_value(Value::Object(value))
            .map_or(Reading::Broken(Broken::Invalid), |document| {
                Reading::Known(Box::new(document))
            }),
        Some(version) if version > DATA_VERSION => Reading::Newer(value),
        _ => Reading::Broken(Broken::VersionMismatch),
    }
}

/// Reads JSON lines, skipping what is no object.
pub(crate) fn rows(text: &[u8]) -> Vec<Map<String, Value>> {
    text.split(|byte| *byte == b'\n').filter_map(row).collect()
}

fn row(line: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(line).ok()
}

/// Returns whether a line is an object, without keeping anything of it.
fn is_row(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}
