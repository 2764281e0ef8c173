//! The entries of a tree, as git lists them.

use daemon_validate::SupportKind;

use crate::object::ObjectId;

/// The kind of an entry, from its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A regular file that is executable.
    Executable,
    /// A symbolic link.
    Symlink,
    /// A commit of another repository.
    Submodule,
    /// A directory that could not be read.
    Directory,
    /// A device, a pipe or a socket, which exist only in work trees.
    Special,
}

impl EntryKind {
    /// Converts a mode as printed by git.
    pub(crate) fn from_mode(mode: &[u8]) -> Self {
        match mode {
            b"100755" => Self::Executable,
            b"120000" => Self::Symlink,
            b"160000" => Self::Submodule,
            b"040000" => Self::Directory,
            // Old git wrote group-writable files as 100664.
            _ if mode.starts_with(b"100") => Self::File,
            _ => Self::Special,
        }
    }

    /// Returns the mode as printed by git; zeros for kinds that git cannot store.
    pub fn mode(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Submodule => "160000",
            Self::Directory => "040000",
            Self::Special => "000000",
        }
    }

    /// Returns what the entry is and why it is not read, for a diagnostic.
    pub fn why_unread(self) -> &'static str {
        let kind = match self {
            Self::File | Self::Executable => SupportKind::File,
            Self::Symlink => SupportKind::Symlink,
            Self::Submodule => SupportKind::Submodule,
            Self::Directory => SupportKind::Directory,
            Self::Special => SupportKind::Special,
        };
        kind.why_unread()
    }

    /// Whether the entry is a regular file, executable or not.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// An entry of a listing. The path is raw bytes, and nothing is validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    /// The object name; `None` in a work tree, where files are hashed only when they are read.
    pub(crate) object: Option<ObjectId>,
}

/// Parses `git ls-tree -r -z -l`: `<mode> SP <type> SP <object> SP+ <size> TAB <path> NUL`.
///
/// Returns `None` if a record has another format.
pub(crate) fn parse_listing(listing: &[u8]) -> Option<Vec<RawEntry>> {
    listing
        .split(|byte| *byte == 0)
        .filter(|record| !record.is_empty())
        .map(parse_record)
        .collect()
}

fn parse_record(record: &[u8]) -> Option<RawEntry> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let (fields, path) = (&record[..tab], &record[tab + 1..]);
    let mut fields = fields
        .split(|byte| *byte == b' ')
        .filter(|field| !field.is_empty());
    let (mode, _type, object, size) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    let text = |bytes| std::str::from_utf8(bytes).ok();
    Some(RawEntry {
        path: path.to_owned(),
        kind: EntryKind::from_mode(mode),
        size: if size == b"-" {
            0
        } else {
            text(size)?.parse().ok()?
        },
        object: Some(text(object)?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_names_and_kinds_are_parsed() {
        let id = "ce013625030ba8dba906f756967f9e9ca394464a";
        let listing = format!(
            "100644 blob {id}       6\ta b\tc\n\0100755 blob {id}       7\tx\0120000 blob {id} 8\ty\0160000 commit {id}       -\tz\0"
        );
        let entry = |path: &str, kind, size| RawEntry {
            path: path.into(),
            kind,
            size,
            object: Some(id.parse().unwrap()),
        };
        assert_eq!(
            parse_listing(listing.as_bytes()),
            Some(vec![
                entry("a b\tc\n", EntryKind::File, 6),
                entry("x", EntryKind::Executable, 7),
                entry("y", EntryKind::Symlink, 8),
                entry("z", EntryKind::Submodule, 0),
            ])
        );
        for broken in [
            "x",
            "100644 blob\ta\0",
            "100644 blob zz 1\ta",
            "100644 blob x 1\ta",
        ] {
            assert_eq!(parse_listing(broken.as_bytes()), None, "{broken:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_any_listing_does_not_panic(listing in "([0-9a-f]{0,44}|[ \t\\x00]|blob|-|[a-z/.]{0,5}){0,20}") {
            let _entries: Option<Vec<RawEntry>> = parse_listing(listing.as_bytes());
        }
    }
}
