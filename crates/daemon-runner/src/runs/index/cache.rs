//! The entries that listings know without reading the folders.
//!
//! After a start, the host takes them from the rows of the store; entries that it reads later are added. An entry is used only
//! while the document in the folder has the entry's stamp, because the folder is the record and the row a copy.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use daemon_run_folder::{Folder, RunId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::runs::row::StoredEntry;

/// The time after which another write gives a file another change time: the clocks of file systems advance in steps.
const GRAIN: SignedDuration = SignedDuration::from_millis(100);

/// Identifies one version of a document: the change time of its file in nanoseconds, its size in bytes, and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(i64, u64, u64);

impl Stamp {
    /// Reads the stamp of a folder's document.
    pub(crate) fn of(folder: &Folder) -> Option<Self> {
        let metadata = fs::symlink_metadata(folder.document()).ok()?;
        // The modification time could be set back by a program; the change time cannot.
        let nanoseconds = metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec();
        Some(Self(nanoseconds, metadata.size(), metadata.ino()))
    }

    /// Returns whether every write after `now` gives another stamp.
    pub(super) fn is_settled(self, now: Timestamp) -> bool {
        let settled = now.as_nanosecond() - GRAIN.as_nanos();
        i128::from(self.0) < settled
    }
}

/// The JSON text of an entry, and the members that listings filter by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EntryText {
    text: Box<str>,
    filters: FilterFields,
}

/// The members of an entry that listings filter by.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct FilterFields {
    status: Option<Box<str>>,
    group_id: Option<Box<str>>,
    notified_seq: Option<u64>,
}

impl EntryText {
    pub(super) fn of(entry: &Map<String, Value>) -> Self {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(Box::from);
        Self {
            text: serde_json::to_string(entry)
                .expect("every key is text")
                .into(),
            filters: FilterFields {
                status: text("status"),
                group_id: text("group_id"),
                notified_seq: entry.get("notified_seq").and_then(Value::as_u64),
            },
        }
    }

    /// Returns the entry as JSON text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the entry as a JSON object.
    pub(crate) fn object(&self) -> Value {
        serde_json::from_str(&self.text).expect("it was written from an object")
    }

    /// Returns the state of the run, as the entry contains it.
    pub(crate) fn status(&self) -> Option<&str> {
        self.filters.status.as_deref()
    }

    /// Returns the group of the run; `None` for an attempt.
    pub(crate) fn group(&self) -> Option<&str> {
        self.filters.group_id.as_deref()
    }

    /// Returns the sequence number under which the end of the run was published.
    pub(crate) fn seq(&self) -> Option<u64> {
        self.filters.notified_seq
    }

    /// Returns whether the run may change; an entry without a status counts as one that may.
    pub(super) fn is_running(&self) -> bool {
        self.status().is_none_or(|status| status == "running")
    }
}

/// An entry, and the stamp of the document that it was made from.
#[derive(Clone, Debug)]
pub(crate) struct CachedEntry {
    pub(super) stamp: Stamp,
    pub(super) entry: Arc<EntryText>,
}

/// The entries that are known without reading a folder, all of them of runs that have ended.
pub(crate) type RunIndex = HashMap<RunId, CachedEntry>;

impl CachedEntry {
    /// Reads an entry from a row of the store, of the run with this id below `runs`.
    ///
    /// `None` if the folder must be read instead: the run had not ended, an earlier release wrote the row, or the home has been
    /// moved since.
    pub(crate) fn of_row(runs: &Path, id: &str, object: &str) -> Option<(RunId, Self)> {
        #[derive(Deserialize)]
        struct EntryPlace<'p> {
            #[serde(borrow)]
            path: std::borrow::Cow<'p, str>,
            /// Rows of earlier releases do not contain it.
            #[serde(borrow, rename = "parent_addr")]
            _parent: std::borrow::Cow<'p, str>,
            #[serde(flatten)]
            filters: FilterFields,
        }
        let id: RunId = id.parse().ok()?;
        let row: StoredEntry<'_> = serde_json::from_str(object).ok()?;
        let text = row.entry.get();
        let place: EntryPlace<'_> = serde_json::from_str(text).ok()?;
        let entry = EntryText {
            text: text.into(),
            filters: place.filters,
        };
        // The entry contains absolute paths, which are wrong after a move of the home.
        let is_here = Path::new(&*place.path) == Folder::new(runs, id).path();
        let cached = Self {
            stamp: row.stamp,
            entry: Arc::new(entry),
        };
        (is_here && !cached.entry.is_running()).then_some((id, cached))
    }
}
