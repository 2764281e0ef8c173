//! The parts of the machine that every confined child can read.

mod scan;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::changes::Mounts;
pub(super) use scan::{Readable, open_found};
use scan::{Scan, is_public, now};

/// The paths that programs need in order to run. `/proc` can be listed safely: its secrets require the right to trace.
pub(super) const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix/store",
    "/run/systemd/resolve",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// The directories among and below them that an administrator fills, possibly with secrets and home directories.
const MIXED: [&str; 3] = ["/etc", "/opt", "/usr/local"];
/// The maximum number of directories watched for changes. The kernel has a limit for all programs of a user: 8,192 on a small machine.
const MOST_WATCHES: usize = 4096;

/// How a confined child can read a path of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemGrant {
    /// It can read everything in this directory.
    Whole(&'static Path),
    /// It can read what every user can read in this directory, and the path belongs to that.
    Public(&'static Path),
}

/// Returns how every confined child can read a path without links, or `None` if it cannot. A missing path is not public.
pub fn system_grant(path: &Path) -> Option<SystemGrant> {
    let real = |directory: &str| {
        let real = Path::new(directory).canonicalize().ok()?;
        path.starts_with(&real).then_some(real)
    };
    for directory in MIXED {
        let Some(real) = real(directory) else {
            continue;
        };
        let mut parts = path.ancestors().take_while(|part| part.starts_with(&real));
        let is_granted = parts.all(|part| {
            part.metadata()
                .is_ok_and(|found| is_public(found.permissions().mode()))
        });
        return is_granted.then_some(SystemGrant::Public(Path::new(directory)));
    }
    let whole = SYSTEM.into_iter().find(|path| real(path).is_some())?;
    Some(SystemGrant::Whole(Path::new(whole)))
}

/// Returns the directories of the system that are granted as a whole, regardless of their content. On most machines some are links.
pub(super) fn fixed() -> impl Iterator<Item = &'static str> {
    SYSTEM.into_iter().filter(|path| !holds_mixed(path))
}

/// Whether a directory of the system is mixed or contains a mixed one.
fn holds_mixed(directory: &str) -> bool {
    let is_within = |mixed: &&str| Path::new(mixed).starts_with(directory);
    MIXED.iter().any(is_within)
}

/// Returns the other readable paths of the system.
pub(super) fn found() -> Vec<Arc<Readable>> {
    static SCANS: Mutex<Option<Scans>> = Mutex::new(None);
    let mut scans = SCANS.lock().unwrap_or_else(PoisonError::into_inner);
    let scans = scans.get_or_insert_with(|| Scans {
        mounts: Mounts::open(),
        scans: Default::default(),
    });
    let mut acc = scans.readable(now());
    let around = SYSTEM
        .iter()
        .filter(|path| !MIXED.contains(path) && holds_mixed(path));
    acc.extend(around.map(|directory| Arc::new(around_mixed(directory))));
    acc
}

/// Returns the entries of a directory except the mixed directories in it.
fn around_mixed(directory: &str) -> Readable {
    let mut acc = Readable::default();
    let Ok(real) = Path::new(directory).canonicalize() else {
        return acc;
    };
    for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
        // A link is followed to a path with rules of its own.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let named = Path::new(directory).join(entry.file_name());
        if !is_link && !MIXED.iter().any(|mixed| Path::new(mixed) == named) {
            acc.whole.push(entry.path());
        }
    }
    acc.listed.push(real);
    acc
}

/// The mixed directories as of the last scan.
struct Scans {
    mounts: Mounts,
    scans: [Option<Scan>; MIXED.len()],
}

impl Scans {
    /// Returns the readable paths, after scanning again what has changed or is too old.
    fn readable(&mut self, at: Instant) -> Vec<Arc<Readable>> {
        let is_mounted_alike = !self.mounts.have_changed();
        for (index, directory) in MIXED.into_iter().enumerate() {
            let last = self.scans[index].take();
            let Ok(root) = Path::new(directory).canonicalize() else {
                continue;
            };
            let n_watches: usize = self.scans.iter().flatten().map(Scan::n_watches).sum();
            let most_watches = MOST_WATCHES.saturating_sub(n_watches);
            let scan = match last {
                Some(scan) if scan.root() != root => Scan::new(root, most_watches, at),
                Some(scan) if is_mounted_alike => scan.refreshed(most_watches, at),
                Some(scan) => scan.again(most_watches, at),
                None => Scan::new(root, most_watches, at),
            };
            self.scans[index] = Some(scan);
        }
        self.scans.iter().flatten().map(Scan::readable).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_system_is_granted_whole_or_because_it_is_public() {
        let granted = |path: &str| system_grant(&Path::new(path).canonicalize().unwrap());
        let public = |directory| Some(SystemGrant::Public(Path::new(directory)));
        assert_eq!(granted("/etc/passwd"), public("/etc"));
        assert_eq!(granted("/usr/local/bin"), public("/usr/local"));
        assert_eq!(
            granted("/usr/bin"),
            Some(SystemGrant::Whole(Path::new("/usr")))
        );
        assert_eq!(granted("/etc/shadow"), None);
        assert_eq!(granted("/var"), None);
        assert_eq!(system_grant(Path::new("/etc/absent")), None);
    }
}
