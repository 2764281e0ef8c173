//! The daemons in a tree, read from objects or from files.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_validate::holds_daemons;

use crate::path::TreePath;
use crate::support::{Rev, SupportCandidates, SupportTree};
use crate::tree::{EntryKind, RawEntry};

/// The directory that contains one directory per daemon.
pub const DAEMONS_DIR: &str = ".agents/daemons";
/// The name of a daemon file; the case matters.
pub const DAEMON_FILE: &str = "DAEMON.md";
/// The maximum size of a daemon file, in bytes; a larger one is not read.
pub const MAX_DAEMON_FILE: u64 = 256 << 10;
/// The maximum number of daemons read from one repository.
pub const MAX_DAEMONS: usize = 1_000;

/// The daemons of a tree, and the findings of the discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The daemon files, ordered by directory.
    pub daemons: Vec<DaemonSource>,
    /// DirectoryFiles that look like daemon files but are in another place or have another case. Invalid UTF-8 is replaced.
    pub misplaced: Vec<String>,
    /// Directories beyond the first 1,000, which are not read.
    pub beyond_limit: Vec<TreePath>,
    /// `.agents` or [`DAEMONS_DIR`] if it is a link or a submodule, so that no daemon in it is read.
    pub barred: Option<(&'static str, EntryKind)>,
}

/// A daemon file and the files in its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSource {
    /// The name of the directory below `.agents/daemons`.
    pub dir: TreePath,
    /// The daemon file, or the reason why it was not read.
    pub content: DaemonContent,
    /// The files in `scripts/` and `references/`.
    pub support: SupportTree,
    /// The content hash of the daemon file and the support tree.
    pub rev: Rev,
}

impl DaemonSource {
    /// Returns the path of the daemon file from the root of the repository.
    pub fn path(&self) -> String {
        format!("{DAEMONS_DIR}/{}/{DAEMON_FILE}", self.dir)
    }
}

/// The bytes of a daemon file, or the reason why they were not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonContent {
    /// The whole file, byte for byte.
    Text(Arc<[u8]>),
    /// The file is larger than [`MAX_DAEMON_FILE`].
    TooLarge {
        /// The size in bytes.
        size: u64,
    },
    /// The entry at the path is not a regular file.
    NotAFile(EntryKind),
    /// The file could not be read, for this reason.
    Unreadable(Box<str>),
}

/// The result of reading a regular file.
pub(crate) enum FileRead {
    /// The object name and the bytes.
    Blob(crate::object::ObjectId, Arc<[u8]>),
    /// The object name; the bytes were not needed.
    Unopened(crate::object::ObjectId),
    /// The error of the file system.
    Failed(Box<str>),
}

/// A daemon directory whose files have not been read yet.
pub(crate) struct PlannedDaemon {
    dir: TreePath,
    file: RawEntry,
    support: SupportCandidates,
}

/// A tree sorted into daemon directories whose files have not been read yet.
#[derive(Default)]
pub(crate) struct DiscoveryPlan {
    daemons: Vec<PlannedDaemon>,
    misplaced: Vec<String>,
    beyond_limit: Vec<TreePath>,
    barred: Option<(&'static str, EntryKind)>,
}

impl DiscoveryPlan {
    /// Sorts the entries of a tree, in any order, into daemon directories.
    pub(crate) fn new(mut entries: Vec<RawEntry>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let mut acc = Self::default();
        let mut dirs: BTreeMap<TreePath, (Option<RawEntry>, SupportCandidates)> = BTreeMap::new();
        for entry in entries {
            match EntryPosition::of(&entry.path) {
                EntryPosition::DaemonFile(dir) => dirs.entry(dir).or_default().0 = Some(entry),
                EntryPosition::InsideDaemonFile(dir) => {
                    let kind = EntryKind::Directory;
                    dirs.entry(dir)
                        .or_default()
                        .0
                        .get_or_insert(RawEntry { kind, ..entry });
                }
                EntryPosition::InDaemonDirectory(dir, start) => {
                    dirs.entry(dir).or_default().1.push(entry, start);
                }
                EntryPosition::Misplaced => {
                    acc.misplaced
                        .push(String::from_utf8_lossy(&entry.path).into_owned());
                }
                EntryPosition::Elsewhere => {
                    // A link or submodule in place of a directory is not followed, but it is reported.
                    if !holds_daemons(&entry.path) || !is_elsewhere(entry.kind) {
                        continue;
                    }
                    match daemon_directory(&entry.path) {
                        Some(name) => {
                            if let Ok(dir) = TreePath::from_bytes(name) {
                                dirs.entry(dir).or_default().0 = Some(entry);
                            }
                        }
                        None if entry.path == b".agents" => {
                            acc.barred = Some((".agents", entry.kind));
                        }
                        None => acc.barred = Some((DAEMONS_DIR, entry.kind)),
                    }
                }
            }
        }
        for (dir, (file, support)) in dirs {
            match file {
                Some(_) if acc.daemons.len() == MAX_DAEMONS => acc.beyond_limit.push(dir),
                Some(file) => acc.daemons.push(PlannedDaemon { dir, file, support }),
                None => {}
            }
        }
        acc
    }

    /// Lists the regular files whose bytes are needed: daemon files, and scripts whose mode may be missing.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &RawEntry> {
        self.daemons.iter().flat_map(|planned| {
            let file = planned.readable_file();
            file.into_iter().chain(planned.support.wanted())
        })
    }

    /// Reads the files within the limits with `read`.
    pub(crate) fn finish(self, mut read: impl FnMut(&RawEntry) -> FileRead) -> Discovery {
        Discovery {
            daemons: self
                .daemons
                .into_iter()
                .map(|planned| planned.finish(&mut read))
                .collect(),
            misplaced: self.misplaced,
            beyond_limit: self.beyond_limit,
            barred: self.barred,
        }
    }
}

impl PlannedDaemon {
    fn readable_file(&self) -> Option<&RawEntry> {
        let file = &self.file;
        (file.kind.is_file() && file.size <= MAX_DAEMON_FILE).then_some(file)
    }

    fn finish(self, read: &mut impl FnMut(&RawEntry) -> FileRead) -> DaemonSource {
        let mut rev = Rev::builder();
        // The same entries go into the revision whether they come from objects or files, so that both give equal revisions.
        let content = match self.readable_file().map(&mut *read) {
            Some(FileRead::Blob(id, bytes)) => {
                rev.file(b"DAEMON.md", self.file.kind, &id);
                DaemonContent::Text(bytes)
            }
            Some(FileRead::Failed(reason)) => {
                rev.unread(b"DAEMON.md", self.file.kind, 0);
                DaemonContent::Unreadable(reason)
            }
            Some(FileRead::Unopened(id)) => {
                rev.file(b"DAEMON.md", self.file.kind, &id);
                DaemonContent::Unreadable("the object is not in the repository".into())
            }
            None => {
                rev.unread(b"DAEMON.md", self.file.kind, self.file.size);
                match self.file.kind {
                    EntryKind::File | EntryKind::Executable => DaemonContent::TooLarge {
                        size: self.file.size,
                    },
                    kind => DaemonContent::NotAFile(kind),
                }
            }
        };
        DaemonSource {
            support: self.support.finish(&mut rev, read),
            rev: rev.finish(),
            dir: self.dir,
            content,
        }
    }
}

/// Whether the files at an entry belong to another tree.
fn is_elsewhere(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Symlink | EntryKind::Submodule)
}

/// Returns the name of the daemon directory that contains a path.
fn daemon_directory(path: &[u8]) -> Option<&[u8]> {
    path.strip_prefix(DAEMONS_DIR.as_bytes())?
        .strip_prefix(b"/")
}

/// Whether a path is a daemon's `scripts` or `references`, or is below one of them.
pub(crate) fn is_support(path: &[u8]) -> bool {
    let EntryPosition::InDaemonDirectory(_, start) = EntryPosition::of(path) else {
        return false;
    };
    let top = path[start..].split(|byte| *byte == b'/').next();
    matches!(top, Some(b"scripts" | b"references"))
}

/// The position of an entry relative to the daemon directories.
enum EntryPosition {
    DaemonFile(TreePath),
    /// Below a directory with the name of the daemon file.
    InsideDaemonFile(TreePath),
    /// In a daemon's directory; the relative path starts at this byte.
    InDaemonDirectory(TreePath, usize),
    Misplaced,
    Elsewhere,
}

impl EntryPosition {
    fn of(path: &[u8]) -> Self {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let looks_like_one = name.eq_ignore_ascii_case(DAEMON_FILE.as_bytes());
        let elsewhere = if looks_like_one {
            Self::Misplaced
        } else {
            Self::Elsewhere
        };
        let start = DAEMONS_DIR.len() + 1;
        let Some(below) = path.strip_prefix(DAEMONS_DIR.as_bytes()) else {
            return elsewhere;
        };
        let Some(below) = below.strip_prefix(b"/") else {
            return elsewhere;
        };
        let Some(slash) = below.iter().position(|byte| *byte == b'/') else {
            return elsewhere;
        };
        let Ok(dir) = TreePath::from_bytes(&below[..slash]) else {
            return elsewhere;
        };
        let rest = &below[slash + 1..];
        let first = rest.split(|byte| *byte == b'/').next().unwrap_or(rest);
        match first {
            b"DAEMON.md" if first.len() == rest.len() => Self::DaemonFile(dir),
            b"DAEMON.md" => Self::InsideDaemonFile(dir),
            b"scripts" | b"references" => Self::InDaemonDirectory(dir, start + slash + 1),
            _ if looks_like_one => Self::Misplaced,
            _ => Self::InDaemonDirectory(dir, start + slash + 1),
        }
    }
}

#[cfg(test)]
mod tests;
