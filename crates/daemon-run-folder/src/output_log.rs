//! Lines of output: in the event log until it holds enough of them, then in two rotating segments.

use std::path::Path;

use crate::disk::{FolderError, Lines};
use crate::document::Dropped;
use crate::log::Row;

/// Output lines in the event log.
const EVENTS_SHARE: u64 = 8 << 20;
/// One segment.
const SEGMENT: u64 = 4 << 20;

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
        let gone = self.rotate()?;
        let current = self.current;
        let held = &mut self.held[current];
        let slot = &mut self.segments[current];
        let segment = match slot {
            Some(segment) => segment,
            None => slot.insert(Lines::open(
                logs.join(format!("output.{}.jsonl", current + 1)),
            )?),
        };
        held.bytes += segment.append(row)?;
        held.lines += 1;
        Ok(gone)
    }

    /// Goes on in the other segment when this one is full, and empties that first.
    fn rotate(&mut self) -> Result<Dropped, FolderError> {
        if self.held[self.current].bytes < SEGMENT {
            return Ok(Dropped::default());
        }
        self.current = 1 - self.current;
        if let Some(segment) = &mut self.segments[self.current] {
            segment.clear()?;
        }
        Ok(std::mem::take(&mut self.held[self.current]))
    }
}
