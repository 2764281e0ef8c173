//! Discovery in the files of a directory, for commands that read what an author is editing.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use daemon_validate::holds_daemons;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use crate::discover::{Discovery, DiscoveryPlan, FileRead, MAX_DAEMON_FILE};
use crate::links::{self, LinkTarget, LinkTree};
use crate::object::ObjectFormat;
use crate::support::MAX_SUPPORT_FILE;
use crate::tree::{EntryKind, RawEntry};

/// The maximum number of entries read in total.
const MAX_ENTRIES: usize = 200_000;
/// The maximum depth of a directory, counted from `.agents`.
const MAX_DEPTH: usize = 16;

/// The error of reading the root directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot read directory `{path}`")]
pub struct UnreadableDirectory {
    path: Box<Path>,
    source: std::io::Error,
}

/// Reads the daemons below `root` from its files; `root` need not be a repository.
///
/// Only regular files are opened. Links are not followed, except those of support trees within `root`. If the files equal those
/// of a commit whose objects have this `format`, the revisions are equal too. An unreadable file is reported and does not affect
/// the others.
///
/// # Errors
/// Returns [`UnreadableDirectory`] if `root` cannot be read. A missing `.agents` is not an error.
pub fn discover_working_tree(
    root: &Path,
    format: ObjectFormat,
) -> Result<Discovery, UnreadableDirectory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let unreadable = |errno: Errno| UnreadableDirectory {
        path: root.into(),
        source: errno.into(),
    };
    let root_fd = openat(CWD, root, flags, Mode::empty()).map_err(unreadable)?;
    let mut walk = DirectoryWalk {
        entries: Vec::new(),
    };
    match statat(&root_fd, ".agents", AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if kind_of(&stat) == EntryKind::Symlink => {
            walk.push(b".agents", EntryKind::Symlink, 0);
        }
        _ => walk.enter(root_fd.as_fd(), b".agents", b".agents", 0),
    }
    let root = root_fd.as_fd();
    let followed = links::follow(walk.entries, &mut DirectoryFiles { root });
    let origins = followed.origins;
    Ok(DiscoveryPlan::new(followed.entries).finish(|entry| {
        let path = origins.get(&entry.path).unwrap_or(&entry.path);
        read(root, path, format)
    }))
}

/// The files of a directory, for following links of support trees.
struct DirectoryFiles<'r> {
    root: BorrowedFd<'r>,
}

impl DirectoryFiles<'_> {
    /// Opens the directory of a path component by component; returns it with the last component.
    fn parent<'p>(&self, path: &'p [u8]) -> Option<(OwnedFd, &'p [u8])> {
        let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b"."[..], path),
        };
        let mut parts = directory.split(|byte| *byte == b'/');
        let first = open(self.root, parts.next()?, OFlags::DIRECTORY).ok()?;
        let opened = parts.try_fold(first, |at, part| open(at.as_fd(), part, OFlags::DIRECTORY));
        Some((opened.ok()?, name))
    }
}

impl LinkTree for DirectoryFiles<'_> {
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        let (parent, name) = self.parent(path)?;
        let target = readlinkat(&parent, name, Vec::new()).ok()?;
        Some(target.into_bytes())
    }

    fn node(&mut self, path: &[u8]) -> Option<LinkTarget> {
        if path.is_empty() {
            return Some(LinkTarget::Directory);
        }
        let (parent, name) = self.parent(path)?;
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(match kind_of(&stat) {
            EntryKind::Directory => LinkTarget::Directory,
            kind => LinkTarget::Entry(RawEntry {
                path: path.to_owned(),
                kind,
                size: size_of(&stat),
                object: None,
            }),
        })
    }

    fn below(&mut self, directory: &[u8], most: usize) -> Vec<RawEntry> {
        let mut walk = DirectoryWalk {
            entries: Vec::new(),
        };
        if let Some((parent, name)) = self.parent(directory) {
            walk.enter(parent.as_fd(), name, directory, 0);
        }
        // Sorted before the cut: the order of a directory differs between file systems, and the result must not.
        walk.entries.sort_by(|a, b| a.path.cmp(&b.path));
        walk.entries.truncate(most);
        walk.entries
    }
}

struct DirectoryWalk {
    entries: Vec<RawEntry>,
}

impl DirectoryWalk {
    /// Enters a directory. An unreadable one becomes an entry, so that it is reported.
    fn enter(&mut self, parent: BorrowedFd<'_>, name: &[u8], path: &[u8], depth: usize) {
        match open(parent, name, OFlags::DIRECTORY) {
            Ok(directory) if depth <= MAX_DEPTH => self.list(directory, path, depth),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Ok(_) | Err(_) => self.push(path, EntryKind::Directory, 0),
        }
    }

    fn list(&mut self, directory: OwnedFd, path: &[u8], depth: usize) {
        // A directory with `.git` is a nested repository, whose daemons are not of this one.
        let has_git = || statat(&directory, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if holds_daemons(path) && has_git() {
            return self.push(path, EntryKind::Submodule, 0);
        }
        let Ok(entries) = Dir::read_from(&directory) else {
            return self.push(path, EntryKind::Directory, 0);
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if self.entries.len() >= MAX_ENTRIES {
                // Pushed above the limit, so that the directory is reported as not listed.
                return self.push(path, EntryKind::Directory, 0);
            }
            let path = [path, b"/", name].concat();
            let Ok(stat) = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                self.push(&path, EntryKind::Special, 0);
                continue;
            };
            match kind_of(&stat) {
                EntryKind::Directory => self.enter(directory.as_fd(), name, &path, depth + 1),
                kind => self.push(&path, kind, size_of(&stat)),
            }
        }
    }

    fn push(&mut self, path: &[u8], kind: EntryKind, size: u64) {
        self.entries.push(RawEntry {
            path: path.to_owned(),
            kind,
            size,
            object: None,
        });
    }
}

fn kind_of(stat: &Stat) -> EntryKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_mode & 0o100 != 0 => EntryKind::Executable,
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        _ => EntryKind::Special,
    }
}

fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(u64::MAX)
}

/// Opens a name in a directory without following a link and without waiting for the writer of a pipe.
fn open(parent: BorrowedFd<'_>, name: &[u8], extra: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | extra;
    openat(parent, name, flags, Mode::empty())
}

fn read(root: BorrowedFd<'_>, path: &[u8], format: ObjectFormat) -> FileRead {
    match read_bytes(root, path) {
        Ok(bytes) => FileRead::Blob(format.blob_id(&bytes), bytes.into()),
        Err(error) => FileRead::Failed(error.to_string().into_boxed_str()),
    }
}

/// Opens a path component by component, so that a component replaced by a link after the listing is not followed.
fn read_bytes(root: BorrowedFd<'_>, path: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let parent = at.as_ref().map_or(root, |fd| fd.as_fd());
        let extra = if parts.peek().is_some() {
            OFlags::DIRECTORY
        } else {
            OFlags::empty()
        };
        at = Some(open(parent, part, extra)?);
    }
    let file = at.ok_or(Errno::NOENT)?;
    let changed = || std::io::Error::other("it changed while it was read");
    if !kind_of(&fstat(&file)?).is_file() {
        return Err(changed());
    }
    let cap = MAX_DAEMON_FILE.max(MAX_SUPPORT_FILE);
    let mut bytes = Vec::new();
    File::from(file).take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        Err(changed())
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_component_replaced_by_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/file"), "secret").unwrap();
        symlink("real", dir.path().join("directory")).unwrap();
        symlink("file", dir.path().join("real/link")).unwrap();
        let root = File::open(dir.path()).unwrap();
        let read = |path: &str| read_bytes(root.as_fd(), path.as_bytes()).ok();
        assert_eq!(read("real/file"), Some(b"secret".to_vec()));
        assert_eq!(
            (
                read("directory/file"),
                read("real/link"),
                read("real"),
                read("")
            ),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_link_in_place_of_agents_hides_its_daemons() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("elsewhere/daemons/a")).unwrap();
        std::fs::write(dir.path().join("elsewhere/daemons/a/DAEMON.md"), "a").unwrap();
        symlink("elsewhere", dir.path().join(".agents")).unwrap();
        let found = discover_working_tree(dir.path(), ObjectFormat::Sha1).unwrap();
        let expected = Discovery {
            barred: Some((".agents", EntryKind::Symlink)),
            ..Discovery::default()
        };
        assert_eq!(found, expected);
    }
}
