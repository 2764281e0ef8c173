//! The files that every user can read below a directory that an administrator fills.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, access, openat2, statat,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::sandbox::changes::WatchedChanges;

/// The maximum number of entries scanned, which takes some seconds. Further entries are not readable.
const MOST_ENTRIES: usize = 1 << 20;

/// The maximum age of a scan, even without a known change: changes by another machine on a network file system are not reported.
pub(super) const MOST_AGE: Duration = Duration::from_secs(60);
/// The maximum age of a scan without change notifications, as a multiple of its duration.
const REST: u32 = 20;

/// The readable paths. None of them contained a symbolic link when it was found; see [`open_found`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::sandbox) struct Readable {
    /// Files, and directories with everything below them.
    pub(in crate::sandbox) whole: Vec<PathBuf>,
    /// Directories that can be listed. Landlock extends this to everything below: a child can list the names in a private directory of its
    /// own user, but not read the files.
    pub(in crate::sandbox) listed: Vec<PathBuf>,
}

/// Opens a path that was found without links; fails if it contains one by now.
pub(in crate::sandbox) fn open_found(path: impl Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Whether every user can read a file, or list a directory and open its entries.
pub(super) fn is_public(mode: u32) -> bool {
    let is_directory = FileType::from_raw_mode(mode) == FileType::Directory;
    mode & 0o004 != 0 && (!is_directory || mode & 0o001 != 0)
}

/// Whether a path is a public directory and not a link to one.
fn is_public_directory(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| found.is_dir() && is_public(found.permissions().mode()))
}

/// Whether this process can read a file, or open the entries of a directory. Confined children run as the same user with fewer rights.
fn is_accessible(path: &Path) -> bool {
    let refused = Err(Errno::ACCESS);
    access(path, Access::READ_OK) != refused || access(path, Access::EXEC_OK) != refused
}

/// A directory with all public directories below it, as of the last scan.
pub(super) struct Scan {
    root: PathBuf,
    directories: BTreeMap<PathBuf, Directory>,
    changes: WatchedChanges,
    readable: Arc<Readable>,
    /// The time at which all of it has to be scanned again.
    expires: Instant,
    bounds: Bounds,
}

/// The rules and the limit of a scan.
#[derive(Clone, Copy)]
struct Bounds {
    most_entries: usize,
    /// Whether a file or directory that is not public has to be hidden; the kernel denies the others anyway.
    is_accessible: fn(&Path) -> bool,
}

/// The result of scanning one directory.
struct Directory {
    /// The names of its public files.
    files: Vec<OsString>,
    /// Whether it contains an entry that has to be hidden, or that is not known to be public.
    hides: bool,
}

impl Scan {
    /// Scans a directory whose path has no links.
    pub(super) fn new(root: PathBuf, most_watches: usize, at: Instant) -> Self {
        let bounds = Bounds {
            most_entries: MOST_ENTRIES,
            is_accessible,
        };
        Self::within(bounds, root, WatchedChanges::new(most_watches), at)
    }

    /// Scans all of it again.
    pub(super) fn again(self, most_watches: usize, at: Instant) -> Self {
        let changes = self.changes.again(most_watches);
        Self::within(self.bounds, self.root, changes, at)
    }

    fn within(bounds: Bounds, root: PathBuf, changes: WatchedChanges, at: Instant) -> Self {
        let begun = now();
        let mut scan = Self {
            root,
            directories: BTreeMap::new(),
            changes,
            readable: Arc::default(),
            expires: at,
            bounds,
        };
        scan.changes.watch(&scan.root);
        if is_public_directory(&scan.root) {
            scan.read_below(scan.root.clone());
        }
        scan.changes.remove_unused();
        scan.readable = Arc::new(scan.found());
        let took = now().duration_since(begun);
        let age = if scan.changes.are_known() {
            MOST_AGE
        } else {
            scan.directories.clear();
            (took * REST).min(MOST_AGE)
        };
        scan.expires = at + took + age;
        scan
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn n_watches(&self) -> usize {
        self.changes.n_watches()
    }

    pub(super) fn readable(&self) -> Arc<Readable> {
        Arc::clone(&self.readable)
    }

    /// Scans again what has changed, or all of it if the changes are unknown or the last scan is too old.
    pub(super) fn refreshed(mut self, most_watches: usize, at: Instant) -> Self {
        if at >= self.expires {
            return self.again(most_watches, at);
        }
        if !self.changes.are_known() {
            return self;
        }
        let Some(changed) = self.changes.take() else {
            return self.again(most_watches, at);
        };
        if changed.is_empty() {
            return self;
        }
        let mut done: Option<PathBuf> = None;
        // A directory is processed before those below it, which are scanned with it.
        for directory in changed {
            let is_done = done
                .as_ref()
                .is_some_and(|done| directory.starts_with(done));
            let is_left = directory != self.root && !self.directories.contains_key(&directory);
            if is_done || is_left {
                continue;
            }
            if !is_public_directory(&directory) {
                return self.again(most_watches, at);
            }
            let from = self.directories.range(directory.clone()..);
            let below = from.map(|(path, _)| path.clone());
            let below = below.take_while(|path| path.starts_with(&directory));
            for path in below.collect::<Vec<_>>() {
                self.directories.remove(&path);
            }
            self.read_below(directory.clone());
            done = Some(directory);
        }
        if !self.changes.are_known() {
            return self.again(most_watches, at);
        }
        self.readable = Arc::new(self.found());
        self
    }

    /// Scans a public directory and the public directories below it.
    fn read_below(&mut self, directory: PathBuf) {
        let mut n_left = self.bounds.most_entries;
        let mut to_read = vec![directory];
        while let Some(path) = to_read.pop() {
            // Watched before it is scanned, so that no change is missed.
            self.changes.watch(&path);
            let mut directory = Directory {
                files: Vec::new(),
                hides: false,
            };
            let below = directory.read(&path, self.bounds, &mut n_left);
            // An entry that cannot be read, for example without a free descriptor, is not known to be public.
            directory.hides |= below.is_err();
            to_read.extend(below.unwrap_or_default());
            self.directories.insert(path, directory);
        }
    }

    /// Returns the readable paths: directories as a whole where nothing below them has to be hidden.
    fn found(&self) -> Readable {
        let mut mixed = BTreeSet::new();
        for (path, directory) in self.directories.iter().rev() {
            if directory.hides || mixed.contains(path.as_path()) {
                mixed.insert(path.as_path());
                mixed.extend(path.parent());
            }
        }
        let mut acc = Readable::default();
        for (path, directory) in &self.directories {
            if mixed.contains(path.as_path()) {
                let files = directory.files.iter().map(|name| path.join(name));
                acc.whole.extend(files);
                acc.listed.push(path.clone());
            } else if *path == self.root || path.parent().is_some_and(|above| mixed.contains(above))
            {
                acc.whole.push(path.clone());
            }
        }
        acc
    }
}

impl Directory {
    /// Scans the entries of a directory and returns the public directories among them.
    fn read(
        &mut self,
        path: &Path,
        bounds: Bounds,
        n_left: &mut usize,
    ) -> Result<Vec<PathBuf>, Errno> {
        let opened = open_found(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut below = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(left) = n_left.checked_sub(1) else {
                self.hides = true;
                break;
            };
            *n_left = left;
            let Ok(found) = statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                self.hides = true;
                continue;
            };
            match FileType::from_raw_mode(found.st_mode) {
                // A link is followed to what has rules of its own.
                FileType::Symlink => {}
                _ if !is_public(found.st_mode) => {
                    self.hides |= (bounds.is_accessible)(&path.join(name));
                }
                FileType::Directory => below.push(path.join(name)),
                FileType::RegularFile => self.files.push(name.to_owned()),
                _ => self.hides = true,
            }
        }
        Ok(below)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a scan takes decides how long it is used"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
