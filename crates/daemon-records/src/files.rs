//! Writing files so that a crash leaves the old or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::random;

/// Writes a whole file with mode 0600: a temporary file next to it is written and synced, and renamed over it; then the
/// directory is synced.
///
/// # Errors
/// If any step fails; the old file is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let temporary = directory.join(format!(".{}.tmp", random::hex(8)));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(directory)?.sync_all()
    })();
    // The temporary file may not exist; a failure to remove it hides the failure that matters.
    written.inspect_err(|_| fs::remove_file(&temporary).unwrap_or_default())
}
