//! Work trees of which git's files are a lower layer, shared with other runs, and what the run changes is an upper one.
//!
//! Only the processes of the run see both together, as an overlay file system. In the upper layer, a character device with the
//! numbers 0 and 0 marks a removed path, and the extended attribute `user.overlay.opaque` marks a directory that hides the one
//! below it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType as NodeType, Mode, lgetxattr, mknodat};
use rustix::io::Errno;

/// The attribute that marks an opaque directory.
const OPAQUE: &str = "user.overlay.opaque";

/// The directories of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// The layers that are not changed, the topmost first.
    pub lower: Vec<PathBuf>,
    /// The layer with the changes.
    pub upper: PathBuf,
    /// An empty directory that the kernel uses.
    pub work: PathBuf,
}

/// The paths of an upper layer, relative to it. The git directory at its top is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Upper {
    /// Everything but directories and marks of removal.
    pub(crate) files: BTreeSet<Vec<u8>>,
    /// The paths below which nothing of the lower layers is seen.
    pub(crate) hiding: BTreeSet<Vec<u8>>,
    /// The directories.
    pub(crate) directories: BTreeSet<Vec<u8>>,
}

impl Layers {
    /// Creates the upper layer and the directory for the kernel.
    pub(crate) fn create(&self) -> io::Result<()> {
        for path in [&self.upper, &self.work] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Ok(())
    }

    /// Reports whether the upper layer has anything but a mark of removal at a path.
    pub(crate) fn has_changed(&self, path: &[u8]) -> bool {
        let metadata = self.upper.join(OsStr::from_bytes(path)).symlink_metadata();
        metadata.is_ok_and(|metadata| !is_removal(&metadata))
    }

    /// Lists the upper layer: its top, and the directories that `is_listed` selects by their path. No process may still be writing
    /// in it.
    ///
    /// # Errors
    /// The error of the file system, also if a directory is closed to its owner.
    pub(crate) fn changed(&self, is_listed: impl Fn(&[u8]) -> bool) -> io::Result<Upper> {
        let mut acc = Upper::default();
        let mut left = vec![PathBuf::new()];
        while let Some(below) = left.pop() {
            let here = self.upper.join(&below);
            for entry in fs::read_dir(here)? {
                let entry = entry?;
                let path = below.join(entry.file_name());
                if path == Path::new(".git") {
                    continue;
                }
                let name = path.as_os_str().as_bytes().to_owned();
                let metadata = entry.metadata()?;
                if !metadata.is_dir() {
                    let is_removal = is_removal(&metadata);
                    let names = if is_removal {
                        &mut acc.hiding
                    } else {
                        &mut acc.files
                    };
                    names.insert(name);
                    continue;
                }
                if is_opaque(&entry.path())? {
                    acc.hiding.insert(name.clone());
                }
                if is_listed(&name) {
                    left.push(path);
                }
                acc.directories.insert(name);
            }
        }
        Ok(acc)
    }
}

impl Upper {
    /// Reports whether a file of the lower layers at `path` is seen no more, and no file is at this path instead.
    pub(crate) fn removes(&self, path: &[u8]) -> bool {
        let hides = |part: &[u8]| self.hiding.contains(part) || self.files.contains(part);
        !self.files.contains(path)
            && (self.directories.contains(path) || ancestors(path).any(hides))
    }
}

/// Returns a path with its parents, from the shortest.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let ends = slashes.map(|(at, _)| at).chain([path.len()]);
    ends.filter_map(|end| path.get(..end))
}

/// Puts the mark of a removed path into a layer.
pub(crate) fn mark_removed(layer: &Path, path: &[u8]) -> io::Result<()> {
    let path = layer.join(OsStr::from_bytes(path));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // Since Linux 5.8 a device with these numbers needs no privilege.
    Ok(mknodat(
        CWD,
        &path,
        NodeType::CharacterDevice,
        Mode::empty(),
        0,
    )?)
}

/// Reports whether a file marks a removed path.
pub(crate) fn is_removal(metadata: &Metadata) -> bool {
    let kind: FileType = metadata.file_type();
    kind.is_char_device() && metadata.rdev() == 0
}

fn is_opaque(directory: &Path) -> io::Result<bool> {
    let mut value = [0; 1];
    match lgetxattr(directory, OPAQUE, &mut value) {
        Ok(length) => Ok(value.get(..length) == Some(b"y".as_slice())),
        Err(Errno::NODATA | Errno::RANGE | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
