//! What every confined child may read of the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

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
/// The one of them in which machines keep secrets: their owner, who may be the host's user, could read them.
const SETTINGS: &str = "/etc";

/// Directories of the system that every confined child may read; of its settings only what everybody may.
pub fn system_directories() -> impl Iterator<Item = &'static Path> {
    SYSTEM
        .iter()
        .map(Path::new)
        .filter(|path| *path != Path::new(SETTINGS))
}

/// What may be read of the system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    /// Files, and directories with everything below.
    pub(super) whole: Vec<PathBuf>,
    /// Directories that may be listed.
    pub(super) listed: Vec<PathBuf>,
}

impl Readable {
    /// Looks at the settings of this machine, which change.
    pub(super) fn now() -> Self {
        let mut acc = Self {
            whole: system_directories().map(Path::to_owned).collect(),
            listed: Vec::new(),
        };
        acc.add_public(Path::new(SETTINGS));
        acc
    }

    /// Adds what everybody may read of a directory, and returns whether that is all of it.
    fn add_public(&mut self, directory: &Path) -> bool {
        let mut own = Self::default();
        // What cannot be read, for want of a descriptor perhaps, is not known to be public.
        let entries = fs::read_dir(directory);
        let mut is_whole = entries.is_ok();
        for entry in entries.into_iter().flatten() {
            let found = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            // A link is followed to what has rules of its own.
            let Ok((path, kind)) = found else {
                is_whole = false;
                continue;
            };
            if kind.is_symlink() {
                continue;
            }
            let mode = kind.permissions().mode();
            let is_public = mode & 0o004 != 0 && (!kind.is_dir() || mode & 0o001 != 0);
            let is_file = kind.is_file() || kind.is_dir();
            if !is_public || !is_file {
                is_whole = false;
            } else if !kind.is_dir() {
                own.whole.push(path);
            } else {
                is_whole &= own.add_public(&path);
            }
        }
        if is_whole {
            self.whole.push(directory.to_owned());
        } else {
            self.whole.append(&mut own.whole);
            self.listed.append(&mut own.listed);
            self.listed.push(directory.to_owned());
        }
        is_whole
    }
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
        assert!(!readable.add_public(&root));
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
}
