//! The run folders of a home, read one by one or all at once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use daemon_run_folder::{Document, Folder, Reading};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::entry;

/// The age of a heartbeat from which a run without a host may be an orphan.
const SUSPECT: SignedDuration = SignedDuration::from_secs(30);

/// What tells whether a document changed since an entry was made of it: when it was written, in nanoseconds, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(i64, u64);

impl Stamp {
    /// Reads the stamp of a folder's document.
    pub(crate) fn of(folder: &Folder) -> Option<Self> {
        let metadata = fs::symlink_metadata(folder.document()).ok()?;
        let nanoseconds = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
        Some(Self(nanoseconds, metadata.size()))
    }
}

/// An entry with what its document was when it was made.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    stamp: Option<Stamp>,
    pub(super) entry: Arc<Map<String, Value>>,
}

/// The entries that are known without reading a folder, by the names of the folders.
pub(crate) type Index = HashMap<String, Remembered>;

impl Remembered {
    /// Reads an entry from a row of the store; a row of an earlier release holds none.
    pub(super) fn of_row(object: &str) -> Option<Self> {
        let row: Row = serde_json::from_str(object).ok()?;
        Some(Self {
            stamp: Some(row.stamp),
            entry: Arc::new(row.entry),
        })
    }

    fn is_running(&self) -> bool {
        self.entry
            .get("status")
            .is_none_or(|status| status == "running")
    }
}

/// What a row of the store holds beside the run's object.
#[derive(Deserialize)]
struct Row {
    stamp: Stamp,
    entry: Map<String, Value>,
}

/// Makes an index of what was read; what still runs is read again the next time.
pub(super) fn index(read: &[(Folder, Remembered)]) -> Index {
    let still = read.iter().filter(|(_, known)| !known.is_running());
    still
        .map(|(folder, known)| (folder.id().to_string(), known.clone()))
        .collect()
}

/// Whether a host looks after the folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// One does.
    Host,
    /// None does: what seems to run may be an orphan.
    Nobody,
}

/// Reads the entries of all folders, newest first; those that the index knows as they are stay unread.
pub(crate) fn entries(
    runs: &Path,
    index: &Index,
    keeper: Keeper,
    now: Timestamp,
) -> Result<Vec<(Folder, Remembered)>, daemon_run_folder::FolderError> {
    let folders = Folder::list(runs)?;
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = folders.len().div_ceil(n_threads).max(1);
    let read = std::thread::scope(|scope| {
        let shares: Vec<_> = folders
            .chunks(share)
            .map(|share| {
                scope.spawn(move || {
                    let read = |folder: &Folder| {
                        let known = one(folder, index, keeper, now)?;
                        Some((folder.clone(), known))
                    };
                    share.iter().filter_map(read).collect::<Vec<_>>()
                })
            })
            .collect();
        let read = shares.into_iter().map(|share| {
            share
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        read.flatten().collect()
    });
    Ok(read)
}

/// Makes the entry of a folder; one that cannot be read has none.
fn one(folder: &Folder, index: &Index, keeper: Keeper, now: Timestamp) -> Option<Remembered> {
    // Read before the document is, so that a change in between is noticed the next time.
    let stamp = Stamp::of(folder);
    if let Some(known) = index.get(&folder.id().to_string())
        && stamp.is_some()
        && known.stamp == stamp
        && !known.is_running()
    {
        return Some(known.clone());
    }
    let document = mended(folder, now)?;
    Some(Remembered {
        stamp,
        entry: Arc::new(shown(folder, &document, keeper, now)),
    })
}

/// Makes the entry of a document.
pub(crate) fn shown(
    folder: &Folder,
    document: &Map<String, Value>,
    keeper: Keeper,
    now: Timestamp,
) -> Map<String, Value> {
    let mut entry = entry::of(document, folder.path(), now);
    let is_running = entry
        .get("status")
        .is_some_and(|status| status == "running");
    let is_silent = || heartbeat_age(folder, now).is_none_or(|age| age > SUSPECT);
    if keeper == Keeper::Nobody && is_running && is_silent() {
        entry.insert("orphan_suspected".to_owned(), json!(true));
    }
    entry
}

/// Returns how long ago a run showed that it lives.
pub(crate) fn heartbeat_age(folder: &Folder, now: Timestamp) -> Option<SignedDuration> {
    let last = folder.last_heartbeat()?;
    Some(now.duration_since(last).max(SignedDuration::ZERO))
}

/// Reads the document of a folder, and writes it anew where it is missing, spoilt or old and nobody writes it.
fn mended(folder: &Folder, now: Timestamp) -> Option<Map<String, Value>> {
    match folder.read() {
        Ok(Reading::Broken(reason)) if !folder.is_live().unwrap_or(true) => {
            // A folder that cannot be written is shown as it would be.
            let rebuilt = folder
                .rebuild(reason, now)
                .unwrap_or_else(|_| folder.restored(reason, now));
            members(&rebuilt)
        }
        _ => seen(folder, now),
    }
}

/// Reads the document of a folder, and changes nothing.
pub(crate) fn seen(folder: &Folder, now: Timestamp) -> Option<Map<String, Value>> {
    match folder.read().ok()? {
        Reading::Known(document) => members(&document),
        Reading::Newer(map) => Some(map),
        Reading::Broken(reason) => members(&folder.restored(reason, now)),
    }
}

fn members(document: &Document) -> Option<Map<String, Value>> {
    match serde_json::to_value(document) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}
