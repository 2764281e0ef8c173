//! The entries below a daemon's directory, as data for the rules.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use daemon_validate::{
    MAX_SUPPORT_DEPTH, MAX_SUPPORT_FILES, SupportEntry, SupportKind, is_ancestor, resolve_link,
};

use crate::disk;

// The rule counts files, so more entries than this cannot change its result. The limit bounds the time
// for a directory with millions of entries.
const MAX_ENTRIES: usize = 4 * MAX_SUPPORT_FILES;

// The kernel reads at most 256 bytes of a `#!` line.
const HEAD_BYTES: usize = 256;

/// Returns the entries below `directory`.
///
/// A link that stays in the repository at `root` is replaced by its target, as in the host. Other links
/// are listed and not followed.
pub fn list(directory: &Path, root: Option<&Path>) -> Vec<SupportEntry> {
    let root = root.and_then(|root| fs::canonicalize(root).ok());
    let repository = root.as_deref().and_then(|root| {
        let directory = fs::canonicalize(directory).ok()?;
        let origin = directory.strip_prefix(root).ok()?;
        Some((root, slashed(origin)))
    });
    let mut acc = Vec::new();
    let mut waiting = vec![Waiting {
        location: directory.to_owned(),
        path: Vec::new(),
        depth: 0,
        place: repository.map(|(root, path)| Place {
            root,
            path,
            way: Way::Direct,
        }),
    }];
    while let Some(at) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&at.location) else {
            continue;
        };
        let mut entries: Vec<(PathBuf, bool)> = entries
            .filter_map(Result::ok)
            .map(|entry| {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                (entry.path(), is_link)
            })
            .collect();
        // Sorted, so that the report does not depend on the file system.
        entries.sort();
        for (location, is_link) in entries {
            let name = location.file_name().unwrap_or_default();
            if acc.len() >= MAX_ENTRIES {
                return acc;
            }
            let path = joined(&at.path, name);
            let place = at.place.as_ref().map(|place| place.enter(name, is_link));
            let real = place.as_ref().map(Place::location);
            let Some(entry) = entry(real.as_deref().unwrap_or(&location), path.clone()) else {
                continue;
            };
            let is_directory = entry.kind == SupportKind::Directory;
            acc.push(entry);
            // One level above the limit is read, so that the rule sees that the limit is exceeded.
            if is_directory && at.depth <= MAX_SUPPORT_DEPTH {
                waiting.push(Waiting {
                    location: real.unwrap_or(location),
                    path,
                    depth: at.depth + 1,
                    place,
                });
            }
        }
    }
    acc
}

/// A directory that is still to be read.
struct Waiting<'r> {
    location: PathBuf,
    /// The path relative to the daemon's directory.
    path: Vec<u8>,
    depth: usize,
    /// `None` outside a repository.
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

fn entry(location: &Path, path: Vec<u8>) -> Option<SupportEntry> {
    let metadata = fs::symlink_metadata(location).ok()?;
    let kind = match metadata.file_type() {
        kind if kind.is_symlink() => SupportKind::Symlink,
        kind if kind.is_file() => SupportKind::File,
        kind if kind.is_dir() && location.join(".git").exists() => SupportKind::Submodule,
        kind if kind.is_dir() => SupportKind::Directory,
        _ => SupportKind::Special,
    };
    let is_file = kind == SupportKind::File;
    Some(SupportEntry {
        path,
        kind,
        size: if is_file { metadata.len() } else { 0 },
        permissions: disk::permissions(&metadata),
        // Without its first line a script is not checked, so an unreadable one needs no error here.
        head: if is_file {
            disk::read_head(location, HEAD_BYTES).unwrap_or_default()
        } else {
            Vec::new()
        },
    })
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
