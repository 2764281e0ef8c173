//! The contents of one run folder, shortened for a page.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use daemon_records::{RecordedRun, heartbeat_age, record_problem};
use daemon_run_folder::{Folder, LogPlace};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::show::{files, folder};

/// The bytes that are read of the log, and of later output.
const LOG_BYTES: u64 = 192 * 1024;
/// The bytes that are shown of a prompt or a result.
// A prompt may have megabytes and a result a hundred; this much is enough to recognise it, and the folder has the rest.
const TEXT_BYTES: u64 = 256 * 1024;
/// The bytes that are shown of a reply.
const REPLY_BYTES: u64 = 32 * 1024;
/// The maximum number of listed files.
const MAX_FILES: usize = 500;

/// The contents of a run's folder. Parts that cannot be read are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Why parts of the run are unknown.
    pub(crate) problem: Option<Cow<'static, str>>,
    /// The members of `daemon.json`; null for those that are unknown.
    pub(crate) document: Map<String, Value>,
    /// The time since the last heartbeat.
    pub(crate) heartbeat_age: Option<SignedDuration>,
    /// The prompt that the provider received, without secrets.
    pub(crate) prompt: Excerpt,
    /// The final text.
    pub(crate) result: Excerpt,
    /// The replies to messages, by number.
    pub(crate) replies: Vec<(u64, Excerpt)>,
    /// The last events of the log.
    pub(crate) events: Vec<Map<String, Value>>,
    /// Whether `events` contains the first line of the log.
    pub(crate) is_whole: bool,
    /// The last lines of output.
    pub(crate) output: Vec<OutputLine>,
    /// The place after the last line, from which a client can follow the log.
    pub(crate) next: LogPlace,
    /// The names of the files.
    pub(crate) files: Vec<String>,
    /// How many more files there are.
    pub(crate) more_files: usize,
}

/// The beginning of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The text, in which invalid UTF-8 is replaced.
    pub(crate) text: String,
    /// The length of the whole file, in bytes.
    pub(crate) bytes: u64,
    /// Whether the file is longer than `text`.
    pub(crate) is_cut: bool,
}

/// One line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputLine {
    /// Whether the program wrote it to its standard error.
    pub(crate) is_stderr: bool,
    /// The line.
    pub(crate) text: String,
}

impl View {
    /// Reads the folder of a run.
    pub(crate) fn read(runs: &Path, id: &str, now: Timestamp) -> Self {
        let Some(folder) = folder(runs, id) else {
            return Self::default();
        };
        let recorded = RecordedRun::read(&folder, now);
        let document = recorded.map(|run| run.to_members()).unwrap_or_default();
        let log = folder.log_tail(LOG_BYTES).unwrap_or_default();
        let lines = log.events.iter().chain(&log.output);
        let mut files = files(folder.path(), folder.path());
        let more_files = files.len().saturating_sub(MAX_FILES);
        files.truncate(MAX_FILES);
        Self {
            problem: record_problem(&folder).map(Cow::Borrowed),
            heartbeat_age: heartbeat_age(&folder, now),
            prompt: Excerpt::of(&folder.prompt(), TEXT_BYTES),
            result: Excerpt::of(&folder.result(), TEXT_BYTES),
            replies: replies(&folder, &document),
            is_whole: log.is_whole && log.output.is_empty(),
            output: lines.filter_map(OutputLine::of).collect(),
            events: log.events,
            next: log.next,
            files,
            more_files,
            document,
        }
    }
}

fn replies(folder: &Folder, document: &Map<String, Value>) -> Vec<(u64, Excerpt)> {
    let followups = document.get("followups").and_then(Value::as_array);
    let numbers = followups
        .into_iter()
        .flatten()
        .filter_map(|followup| followup.get("n")?.as_u64());
    let read = numbers.filter_map(|n| {
        let path = folder.reply(u32::try_from(n).ok()?);
        Some((n, Excerpt::of(&path, REPLY_BYTES)))
    });
    read.collect()
}

impl Excerpt {
    fn of(path: &Path, most: u64) -> Self {
        // A run may not have written the file yet.
        Self::read(path, most).unwrap_or_default()
    }

    fn read(path: &Path, most: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(most).read_to_end(&mut head)?;
        let is_cut = bytes > most;
        if is_cut {
            // The limit may be inside a character, which is left out.
            let whole = match std::str::from_utf8(&head) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => head.len(),
            };
            head.truncate(whole);
        }
        Ok(Self {
            text: String::from_utf8_lossy(&head).into_owned(),
            bytes,
            is_cut,
        })
    }
}

impl OutputLine {
    fn of(event: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        (text("event") == Some("cli_output")).then(|| Self {
            is_stderr: text("stream") == Some("stderr"),
            text: text("text").unwrap_or_default().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    #[test]
    fn an_excerpt_ends_between_two_characters_and_reports_the_rest() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("text");
        let read = |most| Excerpt::of(&path, most);
        let excerpt = |text: &str, bytes, is_cut| Excerpt {
            text: text.to_owned(),
            bytes,
            is_cut,
        };
        assert_eq!(read(4), Excerpt::default());
        std::fs::write(&path, "aé€").unwrap();
        assert_eq!(read(6), excerpt("aé€", 6, false));
        for (most, text) in [(5, "aé"), (4, "aé"), (3, "aé"), (2, "a"), (0, "")] {
            assert_eq!(read(most), excerpt(text, 6, true), "{most}");
        }
        std::fs::write(&path, b"a\xffb").unwrap();
        assert_eq!(read(9), excerpt("a\u{fffd}b", 3, false));
    }
}
