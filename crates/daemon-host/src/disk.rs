//! Free space on the disk of the home: below one limit nothing starts, below a lower one webhooks are refused too.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use daemon_dispatch::DiskSpace;
use rustix::fs::{FallocateFlags, StatVfsMountFlags, fallocate, statvfs};

/// Free bytes below which nothing starts.
pub const LOW: u64 = 256 * 1024 * 1024;
/// Free bytes below which webhooks are refused.
pub const FULL: u64 = 64 * 1024 * 1024;
/// The size of the file that is removed when the disk is full, so that active runs can be recorded and a host can start.
const RESERVE: u64 = 4 * 1024 * 1024;
/// Free bytes below which the reserve is removed.
const LAST: u64 = 1024 * 1024;

/// The free space of a disk, compared with the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// At least [`LOW`].
    Enough {
        /// The free bytes.
        free: u64,
    },
    /// Below [`LOW`]: active runs are finished, and nothing starts.
    Low {
        /// The free bytes.
        free: u64,
    },
    /// Below [`FULL`]: webhooks are refused too.
    Full {
        /// The free bytes.
        free: u64,
    },
    /// The file system is mounted read-only.
    ReadOnly,
    /// The free space cannot be read.
    Unknown(rustix::io::Errno),
}

impl Space {
    /// Reads the free space of the file system of a directory.
    pub fn of(directory: &Path) -> Self {
        match statvfs(directory) {
            Ok(status) if status.f_flag.contains(StatVfsMountFlags::RDONLY) => Self::ReadOnly,
            // Not `f_bfree`, which includes blocks that only root can use.
            Ok(status) => Self::with(status.f_bavail.saturating_mul(status.f_frsize)),
            Err(error) => Self::Unknown(error),
        }
    }

    fn with(free: u64) -> Self {
        match free {
            0..FULL => Self::Full { free },
            FULL..LOW => Self::Low { free },
            LOW.. => Self::Enough { free },
        }
    }

    /// Returns what the dispatcher decides by.
    pub(crate) fn word(self) -> DiskSpace {
        match self {
            Self::Enough { .. } => DiskSpace::Enough,
            Self::Low { .. } => DiskSpace::Low,
            Self::Full { .. } => DiskSpace::Full,
            Self::ReadOnly => DiskSpace::ReadOnly,
            Self::Unknown(_) => DiskSpace::Unknown,
        }
    }

    /// Returns the reason if nothing may start, with the directory whose space was read.
    pub fn pause(self, home: &Path) -> Option<String> {
        let home = home.display();
        let mib = |bytes: u64| bytes >> 20;
        let low = mib(LOW);
        match self {
            Self::Enough { .. } => None,
            Self::Low { free } => Some(format!(
                "{} MiB are free for `{home}`, and a start needs {low} MiB",
                mib(free)
            )),
            Self::Full { free } => Some(format!(
                "{} MiB are free for `{home}`; a start needs {low} MiB, and storing an event {} MiB",
                mib(free),
                mib(FULL)
            )),
            Self::ReadOnly => Some(format!("the file system of `{home}` can only be read")),
            Self::Unknown(error) => Some(format!("`{home}` cannot be examined: {error}")),
        }
    }

    /// Returns what a person can do about a pause.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Enough { .. } | Self::Low { .. } | Self::Full { .. } => {
                "make room, then the host continues by itself"
            }
            Self::ReadOnly => "mount it for writing, then the host continues by itself",
            Self::Unknown(_) => "check the directory and its disk",
        }
    }

    /// Returns the reason if no run may start, beginning with `disk`.
    pub fn pause_of_runs(self, home: &Path) -> Option<String> {
        self.pause(home).map(|why| format!("disk: {why}"))
    }

    /// Returns the reason if webhooks are refused.
    pub fn refusal(self, home: &Path) -> Option<String> {
        match self {
            Self::Full { .. } | Self::ReadOnly => self.pause(home),
            Self::Enough { .. } | Self::Low { .. } | Self::Unknown(_) => None,
        }
    }

    /// Returns the reason if this many more bytes are not stored.
    pub fn refusal_of(self, home: &Path, bytes: u64) -> Option<String> {
        match self {
            Self::Enough { free } | Self::Low { free } if free.saturating_sub(FULL) < bytes => {
                Some(format!(
                    "{} MiB are free for `{}`, storing this and what is under way may take {} MiB, and {} MiB are left free",
                    free >> 20,
                    home.display(),
                    bytes.div_ceil(1 << 20),
                    FULL >> 20
                ))
            }
            _ => self.refusal(home),
        }
    }
}

fn reserve(home: &Path) -> PathBuf {
    // A file, because free space is available to every process.
    home.join("reserve")
}

/// Creates the reserve of a home if it does not exist.
pub(crate) fn set_aside(home: &Path) -> io::Result<()> {
    let path = reserve(home);
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() == RESERVE) {
        return Ok(());
    }
    let file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // Allocated, because a sparse file would reserve no blocks.
    Ok(fallocate(&file, FallocateFlags::empty(), 0, RESERVE)?)
}

/// Removes the reserve of a home if the disk is nearly full.
pub(crate) fn give_up_reserve(home: &Path) {
    let Space::Full { free } = Space::of(home) else {
        return;
    };
    if free >= LAST {
        return;
    }
    match fs::remove_file(reserve(home)) {
        Ok(()) => tracing::warn!(
            free,
            "the disk is full; the reserve of the home was given up"
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "the reserve of the home could not be given up"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FULL, LOW, Space};

    #[test]
    fn the_limits_say_what_still_happens() {
        let home = Path::new("/h");
        let rows = [
            (LOW, false, false),
            (LOW - 1, true, false),
            (FULL, true, false),
            (FULL - 1, true, true),
            (0, true, true),
        ];
        for (free, pauses, refuses) in rows {
            let space = Space::with(free);
            let found = (space.pause(home).is_some(), space.refusal(home).is_some());
            assert_eq!(found, (pauses, refuses), "{free} bytes");
        }
        for (free, bytes, refuses) in [
            (FULL - 1, 0, true),
            (FULL, 0, false),
            (FULL, 1, true),
            (LOW, LOW - FULL, false),
            (LOW, LOW - FULL + 1, true),
        ] {
            let refused = Space::with(free).refusal_of(home, bytes).is_some();
            assert_eq!(refused, refuses, "{bytes} of {free} bytes");
        }
        assert_eq!(
            Space::with(FULL + 1).pause(home).unwrap(),
            "64 MiB are free for `/h`, and a start needs 256 MiB"
        );
    }
}
