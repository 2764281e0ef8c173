//! Whether anything has changed in directories.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// The kernel tells one notice of at most so many bytes: a name of 255, and what is before it.
const NOTICE: usize = 512;

/// Notices of the kernel about watched directories: of entries that come, go or change their mode, and of their own modes.
pub(super) struct Changes {
    /// `None` if a directory could not be watched, for want of watches perhaps.
    notices: Option<OwnedFd>,
}

impl Changes {
    pub(super) fn new() -> Self {
        Self {
            notices: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
        }
    }

    /// Notes what changes in a directory from now on.
    pub(super) fn watch(&mut self, directory: &Path) {
        let what = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let watch = |notices| add_watch(notices, directory, what).is_ok();
        if !self.notices.as_ref().is_some_and(watch) {
            self.notices = None;
        }
    }

    /// Reports whether it is certain that nothing has changed. A mount over a directory is not noticed.
    pub(super) fn is_none(&self) -> bool {
        let read = |notices| rustix::io::read(notices, &mut [0; NOTICE]);
        self.notices.as_ref().map(read) == Some(Err(Errno::AGAIN))
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
            let mut seen = Changes::new();
            seen.watch(root);
            fs::read(root.join("old")).unwrap();
            assert!(seen.is_none(), "nothing has changed before {what}");
            change(root);
            assert!(!seen.is_none(), "{what}");
        }
    }

    #[test]
    fn of_a_directory_that_cannot_be_watched_nothing_is_certain() {
        let mut seen = Changes::new();
        seen.watch(Path::new("/absent"));
        assert!(!seen.is_none());
    }
}
