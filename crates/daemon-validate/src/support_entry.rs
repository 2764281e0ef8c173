//! The entries of a daemon's directory, as data.

/// The file type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SupportKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link that does not lead to a file or directory of the repository.
    Symlink,
    /// A git submodule.
    Submodule,
    /// A directory whose entries are not all known.
    Unlisted,
    /// A device, pipe, socket or another special file.
    Special,
}

impl SupportKind {
    /// Returns a description of the entry for a message that it is not read.
    #[must_use]
    pub fn why_unread(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link, which is not followed",
            Self::Submodule => "another repository (a submodule), which is not read",
            Self::Unlisted => "a directory that cannot be listed",
            Self::Special => "not a regular file",
        }
    }
}

/// An entry below a daemon's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportEntry {
    /// The path relative to the daemon's directory, with `/` between its parts. It can be invalid
    /// UTF-8.
    pub path: Vec<u8>,
    /// The file type.
    pub kind: SupportKind,
    /// The size in bytes. Zero unless the entry is a file.
    pub size: u64,
    /// The Unix permission bits, such as `0o755`. `None` if the system has no permission bits.
    pub permissions: Option<u32>,
    /// The first bytes of a file, at least up to the end of the first line. Empty if it was not read.
    pub head: Vec<u8>,
}

impl SupportEntry {
    /// Creates a regular file that is not executable and has unknown content.
    #[must_use]
    pub fn file(path: impl Into<Vec<u8>>, size: u64) -> Self {
        Self {
            path: path.into(),
            kind: SupportKind::File,
            size,
            permissions: Some(0o644),
            head: Vec::new(),
        }
    }
}
