//! Overlay mounts of an isolated child: shared directories below, the changes of one child above.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use super::confinement::unsupported;
use super::root::Access;
use crate::spawn::StartStep;

/// Directories that an isolated child sees as one. Only its own tree sees the mount, which ends with it.
///
/// The child reaches the directories through `target` only, not under their own paths. None of them may be above or below a writable path
/// of the sandbox. A path of the sandbox below `target` must exist in one of the directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMount {
    /// The directories whose content is visible, the top one first, at most 8. They must not change while the child runs. What another user
    /// owns can be deleted but not changed (`EOVERFLOW`), and a file system mounted below one of them is refused.
    pub lower: Vec<PathBuf>,
    /// The directory of the changes. Without it the child can only read, and at least two lower directories are required.
    pub upper: Option<UpperDirectory>,
    /// The absolute path at which the child sees them. It does not have to exist outside.
    pub target: PathBuf,
}

/// The directory of the changes made through an overlay.
///
/// It may have content before the child starts, and can be used again by later children, one at a time. When the child has ended, it contains:
///
/// - every file, link and directory that was made or changed, as a whole; also those that were only opened for writing, linked, or got another
///   mode or time;
/// - a character device 0:0 for a name that was deleted or moved away; the child itself cannot make one;
/// - directories that hide what the lower directories have at their path: their attribute `user.overlay.opaque` is `y`. It also occurs
///   where the lower directories have nothing.
///
/// A lower directory cannot be renamed (`EXDEV`): programs copy it, and delete the original. Other attributes `user.overlay.*` have no
/// meaning for the content. The child can set attributes with these names, but they are stored as `user.overlay.overlay.*` (Linux 6.7) or
/// refused. It can make FIFOs, sockets, and hard links within the directory.
///
/// The file system must pass [`probe_overlays`](crate::probe_overlays). Changes are not on disk when the child ends, even those that it synchronised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpperDirectory {
    /// The directory itself, which belongs to the user of this process. Its mode is the one of the target: the child can change it.
    pub directory: PathBuf,
    /// An empty directory for the kernel, on the same mount. It makes a directory `work` in it with mode 0.
    pub work: PathBuf,
}

/// The maximum number of lower directories: the kernel accepts up to 255 bytes for their paths.
const MOST_LAYERS: usize = 8;
/// The size of a value of the kernel's mount options, with the final NUL.
const VALUE_BYTES: usize = 256;

/// The mark of the kernel in a work directory, in the order of removal.
const VOLATILE: [(&CStr, AtFlags); 2] = [
    (c"work/incompat/volatile/dirty", AtFlags::empty()),
    (c"work/incompat/volatile", AtFlags::REMOVEDIR),
];

/// A planned overlay, with every path in the form that the kernel reads.
#[derive(Debug)]
pub(super) struct Overlay {
    lower: Vec<CString>,
    upper: Option<[CString; 2]>,
}

impl OverlayMount {
    /// Returns the access that the child has to it.
    pub(super) fn access(&self) -> Access {
        match self.upper {
            Some(_) => Access::Write,
            None => Access::Read,
        }
    }

    /// Plans the mount for a child that also sees the paths of `shown`.
    ///
    /// # Errors
    /// Returns an error if there are too few or too many layers, or if the child could change a layer by its path.
    pub(super) fn plan(&self, shown: &BTreeMap<PathBuf, Access>) -> io::Result<Overlay> {
        let least = if self.upper.is_some() { 1 } else { 2 };
        if !(least..=MOST_LAYERS).contains(&self.lower.len()) {
            return Err(unsupported("an overlay has too few or too many layers"));
        }
        let path = |path: &PathBuf| {
            let path = path.canonicalize().map_err(|error| {
                let text = format!("cannot open the layer `{}`: {error}", path.display());
                io::Error::new(error.kind(), text)
            })?;
            let mut shown = shown.iter();
            let overlaps = |other: &Path| path.starts_with(other) || other.starts_with(&path);
            if shown.any(|(other, access)| *access == Access::Write && overlaps(other)) {
                return Err(unsupported("a layer of an overlay would be writable"));
            }
            Ok(CString::new(path.as_os_str().as_bytes())?)
        };
        let upper = self.upper.as_ref();
        let upper =
            upper.map(|upper| Ok::<_, io::Error>([path(&upper.directory)?, path(&upper.work)?]));
        Ok(Overlay {
            lower: self.lower.iter().map(path).collect::<io::Result<_>>()?,
            upper: upper.transpose()?,
        })
    }
}

impl Overlay {
    /// Creates the mount, to be attached later. Makes only system calls.
    pub(super) fn hold(&self) -> Result<OwnedFd, (StartStep, Errno)> {
        let at = |step| move |error| (step, error);
        let mut lower = [const { None }; MOST_LAYERS];
        for (layer, path) in lower.iter_mut().zip(&self.lower) {
            *layer = Some(open_layer(path).map_err(at(StartStep::Layers))?);
        }
        let upper = match &self.upper {
            Some([directory, work]) => {
                let opened = open_layer(directory).and_then(|upper| Ok((upper, open_layer(work)?)));
                Some(opened.map_err(at(StartStep::Layers))?)
            }
            None => None,
        };
        mounted(&lower, upper.as_ref()).map_err(at(StartStep::Overlay))
    }
}

fn open_layer(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn mounted(
    lower: &[Option<OwnedFd>],
    upper: Option<&(OwnedFd, OwnedFd)>,
) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &CStr, value: &CStr| fsconfig_set_string(&context, key, value);
    set(c"source", c"overlay")?;
    // Without this, the kernel keeps its attributes where only a privileged process can set them.
    fsconfig_set_flag(&context, c"userxattr")?;
    with_paths(lower.iter().flatten(), |paths| set(c"lowerdir", paths))?;
    if let Some((directory, work)) = upper {
        with_paths([directory], |path| set(c"upperdir", path))?;
        with_paths([work], |path| set(c"workdir", path))?;
        // Otherwise the end of the mount writes the whole file system of the upper directory to disk.
        fsconfig_set_flag(&context, c"volatile")?;
        // The kernel refuses a directory that was used so before, because a crash of the machine loses changes. The first time it is absent.
        for (mark, flags) in VOLATILE {
            rustix::fs::unlinkat(work, mark, flags).unwrap_or(());
        }
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Passes on the paths of open directories, separated by colons. They are short, and need no escapes for what their real paths contain.
fn with_paths<'a>(
    directories: impl IntoIterator<Item = &'a OwnedFd>,
    pass: impl FnOnce(&CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut value = [0; VALUE_BYTES];
    let (mut rest, _) = value.split_at_mut(VALUE_BYTES - 1);
    let mut separator = "";
    for directory in directories {
        let written = write!(rest, "{separator}/proc/self/fd/{}", directory.as_raw_fd());
        if written.is_err() {
            return Err(Errno::NAMETOOLONG);
        }
        separator = ":";
    }
    CStr::from_bytes_until_nul(&value).map_or(Err(Errno::INVAL), pass)
}
