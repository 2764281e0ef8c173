//! What a tree holds below `.agents/daemons`, whether it was read from objects or from files.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_validate::holds_daemons;

use crate::path::TreePath;
use crate::support::{Candidate, Rev, SupportTree};
use crate::tree::{EntryKind, RawEntry};

/// The directory that holds one directory per daemon.
pub const DAEMONS_DIR: &str = ".agents/daemons";
/// The name of a daemon file, in exactly this case.
pub const DAEMON_FILE: &str = "DAEMON.md";
/// The most bytes of a daemon file that are read.
pub const MAX_DAEMON_FILE: u64 = 256 << 10;
/// The most daemons of one repository that are read.
pub const MAX_DAEMONS: usize = 1_000;

/// Everything of one tree that concerns daemons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The daemon files, ordered by directory.
    pub daemons: Vec<DaemonSource>,
    /// Files that look like daemon files at a place or in a case where none is looked for; bytes that are not UTF-8 show
    /// as the replacement character.
    pub misplaced: Vec<String>,
    /// Directories beyond the first 1,000, which are not read.
    pub beyond_limit: Vec<TreePath>,
    /// `.agents` or [`DAEMONS_DIR`], where it is no directory of this tree, so that no daemon behind it is read.
    pub barred: Option<(&'static str, EntryKind)>,
}

/// One daemon file and what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSource {
    /// The name of its directory below `.agents/daemons`.
    pub dir: TreePath,
    /// The file.
    pub content: Content,
    /// Its `scripts/` and `references/`.
    pub support: SupportTree,
    /// The content hash of file and support tree.
    pub rev: Rev,
}

impl DaemonSource {
    /// Returns the path of the daemon file from the root of the repository.
    pub fn path(&self) -> String {
        format!("{DAEMONS_DIR}/{}/{DAEMON_FILE}", self.dir)
    }
}

/// The bytes of a daemon file, or why they were not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The whole file as stored.
    Text(Arc<[u8]>),
    /// The file has more bytes than [`MAX_DAEMON_FILE`].
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// Something else stands where the file should.
    NotAFile(EntryKind),
    /// The file could not be read, for this reason.
    Unreadable(Box<str>),
}

/// What a reader found out about one regular file.
pub(crate) enum Read {
    /// Its bytes; for a support file only the name of the blob counts.
    Blob(crate::object::ObjectId, Arc<[u8]>),
    /// Its blob, which nobody needed to open.
    Unopened(crate::object::ObjectId),
    /// The system's reason.
    Failed(Box<str>),
}

/// One daemon directory before its files are read.
pub(crate) struct Planned {
    dir: TreePath,
    file: RawEntry,
    support: Candidate,
}

/// A tree sorted into daemon directories before their files are read.
#[derive(Default)]
pub(crate) struct Plan {
    daemons: Vec<Planned>,
    misplaced: Vec<String>,
    beyond_limit: Vec<TreePath>,
    barred: Option<(&'static str, EntryKind)>,
}

impl Plan {
    /// Sorts the entries of a tree; the order they come in does not matter.
    pub(crate) fn new(mut entries: Vec<RawEntry>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let mut acc = Self::default();
        let mut dirs: BTreeMap<TreePath, (Option<RawEntry>, Candidate)> = BTreeMap::new();
        for entry in entries {
            match Place::of(&entry.path) {
                Place::DaemonFile(dir) => dirs.entry(dir).or_default().0 = Some(entry),
                Place::InsideDaemonFile(dir) => {
                    let kind = EntryKind::Directory;
                    dirs.entry(dir)
                        .or_default()
                        .0
                        .get_or_insert(RawEntry { kind, ..entry });
                }
                Place::Beside(dir, start) => dirs.entry(dir).or_default().1.push(entry, start),
                Place::Misplaced => {
                    acc.misplaced
                        .push(String::from_utf8_lossy(&entry.path).into_owned());
                }
                Place::Elsewhere => {
                    // What is in place of a directory is not followed, and not passed over in silence.
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
                Some(file) => acc.daemons.push(Planned { dir, file, support }),
                None => {}
            }
        }
        acc
    }

    /// Lists the regular files whose bytes are needed: daemon files, and scripts that may lack their mode.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &RawEntry> {
        self.daemons.iter().flat_map(|planned| {
            let file = planned.readable_file();
            file.into_iter().chain(planned.support.wanted())
        })
    }

    /// Reads every file within the limits through `read`.
    pub(crate) fn finish(self, mut read: impl FnMut(&RawEntry) -> Read) -> Discovery {
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

impl Planned {
    fn readable_file(&self) -> Option<&RawEntry> {
        let file = &self.file;
        (file.kind.is_file() && file.size <= MAX_DAEMON_FILE).then_some(file)
    }

    fn finish(self, read: &mut impl FnMut(&RawEntry) -> Read) -> DaemonSource {
        let mut rev = Rev::builder();
        let content = match self.readable_file().map(&mut *read) {
            Some(Read::Blob(id, bytes)) => {
                rev.file(b"DAEMON.md", self.file.kind, &id);
                Content::Text(bytes)
            }
            Some(Read::Failed(reason)) => {
                rev.unread(b"DAEMON.md", self.file.kind, 0);
                Content::Unreadable(reason)
            }
            Some(Read::Unopened(id)) => {
                rev.file(b"DAEMON.md", self.file.kind, &id);
                Content::Unreadable("the object is not in the repository".into())
            }
            None => {
                rev.unread(b"DAEMON.md", self.file.kind, self.file.size);
                match self.file.kind {
                    EntryKind::File | EntryKind::Executable => Content::TooLarge {
                        size: self.file.size,
                    },
                    kind => Content::NotAFile(kind),
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

/// Reports whether the files behind an entry are not of its tree.
fn is_elsewhere(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Symlink | EntryKind::Submodule)
}

/// Returns the name of the daemon whose directory a path is, or is below.
fn daemon_directory(path: &[u8]) -> Option<&[u8]> {
    path.strip_prefix(DAEMONS_DIR.as_bytes())?
        .strip_prefix(b"/")
}

/// Reports whether a path is that of a daemon's `scripts` or `references`, or below.
pub(crate) fn is_support(path: &[u8]) -> bool {
    let Place::Beside(_, start) = Place::of(path) else {
        return false;
    };
    let top = path[start..].split(|byte| *byte == b'/').next();
    matches!(top, Some(b"scripts" | b"references"))
}

/// Where an entry stands.
enum Place {
    DaemonFile(TreePath),
    /// Below a directory that has the daemon file's name.
    InsideDaemonFile(TreePath),
    /// In a daemon's directory; the path relative to it starts at this byte.
    Beside(TreePath, usize),
    Misplaced,
    Elsewhere,
}

impl Place {
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
            b"scripts" | b"references" => Self::Beside(dir, start + slash + 1),
            _ if looks_like_one => Self::Misplaced,
            _ => Self::Beside(dir, start + slash + 1),
        }
    }
}

#[cfg(test)]
mod tests;
