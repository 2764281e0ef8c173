//! What every confined child may read of the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::changes::Changes;

/// What programs need in order to run at all. `/proc` is safe to list: what is secret in it asks for the right to trace.
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
/// The directories among them, and below them, that a machine's administrator fills, also with secrets and homes.
const MIXED: [&str; 3] = ["/etc", "/opt", "/usr/local"];
/// The directory among them that contains a mixed one.
const AROUND: (&str, &str) = ("/usr", "local");
/// The most entries that are looked at below a mixed directory, which takes some seconds. What comes after them is not readable.
const MOST_ENTRIES: usize = 1 << 20;

/// How a confined child may read a path of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemGrant {
    /// It may read everything in this directory.
    Whole(&'static Path),
    /// It may read what every user may read in this directory, and the path is such.
    Public(&'static Path),
}

/// Returns how every confined child may read a path without links, if it may. What does not exist is not public.
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
        let is_granted = parts.all(|part| part.metadata().is_ok_and(|found| is_public(&found)));
        return is_granted.then_some(SystemGrant::Public(Path::new(directory)));
    }
    let whole = SYSTEM.into_iter().find(|path| real(path).is_some())?;
    Some(SystemGrant::Whole(Path::new(whole)))
}

/// Reports whether every user may read a file, or list a directory and open what is in it.
fn is_public(found: &fs::Metadata) -> bool {
    let mode = found.permissions().mode();
    mode & 0o004 != 0 && (!found.is_dir() || mode & 0o001 != 0)
}

/// Reports whether this process may read a file, or open what is in a directory. Children that it confines are the same
/// user, with fewer rights.
fn is_accessible(path: &Path) -> bool {
    let refused = Err(Errno::ACCESS);
    access(path, Access::READ_OK) != refused || access(path, Access::EXEC_OK) != refused
}

/// What may be read of the system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    /// Files, and directories with everything below.
    pub(super) whole: Vec<PathBuf>,
    /// Directories that may be listed.
    pub(super) listed: Vec<PathBuf>,
}

/// A look at the machine, what changed since, and until when it is not repeated whatever changes.
struct Look {
    found: Arc<Readable>,
    changes: Changes,
    until: Instant,
}

/// A look is repeated no sooner than this many times the time it took, so that children that start one after the other do
/// not keep looking at a large tree in which something is installed; nor later than `MOST_AGE`.
const REST: u32 = 20;
const MOST_AGE: Duration = Duration::from_secs(60);

impl Readable {
    /// Looks at the mixed directories of this machine, unless nothing has changed since, or that was done a moment ago.
    pub(super) fn now() -> Arc<Self> {
        static LAST: Mutex<Option<Look>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = now();
        let is_current = |look: &&Look| begun < look.until || look.changes.is_none();
        if let Some(look) = last.as_ref().filter(is_current) {
            return Arc::clone(&look.found);
        }
        let mut changes = Changes::new();
        let found = Arc::new(Self::look(&mut changes));
        let ended = now();
        let rest = (ended.duration_since(begun) * REST).min(MOST_AGE);
        *last = Some(Look {
            found: Arc::clone(&found),
            changes,
            until: ended + rest,
        });
        found
    }

    fn look(changes: &mut Changes) -> Self {
        let mut acc = Self::default();
        // One of the directories may be made later.
        changes.watch(Path::new("/"));
        let (around, mixed) = AROUND;
        let apart = SYSTEM
            .iter()
            .filter(|path| !MIXED.contains(path) && **path != around);
        acc.whole.extend(apart.map(PathBuf::from));
        changes.watch(Path::new(around));
        acc.add_without(Path::new(around), mixed);
        for directory in MIXED.map(Path::new) {
            if directory.metadata().is_ok_and(|found| is_public(&found)) {
                let mut walk = Walk {
                    n_left: MOST_ENTRIES,
                    is_accessible: &is_accessible,
                    changes,
                };
                walk.add_public(directory, &mut acc);
            }
        }
        acc
    }

    /// Adds all of a directory but one entry.
    fn add_without(&mut self, directory: &Path, left_out: &str) {
        self.listed.push(directory.to_owned());
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            // A link is followed to what has rules of its own.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && entry.file_name() != left_out {
                self.whole.push(entry.path());
            }
        }
    }
}

/// A walk through a mixed directory.
struct Walk<'a> {
    /// How many entries are still looked at.
    n_left: usize,
    /// Whether a file or directory that is not public is to be hidden: the kernel refuses the others anyway.
    is_accessible: &'a dyn Fn(&Path) -> bool,
    changes: &'a mut Changes,
}

impl Walk<'_> {
    /// Adds what everybody may read of a directory, and returns whether nothing in it has to be hidden.
    fn add_public(&mut self, directory: &Path, acc: &mut Readable) -> bool {
        let mut own = Readable::default();
        self.changes.watch(directory);
        // What cannot be read, for want of a descriptor perhaps, is not known to be public.
        let entries = fs::read_dir(directory);
        let mut is_whole = entries.is_ok();
        for entry in entries.into_iter().flatten() {
            let Some(n_left) = self.n_left.checked_sub(1) else {
                is_whole = false;
                break;
            };
            self.n_left = n_left;
            let found = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            let Ok((path, found)) = found else {
                is_whole = false;
                continue;
            };
            // A link is followed to what has rules of its own.
            if found.is_symlink() {
                continue;
            }
            if !is_public(&found) {
                is_whole &= !(self.is_accessible)(&path);
            } else if found.is_dir() {
                is_whole &= self.add_public(&path, &mut own);
            } else if found.is_file() {
                own.whole.push(path);
            } else {
                is_whole = false;
            }
        }
        if is_whole {
            acc.whole.push(directory.to_owned());
        } else {
            acc.whole.append(&mut own.whole);
            acc.listed.append(&mut own.listed);
            acc.listed.push(directory.to_owned());
        }
        is_whole
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a look takes decides when the next one is due"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn of_a_directory_that_holds_a_secret_the_rest_is_readable() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let modes = [
            ("passwd", 0o644),
            ("shadow", 0o640),
            ("certs/a/one", 0o644),
            ("certs/two", 0o444),
            ("ssh/config", 0o644),
            ("ssh/key", 0o600),
            ("private/key", 0o644),
        ];
        for (name, mode) in modes {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let private = fs::Permissions::from_mode(0o710);
        fs::set_permissions(root.join("private"), private).unwrap();
        symlink("/root", root.join("link")).unwrap();
        let mut readable = Readable::default();
        let mut walk = Walk {
            n_left: MOST_ENTRIES,
            is_accessible: &|_| true,
            changes: &mut Changes::new(),
        };
        assert!(!walk.add_public(&root, &mut readable));
        readable.whole.sort();
        readable.listed.sort();
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect();
        let expected = Readable {
            whole: paths(&["certs", "passwd", "ssh/config"]),
            listed: paths(&["", "ssh"]),
        };
        // Joining nothing leaves a slash behind, which compares as equal.
        assert_eq!(readable, expected);
    }

    #[test]
    fn what_the_kernel_refuses_this_user_anyway_leaves_its_directory_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        fs::create_dir(root.join("own")).unwrap();
        for name in ["hosts", "shadow", "own/key"] {
            fs::write(root.join(name), "").unwrap();
        }
        for name in ["shadow", "own/key"] {
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        let look = |is_accessible: &dyn Fn(&Path) -> bool, n_left| {
            let mut acc = Readable::default();
            Walk {
                n_left,
                is_accessible,
                changes: &mut Changes::new(),
            }
            .add_public(&root, &mut acc);
            acc.whole.sort();
            acc
        };
        let whole = Readable {
            whole: vec![root.clone()],
            listed: Vec::new(),
        };
        assert_eq!(look(&|_| false, MOST_ENTRIES), whole);
        let without_key = Readable {
            whole: vec![root.join("hosts")],
            listed: vec![root.join("own"), root.clone()],
        };
        let is_key = |path: &Path| path.ends_with("key");
        assert_eq!(look(&is_key, MOST_ENTRIES), without_key);
        // What was not looked at is not readable.
        assert_eq!(look(&|_| false, 0).whole, Vec::<PathBuf>::new());
    }

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
