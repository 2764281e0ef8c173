//! The directory of a home: how it is made, and which directories are refused.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{DIRECTORIES, HomeError, io_error};

/// File systems on which `flock` and SQLite's write-ahead log are unreliable, by the magic number of `statfs`.
const NETWORK_FILE_SYSTEMS: [(u32, &str); 5] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
];
/// What only a home has.
const MARKS: [&str; 6] = [
    "config.toml",
    "run/host.lock",
    "state.db",
    "state.db-mark",
    "state.db-wal",
    "token",
];
/// What a home may have in addition to the marks and the directories that are made when it is opened.
const OTHERS: [&str; 5] = ["charters", "lost+found", "mcp", "objects", "reserve"];

pub(super) fn make_directory(path: &Path) -> Result<(), HomeError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(source) => return Err(io_error(path, "make")(source)),
    }
    let metadata = fs::metadata(path).map_err(io_error(path, "read"))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(HomeError::Unsafe {
            path: path.to_owned(),
            problem: "belongs to another user".to_owned(),
        });
    }
    // An existing directory may be accessible to other users.
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(io_error(path, "close to others"))?;
    }
    Ok(())
}

pub(super) fn refuse_network(root: &Path) -> Result<(), HomeError> {
    let status =
        rustix::fs::statfs(root).map_err(|error| io_error(root, "examine")(error.into()))?;
    let magic = u32::try_from(status.f_type & 0xFFFF_FFFF).expect("masked to 32 bits");
    match NETWORK_FILE_SYSTEMS
        .iter()
        .find(|(known, _)| *known == magic)
    {
        Some((_, kind)) => Err(HomeError::Network {
            home: root.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

/// Refuses a directory that has entries and is not a home, before its mode is changed.
///
/// Hidden entries do not count, because the home of the host may be the home directory of its user; a repository counts.
pub(super) fn refuse_foreign(root: &Path) -> Result<(), HomeError> {
    // A mark may be a link whose target is not mounted yet.
    let mut marks = MARKS.iter().map(|mark| root.join(mark));
    if !root.is_dir() || marks.any(|mark| mark.symlink_metadata().is_ok()) {
        return Ok(());
    }
    let entries = fs::read_dir(root).map_err(io_error(root, "read"))?;
    for entry in entries {
        let name = entry.map_err(io_error(root, "read"))?.file_name();
        let name = name.to_string_lossy();
        let is_expected = DIRECTORIES.contains(&&*name) || OTHERS.contains(&&*name);
        if is_expected || name.starts_with('.') && name != ".git" {
            continue;
        }
        return Err(HomeError::Foreign {
            directory: root.to_owned(),
            entry: name.into_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use crate::home::Home;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_directory_of_something_else_is_refused_and_keeps_its_mode() {
        let scratch = tempfile::tempdir().unwrap();
        for (n, entries) in [&["other"][..], &["src", "agents"], &[".git"]]
            .iter()
            .enumerate()
        {
            let root = scratch.path().join(n.to_string());
            for entry in *entries {
                fs::create_dir_all(root.join(entry)).unwrap();
            }
            fs::set_permissions(&root, Permissions::from_mode(0o1777)).unwrap();
            let error = Home::open(&root).unwrap_err().to_string();
            let (root_shown, entry) = (root.display(), entries[0]);
            assert_eq!(
                error,
                format!("`{root_shown}` is no home, and it is not empty: it has `{entry}`")
            );
            assert_eq!(
                (mode(&root), fs::read_dir(&root).unwrap().count()),
                (0o1777, entries.len())
            );
        }
    }

    #[test]
    fn a_home_an_empty_directory_and_the_directory_of_a_user_are_closed_to_others() {
        let scratch = tempfile::tempdir().unwrap();
        let rows: [&[&str]; 7] = [
            &[],
            &["config.toml", "hook-secret"],
            &["state.db", "notes"],
            &["token", "notes"],
            &["agents", "charters", "lost+found"],
            &[".bashrc", ".ssh"],
            &["run/host.lock", "notes"],
        ];
        for (n, entries) in rows.iter().enumerate() {
            let root = scratch.path().join(n.to_string());
            fs::create_dir(&root).unwrap();
            for entry in *entries {
                fs::create_dir_all(root.join(entry)).unwrap();
            }
            fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
            Home::open(&root).unwrap();
            assert_eq!(mode(&root), 0o700, "{entries:?}");
        }
    }
}
