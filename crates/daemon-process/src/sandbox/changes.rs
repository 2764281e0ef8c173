//! Which directories have changed, and whether mounts have.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Inotify events are read in blocks of this size; the largest has a header and a name of 255 bytes.
const BLOCK: usize = 4096;

/// The changes of watched directories: entries that come, go or change their mode, and the directories' own modes.
pub(super) struct Changes {
    /// `None` if a directory could not be watched, for example because no watch is available.
    inotify: Option<OwnedFd>,
    /// The paths of each watch; a directory that was moved, or is mounted twice, has several.
    watched: HashMap<i32, BTreeSet<PathBuf>>,
    most: usize,
}

impl Changes {
    /// Begins without a directory; at most `most` can be watched.
    pub(super) fn new(most: usize) -> Self {
        Self {
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            most,
        }
    }

    /// Notes what changes in a directory from now on.
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

    /// Reports whether every directory is watched.
    pub(super) fn are_known(&self) -> bool {
        self.inotify.is_some()
    }

    /// Returns how many watches of the kernel are in use.
    pub(super) fn n_watches(&self) -> usize {
        self.watched.len()
    }

    /// Returns the directories that have changed since the last call, or `None` if they are not known.
    pub(super) fn take(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut acc = BTreeSet::new();
        let mut block = [MaybeUninit::uninit(); BLOCK];
        let mut reader = Reader::new(self.inotify.as_ref()?, &mut block);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Some(acc),
                Err(_) => return None,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            acc.extend(self.watched.get(&event.wd()).into_iter().flatten().cloned());
            if event.events().contains(ReadFlags::IGNORED) {
                self.watched.remove(&event.wd());
            }
        }
    }
}

/// The mounts of this process. Inotify does not report them.
pub(super) struct Mounts {
    /// `None` if the table cannot be read.
    table: Option<OwnedFd>,
}

impl Mounts {
    pub(super) fn open() -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Self {
            table: rustix::fs::open("/proc/self/mounts", flags, Mode::empty()).ok(),
        }
    }

    /// Reports whether something was mounted or unmounted since the last call.
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
            let mut seen = Changes::new(1);
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
        let mut absent = Changes::new(1);
        absent.watch(Path::new("/absent"));
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("below")).unwrap();
        let mut too_many = Changes::new(1);
        too_many.watch(scratch.path());
        assert!(too_many.are_known());
        too_many.watch(&scratch.path().join("below"));
        for mut changes in [absent, too_many] {
            assert_eq!((changes.are_known(), changes.take()), (false, None));
        }
    }
}
