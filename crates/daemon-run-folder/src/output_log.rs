//! Output lines: in the event log up to 8 MiB, then in two rotating segments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::disk::{Action, FolderError, Lines, failed};
use crate::document::Dropped;
use crate::log::EventLine;

/// Bytes of the event log up to which output lines are written to it.
const EVENTS_SHARE: u64 = 8 << 20;
/// Bytes after which a segment is full.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// The place of the next output line.
#[derive(Debug)]
pub(crate) struct OutputLog {
    in_events: u64,
    segments: [Option<Lines>; 2],
    current: usize,
    /// The lines and bytes in each segment, which are dropped when it is emptied.
    held: [Dropped; 2],
}

impl OutputLog {
    pub(crate) fn new() -> Self {
        Self {
            in_events: 0,
            segments: [None, None],
            current: 0,
            held: [Dropped::default(); 2],
        }
    }

    /// Continues after the last line of an earlier writer.
    pub(crate) fn resume(logs: &Path, events: &Lines) -> Result<Self, FolderError> {
        let mut log = Self {
            // The log also contains other events, but they are small compared with 8 MiB of output.
            in_events: events.length()?,
            ..Self::new()
        };
        let mut newest = SystemTime::UNIX_EPOCH;
        for index in 0..log.held.len() {
            let path = segment(logs, index);
            let Some((held, modified)) = measure(&path).map_err(failed(Action::Read, &path))?
            else {
                continue;
            };
            log.held[index] = held;
            // The segments are written in turn, so the newer one is the current one.
            if modified >= newest {
                (log.current, newest) = (index, modified);
            }
        }
        Ok(log)
    }

    /// Appends an output line; returns the older output that was removed to make room.
    pub(crate) fn append(
        &mut self,
        logs: &Path,
        events: &mut Lines,
        row: &EventLine<'_>,
    ) -> Result<Dropped, FolderError> {
        if self.in_events < EVENTS_SHARE {
            self.in_events += events.append(row)?;
            return Ok(Dropped::default());
        }
        let gone = self.rotate(logs)?;
        let current = self.current;
        let length = self.open(logs)?.append(row)?;
        let held = &mut self.held[current];
        held.bytes += length;
        held.lines += 1;
        Ok(gone)
    }

    /// Switches to the other segment if the current one is full, and empties it first.
    fn rotate(&mut self, logs: &Path) -> Result<Dropped, FolderError> {
        if self.held[self.current].bytes < SEGMENT {
            return Ok(Dropped::default());
        }
        self.current = 1 - self.current;
        if self.held[self.current] != Dropped::default() {
            self.open(logs)?.clear()?;
        }
        Ok(std::mem::take(&mut self.held[self.current]))
    }

    fn open(&mut self, logs: &Path) -> Result<&mut Lines, FolderError> {
        let slot = &mut self.segments[self.current];
        match slot {
            Some(lines) => Ok(lines),
            None => Ok(slot.insert(Lines::open(segment(logs, self.current))?)),
        }
    }
}

/// Returns the path of segment 0 or 1.
pub(crate) fn segment(logs: &Path, index: usize) -> PathBuf {
    logs.join(format!("output.{}.jsonl", index + 1))
}

/// Returns the size and the last write of a segment; `None` if the file does not exist.
fn measure(path: &Path) -> io::Result<Option<(Dropped, SystemTime)>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let held = Dropped {
        lines: text.iter().filter(|byte| **byte == b'\n').count() as u64,
        bytes: text.len() as u64,
    };
    Ok(Some((held, fs::metadata(path)?.modified()?)))
}
