//! The files that stand beside a daemon file, and the revision of both.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::discover::Read;
use crate::object::{InvalidName, ObjectId, hex};
use crate::path::TreePath;
use crate::tree::{EntryKind, RawEntry};

/// The most files of a support tree.
pub const MAX_SUPPORT_FILES: usize = 200;
/// The most bytes of one support file.
pub const MAX_SUPPORT_FILE: u64 = 1 << 20;
/// The most bytes of a support tree.
pub const MAX_SUPPORT_TREE: u64 = 8 << 20;
/// The most parts of a support file's path, counted from the daemon's directory.
pub const MAX_SUPPORT_DEPTH: usize = 8;

/// The most names kept of entries that are not part of a support tree.
const MAX_NAMES: usize = 200;

/// The `scripts/` and `references/` of one daemon, in path order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupportTree {
    /// The files the daemon may use.
    pub files: Vec<SupportFile>,
    /// Entries that are never used, whatever the limits.
    pub refused: Vec<RefusedEntry>,
    /// Files beyond the limits, the first 200 of them.
    pub left_out: Vec<TreePath>,
    /// How many files are beyond the limits.
    pub n_left_out: usize,
    /// Entries beside `scripts/` and `references/`, the first 200 of them, as text with replacement characters.
    pub stray: Vec<String>,
}

/// One file that a daemon may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportFile {
    /// Its path from the daemon's directory.
    pub path: TreePath,
    /// Whether it may be executed.
    pub executable: bool,
    /// Whether it is below `scripts/`, begins with `#!` and may not be executed.
    pub lacks_mode: bool,
    /// Its size in bytes.
    pub size: u64,
    /// The name of its content.
    pub object: ObjectId,
}

/// An entry that is not given to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEntry {
    /// Its path from the daemon's directory; bytes that are not UTF-8 show as the replacement character.
    pub path: String,
    /// Why it is refused.
    pub reason: Refusal,
}

/// Why an entry is not given to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a regular file.
    Kind(EntryKind),
    /// Its name leaves the directory, or is not printable UTF-8.
    Name,
    /// It could not be read, for this reason.
    Unreadable(Box<str>),
}

/// The content hash of a daemon: 64 hexadecimal digits over its file and its support tree.
///
/// Equal content gives equal revisions, in whichever repository, directory or working tree it stands. What lies beyond the
/// limits counts by name and size only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rev(Box<str>);

impl Rev {
    pub(crate) fn builder() -> RevBuilder {
        RevBuilder(Sha256::new_with_prefix("daemon-rev 1\0"))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Rev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Rev {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && text.len() == 64 {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::new(text, "a revision"))
        }
    }
}

/// The hash of a revision while entries are added in path order.
pub(crate) struct RevBuilder(Sha256);

impl RevBuilder {
    /// Adds a file by its content.
    pub(crate) fn file(&mut self, path: &[u8], kind: EntryKind, object: &ObjectId) {
        self.entry(path, kind, object.as_str());
    }

    /// Adds an entry whose content is not used.
    pub(crate) fn unread(&mut self, path: &[u8], kind: EntryKind, size: u64) {
        self.entry(path, kind, &size.to_string());
    }

    fn entry(&mut self, path: &[u8], kind: EntryKind, content: &str) {
        // No path holds NUL, so the record ends where it seems to.
        self.0.update(kind.mode());
        self.0.update(" ");
        self.0.update(content);
        self.0.update("\t");
        self.0.update(path);
        self.0.update("\0");
    }

    pub(crate) fn finish(self) -> Rev {
        Rev(hex(&self.0.finalize()).into_boxed_str())
    }
}

/// A support tree before its files are read.
#[derive(Default)]
pub(crate) struct Candidate {
    entries: Vec<(usize, RawEntry)>,
    stray: Vec<String>,
}

impl Candidate {
    /// Adds an entry whose path from the daemon's directory starts at byte `start`.
    pub(crate) fn push(&mut self, entry: RawEntry, start: usize) {
        let relative = &entry.path[start..];
        let is_support = [&b"scripts"[..], b"references"].into_iter().any(|root| {
            relative
                .strip_prefix(root)
                .is_some_and(|rest| match rest.first() {
                    Some(byte) => *byte == b'/',
                    // A link in place of the directory is refused with the tree; a plain file is only in the way.
                    None => !entry.kind.is_file(),
                })
        });
        if is_support {
            self.entries.push((start, entry));
        } else if self.stray.len() < MAX_NAMES {
            self.stray
                .push(String::from_utf8_lossy(relative).into_owned());
        }
    }

    /// Lists the files that must be opened to see how they begin.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &RawEntry> {
        let mut bounds = Bounds::default();
        self.entries.iter().filter_map(move |(start, entry)| {
            let path = TreePath::from_bytes(&entry.path[*start..]).ok()?;
            let inside = entry.kind.is_file() && bounds.admit(&path, entry.size);
            (inside && may_lack_mode(&path, entry)).then_some(entry)
        })
    }

    pub(crate) fn finish(
        self,
        rev: &mut RevBuilder,
        read: &mut impl FnMut(&RawEntry) -> Read,
    ) -> SupportTree {
        let mut acc = SupportTree {
            stray: self.stray,
            ..SupportTree::default()
        };
        let mut bounds = Bounds::default();
        for (start, entry) in self.entries {
            let relative = &entry.path[start..];
            let refusal = match TreePath::from_bytes(relative) {
                Err(_) => Some(Refusal::Name),
                Ok(_) if !entry.kind.is_file() => Some(Refusal::Kind(entry.kind)),
                Ok(path) if !bounds.admit(&path, entry.size) => {
                    rev.unread(relative, entry.kind, entry.size);
                    acc.leave_out(path);
                    continue;
                }
                Ok(path) => acc.keep(path, &entry, rev, read(&entry)),
            };
            if let Some(reason) = refusal {
                rev.unread(relative, entry.kind, 0);
                let path = String::from_utf8_lossy(relative).into_owned();
                acc.refused.push(RefusedEntry { path, reason });
            }
        }
        acc
    }
}

impl SupportTree {
    fn leave_out(&mut self, path: TreePath) {
        self.n_left_out += 1;
        if self.left_out.len() < MAX_NAMES {
            self.left_out.push(path);
        }
    }

    fn keep(
        &mut self,
        path: TreePath,
        entry: &RawEntry,
        rev: &mut RevBuilder,
        read: Read,
    ) -> Option<Refusal> {
        let (object, begins_with_shebang) = match read {
            Read::Blob(object, bytes) => (object, bytes.starts_with(b"#!")),
            Read::Unopened(object) => (object, false),
            Read::Failed(reason) => return Some(Refusal::Unreadable(reason)),
        };
        rev.file(path.as_str().as_bytes(), entry.kind, &object);
        self.files.push(SupportFile {
            executable: entry.kind == EntryKind::Executable,
            lacks_mode: begins_with_shebang && may_lack_mode(&path, entry),
            size: entry.size,
            path,
            object,
        });
        None
    }
}

fn may_lack_mode(path: &TreePath, entry: &RawEntry) -> bool {
    entry.kind == EntryKind::File && path.as_str().starts_with("scripts/")
}

/// The limits of a support tree, met in path order: once the count or the sum is reached, everything after is out.
#[derive(Default)]
struct Bounds {
    n_files: usize,
    bytes: u64,
    is_full: bool,
}

impl Bounds {
    fn admit(&mut self, path: &TreePath, size: u64) -> bool {
        if size > MAX_SUPPORT_FILE || path.depth() > MAX_SUPPORT_DEPTH {
            return false;
        }
        self.is_full |= self.n_files == MAX_SUPPORT_FILES || self.bytes + size > MAX_SUPPORT_TREE;
        if self.is_full {
            return false;
        }
        self.n_files += 1;
        self.bytes += size;
        true
    }
}
