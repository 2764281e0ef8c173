//! Measures the size of children's directories.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// The minimum time between two measurements.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause after a measurement, as a multiple of its duration.
const PAUSE_FACTOR: u32 = 10;
/// The minimum size counted for an entry: its name and its place in a table.
const LEAST: u64 = 1024;
/// The unit of a file's size in `stat`, in bytes.
const BLOCK: u64 = 512;
/// The maximum depth of directories; a deeper tree cannot be measured and counts as too large.
const DEEPEST: usize = 128;

/// The measuring thread; it ends when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    shared: Arc<Shared>,
}

/// A child's directories and their size at the last measurement.
#[derive(Debug)]
pub(crate) struct Held {
    directories: Vec<PathBuf>,
    /// The size above which counting stops.
    enough: u64,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    watched: Vec<Weak<Held>>,
    is_running: bool,
    is_closed: bool,
}

impl Held {
    /// Returns the last measured size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No operation under the lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiskWatch {
    /// Measures directories for as long as the returned value is kept.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be created.
    pub(crate) fn add(&self, directories: Vec<PathBuf>, limit: u64) -> io::Result<Arc<Held>> {
        let held = Arc::new(Held {
            directories,
            enough: limit.saturating_add(1),
            bytes: AtomicU64::new(0),
        });
        let mut state = self.shared.state();
        state.watched.push(Arc::downgrade(&held));
        if !state.is_running {
            let shared = Arc::clone(&self.shared);
            Builder::new()
                .name("daemon-disk".to_owned())
                .spawn(move || watch(&shared))?;
            state.is_running = true;
        }
        self.shared.changed.notify_one();
        Ok(held)
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        self.shared.state().is_closed = true;
        self.shared.changed.notify_one();
    }
}

/// Measures in turns until nothing is left to measure. Large directories are measured less often.
fn watch(shared: &Shared) {
    loop {
        let Some(watched) = next(shared) else {
            return;
        };
        let begun = now();
        for held in watched.iter().filter_map(Weak::upgrade) {
            let bytes = measure(&held.directories, held.enough);
            held.bytes.store(bytes, Ordering::Relaxed);
        }
        let pause = PAUSE.max(begun.elapsed() * PAUSE_FACTOR);
        let state = shared.state();
        if !state.is_closed {
            let waited = shared
                .changed
                .wait_timeout_while(state, pause, |state| !state.is_closed);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Waits for something to measure; returns `None` when the thread is to end.
fn next(shared: &Shared) -> Option<Vec<Weak<Held>>> {
    let mut state = shared.state();
    loop {
        if state.is_closed {
            return None;
        }
        state.watched.retain(|held| held.strong_count() > 0);
        if !state.watched.is_empty() {
            return Some(state.watched.clone());
        }
        let waited = shared.changed.wait(state);
        state = waited.unwrap_or_else(PoisonError::into_inner);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pauses between measurements are this thread's own"
)]
fn now() -> Instant {
    Instant::now()
}

/// Adds up the size of directories, up to the limit.
///
/// Links are not followed. Entries that vanish or cannot be read count as empty.
fn measure(directories: &[PathBuf], enough: u64) -> u64 {
    let mut sum = 0;
    for directory in directories {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(CWD, directory, flags, Mode::empty());
        let Ok(opened) = opened.and_then(Dir::new) else {
            continue;
        };
        sum = add_tree(opened, sum, enough);
        if sum >= enough {
            break;
        }
    }
    sum
}

fn add_tree(root: Dir, sum: u64, enough: u64) -> u64 {
    let mut sum = sum;
    let mut open = vec![root];
    while sum < enough {
        let Some(directory) = open.last_mut() else {
            return sum;
        };
        let Some(Ok(entry)) = directory.read() else {
            open.pop();
            continue;
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match look(directory, name) {
            Ok((taken, None)) => sum += taken,
            Ok((taken, Some(below))) => {
                sum += taken;
                match Dir::new(below) {
                    Ok(below) if open.len() < DEEPEST => open.push(below),
                    Ok(_) => return enough,
                    Err(_) => {}
                }
            }
            Err(_) => {}
        }
    }
    sum
}

/// Returns the size of an entry, and the opened directory if it is one.
fn look(directory: &Dir, name: &CStr) -> rustix::io::Result<(u64, Option<OwnedFd>)> {
    let parent = directory.fd()?;
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
    let taken = blocks.saturating_mul(BLOCK).max(LEAST);
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // If the directory has vanished or was replaced, only the entry's size counts.
    let below = is_directory.then(|| openat(parent, name, flags, Mode::empty()).ok());
    Ok((taken, below.flatten()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_count_what_they_take_once_and_links_lead_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("counted/below")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("counted/below/file"), vec![1; 300_000]).unwrap();
        fs::write(at("other/file"), vec![1; 900_000]).unwrap();
        std::os::unix::fs::symlink(at("other"), at("counted/link")).unwrap();
        let sparse = fs::File::create(at("counted/sparse")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        let counted = measure(&[at("counted"), at("absent")], u64::MAX);
        assert!((300_000..350_000).contains(&counted), "{counted}");
        let both = measure(&[at("counted"), at("other")], u64::MAX);
        assert!((1_200_000..1_300_000).contains(&both), "{both}");
        assert!(measure(&[at("counted"), at("other")], 1_000) >= 1_000);
    }

    #[test]
    fn many_empty_files_count_and_depth_without_end_is_too_much() {
        let home = tempfile::tempdir().unwrap();
        let many = home.path().join("many");
        fs::create_dir(&many).unwrap();
        for name in 0..100 {
            fs::write(many.join(name.to_string()), "").unwrap();
        }
        assert_eq!(measure(&[many], u64::MAX), 100 * LEAST);
        let deep = home.path().join("deep");
        let below: PathBuf = std::iter::repeat_n("d", DEEPEST + 1).collect();
        fs::create_dir_all(deep.join(below)).unwrap();
        assert_eq!(measure(&[deep], u64::MAX), u64::MAX);
    }
}
