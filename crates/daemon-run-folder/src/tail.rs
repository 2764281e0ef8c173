//! Reading the end of a log, or the part after a position. The bytes read do not depend on the length of the log.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::disk::{Action, FolderError, failed};
use crate::folder::Folder;
use crate::output_log::{SEGMENT, segment};
use crate::reader::rows;

/// A position in a run's log, from which [`Folder::log_after`] continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPlace {
    /// The offset in the event log, in bytes.
    pub events: u64,
    /// The position in the output segments; `None` if there were none.
    pub output: Option<OutputLogPlace>,
}

/// A position in the output segments, formatted as `<segment>.<bytes>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLogPlace {
    segment: usize,
    bytes: u64,
}

/// A part of a run's log, in whole lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogPart {
    /// Lines of the event log, oldest first.
    pub events: Vec<Map<String, Value>>,
    /// Lines of the output segments, oldest first. They are later than all output in the event log.
    pub output: Vec<Map<String, Value>>,
    /// The position after this part. If it equals the position before, no more lines are available.
    pub next: LogPlace,
    /// Whether this part starts at the beginning of the event log.
    pub is_whole: bool,
}

/// The string is not an [`OutputLogPlace`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place in later output")]
pub struct UnknownPlace(pub String);

impl fmt::Display for OutputLogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.segment + 1, self.bytes)
    }
}

impl FromStr for OutputLogPlace {
    type Err = UnknownPlace;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownPlace(text.chars().take(40).collect());
        let (number, bytes) = text.split_once('.').ok_or_else(unknown)?;
        let segment = match number {
            "1" => 0,
            "2" => 1,
            _ => return Err(unknown()),
        };
        let bytes = bytes.parse().ok().ok_or_else(unknown)?;
        Ok(Self { segment, bytes })
    }
}

impl Folder {
    /// Reads the end of the log: at most `most` bytes of the event log, and as many of the output segments.
    ///
    /// # Errors
    /// A file exists but could not be read.
    pub fn log_tail(&self, most: u64) -> Result<LogPart, FolderError> {
        let mut part = LogPart::default();
        if let Some(log) = Log::open(&self.events())? {
            let begin = log.length().saturating_sub(most);
            let (text, end) = log.lines(begin, most)?;
            part.events = rows(&text);
            part.next.events = end;
            part.is_whole = begin == 0;
        }
        let mut room = most;
        let segments = self.segments()?;
        for (number, log) in newest_first(&segments) {
            let begin = log.length().saturating_sub(room);
            let (text, end) = log.lines(begin, room)?;
            room -= text.len() as u64;
            part.output.splice(0..0, rows(&text));
            part.next.output.get_or_insert(OutputLogPlace {
                segment: number,
                bytes: end,
            });
        }
        Ok(part)
    }

    /// Reads the lines after a position, at most `most` bytes of each file.
    ///
    /// Output that was overwritten since is missing. A line longer than `most` is skipped.
    ///
    /// # Errors
    /// A file exists but could not be read.
    pub fn log_after(&self, place: LogPlace, most: u64) -> Result<LogPart, FolderError> {
        let mut part = LogPart {
            next: place,
            is_whole: place.events == 0,
            ..LogPart::default()
        };
        if let Some(log) = Log::open(&self.events())? {
            let (text, end) = log.lines(place.events, most)?;
            part.events = rows(&text);
            part.next.events = end;
            // Output segments follow the event log, so they are read only after its end.
            if end < log.length() && end > place.events {
                return Ok(part);
            }
        }
        let segments = self.segments()?;
        // At most three reads: the rest of this segment, the other segment, and this one again if it was emptied since.
        for _ in 0..3 {
            let Some(place) = resume(&segments, part.next.output) else {
                break;
            };
            let Some(log) = &segments[place.segment] else {
                break;
            };
            let (text, end) = log.lines(place.bytes, most)?;
            part.output.extend(rows(&text));
            let reached = OutputLogPlace {
                bytes: end,
                ..place
            };
            if part.next.output.replace(reached) == Some(reached) || end < log.length() {
                break;
            }
        }
        Ok(part)
    }

    fn segments(&self) -> Result<[Option<Log>; 2], FolderError> {
        let logs = self.path().join("logs");
        Ok([
            Log::open(&segment(&logs, 0))?,
            Log::open(&segment(&logs, 1))?,
        ])
    }
}

/// Returns the position in the segments at which reading continues; `None` if there is no segment.
fn resume(segments: &[Option<Log>; 2], place: Option<OutputLogPlace>) -> Option<OutputLogPlace> {
    let begin = |segment| OutputLogPlace { segment, bytes: 0 };
    let Some(place) = place else {
        return newest_first(segments)
            .last()
            .map(|(number, _)| begin(number));
    };
    let other = 1 - place.segment;
    let (Some(here), Some(there)) = (&segments[place.segment], &segments[other]) else {
        return Some(place);
    };
    // After the segment that was being read is emptied, the next lines are at the beginning of the other one.
    let was_emptied = here.length() < place.bytes;
    let is_read = here.length() == place.bytes && here.length() >= SEGMENT;
    if was_emptied || is_read && there.written() >= here.written() {
        return Some(begin(other));
    }
    Some(place)
}

fn newest_first(segments: &[Option<Log>; 2]) -> impl Iterator<Item = (usize, &Log)> {
    let mut present: Vec<(usize, &Log)> = segments
        .iter()
        .enumerate()
        .filter_map(|(number, log)| Some((number, log.as_ref()?)))
        .collect();
    present.sort_by_key(|(_, log)| std::cmp::Reverse(log.written()));
    present.into_iter()
}

/// An open log file. Lines appended after it was opened are not read.
struct Log {
    path: PathBuf,
    file: File,
    metadata: Metadata,
}

impl Log {
    fn open(path: &Path) -> Result<Option<Self>, FolderError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed(Action::Read, path))?,
        };
        let metadata = file.metadata().map_err(failed(Action::Read, path))?;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            metadata,
        }))
    }

    fn length(&self) -> u64 {
        self.metadata.len()
    }

    fn written(&self) -> Option<std::time::SystemTime> {
        self.metadata.modified().ok()
    }

    /// Reads the whole lines after an offset, at most `most` bytes, and returns them with the offset of their end.
    fn lines(&self, begin: u64, most: u64) -> Result<(Vec<u8>, u64), FolderError> {
        self.read(begin, most)
            .map_err(failed(Action::Read, &self.path))
    }

    fn read(&self, begin: u64, most: u64) -> io::Result<(Vec<u8>, u64)> {
        let end = self.length().min(begin.saturating_add(most));
        if begin >= end {
            return Ok((Vec::new(), begin));
        }
        // The byte before shows whether a line begins at the offset: it may be one of another, longer segment.
        let ahead = begin.min(1);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(begin - ahead))?;
        let mut text = Vec::new();
        file.take(end - begin + ahead).read_to_end(&mut text)?;
        let first = match begin {
            0 => 0,
            _ => text
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(text.len(), |at| at + 1),
        };
        let last = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        if last <= first {
            // No line ends in this range. A line being written may still be completed; a line longer than `most` never fits.
            let is_full = end - begin == most;
            return Ok((Vec::new(), if is_full { end } else { begin }));
        }
        text.truncate(last);
        text.drain(..first);
        Ok((text, begin - ahead + last as u64))
    }
}
