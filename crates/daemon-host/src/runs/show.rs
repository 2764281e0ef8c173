//! Showing run folders, and ending what a dead host left running.

use std::path::Path;

use daemon_process::{ProcessId, end_orphans};
use daemon_run_folder::{Document, FinishError, Folder, FolderError, LogPlace, Reading, Writer};
use daemon_store::RunRow;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::wire::{RunErrorObject, RunObject, TokensObject, instant};

/// How many events of a log are shown at most.
const MAX_EVENTS: usize = 10_000;
/// How many bytes of a log are told at once.
const MAX_PART: u64 = 1 << 20;

/// One line of a run's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TimelineEntry {
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) detail: String,
}

pub(super) fn folder(runs: &Path, id: &str) -> Option<Folder> {
    Some(Folder::new(runs, id.parse().ok()?))
}

impl TimelineEntry {
    /// Makes the line that tells of an event of a log.
    pub(crate) fn of(event: &Map<String, Value>) -> Self {
        let text = |name: &str| {
            let text = event.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let rest = event
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "ts" | "event"));
        let detail = rest.map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        });
        Self {
            at: text("ts"),
            kind: text("event"),
            detail: detail.collect::<Vec<_>>().join(" "),
        }
    }
}

/// Reads the timeline of a run and the names of its files.
pub(crate) fn read(runs: &Path, id: &str) -> (Vec<TimelineEntry>, Vec<String>) {
    let Some(folder) = folder(runs, id) else {
        return (Vec::new(), Vec::new());
    };
    let log = folder.last_events(MAX_EVENTS).unwrap_or_default();
    let timeline = log.events.iter().map(TimelineEntry::of);
    (timeline.collect(), files(folder.path(), folder.path()))
}

/// Reads what a run's log holds after a place, and tells where that ends.
///
/// # Errors
/// The log is there but could not be read.
pub(crate) fn read_after(
    runs: &Path,
    id: &str,
    place: LogPlace,
) -> Result<(Vec<TimelineEntry>, LogPlace), FolderError> {
    let Some(folder) = folder(runs, id) else {
        return Ok((Vec::new(), place));
    };
    let part = folder.log_after(place, MAX_PART)?;
    let lines = part.events.iter().chain(&part.output);
    Ok((lines.map(TimelineEntry::of).collect(), part.next))
}

pub(super) fn files(root: &Path, directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(entries) = std::fs::read_dir(directory) else {
        return names;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            // Neither the child's own home nor what holds secrets is anybody's business.
            Ok(kind)
                if kind.is_dir()
                    && entry.file_name() != "session"
                    && entry.file_name() != "private" =>
            {
                names.extend(files(root, &path));
            }
            Ok(kind) if kind.is_file() => {
                names.extend(
                    path.strip_prefix(root)
                        .ok()
                        .map(|path| path.display().to_string()),
                );
            }
            _ => {}
        }
    }
    names.sort();
    names
}

/// Writes a run's document as listings show it.
pub(super) fn object(document: &Document, folder: &Path, now: Timestamp) -> RunObject {
    let elapsed = match document.finished_at {
        Some(_) => document.elapsed_s,
        None => now
            .duration_since(document.started_at)
            .as_secs_f64()
            .max(0.0),
    };
    let link = document.activation.as_ref();
    let total = |ours: u64, theirs: u64| if ours > 0 { ours } else { theirs };
    RunObject {
        id: document.run_id.clone(),
        activation_id: link.map(|link| link.activation_id.clone()),
        daemon_id: link.map(|link| link.daemon.clone()),
        attempt: link.map_or(1, |link| link.attempt),
        provider: document.backend.clone(),
        state: document.state.as_str().to_owned(),
        reported: document.reported,
        started_at: instant(document.started_at),
        finished_at: document.finished_at.map(instant),
        elapsed_s: (elapsed * 1000.0).round() / 1000.0,
        turn: u64::from(document.turn),
        tool_call_count: document.tool_call_count,
        current_tool: document.current_tool.clone(),
        tokens: TokensObject {
            input: total(document.tokens.input, document.cli_tokens.tokens.input),
            output: total(document.tokens.output, document.cli_tokens.tokens.output),
        },
        cost_usd: document.cli_tokens.cost_usd,
        last_output_at: document.last_output_at.map(instant),
        result_preview: document.result_preview.clone(),
        result_path: document.result_path.clone(),
        error: document.error.as_ref().map(|error| RunErrorObject {
            kind: error.kind.clone(),
            message: error.message.clone(),
        }),
        folder: folder.display().to_string(),
    }
}

/// Brings the live fields of a run's object up to date from its folder.
pub(crate) fn refresh(runs: &Path, object: RunObject, now: Timestamp) -> RunObject {
    let Some(folder) = folder(runs, &object.id) else {
        return object;
    };
    match folder.read() {
        Ok(Reading::Known(document)) => {
            let fresh = self::object(&document, folder.path(), now);
            RunObject {
                // Folders do not say what the calls of a model cost.
                cost_usd: fresh.cost_usd.or(object.cost_usd),
                // Folders of earlier releases do not say whether a model ran.
                reported: fresh.reported || object.reported,
                ..fresh
            }
        }
        Ok(Reading::Newer(_) | Reading::Broken(_)) | Err(_) => object,
    }
}

/// Ends the processes that a dead host left of a run, and logs how many were ended and how many could not be.
///
/// # Errors
/// The table of processes could not be read.
pub(crate) fn end_processes(child: Option<ProcessId>, run: &str) -> std::io::Result<()> {
    let orphans = end_orphans(child, run)?;
    let (ended, survivors) = (orphans.ended.len(), orphans.survivors.len());
    if survivors > 0 {
        let pids: Vec<i32> = orphans.survivors.iter().map(|id| id.pid).collect();
        tracing::error!(
            run,
            ended,
            survivors,
            ?pids,
            "what a dead host left running outlived SIGKILL"
        );
    } else if ended > 0 {
        tracing::warn!(run, ended, survivors, "ended what a dead host left running");
    }
    Ok(())
}

/// Ends the process tree that a dead host left of a run, and records its end.
pub(crate) async fn end_orphan(runs: &Path, row: &RunRow, now: Timestamp) {
    let (runs, id) = (runs.to_owned(), row.id.clone());
    let ended = tokio::task::spawn_blocking(move || {
        let Some(folder) = folder(&runs, &id) else {
            return;
        };
        let document = match folder.read() {
            Ok(Reading::Known(document)) => Some(document),
            Ok(Reading::Newer(_) | Reading::Broken(_)) | Err(_) => None,
        };
        let child = document
            .as_ref()
            .and_then(|document| document.child)
            .map(|child| ProcessId {
                pid: child.pid,
                start: child.start,
            });
        if let Err(error) = end_processes(child, &id) {
            tracing::error!(run = id, %error, "what a dead host left running could not be ended");
        }
        if document.is_some_and(|document| !document.state.is_terminal()) {
            let finished = Writer::adopt(folder, now)
                .map_err(FinishError::from)
                .and_then(|mut writer| writer.finish_orphaned(now));
            if let Err(error) = finished {
                tracing::warn!(
                    run = id,
                    error = crate::ops::chain(&error),
                    "an orphaned run could not be recorded"
                );
            }
        }
    });
    if let Err(error) = ended.await {
        tracing::error!(%error, "ending an orphan panicked");
    }
}
