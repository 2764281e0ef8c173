//! The entries below a daemon's directory, as data for the rules.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use daemon_validate::{MAX_SUPPORT_FILES, SupportEntry, SupportKind, is_ancestor, resolve_link};

use crate::discovery::is_support;
use crate::disk;

/// The maximum number of entries that are listed. It bounds the time for a directory with millions of
/// entries.
const MAX_ENTRIES: usize = 20_000;

// The entries outside of the support tree are only named, and the rule reports at most a hundred.
const MAX_OTHERS: usize = 200;

// A run gets no more files, so the first lines of the others are not checked.
const MAX_HEADS: usize = 4 * MAX_SUPPORT_FILES;

// The kernel reads at most 256 bytes of a `#!` line.
const HEAD_BYTES: usize = 256;

/// Returns the entries of `directory`, and those below its `scripts` and `references`.
///
/// A link that stays in the repository at `root` is replaced by its target, as in the host. Other links
/// are listed and not followed. Without a repository, links that stay in `directory` are followed. A
/// directory that is not listed completely has the kind [`SupportKind::Unlisted`].
pub fn list(directory: &Path, root: Option<&Path>) -> Vec<SupportEntry> {
    let root = fs::canonicalize(root.unwrap_or(directory)).ok();
    let place = root.as_deref().and_then(|root| {
        let directory = fs::canonicalize(directory).ok()?;
        let origin = directory.strip_prefix(root).ok()?;
        Some(Place {
            root,
            path: slashed(origin),
            way: Way::Direct,
        })
    });
    let mut walk = Walk::default();
    walk.waiting.push(Waiting {
        location: directory.to_owned(),
        path: Vec::new(),
        place,
    });
    // The depth has no limit here: the rule reports the files that are too deep.
    while let Some(at) = walk.waiting.pop() {
        walk.read(&at);
    }
    walk.acc
}

/// The listing of a support tree.
#[derive(Default)]
struct Walk<'r> {
    acc: Vec<SupportEntry>,
    waiting: Vec<Waiting<'r>>,
}

impl<'r> Walk<'r> {
    fn read(&mut self, at: &Waiting<'r>) {
        let is_top = at.path.is_empty();
        let Ok(entries) = fs::read_dir(&at.location) else {
            // The directory of a file from standard input need not exist.
            if !is_top {
                self.acc.push(unlisted(&at.path));
            }
            return;
        };
        let mut entries: Vec<fs::DirEntry> = entries.filter_map(Result::ok).collect();
        // Sorted, so that the report does not depend on the file system.
        entries.sort_by_cached_key(fs::DirEntry::file_name);
        let mut n_others = 0;
        for found in entries {
            let name = found.file_name();
            let is_other = is_top && !is_support(&name);
            n_others += usize::from(is_other);
            if is_other && n_others > MAX_OTHERS {
                continue;
            }
            if self.acc.len() >= MAX_ENTRIES {
                self.acc.push(unlisted(&at.path));
                self.waiting.clear();
                return;
            }
            let is_link = found.file_type().is_ok_and(|kind| kind.is_symlink());
            let path = joined(&at.path, &name);
            let place = at.place.as_ref().map(|place| place.enter(&name, is_link));
            let location = place.as_ref().map_or_else(|| found.path(), Place::location);
            let entry = match self.entry(&location, path.clone()) {
                Ok(entry) => entry,
                // It was deleted in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    self.acc.push(unlisted(&at.path));
                    return;
                }
            };
            let is_entered = entry.kind == SupportKind::Directory && !is_other;
            self.acc.push(entry);
            if is_entered {
                self.waiting.push(Waiting {
                    location,
                    path,
                    place,
                });
            }
        }
    }

    fn entry(&self, location: &Path, path: Vec<u8>) -> io::Result<SupportEntry> {
        let metadata = fs::symlink_metadata(location)?;
        let kind = match metadata.file_type() {
            kind if kind.is_symlink() => SupportKind::Symlink,
            kind if kind.is_file() => SupportKind::File,
            kind if kind.is_dir() && location.join(".git").exists() => SupportKind::Submodule,
            kind if kind.is_dir() => SupportKind::Directory,
            _ => SupportKind::Special,
        };
        let is_file = kind == SupportKind::File;
        Ok(SupportEntry {
            path,
            kind,
            size: if is_file { metadata.len() } else { 0 },
            permissions: disk::permissions(&metadata),
            // Without its first line a script is not checked, so an unreadable one needs no error here.
            head: if is_file && self.acc.len() < MAX_HEADS {
                disk::read_head(location, HEAD_BYTES).unwrap_or_default()
            } else {
                Vec::new()
            },
        })
    }
}

fn unlisted(path: &[u8]) -> SupportEntry {
    SupportEntry {
        kind: SupportKind::Unlisted,
        ..SupportEntry::file(path, 0)
    }
}

/// A directory that is still to be read.
struct Waiting<'r> {
    location: PathBuf,
    /// The path relative to the daemon's directory.
    path: Vec<u8>,
    /// `None` if the directory is not below the root.
    place: Option<Place<'r>>,
}

/// Whether a link leads to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// No link leads to the entry.
    Direct,
    /// A link leads to the entry. Links to directories below it are not followed.
    Linked,
}

/// The position of an entry in a repository.
struct Place<'r> {
    root: &'r Path,
    /// The path from the root, with links replaced by their targets.
    path: Vec<u8>,
    way: Way,
}

impl<'r> Place<'r> {
    /// Returns the place of a name in this directory. A link that is followed is replaced by its target.
    fn enter(&self, name: &OsStr, is_link: bool) -> Self {
        let path = joined(&self.path, name);
        let target = is_link.then(|| follow(self.root, &path, self.way));
        match target.flatten() {
            Some(real) => Place {
                root: self.root,
                path: real,
                way: Way::Linked,
            },
            None => Place {
                root: self.root,
                path,
                way: self.way,
            },
        }
    }

    fn location(&self) -> PathBuf {
        self.root.join(disk::path(&self.path))
    }
}

/// Returns the target of a link if it is a file or directory of the repository.
///
/// A directory that contains the link is excluded, because reading it would not end.
fn follow(root: &Path, path: &[u8], way: Way) -> Option<Vec<u8>> {
    let target = |path: &[u8]| {
        let target = fs::read_link(root.join(disk::path(path))).ok()?;
        Some(slashed(&target))
    };
    target(path)?;
    let real = resolve_link(path, target)?;
    let kind = fs::symlink_metadata(root.join(disk::path(&real))).ok()?;
    let is_usable = if kind.is_dir() {
        way == Way::Direct && !is_ancestor(&real, path)
    } else {
        kind.is_file()
    };
    is_usable.then_some(real)
}

/// Returns a path with `/` between its parts, as in a repository.
fn slashed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes().to_vec();
    with_slashes(bytes, std::path::MAIN_SEPARATOR)
}

fn with_slashes(mut path: Vec<u8>, separator: char) -> Vec<u8> {
    if separator == '\\' {
        for byte in path.iter_mut().filter(|byte| **byte == b'\\') {
            *byte = b'/';
        }
    }
    path
}

fn joined(below: &[u8], name: &OsStr) -> Vec<u8> {
    let mut acc = below.to_vec();
    if !acc.is_empty() {
        acc.push(b'/');
    }
    acc.extend_from_slice(name.as_encoded_bytes());
    acc
}

#[cfg(test)]
mod tests {
    use super::with_slashes;

    #[test]
    fn the_separator_of_a_system_is_replaced_by_a_slash() {
        let table = [
            (r".agents\daemons\x", '\\', ".agents/daemons/x"),
            (r"a\b/c", '/', r"a\b/c"),
            ("a/b", '\\', "a/b"),
        ];
        for (path, separator, expected) in table {
            assert_eq!(with_slashes(path.into(), separator), expected.as_bytes());
        }
    }
}
