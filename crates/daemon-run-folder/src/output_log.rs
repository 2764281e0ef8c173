//! Lines of output: in the event log until it holds enough of them, then in two rotating segments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::disk::{Action, FolderError, Lines, failed};
use crate::document::Dropped;
use crate::log::Row;

/// Output lines in the event log.
const EVENTS_SHARE: u64 = 8 << 20;
/// One segment.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// Where the next line of output goes.
#[derive(Debug)]
pub(crate) struct OutputLog {
    in_events: u64,
    segments: [Option<Lines>; 2],
    current: usize,
    /// What the segments hold.
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

    /// Goes on where an earlier writer stopped.
    pub(crate) fn resume(logs: &Path, events: &Lines) -> Result<Self, FolderError> {
        let mut log = Self {
            // What else is in the log is little beside its output.
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
            if modified >= newest {
                (log.current, newest) = (index, modified);
            }
        }
        Ok(log)
    }

    /// Appends a line of output; returns what had to go for it.
    pub(crate) fn append(
        &mut self,
        logs: &Path,
        events: &mut Lines,
        row: &Row<'_>,
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

    /// Goes on in the other segment when this one is full, and empties that first.
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

/// Names the file of a segment, of which there are two.
pub(crate) fn segment(logs: &Path, index: usize) -> PathBuf {
    logs.join(format!("output.{}.jsonl", index + 1))
}

/// Returns what a segment holds and when it was written last; `None` where there is none.
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
