//! One entry below a daemon's directory, as data.

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SupportKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link that does not lead to a file or a directory of the repository.
    Symlink,
    /// A git submodule.
    Submodule,
    /// A device, pipe, socket or anything else.
    Special,
}

impl SupportKind {
    /// Says what is in place of a file or directory that was to be read, and why that is not read.
    #[must_use]
    pub fn why_unread(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link, which is not followed",
            Self::Submodule => "another repository (a submodule), which is not read",
            Self::Special => "not a regular file",
        }
    }
}

/// One entry below a daemon's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportEntry {
    /// Its path below the daemon's directory, as stored, with `/` between its parts.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: SupportKind,
    /// Its size in bytes; 0 for anything but a file.
    pub size: u64,
    /// Its Unix permission bits, such as `0o755`; `None` where the system keeps none.
    pub permissions: Option<u32>,
    /// Its first bytes, up to the end of the first line or so; empty when not read.
    pub head: Vec<u8>,
}

impl SupportEntry {
    /// Makes a regular file that is not executable and whose content is not known.
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
