//! The file of a conversation: lines that are only appended, each on disk before the step that it allows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;

use crate::line::{Entry, Line};
use crate::name::Pair;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read or written.
    #[error("`{path}` cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line before the last one is not a line of the format, or the file belongs to another conversation.
    #[error("the session log `{path}` is damaged at line {line}: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let path = path.to_owned();
    move |source| LogError::Io { path, source }
}

/// The log of one conversation, open for appending.
#[derive(Debug)]
pub(crate) struct SessionLog {
    path: PathBuf,
    file: File,
    length: u64,
    n_lines: u64,
}

/// The lines of a log, and how many bytes of a torn last line follow them.
#[derive(Debug, PartialEq)]
pub(crate) struct ParsedLog {
    pub(crate) lines: Vec<Line>,
    pub(crate) length: u64,
    pub(crate) n_torn: u64,
}

/// Parses the bytes of a log.
pub(crate) fn parse(path: &Path, bytes: &[u8], pair: &Pair) -> Result<ParsedLog, LogError> {
    let length = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let (whole, torn) = bytes.split_at(length);
    let mut lines = Vec::new();
    for (at, text) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = at as u64 + 1;
        let damaged = |problem| LogError::Damaged {
            path: path.to_owned(),
            line: number,
            problem,
        };
        let Ok(line) = serde_json::from_slice::<Line>(text) else {
            return Err(damaged("it is not a line of a session log"));
        };
        if line.n != number {
            return Err(damaged("its number is not the next one"));
        }
        match (number, line.entry.pair()) {
            (1, Some(found)) if found == *pair => {}
            (1, _) => return Err(damaged("it does not name this conversation")),
            (_, Some(_)) => return Err(damaged("only the first line names a conversation")),
            (_, None) => {}
        }
        lines.push(line);
    }
    Ok(ParsedLog {
        lines,
        length: length as u64,
        n_torn: torn.len() as u64,
    })
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).expect("open flags fit into an int");
    // A link in place of the file would redirect what is appended.
    options.mode(0o600).custom_flags(no_follow);
    options
}

impl SessionLog {
    /// Opens an existing log, cuts a torn last line off, and returns the lines; `None` if there is no log, or only the beginning
    /// of a first line.
    ///
    /// # Errors
    /// If the file cannot be used, or is damaged; it is unchanged then.
    pub(crate) fn open(path: &Path, pair: &Pair) -> Result<Option<(Self, ParsedLog)>, LogError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(path)(error)),
        };
        let lines = parse(path, &bytes, pair)?;
        let cut = || {
            let file = options().append(true).open(path)?;
            if lines.n_torn > 0 {
                file.set_len(lines.length)?;
                file.sync_all()?;
                metrics::counter!("daemon_session_lines_torn_total").increment(1);
                tracing::warn!(path = %path.display(), bytes = lines.n_torn, "the torn last line of a session log was cut off");
            }
            Ok(file)
        };
        let file = cut().map_err(io_error(path))?;
        let log = Self {
            path: path.to_owned(),
            file,
            length: lines.length,
            n_lines: lines.lines.len() as u64,
        };
        Ok((!lines.lines.is_empty()).then_some((log, lines)))
    }

    /// Creates a log with its first line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn create(
        path: &Path,
        meta: Entry,
        at: Timestamp,
    ) -> Result<(Self, Line), LogError> {
        let create = || {
            let mut opened = options();
            let file = opened.append(true).create(true).open(path)?;
            // A crash can have left the beginning of a first line.
            file.set_len(0)?;
            let directory = path.parent().unwrap_or(Path::new("."));
            File::open(directory)?.sync_all()?;
            Ok(file)
        };
        let mut log = Self {
            path: path.to_owned(),
            file: create().map_err(io_error(path))?,
            length: 0,
            n_lines: 0,
        };
        let mut lines = log.append(vec![meta], at)?;
        Ok((log, lines.remove(0)))
    }

    /// Appends entries and returns their lines once they are on disk.
    ///
    /// # Errors
    /// If they could not be written or synced. What the file contains is unknown then: it has to be opened again.
    pub(crate) fn append(
        &mut self,
        entries: Vec<Entry>,
        at: Timestamp,
    ) -> Result<Vec<Line>, LogError> {
        let numbers = self.n_lines + 1..;
        let lines: Vec<Line> = numbers
            .zip(entries)
            .map(|(n, entry)| Line { n, at, entry })
            .collect();
        let mut bytes = Vec::new();
        for line in &lines {
            serde_json::to_writer(&mut bytes, line).expect("a line is representable");
            bytes.push(b'\n');
        }
        crate::failpoint::hit("A1");
        if let Err(error) = self.file.write_all(&bytes) {
            // Best effort: the space of a part that was written is given back. The next opening cuts it off if this fails.
            self.file.set_len(self.length).unwrap_or_default();
            return Err(io_error(&self.path)(error));
        }
        crate::failpoint::hit("A2");
        self.file.sync_data().map_err(io_error(&self.path))?;
        crate::failpoint::hit("A3");
        self.length += bytes.len() as u64;
        self.n_lines += lines.len() as u64;
        Ok(lines)
    }
}
