//! A mark beside the store of how far its log had come, so that a log which lost its end is noticed.
//!
//! It is written after each commit and never synced: it may lag behind the log, and never leads. It counts frames, since a
//! transaction that changes nothing adds no commit to the log.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::log;
use crate::wal::Salts;

/// More than a mark ever holds.
const MAX_BYTES: usize = 256;

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    /// The boot of the machine in which it was written.
    pub(crate) boot: String,
    pub(crate) at: Position,
}

/// How far a log had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// It was being merged into the file: it may be there, empty or a new one.
    Merging,
    /// It held at least so much.
    At(Salts, Commit),
}

/// The newest commit of a log that is known to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// How many frames the log held at the commit before it.
    pub(crate) before: u64,
    /// How many frames it held then.
    pub(crate) frames: u64,
}

impl Marked {
    /// Reads the mark of a database; `None` where there is none that makes sense.
    pub(crate) fn read(database: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path_of(database)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let boot = words.next()?.to_owned();
        let at = match words.next()? {
            "merging" => Position::Merging,
            "at" => {
                let mut hex = || u32::from_str_radix(words.next()?, 16).ok();
                let salts = [hex()?, hex()?];
                let mut number = || words.next()?.parse().ok();
                let (before, frames) = (number()?, number()?);
                Position::At(salts, Commit { before, frames })
            }
            _ => return None,
        };
        // The last word says that none is missing.
        (words.next() == Some("end")).then_some(Self { boot, at })
    }

    fn text(&self) -> String {
        let at = match self.at {
            Position::Merging => "merging".to_owned(),
            Position::At([a, b], Commit { before, frames }) => {
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

/// Returns the boot of the machine, empty where the kernel does not tell.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Writes the mark of an open store.
#[derive(Debug)]
pub(crate) struct Mark {
    database: PathBuf,
    /// `None` where it cannot be written: a store works without.
    file: Option<File>,
    log: Option<File>,
    boot: String,
    /// The log and the newest commit that was seen in it.
    last: Option<(Salts, Commit)>,
}

impl Mark {
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
        self.write(Position::Merging);
    }

    /// Notes and returns how many frames the log holds, as `count` tells; a transaction that changed nothing adds none.
    ///
    /// # Errors
    /// What `count` fails with.
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
        let commit = Commit { before, frames };
        self.last = Some((salts, commit));
        self.write(Position::At(salts, commit));
        Ok(frames)
    }

    /// Removes the mark of a store that has no log any more.
    pub(crate) fn end(self) {
        // One that stays says that the log was being merged, which it was.
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

    fn write(&self, at: Position) {
        let marked = Marked {
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
    use super::{Commit, Marked, Position};

    #[test]
    fn a_mark_is_read_as_it_was_written_or_not_at_all() {
        for at in [
            Position::Merging,
            Position::At(
                [0, u32::MAX],
                Commit {
                    before: 0,
                    frames: u64::MAX,
                },
            ),
        ] {
            let marked = Marked {
                boot: "b-1".to_owned(),
                at,
            };
            let text = marked.text();
            assert_eq!(Marked::parse(&text), Some(marked), "{text}");
            for end in 0..text.trim_end().len() {
                assert_eq!(Marked::parse(&text[..end]), None, "{:?}", &text[..end]);
            }
        }
    }
}
