//! What lists know of runs without reading their folders.
//!
//! The rows of the store are the index of a host that has just started; what it reads later is remembered beside them. An
//! entry is believed only while the document it was made of is the one in the folder: a folder is the truth.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use daemon_run_folder::{Folder, RunId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// How long ago a file must have changed for its stamp to tell the next change: clocks of file systems tick this seldom.
const GRAIN: SignedDuration = SignedDuration::from_millis(100);

/// What tells whether a document changed since an entry was made of it: when its file changed last, in nanoseconds, its
/// bytes, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(i64, u64, u64);

impl Stamp {
    /// Reads the stamp of a folder's document.
    pub(crate) fn of(folder: &Folder) -> Option<Self> {
        let metadata = fs::symlink_metadata(folder.document()).ok()?;
        // Unlike the time of its last write, nobody can set this one back.
        let nanoseconds = metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec();
        Some(Self(nanoseconds, metadata.size(), metadata.ino()))
    }

    /// Reports whether whoever writes the file after `now` leaves another stamp.
    pub(super) fn is_settled(self, now: Timestamp) -> bool {
        let settled = now.as_nanosecond() - GRAIN.as_nanos();
        i128::from(self.0) < settled
    }
}

/// An entry as its text, and what lists choose by.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Shown {
    text: Box<str>,
    chosen: Chosen,
}

/// What lists choose by.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Chosen {
    status: Option<Box<str>>,
    group_id: Option<Box<str>>,
    notified_seq: Option<u64>,
}

impl Shown {
    pub(super) fn of(entry: &Map<String, Value>) -> Self {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(Box::from);
        Self {
            text: serde_json::to_string(entry)
                .expect("every key is text")
                .into(),
            chosen: Chosen {
                status: text("status"),
                group_id: text("group_id"),
                notified_seq: entry.get("notified_seq").and_then(Value::as_u64),
            },
        }
    }

    /// Returns the entry as JSON.
    pub(in super::super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the entry.
    pub(in super::super) fn object(&self) -> Value {
        serde_json::from_str(&self.text).expect("it was written from an object")
    }

    /// Returns its status.
    pub(in super::super) fn status(&self) -> Option<&str> {
        self.chosen.status.as_deref()
    }

    /// Returns the group it was dispatched in.
    pub(in super::super) fn group(&self) -> Option<&str> {
        self.chosen.group_id.as_deref()
    }

    /// Returns the number its end was published under.
    pub(in super::super) fn seq(&self) -> Option<u64> {
        self.chosen.notified_seq
    }

    /// Reports whether the run may change by itself.
    pub(super) fn is_running(&self) -> bool {
        self.status().is_none_or(|status| status == "running")
    }
}

/// An entry with what its document was when it was made.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(super) stamp: Stamp,
    pub(super) shown: Arc<Shown>,
}

/// The entries that are known without reading a folder; all of runs that have ended.
pub(crate) type Index = HashMap<RunId, Known>;

/// What a row of the store holds beside the run's object.
#[derive(Deserialize)]
struct Row<'r> {
    stamp: Stamp,
    #[serde(borrow)]
    entry: &'r RawValue,
}

impl Known {
    /// Reads an entry from a row of the store, of the run with this id below `runs`.
    ///
    /// `None` where the folder must be read: the run had not ended, a release wrote the row that stamped otherwise, or the home
    /// lay elsewhere.
    pub(in super::super) fn of_row(runs: &Path, id: &str, object: &str) -> Option<(RunId, Self)> {
        #[derive(Deserialize)]
        struct Place<'p> {
            #[serde(borrow)]
            path: std::borrow::Cow<'p, str>,
            /// Rows of earlier releases do not tell it.
            #[serde(borrow, rename = "parent_addr")]
            _parent: std::borrow::Cow<'p, str>,
            #[serde(flatten)]
            chosen: Chosen,
        }
        let id: RunId = id.parse().ok()?;
        let row: Row<'_> = serde_json::from_str(object).ok()?;
        let text = row.entry.get();
        let place: Place<'_> = serde_json::from_str(text).ok()?;
        let shown = Shown {
            text: text.into(),
            chosen: place.chosen,
        };
        let is_here = Path::new(&*place.path) == Folder::new(runs, id).path();
        let known = Self {
            stamp: row.stamp,
            shown: Arc::new(shown),
        };
        (is_here && !known.shown.is_running()).then_some((id, known))
    }
}
