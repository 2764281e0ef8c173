//! Ownership of a home, and the lock file with the end of the previous owner.
//!
//! An owner makes a mark, an empty file next to the lock, and removes it when it stops in order. Stopping writes nothing: the
//! lock keeps what its last owner wrote. Its first line is the owner's process id; the line `marked` says that the owner made a
//! mark. Further lines are evidence of an end without a stop: `aborted`, `panicked`, and the number of kills by the kernel because
//! its control group ran out of memory. The line `owed` records an end that is not stored yet.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use daemon_engine::HostEnd;
use daemon_process::AbortNote;

/// An upper bound of the size of a lock file, in bytes.
const MAX_BYTES: usize = 4_096;
/// The line of an owner that makes a mark. A host of an older version empties the first line instead when it stops.
const MARKED: &str = "marked";

/// Ownership of a home until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Ownership {
    file: File,
    /// The path of the mark.
    mark: PathBuf,
    previous: HostEnd,
    is_owed: bool,
    _abort: AbortNote,
}

impl Ownership {
    /// Writes this process to the lock file, which it has locked, and makes its mark; `appending` is the same file.
    pub(super) fn begin(file: File, appending: File, mark: PathBuf) -> io::Result<Self> {
        let kills = MemoryKills::read();
        let previous = Left::read(&file)?.end(kills, Mark::at(&mark)?);
        let owner = Self {
            _abort: AbortNote::in_file(appending)?,
            // A start that fails before the store has recorded the crash must not lose it.
            is_owed: previous.is_crash(),
            file,
            mark,
            previous,
        };
        owner.write(kills)?;
        // After the lock: the absence of a mark counts only if the lock says that one was made, and until here nothing was done.
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&owner.mark)?;
        Ok(owner)
    }

    /// Returns how the previous host ended.
    pub fn previous(&self) -> HostEnd {
        self.previous
    }

    /// Records that the store contains the end of the previous host.
    ///
    /// # Errors
    /// If the lock file cannot be written.
    pub fn previous_is_stored(&mut self) -> io::Result<()> {
        self.is_owed = false;
        self.write(MemoryKills::read())
    }

    fn write(&self, kills: Option<MemoryKills>) -> io::Result<()> {
        let left = Left {
            pid: std::process::id().to_string(),
            is_marked: true,
            kills,
            owed: self.is_owed.then_some(self.previous),
            noted: None,
        };
        replace(&self.file, &left.format())
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // A panic of the main thread unwinds through this value.
        let noted = if std::thread::panicking() {
            append(&self.file, HostEnd::Panicked)
        } else {
            fs::remove_file(&self.mark)
        };
        if let Err(error) = noted {
            tracing::warn!(%error, "the end of this host could not be noted; the next start takes it for a kill");
        }
    }
}

/// Updates the number of out-of-memory kills in the lock file of a running owner.
pub(super) fn note_memory_kills(lock: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(lock)?;
    let mut left = Left::read(&file)?;
    let kills = MemoryKills::read();
    // Called every 15 s, so the file is written only if the number has changed.
    if left.kills == kills {
        return Ok(());
    }
    left.kills = kills;
    replace(&file, &left.format())
}

/// Replaces the content with one write, so that the process cannot end with an empty file, which means that there was no owner.
fn replace(file: &File, content: &str) -> io::Result<()> {
    file.write_all_at(content.as_bytes(), 0)?;
    file.set_len(u64::try_from(content.len()).expect("a short text"))
}

fn append(file: &File, end: HostEnd) -> io::Result<()> {
    let length = file.metadata()?.len();
    file.write_all_at(format!("{}\n", end.as_str()).as_bytes(), length)
}

/// Returns the process id in a lock file, or 0 if it has no id.
pub(super) fn read_pid(file: &File) -> u32 {
    // An unreadable file counts as a file without an id.
    Left::read(file)
        .ok()
        .and_then(|left| left.pid.parse().ok())
        .unwrap_or(0)
}

/// Whether the mark of an owner is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Present,
    Removed,
}

impl Mark {
    fn at(path: &Path) -> io::Result<Self> {
        Ok(if path.try_exists()? {
            Self::Present
        } else {
            Self::Removed
        })
    }
}

/// The content of a lock file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    pid: String,
    /// Set by an owner that makes a mark.
    is_marked: bool,
    kills: Option<MemoryKills>,
    owed: Option<HostEnd>,
    noted: Option<HostEnd>,
}

impl Left {
    fn read(file: &File) -> io::Result<Self> {
        let mut bytes = [0; MAX_BYTES];
        let n_read = file.read_at(&mut bytes, 0)?;
        Ok(Self::parse(&String::from_utf8_lossy(
            bytes.get(..n_read).unwrap_or_default(),
        )))
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let mut left = Self {
            pid: lines.next().unwrap_or_default().trim().to_owned(),
            ..Self::default()
        };
        for line in lines {
            match line.split_once(' ') {
                Some(("memory", kills)) => left.kills = MemoryKills::parse(kills),
                Some(("owed", word)) => left.owed = word.parse().ok(),
                Some(_) => {}
                None if line == MARKED => left.is_marked = true,
                None => left.noted = left.noted.or(line.parse().ok()),
            }
        }
        left
    }

    fn format(&self) -> String {
        let mut text = format!("{}\n", self.pid);
        if self.is_marked {
            text += MARKED;
            text.push('\n');
        }
        if let Some(end) = self.owed {
            writeln!(text, "owed {}", end.as_str()).expect("writing to a string cannot fail");
        }
        if let Some(MemoryKills { group, n }) = self.kills {
            writeln!(text, "memory {group} {n}").expect("writing to a string cannot fail");
        }
        if let Some(end) = self.noted {
            writeln!(text, "{}", end.as_str()).expect("writing to a string cannot fail");
        }
        text
    }

    /// Returns how the owner ended; `kills` are those of this process's control group.
    fn end(&self, kills: Option<MemoryKills>, mark: Mark) -> HostEnd {
        let was_short_of_memory = match (self.kills, kills) {
            // Counts of different groups cannot be compared, and a service manager may create a group for each start.
            (Some(before), Some(now)) => before.group == now.group && before.n < now.n,
            _ => false,
        };
        match (self.owed, self.noted) {
            (Some(owed), _) => owed,
            (None, _) if self.pid.is_empty() => HostEnd::Stopped,
            (None, _) if self.is_marked && mark == Mark::Removed => HostEnd::Stopped,
            (None, Some(noted)) => noted,
            (None, None) if was_short_of_memory => HostEnd::OutOfMemory,
            (None, None) => HostEnd::Killed,
        }
    }
}

/// The number of processes of a control group that the kernel killed because the group ran out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryKills {
    /// The inode of the group: a group that is created again has the same path and another inode.
    group: u64,
    n: u64,
}

impl MemoryKills {
    /// Reads the number for this process's control group; `None` without cgroup v2 or a memory controller.
    fn read() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let group = Path::new("/sys/fs/cgroup").join(path);
        let events = fs::read_to_string(group.join("memory.events.local")).ok()?;
        Some(Self {
            group: fs::metadata(&group).ok()?.ino(),
            n: killed(&events)?,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let (group, n) = text.split_once(' ')?;
        Some(Self {
            group: group.parse().ok()?,
            n: n.parse().ok()?,
        })
    }
}

/// Finds the count of kills in a control group's `memory.events`.
fn killed(events: &str) -> Option<u64> {
    let count = events
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{HostEnd, Left, Mark, MemoryKills, killed};

    #[test]
    fn a_lock_file_says_how_its_owner_ended() {
        let kills = |n| Some(MemoryKills { group: 7, n });
        let table = [
            ("", None, HostEnd::Stopped),
            ("\n", kills(3), HostEnd::Stopped),
            ("4711\n", None, HostEnd::Killed),
            ("4711\naborted\n", None, HostEnd::Aborted),
            ("4711\nmemory 7 2\naborted\n", kills(3), HostEnd::Aborted),
            ("4711\npanicked\n", None, HostEnd::Panicked),
            ("4711\npanicked\naborted\n", None, HostEnd::Panicked),
            ("4711\nmemory 7 2\n", kills(2), HostEnd::Killed),
            ("4711\nmemory 7 2\n", kills(3), HostEnd::OutOfMemory),
            ("4711\nmemory 8 2\n", kills(3), HostEnd::Killed),
            ("4711\nmemory 7 2\n", None, HostEnd::Killed),
            ("\nowed aborted\n", None, HostEnd::Aborted),
            ("4712\nowed aborted\n", None, HostEnd::Aborted),
            ("4711\nnonsense\nmemory x\n", None, HostEnd::Killed),
        ];
        for (text, now, expected) in table {
            for mark in [Mark::Present, Mark::Removed] {
                assert_eq!(Left::parse(text).end(now, mark), expected, "{text:?}");
            }
        }
        let table = [
            ("4711\nmarked\n", HostEnd::Killed),
            ("4711\nmarked\naborted\n", HostEnd::Aborted),
        ];
        for (text, expected) in table {
            let left = Left::parse(text);
            assert_eq!(left.end(None, Mark::Present), expected, "{text:?}");
            assert_eq!(left.end(None, Mark::Removed), HostEnd::Stopped, "{text:?}");
        }
        let owed = Left::parse("4711\nmarked\nowed aborted\n");
        assert_eq!(owed.end(None, Mark::Removed), HostEnd::Aborted);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let kills = MemoryKills { group: 1, n: 0 };
        for left in [
            Left {
                pid: "4711".to_owned(),
                ..Left::default()
            },
            Left {
                pid: "4711".to_owned(),
                is_marked: true,
                kills: Some(kills),
                owed: Some(HostEnd::OutOfMemory),
                noted: Some(HostEnd::Aborted),
            },
        ] {
            assert_eq!(Left::parse(&left.format()), left);
        }
    }

    #[test]
    fn kills_are_found_among_the_events_of_a_control_group() {
        let events = "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n";
        assert_eq!(killed(events), Some(3));
        assert_eq!(killed("low 0\n"), None);
    }
}
