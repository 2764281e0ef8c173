//! Removing what runs leave, with any modes and at any depth.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::kept_tree::directories;

/// Removes a file or a directory tree if it exists; directories without write permission are made writable first.
///
/// No other process may be changing it. It may be deeper than a path can be long.
///
/// # Errors
/// The error of the file system if a part cannot be removed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => remove_directory(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes from `dir` what is not among the tracked paths, or is not a directory where they need one. The files themselves are
/// not compared.
pub(crate) fn remove_untracked<'a>(
    dir: &Path,
    tracked: impl Iterator<Item = &'a [u8]> + Clone,
) -> io::Result<()> {
    let directories = directories(tracked.clone());
    let files: HashSet<&[u8]> = tracked.collect();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        let here = dir.join(&below);
        // Without all bits of its owner the directory cannot be changed; special bits change what is created in it.
        if fs::symlink_metadata(&here)?.mode() & 0o7700 != 0o700 {
            fs::set_permissions(&here, Permissions::from_mode(0o755))?;
        }
        for entry in fs::read_dir(&here)? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let name = path.as_os_str().as_bytes();
            let is_directory = entry.file_type()?.is_dir();
            if is_directory && directories.contains(name) {
                left.push(path);
            } else if is_directory || !files.contains(name) {
                remove_tree(&entry.path())?;
            }
        }
    }
    Ok(())
}

/// Gives the owner all permissions of the directories of a tree, if there is one.
///
/// Those that are deeper than a path can be long stay as they are: git does not read them either.
pub(crate) fn open_directories(root: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(root).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        let opened = make_writable(&dir).and_then(|()| fs::read_dir(&dir));
        let entries = match opened {
            Err(error) if is_too_long(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Reports whether a path was longer than the kernel accepts.
fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}

/// Removes a directory by moving what is in its directories to its top, so that neither the paths nor the number of open directories
/// grow with its depth.
fn remove_directory(root: &Path) -> io::Result<()> {
    let mut n_moved = 0_u64;
    make_writable(root)?;
    loop {
        let entries: Vec<_> = fs::read_dir(root)?.collect::<Result<_, _>>()?;
        if entries.is_empty() {
            return fs::remove_dir(root);
        }
        for entry in entries {
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
                continue;
            }
            make_writable(&entry.path())?;
            for below in fs::read_dir(entry.path())? {
                let below = below?;
                if !below.file_type()?.is_dir() {
                    fs::remove_file(below.path())?;
                    continue;
                }
                make_writable(&below.path())?;
                // An empty directory of this name is replaced, and any other entry is removed later under its own.
                while let Err(error) = fs::rename(below.path(), root.join(format!(".{n_moved}"))) {
                    let kinds = [
                        io::ErrorKind::DirectoryNotEmpty,
                        io::ErrorKind::NotADirectory,
                    ];
                    if !kinds.contains(&error.kind()) {
                        return Err(error);
                    }
                    n_moved += 1;
                }
                n_moved += 1;
            }
            fs::remove_dir(entry.path())?;
        }
    }
}

/// Gives the owner of a directory all permissions.
pub(crate) fn make_writable(dir: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(dir)?.permissions().mode();
    match mode & 0o700 {
        0o700 => Ok(()),
        _ => fs::set_permissions(dir, Permissions::from_mode(0o700)),
    }
}
