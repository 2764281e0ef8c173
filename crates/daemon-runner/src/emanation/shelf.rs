//! The run folders of a home, read one by one or all at once.

mod index;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use daemon_run_folder::{Document, Folder, FolderError, Reading, RunId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::entry;

pub(super) use index::Shown;
pub(crate) use index::{Index, Known, Stamp};

/// The age of a heartbeat from which a run without a host may be an orphan.
const SUSPECT: SignedDuration = SignedDuration::from_secs(30);
/// How many threads read folders: more than there are processors, since a disk answers several at once.
const N_READERS: usize = 8;
/// How many folders a thread takes at a time.
const SHARE: usize = 64;

/// Whether a host looks after the folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// One does.
    Host,
    /// None does: what seems to run may be an orphan.
    Nobody,
}

/// The entry of a folder as it is.
#[derive(Debug)]
pub(super) struct Seen {
    id: RunId,
    /// `None` where the entry may be another the next time, whatever becomes of the document.
    stamp: Option<Stamp>,
    pub(super) shown: Arc<Shown>,
}

/// Makes an index of what was read; the rest is read again the next time.
pub(super) fn index(read: &[Seen]) -> Index {
    let lasting = read.iter().filter_map(|seen| {
        let known = Known {
            stamp: seen.stamp?,
            shown: Arc::clone(&seen.shown),
        };
        Some((seen.id, known))
    });
    lasting.collect()
}

/// Reads the entries of all folders, newest first; those that the index knows as they are stay unread.
pub(super) fn entries(
    runs: &Path,
    index: &Index,
    keeper: Keeper,
    now: Timestamp,
) -> Result<Vec<Seen>, FolderError> {
    let folders = Folder::list(runs)?;
    let shares: Vec<&[Folder]> = folders.chunks(SHARE).collect();
    let next = AtomicUsize::new(0);
    let read_shares = || {
        let mut read = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(at) else {
                return read;
            };
            let seen = share
                .iter()
                .filter_map(|folder| one(folder, index, keeper, now));
            read.push((at, seen.collect::<Vec<_>>()));
        }
    };
    let mut read = thread::scope(|scope| {
        let n_helpers = N_READERS.min(shares.len()).saturating_sub(1);
        let helpers: Vec<_> = (0..n_helpers).map(|_| scope.spawn(read_shares)).collect();
        let mut read = read_shares();
        for helper in helpers {
            let more = helper.join();
            read.extend(more.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        read
    });
    read.sort_unstable_by_key(|(at, _)| *at);
    Ok(read.into_iter().flat_map(|(_, seen)| seen).collect())
}

/// Makes the entry of a folder; one that cannot be read has none.
fn one(folder: &Folder, index: &Index, keeper: Keeper, now: Timestamp) -> Option<Seen> {
    // Read before the document is, so that a change in between is noticed the next time.
    let stamp = Stamp::of(folder);
    let known = index.get(&folder.id());
    if let Some(known) = known.filter(|known| Some(known.stamp) == stamp) {
        return Some(Seen {
            id: folder.id(),
            stamp,
            shown: Arc::clone(&known.shown),
        });
    }
    let (document, source) = mended(folder, now)?;
    let shown = Shown::of(&shown(folder, &document, keeper, now));
    let is_lasting = source == Source::Document && !shown.is_running();
    Some(Seen {
        id: folder.id(),
        stamp: stamp.filter(|stamp| is_lasting && stamp.is_settled(now)),
        shown: Arc::new(shown),
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
pub fn heartbeat_age(folder: &Folder, now: Timestamp) -> Option<SignedDuration> {
    let last = folder.last_heartbeat()?;
    Some(now.duration_since(last).max(SignedDuration::ZERO))
}

/// How long a folder without any file is taken for one whose run is about to begin.
const STARTING: SignedDuration = SignedDuration::from_secs(60);

/// What an entry was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The folder's document.
    Document,
    /// The other files, in place of a document that tells nothing.
    Remains,
}

/// Reads the document of a folder, and writes it anew where it is missing, spoilt or old and nobody writes it.
fn mended(folder: &Folder, now: Timestamp) -> Option<(Map<String, Value>, Source)> {
    match folder.read().ok()? {
        Reading::Broken(_) if is_starting(folder, now) => None,
        Reading::Broken(reason) if !folder.is_live().unwrap_or(true) => {
            // A folder that cannot be written is shown as it would be.
            let rebuilt = folder
                .rebuild(reason, now)
                .unwrap_or_else(|_| folder.restored(reason, now));
            Some((members(&rebuilt)?, Source::Remains))
        }
        reading => of_reading(folder, reading, now),
    }
}

/// Reports whether a folder was made a moment ago for a run that has not begun.
fn is_starting(folder: &Folder, now: Timestamp) -> bool {
    now.duration_since(folder.id().started()) < STARTING && folder.is_blank()
}

/// Reads the document of a folder, and changes nothing.
pub fn seen(folder: &Folder, now: Timestamp) -> Option<Map<String, Value>> {
    let (document, _) = of_reading(folder, folder.read().ok()?, now)?;
    Some(document)
}

fn of_reading(
    folder: &Folder,
    reading: Reading,
    now: Timestamp,
) -> Option<(Map<String, Value>, Source)> {
    match reading {
        Reading::Known(document) => Some((members(&document)?, Source::Document)),
        Reading::Newer(map) => Some((map, Source::Document)),
        Reading::Broken(reason) => Some((members(&folder.restored(reason, now))?, Source::Remains)),
    }
}

fn members(document: &Document) -> Option<Map<String, Value>> {
    match serde_json::to_value(document) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}
