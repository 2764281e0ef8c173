//! Listing the run folders of a home, by an index of the entries that cannot have changed.

mod cache;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use daemon_records::{RecordedRun, heartbeat_age};
use daemon_run_folder::{DocumentReading, Folder, FolderError, RunId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::entry::entry;

pub(crate) use cache::{CachedEntry, EntryText, RunIndex, Stamp};

/// The age of a heartbeat above which a run without a host may be an orphan.
const SUSPECT: SignedDuration = SignedDuration::from_secs(30);
/// The time for which a folder without any file belongs to a run that is about to start.
const STARTING: SignedDuration = SignedDuration::from_secs(60);
/// The number of threads that read folders: more than there are processors, because a disk serves several reads at once.
const N_READERS: usize = 8;
/// The number of folders that a thread takes at a time.
const SHARE: usize = 64;

/// Whether the folders are listed by the host that runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostPresence {
    /// The host lists its own folders.
    Present,
    /// A command lists the folders without a host: a run that is recorded as running may be an orphan.
    Absent,
}

/// The entry of one folder in a listing.
#[derive(Debug)]
pub(crate) struct ListedRun {
    id: RunId,
    /// `None` if the entry can change while the document stays the same.
    stamp: Option<Stamp>,
    pub(crate) entry: Arc<EntryText>,
}

/// Makes an index of the entries that have a stamp; the other folders are read again for the next listing.
pub(crate) fn index(read: &[ListedRun]) -> RunIndex {
    let lasting = read.iter().filter_map(|run| {
        let cached = CachedEntry {
            stamp: run.stamp?,
            entry: Arc::clone(&run.entry),
        };
        Some((run.id, cached))
    });
    lasting.collect()
}

/// Lists the runs of all folders, newest first. A folder whose document has the stamp in the index is not read.
///
/// # Errors
/// The directory of run folders could not be read.
pub(crate) fn entries(
    runs: &Path,
    index: &RunIndex,
    presence: HostPresence,
    now: Timestamp,
) -> Result<Vec<ListedRun>, FolderError> {
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
            let runs = share
                .iter()
                .filter_map(|folder| one(folder, index, presence, now));
            read.push((at, runs.collect::<Vec<_>>()));
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
    // The threads finish in any order; the folders are listed newest first.
    read.sort_unstable_by_key(|(at, _)| *at);
    Ok(read.into_iter().flat_map(|(_, runs)| runs).collect())
}

/// Lists the run of one folder; `None` if the folder cannot be read or its run has not started.
fn one(
    folder: &Folder,
    index: &RunIndex,
    presence: HostPresence,
    now: Timestamp,
) -> Option<ListedRun> {
    // Taken before the document is read, so that a change in between gives another stamp for the next listing.
    let stamp = Stamp::of(folder);
    let cached = index.get(&folder.id());
    if let Some(cached) = cached.filter(|cached| Some(cached.stamp) == stamp) {
        return Some(ListedRun {
            id: folder.id(),
            stamp,
            entry: Arc::clone(&cached.entry),
        });
    }
    let (run, source) = read_or_rebuild(folder, now)?;
    let entry = EntryText::of(&list_entry(&run, presence, now));
    let is_lasting = source == EntrySource::Document && !entry.is_running();
    Some(ListedRun {
        id: folder.id(),
        stamp: stamp.filter(|stamp| is_lasting && stamp.is_settled(now)),
        entry: Arc::new(entry),
    })
}

/// Makes the entry of a run, which names a suspected orphan.
pub(crate) fn list_entry(
    run: &RecordedRun,
    presence: HostPresence,
    now: Timestamp,
) -> Map<String, Value> {
    let mut entry = entry(run, now);
    let is_silent = || heartbeat_age(run.folder(), now).is_none_or(|age| age > SUSPECT);
    if presence == HostPresence::Absent && run.is_running() && is_silent() {
        entry.insert("orphan_suspected".to_owned(), json!(true));
    }
    entry
}

/// The source of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntrySource {
    /// The document of the folder.
    Document,
    /// The other files, because the folder has no usable document.
    OtherFiles,
}

/// Reads the run of a folder. A document that is missing, broken or old is rebuilt unless a writer holds the folder.
fn read_or_rebuild(folder: &Folder, now: Timestamp) -> Option<(RecordedRun, EntrySource)> {
    let reading = folder.read().ok()?;
    let source = match &reading {
        DocumentReading::Known(_) | DocumentReading::Newer(_) => EntrySource::Document,
        DocumentReading::Broken(_) => EntrySource::OtherFiles,
    };
    let run = match reading {
        DocumentReading::Broken(_) if is_starting(folder, now) => return None,
        DocumentReading::Broken(reason) if !folder.is_live().unwrap_or(true) => {
            // A folder that cannot be written is still listed, with the document that a rebuild would write.
            let rebuilt = folder
                .rebuild(reason, now)
                .unwrap_or_else(|_| folder.restored(reason, now));
            RecordedRun::new(folder, rebuilt)
        }
        reading => RecordedRun::of_reading(folder, reading, now),
    };
    Some((run, source))
}

/// Returns whether a folder was reserved a moment ago for a run that has not started.
fn is_starting(folder: &Folder, now: Timestamp) -> bool {
    now.duration_since(folder.id().started()) < STARTING && folder.is_blank()
}
