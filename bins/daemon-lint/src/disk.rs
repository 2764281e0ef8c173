//! Reading and replacing files without following links and without blocking on pipes.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_validate::SupportKind;

/// Reads a daemon file, or another file with the same size limit.
///
/// Reads at most one byte more than the limit, so that the caller can see that the file is too large.
///
/// # Errors
///
/// Returns an error if the path is not a regular file or cannot be read.
pub fn read_daemon_file(path: &Path) -> io::Result<Vec<u8>> {
    // Checked before opening, because opening a device can have side effects, and again afterwards,
    // because the file can be replaced in between.
    check_kind(fs::symlink_metadata(path)?.file_type())?;
    let file = open(path)?;
    check_kind(file.metadata()?.file_type())?;
    read_at_most(&file, MAX_FILE_BYTES + 1)
}

/// Reads the first bytes of a file of a support tree.
///
/// # Errors
///
/// Returns an error if the file cannot be read.
pub(crate) fn read_head(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    read_at_most(&open(path)?, bytes)
}

/// Returns the path with these bytes. If the system cannot represent them, no file has the path.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        std::ffi::OsStr::from_bytes(bytes).into()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}

fn read_at_most(file: &File, bytes: usize) -> io::Result<Vec<u8>> {
    let mut acc = Vec::new();
    file.take(u64::try_from(bytes).unwrap_or(u64::MAX))
        .read_to_end(&mut acc)?;
    Ok(acc)
}

/// Opens a file for reading. Fails for a link at the end of the path, and does not block on a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options.open(path)
}

fn check_kind(kind: FileType) -> io::Result<()> {
    let kind = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        SupportKind::Symlink
    } else if kind.is_dir() {
        SupportKind::Directory
    } else {
        SupportKind::Special
    };
    let why = format!("it is {}", kind.why_unread());
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Returns the permission bits, or `None` if the system has none.
pub(crate) fn permissions(metadata: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(metadata.permissions().mode() & 0o7777)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Replaces the content of a file atomically and keeps its mode.
///
/// # Errors
///
/// Returns an error if the content is no longer `before`, or if the file cannot be written. The file is
/// then unchanged.
pub fn replace(path: &Path, before: &[u8], after: &[u8]) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // In the same directory, because a rename is atomic only within a file system.
    let mut new = tempfile::Builder::new()
        .prefix(".daemon-lint-")
        .tempfile_in(directory.unwrap_or(Path::new(".")))?;
    new.write_all(after)?;
    new.as_file()
        .set_permissions(fs::symlink_metadata(path)?.permissions())?;
    // The data must be on disk before the rename, or a crash could leave an empty file.
    new.as_file().sync_all()?;
    if read_daemon_file(path)? != before {
        return Err(io::Error::other(
            "another program changed it in the meantime",
        ));
    }
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns the message of an I/O error in lower case, without the number of the system.
pub(crate) fn reason(error: &io::Error) -> String {
    // Diagnostics are in lower case, and the number differs between systems.
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{open, read_daemon_file, replace};

    #[test]
    fn a_file_that_changed_in_the_meantime_is_not_replaced() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("DAEMON.md");
        fs::write(&path, "theirs").expect("room for a file");
        let refused = replace(&path, b"as it was read", b"ours").expect_err("it changed");
        assert_eq!(
            refused.to_string(),
            "another program changed it in the meantime"
        );
        let left: Vec<_> = fs::read_dir(scratch.path()).expect("it lists").collect();
        assert_eq!(
            (read_daemon_file(&path).expect("it reads"), left.len()),
            (b"theirs".to_vec(), 1)
        );
    }

    #[test]
    fn a_link_that_replaced_a_file_after_the_check_is_not_opened() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let (secret, path) = (scratch.path().join("secret"), scratch.path().join("x"));
        fs::write(&secret, "not yours").expect("room for a file");
        symlink(&secret, &path).expect("room for a link");
        let refused = open(&path).expect_err("links are not followed");
        assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
    }
}
