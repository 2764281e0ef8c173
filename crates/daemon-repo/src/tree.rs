//! Entries of a tree, as git lists them.

use daemon_validate::SupportKind;

use crate::object::ObjectId;

/// What an entry is, by its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A regular file that may be executed.
    Executable,
    /// A symbolic link.
    Symlink,
    /// Another repository.
    Submodule,
    /// A directory that could not be read.
    Directory,
    /// A device, a pipe or a socket; only a working tree has these.
    Special,
}

impl EntryKind {
    /// Reads a mode as git prints it.
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

    /// Returns the mode as git prints it; zeros for what git cannot store.
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

    /// Says what is in place of a file or directory that was to be read, and why that is not read.
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

    /// Whether it is a regular file, executable or not.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// One entry of a listing, with its path as raw bytes: nothing about it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    /// The object's name, where content is within the limits; a working tree does not hash what lies beyond them.
    pub(crate) object: Option<ObjectId>,
}

/// Reads `git ls-tree -r -z -l`: `<mode> SP <type> SP <object> SP+ <size> TAB <path> NUL`.
///
/// Returns `None` when a record has another shape.
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
    fn a_listing_keeps_odd_names_and_kinds() {
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
        fn no_listing_panics(listing in "([0-9a-f]{0,44}|[ \t\\x00]|blob|-|[a-z/.]{0,5}){0,20}") {
            let _entries: Option<Vec<RawEntry>> = parse_listing(listing.as_bytes());
        }
    }
}
