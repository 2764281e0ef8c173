//! What listings say about conversations, read from their logs and kept until a log changes.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use jiff::Timestamp;

use crate::error::AgentError;
use crate::line::{Entry, Line};
use crate::log::{self, LogError};
use crate::name::Pair;
use crate::transcript::ConversationState;

/// A conversation in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedConversation {
    /// The name of its file, by which listings are ordered.
    pub file: String,
    /// The agent and the sender.
    pub pair: Pair,
    /// The first line of the first message, or the title of a summary.
    pub title: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When its last line was stored.
    pub updated_at: Timestamp,
    /// The number of its turns.
    pub turns: u64,
    /// Whether a turn runs or waits.
    pub is_active: bool,
    /// The question that waits for an answer.
    pub ask_id: Option<String>,
    /// The cost of each turn and when it ended, in millionths of a US dollar.
    pub costs: Vec<(Timestamp, u64)>,
}

/// The size and the time of a file, by which a change is seen.
type Stamp = (u64, Option<SystemTime>);

/// What was read, by file.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<HashMap<String, (Stamp, Option<ListedConversation>)>>);

impl Summaries {
    /// Reads the logs of a directory that have changed, and returns all. A log that cannot be read is logged and left out.
    pub(crate) fn read(&self, directory: &Path) -> Result<Vec<ListedConversation>, AgentError> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(LogError::Io {
                    path: directory.to_owned(),
                    source,
                }
                .into());
            }
        };
        let mut known = self.0.lock().expect("no holder panics");
        let mut found = HashMap::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(metadata) = entry.metadata().ok().filter(|_| name.ends_with(".jsonl")) else {
                continue;
            };
            let stamp = (metadata.len(), metadata.modified().ok());
            let kept = known.remove(&name).filter(|(at, _)| *at == stamp);
            let row = kept.unwrap_or_else(|| (stamp, summary(&entry.path(), &name)));
            found.insert(name, row);
        }
        *known = found;
        let mut listed: Vec<ListedConversation> =
            known.values().filter_map(|(_, row)| row.clone()).collect();
        listed.sort_by(|one, other| one.file.cmp(&other.file));
        Ok(listed)
    }
}

fn summary(path: &Path, name: &str) -> Option<ListedConversation> {
    let read = || {
        let bytes = fs::read(path).ok()?;
        let first = bytes.split(|byte| *byte == b'\n').next()?;
        let pair = serde_json::from_slice::<Line>(first).ok()?.entry.pair()?;
        let lines = log::parse(path, &bytes, &pair).ok()?.lines;
        Some((pair, lines))
    };
    let Some((pair, lines)) = read() else {
        tracing::warn!(path = %path.display(), "a session log cannot be listed: it is damaged");
        return None;
    };
    let transcript = ConversationState::of(&lines);
    let (first, last) = (lines.first()?.at, lines.last()?.at);
    let costs = lines.iter().filter_map(|line| match &line.entry {
        Entry::End { usage, .. } | Entry::Compact { usage, .. } => {
            Some((line.at, usage.cost_micros?))
        }
        _ => None,
    });
    let open = transcript.open.as_ref();
    Some(ListedConversation {
        file: name.to_owned(),
        costs: costs.collect(),
        ask_id: open.and_then(|open| Some(open.ask.as_ref()?.ask_id.clone())),
        pair,
        title: transcript.title,
        created_at: first,
        updated_at: last,
        turns: transcript.n_turns,
        is_active: false,
    })
}
