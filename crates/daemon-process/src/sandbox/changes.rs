//! Detects changed directories and mounts.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{
    CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The size of a read of inotify events, in bytes; the largest event has a header and a name of 255 bytes.
const BLOCK: usize = 4096;

/// The changes of watched directories: entries that are added, removed or change their mode, and the directories' own modes.
pub(super) struct WatchedChanges {
    /// `None` if a directory could not be watched, for example because no watch is available.
    inotify: Option<OwnedFd>,
    /// The paths of each watch; a directory that was moved, or is mounted twice, has several.
    watched: HashMap<i32, BTreeSet<PathBuf>>,
    /// Watches from before the last [`WatchedChanges::again`].
    earlier: Vec<i32>,
    most: usize,
}

impl WatchedChanges {
    /// Creates an empty set of watches, of at most `most` directories.
    pub(super) fn new(most: usize) -> Self {
        Self {
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            earlier: Vec::new(),
            most,
        }
    }

    /// Starts over with no directories. The kernel takes 10 to 20 ms to close an instance of inotify, so it is kept, with the watches
    /// until [`WatchedChanges::remove_unused`].
    pub(super) fn again(mut self, most: usize) -> Self {
        self.take();
        if self.inotify.is_none() {
            return Self::new(most);
        }
        self.earlier = self.watched.drain().map(|(watch, _)| watch).collect();
        Self { most, ..self }
    }

    /// Removes the watches of directories that were not added again.
    pub(super) fn remove_unused(&mut self) {
        let earlier = std::mem::take(&mut self.earlier);
        let Some(inotify) = &self.inotify else {
            return;
        };
        for watch in earlier {
            if self.watched.contains_key(&watch) {
                continue;
            }
            // The kernel has removed the watch already if the directory was removed.
            remove_watch(inotify, watch).unwrap_or(());
        }
    }

    /// Watches a directory from now on.
    pub(super) fn watch(&mut self, directory: &Path) {
        let Some(inotify) = &self.inotify else {
            return;
        };
        let what = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let watch = add_watch(inotify, directory, what);
        if let Ok(watch) = watch {
            self.watched
                .entry(watch)
                .or_default()
                .insert(directory.to_owned());
        }
        if watch.is_err() || self.watched.len() > self.most {
            self.inotify = None;
            self.watched.clear();
        }
    }

    /// Whether every added directory is watched.
    pub(super) fn are_known(&self) -> bool {
        self.inotify.is_some()
    }

    /// Returns the number of the kernel's watches in use.
    pub(super) fn n_watches(&self) -> usize {
        self.watched.len()
    }

    /// Returns the directories that have changed since the last call, or `None` if they are unknown.
    pub(super) fn take(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut acc = BTreeSet::new();
        let mut is_complete = true;
        let mut block = [MaybeUninit::uninit(); BLOCK];
        let mut reader = Reader::new(self.inotify.as_ref()?, &mut block);
        let error = loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(error) => break error,
            };
            is_complete &= !event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            acc.extend(self.watched.get(&event.wd()).into_iter().flatten().cloned());
            if event.events().contains(ReadFlags::IGNORED) {
                self.watched.remove(&event.wd());
            }
        };
        if error != Errno::AGAIN {
            self.inotify = None;
            return None;
        }
        is_complete.then_some(acc)
    }
}

/// The mounts of this process, which inotify does not report.
pub(super) struct Mounts {
    /// The content of the table; `None` if it cannot be read.
    table: Option<OwnedFd>,
}

impl Mounts {
    pub(super) fn open() -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Self {
            table: rustix::fs::open("/proc/self/mounts", flags, Mode::empty()).ok(),
        }
    }

    /// Whether something was mounted or unmounted since the last call.
    pub(super) fn have_changed(&self) -> bool {
        let Some(table) = &self.table else {
            return false;
        };
        let mut fds = [PollFd::new(table, PollFlags::PRI)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|n_ready| n_ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn whatever_may_change_what_is_public_is_noticed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 6] = [
            ("a new file", |root| {
                fs::write(root.join("new"), "").unwrap();
            }),
            ("a removed file", |root| {
                fs::remove_file(root.join("old")).unwrap();
            }),
            ("a replaced file", |root| {
                fs::rename(root.join("other"), root.join("old")).unwrap();
            }),
            ("a file's mode", |root| {
                fs::set_permissions(root.join("old"), Permissions::from_mode(0o600)).unwrap();
            }),
            ("the mode of a directory in it", |root| {
                fs::set_permissions(root.join("below"), Permissions::from_mode(0o700)).unwrap();
            }),
            ("its own mode", |root| {
                fs::set_permissions(root, Permissions::from_mode(0o700)).unwrap();
            }),
        ];
        for (what, change) in changes {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path();
            fs::write(root.join("old"), "").unwrap();
            fs::write(root.join("other"), "").unwrap();
            fs::create_dir(root.join("below")).unwrap();
            let mut seen = WatchedChanges::new(1);
            seen.watch(root);
            fs::read(root.join("old")).unwrap();
            let none = Some(BTreeSet::new());
            assert_eq!(seen.take(), none, "nothing has changed before {what}");
            change(root);
            assert_eq!(
                seen.take(),
                Some(BTreeSet::from([root.to_owned()])),
                "{what}"
            );
            assert_eq!(seen.take(), none, "{what}");
        }
    }

    #[test]
    fn without_a_watch_for_every_directory_no_change_is_known() {
        let mut absent = WatchedChanges::new(1);
        absent.watch(Path::new("/absent"));
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("below")).unwrap();
        let mut too_many = WatchedChanges::new(1);
        too_many.watch(scratch.path());
        assert!(too_many.are_known());
        too_many.watch(&scratch.path().join("below"));
        for mut changes in [absent, too_many] {
            assert_eq!((changes.are_known(), changes.take()), (false, None));
        }
    }

    #[test]
    fn what_is_watched_again_keeps_its_watch_and_nothing_else_does() {
        let scratch = tempfile::tempdir().unwrap();
        let [kept, left] = ["kept", "left"].map(|name| scratch.path().join(name));
        for directory in [&kept, &left] {
            fs::create_dir(directory).unwrap();
        }
        let mut first = WatchedChanges::new(2);
        first.watch(&kept);
        first.watch(&left);
        fs::write(kept.join("before"), "").unwrap();
        let mut again = first.again(2);
        again.watch(&kept);
        again.remove_unused();
        for directory in [&kept, &left] {
            fs::write(directory.join("after"), "").unwrap();
        }
        assert_eq!(
            (again.n_watches(), again.take()),
            (1, Some(BTreeSet::from([kept])))
        );
        let inotify = again.inotify.as_ref().unwrap().as_raw_fd();
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{inotify}")).unwrap();
        assert_eq!(info.matches("inotify wd:").count(), 1, "{info}");
    }
}
