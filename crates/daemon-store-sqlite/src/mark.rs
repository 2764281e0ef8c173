//! A small file next to the store with the length of its log, so that a log which lost its end is noticed.
//!
//! It is written after each commit and never synced: it may lag behind the log, and never leads. It counts frames, since a
//! transaction that changes nothing adds no commit to the log.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::log;
use crate::wal::Salts;

/// The size to which a mark is padded; more than its content ever needs.
const MAX_BYTES: usize = 256;

/// The content of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkContent {
    /// The boot of the machine in which it was written.
    pub(crate) boot: String,
    pub(crate) at: LogPosition,
}

/// The recorded length of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogPosition {
    /// The log was being merged into the file: afterwards it may be complete, empty or new.
    Merging,
    /// The log with these salts had at least this commit.
    At(Salts, KnownCommit),
}

/// The newest known commit of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownCommit {
    /// The number of frames at the commit before it.
    pub(crate) before: u64,
    /// The number of frames at this commit.
    pub(crate) frames: u64,
}

impl MarkContent {
    /// Reads the mark of a database; `None` if there is no complete one.
    pub(crate) fn read(database: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path_of(database)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let boot = words.next()?.to_owned();
        let at = match words.next()? {
            "merging" => LogPosition::Merging,
            "at" => {
                let mut hex = || u32::from_str_radix(words.next()?, 16).ok();
                let salts = [hex()?, hex()?];
                let mut number = || words.next()?.parse().ok();
                let (before, frames) = (number()?, number()?);
                LogPosition::At(salts, KnownCommit { before, frames })
            }
            _ => return None,
        };
        // The mark is not synced: without its last word it was not completely written.
        (words.next() == Some("end")).then_some(Self { boot, at })
    }

    fn text(&self) -> String {
        let at = match self.at {
            LogPosition::Merging => "merging".to_owned(),
            LogPosition::At([a, b], KnownCommit { before, frames }) => {
                format!("at {a:08x} {b:08x} {before} {frames}")
            }
        };
        format!("{} {at} end\n", self.boot)
    }
}

/// Returns the path of the mark of a database.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-mark");
    path.into()
}

/// Returns the id of the machine's boot; empty if the kernel provides none.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Writes the mark of an open store.
#[derive(Debug)]
pub(crate) struct LogMark {
    database: PathBuf,
    /// `None` if it cannot be written: a store works without a mark.
    file: Option<File>,
    log: Option<File>,
    boot: String,
    /// The log and the newest commit that was seen in it.
    last: Option<(Salts, KnownCommit)>,
}

impl LogMark {
    /// Begins to mark the log of a database, which is about to be merged.
    pub(crate) fn begin(database: &Path) -> Self {
        let path = path_of(database);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let mark = Self {
            database: database.to_owned(),
            file: options.open(path).ok(),
            log: None,
            boot: boot(),
            last: None,
        };
        mark.merging();
        mark
    }

    /// Returns the path of the database.
    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    /// Notes that the log is about to be merged.
    pub(crate) fn merging(&self) {
        self.write(LogPosition::Merging);
    }

    /// Writes and returns the number of frames that `count` returns; a transaction that changed nothing adds none.
    ///
    /// # Errors
    /// The error of `count`.
    pub(crate) fn committed<E>(
        &mut self,
        count: impl FnOnce() -> Result<u64, E>,
    ) -> Result<u64, E> {
        // Without the salts, or where another program begins a new log meanwhile, the mark lags.
        let salts = self.salts().ok();
        let frames = count()?;
        let (Some(salts), true) = (salts, self.salts().ok() == salts) else {
            return Ok(frames);
        };
        let before = match self.last {
            Some((known, commit)) if known == salts => {
                if commit.frames == frames {
                    return Ok(frames);
                }
                commit.frames
            }
            Some(_) | None => 0,
        };
        let commit = KnownCommit { before, frames };
        self.last = Some((salts, commit));
        self.write(LogPosition::At(salts, commit));
        Ok(frames)
    }

    /// Removes the mark of a store that has no log.
    pub(crate) fn end(self) {
        // If it cannot be removed it still says that the log was being merged, which is true.
        fs::remove_file(path_of(&self.database)).unwrap_or_default();
    }

    fn salts(&mut self) -> io::Result<Salts> {
        let file = match &self.log {
            Some(file) => file,
            None => self.log.insert(File::open(log::path_of(&self.database))?),
        };
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 16)?;
        let [a, b, c, d, e, f, g, h] = bytes;
        Ok([
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        ])
    }

    fn write(&self, at: LogPosition) {
        let marked = MarkContent {
            boot: self.boot.clone(),
            at,
        };
        let text = format!("{:width$}", marked.text(), width = MAX_BYTES);
        if let Some(file) = &self.file {
            // A mark that cannot be written lags, which is allowed.
            file.write_all_at(text.as_bytes(), 0).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownCommit, LogPosition, MarkContent};

    #[test]
    fn a_mark_is_read_as_it_was_written_or_not_at_all() {
        for at in [
            LogPosition::Merging,
            LogPosition::At(
                [0, u32::MAX],
                KnownCommit {
                    before: 0,
                    frames: u64::MAX,
                },
            ),
        ] {
            let marked = MarkContent {
                boot: "b-1".to_owned(),
                at,
            };
            let text = marked.text();
            assert_eq!(MarkContent::parse(&text), Some(marked), "{text}");
            for end in 0..text.trim_end().len() {
                assert_eq!(MarkContent::parse(&text[..end]), None, "{:?}", &text[..end]);
            }
        }
    }
}
