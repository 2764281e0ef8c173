//! The support files of a daemon, and the revision of the daemon file with them.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::discover::FileRead;
use crate::object::{InvalidName, ObjectId, hex};
use crate::path::TreePath;
use crate::tree::{EntryKind, RawEntry};

// The linter has the same limits, so that it reports exactly the files that a run does not get.
/// The maximum number of files in a support tree.
pub const MAX_SUPPORT_FILES: usize = daemon_validate::MAX_SUPPORT_FILES;
/// The maximum size of one support file, in bytes.
pub const MAX_SUPPORT_FILE: u64 = daemon_validate::MAX_SUPPORT_FILE_BYTES;
/// The maximum size of a support tree, in bytes.
pub const MAX_SUPPORT_TREE: u64 = daemon_validate::MAX_SUPPORT_BYTES;
/// The maximum number of directories between the daemon's directory and a support file.
pub const MAX_SUPPORT_DEPTH: usize = daemon_validate::MAX_SUPPORT_DEPTH;

/// The maximum number of names kept of entries that are not part of a support tree.
const MAX_NAMES: usize = 200;

/// The `scripts/` and `references/` of a daemon, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupportTree {
    /// The files that the daemon may use.
    pub files: Vec<SupportFile>,
    /// Entries that are rejected regardless of the limits.
    pub refused: Vec<RefusedEntry>,
    /// The files that exceed the limits, the first 200 of them.
    pub left_out: Vec<LeftOutFile>,
    /// The number of files that exceed the limits.
    pub n_left_out: usize,
    /// Other entries in the daemon's directory, the first 200 of them; invalid UTF-8 is replaced.
    pub stray: Vec<String>,
}

/// A file that a daemon may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportFile {
    /// The path relative to the daemon's directory.
    pub path: TreePath,
    /// Whether the file is executable.
    pub executable: bool,
    /// Whether the file is below `scripts/` and starts with `#!`, but is not executable.
    pub lacks_mode: bool,
    /// The size in bytes.
    pub size: u64,
    /// The object name of the content.
    pub object: ObjectId,
}

/// A file that exceeds the limits of a support tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutFile {
    /// The path relative to the daemon's directory.
    pub path: TreePath,
    /// The size in bytes.
    pub size: u64,
}

/// An entry that the daemon cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEntry {
    /// The path relative to the daemon's directory; invalid UTF-8 is replaced.
    pub path: String,
    /// The reason for the rejection.
    pub reason: EntryRefusal,
}

/// The reason why a daemon cannot use an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryRefusal {
    /// The entry is not a regular file.
    Kind(EntryKind),
    /// The name leaves the directory or is not printable UTF-8.
    Name,
    /// The file could not be read, for this reason.
    Unreadable(Box<str>),
}

/// The content hash of a daemon: 64 hexadecimal digits over its file and its support tree.
///
/// Equal content gives equal revisions, regardless of the repository, the directory or the work tree. DirectoryFiles beyond the limits
/// are included by name and size only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rev(Box<str>);

impl Rev {
    pub(crate) fn builder() -> RevBuilder {
        // The prefix has a version: if the records change, every revision changes with them.
        RevBuilder(Sha256::new_with_prefix("daemon-rev 1\0"))
    }

    /// Returns the hexadecimal digits.
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

/// The hash of a revision; entries are added in path order.
pub(crate) struct RevBuilder(Sha256);

impl RevBuilder {
    /// Adds a file by its content.
    pub(crate) fn file(&mut self, path: &[u8], kind: EntryKind, object: &ObjectId) {
        self.entry(path, kind, object.as_str());
    }

    /// Adds an entry by its kind and size, without its content.
    pub(crate) fn unread(&mut self, path: &[u8], kind: EntryKind, size: u64) {
        self.entry(path, kind, &size.to_string());
    }

    fn entry(&mut self, path: &[u8], kind: EntryKind, content: &str) {
        // A path contains no NUL, so the record is unambiguous.
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

/// The entries of a support tree whose files have not been read yet.
#[derive(Default)]
pub(crate) struct SupportCandidates {
    entries: Vec<(usize, RawEntry)>,
    stray: Vec<String>,
}

impl SupportCandidates {
    /// Adds an entry; the path relative to the daemon's directory starts at byte `start`.
    pub(crate) fn push(&mut self, entry: RawEntry, start: usize) {
        let relative = &entry.path[start..];
        let is_support = [&b"scripts"[..], b"references"].into_iter().any(|root| {
            relative
                .strip_prefix(root)
                .is_some_and(|rest| match rest.first() {
                    Some(byte) => *byte == b'/',
                    // A link in place of the directory is rejected; a plain file of that name is merely listed.
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

    /// Lists the files whose first bytes are needed.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &RawEntry> {
        let mut bounds = SupportLimits::default();
        self.entries.iter().filter_map(move |(start, entry)| {
            let path = TreePath::from_bytes(&entry.path[*start..]).ok()?;
            let inside = entry.kind.is_file() && bounds.admit(&path, entry.size);
            (inside && may_lack_mode(&path, entry)).then_some(entry)
        })
    }

    pub(crate) fn finish(
        self,
        rev: &mut RevBuilder,
        read: &mut impl FnMut(&RawEntry) -> FileRead,
    ) -> SupportTree {
        let mut acc = SupportTree {
            stray: self.stray,
            ..SupportTree::default()
        };
        let mut bounds = SupportLimits::default();
        for (start, entry) in self.entries {
            let relative = &entry.path[start..];
            let refusal = match TreePath::from_bytes(relative) {
                Err(_) => Some(EntryRefusal::Name),
                Ok(_) if !entry.kind.is_file() => Some(EntryRefusal::Kind(entry.kind)),
                Ok(path) if !bounds.admit(&path, entry.size) => {
                    rev.unread(relative, entry.kind, entry.size);
                    acc.leave_out(path, entry.size);
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
    fn leave_out(&mut self, path: TreePath, size: u64) {
        self.n_left_out += 1;
        if self.left_out.len() < MAX_NAMES {
            self.left_out.push(LeftOutFile { path, size });
        }
    }

    fn keep(
        &mut self,
        path: TreePath,
        entry: &RawEntry,
        rev: &mut RevBuilder,
        read: FileRead,
    ) -> Option<EntryRefusal> {
        let (object, begins_with_shebang) = match read {
            FileRead::Blob(object, bytes) => (object, bytes.starts_with(b"#!")),
            FileRead::Unopened(object) => (object, false),
            FileRead::Failed(reason) => return Some(EntryRefusal::Unreadable(reason)),
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

/// The limits of a support tree, applied in path order: after the first file that exceeds the count or the total size, no
/// further file is admitted.
#[derive(Default)]
struct SupportLimits {
    n_files: usize,
    bytes: u64,
    is_full: bool,
}

impl SupportLimits {
    fn admit(&mut self, path: &TreePath, size: u64) -> bool {
        // The last component is the file.
        if size > MAX_SUPPORT_FILE || path.depth() > MAX_SUPPORT_DEPTH + 1 {
            // Does not set `is_full`: a single file that is too large does not exclude the files after it.
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
