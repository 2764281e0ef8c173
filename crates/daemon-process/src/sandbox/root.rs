//! The root directory of an isolated child, which contains only the paths it can see.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::confinement::{DEVICES, unsupported};
use super::overlay::{Overlay, OverlayMount};
use super::system::SYSTEM;

/// The maximum number of mounts: more than any run has, and few enough for a fixed array.
pub(super) const MOST_MOUNTS: usize = 128;

/// Directories in which the root may be assembled; in the child, the root hides their content.
const BASES: [&str; 5] = ["/tmp", "/run", "/mnt", "/srv", "/var"];
/// Links that programs expect in addition to the devices.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
];
const PROCESSES: &str = "/proc";

/// The planned root, with every path in the form that the kernel reads.
#[derive(Debug)]
pub(super) struct Root {
    /// The directory that becomes the root.
    pub(super) base: CString,
    /// Mount points to be created, in order.
    pub(super) places: Vec<Place>,
    /// The mounts, in order.
    pub(super) mounts: Vec<Mount>,
    /// The mount point of the process table.
    pub(super) processes: CString,
}

#[derive(Debug)]
pub(super) enum Place {
    Directory(CString),
    File(CString),
    Link { to: CString, at: CString },
}

#[derive(Debug)]
pub(super) struct Mount {
    pub(super) source: Source,
    pub(super) target: CString,
}

#[derive(Debug)]
pub(super) enum Source {
    Path(CString, Access),
    Overlay(Overlay),
}

/// The permitted access to a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Device,
}

impl Root {
    /// Plans a root with the system, `readable` and `writable` paths, and overlays; paths that do not exist are ignored.
    ///
    /// # Errors
    /// Returns an error if there is no directory to assemble it in, if there are too many mounts, or if an overlay is invalid.
    pub(super) fn new(
        readable: &[PathBuf],
        writable: &[PathBuf],
        overlays: &[OverlayMount],
    ) -> io::Result<Self> {
        let is_directory = |path: &&str| Path::new(path).is_dir();
        let base = BASES.iter().copied().find(is_directory);
        let base = base.ok_or_else(|| unsupported("there is no directory to build a root in"))?;
        let base = Path::new(base).canonicalize()?;
        let sources = sources(shown(readable, writable), overlays)?;
        if sources.len() > MOST_MOUNTS {
            return Err(unsupported("too many paths are to be shown"));
        }
        let below = |path: &Path| {
            let mut text = base.as_os_str().as_bytes().to_owned();
            text.extend_from_slice(path.as_os_str().as_bytes());
            Ok::<_, io::Error>(CString::new(text)?)
        };
        let mut places = Places::default();
        let mut mounts = Vec::new();
        for (path, source) in sources {
            places.add(&path, &source);
            mounts.push(Mount {
                source,
                target: below(&path)?,
            });
        }
        places.kinds.insert(PROCESSES.into(), Kind::Directory);
        places.kinds.insert("/dev".into(), Kind::Directory);
        let mut made = Vec::new();
        for (path, kind) in &places.kinds {
            let path = below(path)?;
            made.push(match kind {
                Kind::Directory => Place::Directory(path),
                Kind::File => Place::File(path),
            });
        }
        for (to, at) in LINKS {
            let (to, at) = (CString::new(to)?, below(&Path::new("/").join(at))?);
            made.push(Place::Link { to, at });
        }
        Ok(Self {
            places: made,
            mounts,
            processes: below(Path::new(PROCESSES))?,
            base: CString::new(base.as_os_str().as_bytes())?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Directory,
    File,
}

/// The mount points to create; a path comes before the paths below it.
#[derive(Default)]
struct Places {
    kinds: BTreeMap<PathBuf, Kind>,
}

impl Places {
    fn add(&mut self, path: &Path, source: &Source) {
        let kind = if matches!(source, Source::Overlay(_)) || path.is_dir() {
            Kind::Directory
        } else {
            Kind::File
        };
        self.kinds.insert(path.to_owned(), kind);
        let above = path.ancestors().skip(1);
        for directory in above.filter(|path| path.parent().is_some()) {
            self.kinds.insert(directory.to_owned(), Kind::Directory);
        }
    }
}

/// Returns what is mounted by path: an overlay takes the place of a path that is shown.
fn sources(
    mut shown: BTreeMap<PathBuf, Access>,
    overlays: &[OverlayMount],
) -> io::Result<BTreeMap<PathBuf, Source>> {
    for overlay in overlays {
        if !is_place(&overlay.target) {
            return Err(unsupported("an overlay cannot be mounted at this path"));
        }
        shown.remove(&overlay.target);
    }
    let mut acc = BTreeMap::new();
    for (path, access) in &shown {
        let source = CString::new(path.as_os_str().as_bytes())?;
        acc.insert(path.clone(), Source::Path(source, *access));
    }
    for overlay in overlays {
        acc.insert(
            overlay.target.clone(),
            Source::Overlay(overlay.plan(&shown)?),
        );
    }
    Ok(acc)
}

/// Returns the shown paths. A path comes before those below it. A readable path below a writable one becomes read-only, unless a
/// link leads to it from there.
fn shown(readable: &[PathBuf], writable: &[PathBuf]) -> BTreeMap<PathBuf, Access> {
    let mut acc = BTreeMap::new();
    let all = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let both = |path: &PathBuf| [Some(path.clone()), path.canonicalize().ok()];
        let paths = paths.iter().flat_map(both).flatten();
        paths.filter(|path| is_shown(path)).collect()
    };
    let system = SYSTEM.iter().map(PathBuf::from);
    for path in system.filter(|path| is_shown(path)) {
        acc.insert(path, Access::Read);
    }
    for path in DEVICES
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.exists())
    {
        acc.insert(path, Access::Device);
    }
    let writable = all(writable);
    for path in all(readable) {
        // A mount cannot cover a link, which is no directory or file.
        let mut above = writable.iter().filter(|above| path.starts_with(above));
        if !above.any(|above| has_link(above, &path)) {
            acc.insert(path, Access::Read);
        }
    }
    for path in writable {
        acc.insert(path, Access::Write);
    }
    acc
}

/// Whether a part of `path` below `above` is a symbolic link.
fn has_link(above: &Path, path: &Path) -> bool {
    let mut below = path.ancestors().take_while(|part| *part != above);
    below.any(Path::is_symlink)
}

/// Whether a path exists and can be shown.
fn is_shown(path: &Path) -> bool {
    is_place(path) && path.exists()
}

/// Whether something can be mounted at a path, which is neither the root of the machine nor part of the process table.
fn is_place(path: &Path) -> bool {
    let is_plain = path
        .components()
        .all(|part| !matches!(part.as_os_str().as_bytes(), b".." | b"."));
    path.is_absolute()
        && is_plain
        && path != Path::new("/")
        && !path.starts_with(PROCESSES)
        && path.as_os_str() != OsStr::new("/dev")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_readable_only_stays_so_below_a_writable_path_and_what_is_absent_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in ["own/below", "context"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join("file"), "").unwrap();
        for link in ["link", "own/link"] {
            std::os::unix::fs::symlink(home.join("context"), home.join(link)).unwrap();
        }
        let readable = [
            home.join("own/below"),
            home.join("own/link"),
            home.join("file"),
            home.join("link"),
            home.join("own/../context"),
            home.join("absent"),
            "/".into(),
            "/proc/1".into(),
            "relative".into(),
        ];
        let writable = [home.join("own"), home.join("file")];
        let mut shown = shown(&readable, &writable);
        shown.retain(|path, _| path.starts_with(&home));
        let expected = [
            ("context", Access::Read),
            ("file", Access::Write),
            ("link", Access::Read),
            ("own", Access::Write),
            ("own/below", Access::Read),
        ];
        let expected = expected.map(|(name, access)| (home.join(name), access));
        assert_eq!(shown, BTreeMap::from(expected));
    }
}
