//! The run folders of a home, read one by one or all at once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

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

/// An entry that an index remembers.
#[derive(Debug, Deserialize)]
pub(crate) struct Remembered {
    stamp: Option<Stamp>,
    entry: Option<Map<String, Value>>,
}

/// Whether a host looks after the folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// One does.
    Host,
    /// None does: what seems to run may be an orphan.
    Nobody,
}

/// Reads the entries of all folders, newest first; those that the index remembers as they are stay unread.
pub(crate) fn entries(
    runs: &Path,
    mut index: HashMap<String, Remembered>,
    keeper: Keeper,
    now: Timestamp,
) -> Result<Vec<Map<String, Value>>, daemon_run_folder::FolderError> {
    let folders = Folder::list(runs)?;
    let mut wanted: Vec<(Folder, Option<Remembered>)> = folders
        .into_iter()
        .map(|folder| {
            let known = index.remove(&folder.id().to_string());
            (folder, known)
        })
        .collect();
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = wanted.len().div_ceil(n_threads).max(1);
    let read = std::thread::scope(|scope| {
        let shares: Vec<_> = wanted
            .chunks_mut(share)
            .map(|share| {
                scope.spawn(move || {
                    let read = |(folder, known): &mut (Folder, Option<Remembered>)| {
                        one(folder, known.take(), keeper, now)
                    };
                    share.iter_mut().filter_map(read).collect::<Vec<_>>()
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
fn one(
    folder: &Folder,
    known: Option<Remembered>,
    keeper: Keeper,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    if let Some(Remembered {
        stamp: Some(stamp),
        entry: Some(entry),
    }) = known
        && entry
            .get("status")
            .is_some_and(|status| status != "running")
        && Stamp::of(folder) == Some(stamp)
    {
        return Some(entry);
    }
    let document = mended(folder, now)?;
    Some(shown(folder, &document, keeper, now))
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
