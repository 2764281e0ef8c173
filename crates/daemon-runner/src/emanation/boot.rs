//! Recovery of one-off runs after a crash: runs without an owner, and ends that were not published.

use std::path::Path;
use std::sync::Arc;

use daemon_process::{ProcessId, boot_id};
use daemon_provider::redact::Redactor;
use daemon_records::folder_of;
use daemon_run_folder::{
    Document, DocumentReading, Folder, Owner, RunError, RunNotice, RunState, Writer,
};
use daemon_store::{Query, RunEnd, RunRow, StoreError};
use jiff::Timestamp;

use super::notice::{NewNotice, is_silent, of_mark};
use super::publish::NoticeWriter;
use crate::run_context::RunContext;
use crate::runs::{Record, end_processes, follow_folder};

/// A notice that was not published, with its sequence number if it has one.
struct Unpublished {
    seq: Option<u64>,
    at: Timestamp,
    folder: Folder,
    notice: RunNotice,
}

/// What the folders of earlier hosts contain.
#[derive(Default)]
struct Found {
    /// The highest sequence number.
    last: u64,
    unpublished: Vec<Unpublished>,
    /// The runs of activations that were ended as orphans.
    ended: Vec<Folder>,
}

/// Ends runs without an owner, then publishes the notices of earlier hosts. No other notice is published before that.
pub(super) async fn finish(run_context: &Arc<RunContext>, notices: &mut NoticeWriter) {
    let runs = run_context.paths.runs.clone();
    let (written, now) = (notices.written(), run_context.now());
    let found = tokio::task::spawn_blocking(move || scan(&runs, written, now)).await;
    let Found {
        last,
        mut unpublished,
        ended,
    } = match found {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "reading the run folders panicked");
            return;
        }
    };
    notices.note_seq(last);
    // A notice with a number keeps it. It is published before others get higher numbers, because clients read in order.
    unpublished.sort_by_key(|one| (one.seq.is_none(), one.seq, one.at));
    for one in unpublished {
        repeat(run_context, notices, one).await;
    }
    // A failure is only logged: no run of this host depends on these rows, and the next start tries again.
    if let Err(error) = follow_folders(run_context, ended).await {
        let error = daemon_records::error::chain(&error);
        tracing::warn!(error, "the index of runs could not be brought up to date");
    }
}

/// Brings the rows of runs up to date whose end is recorded only in the folder: `ended` and those that have no known end.
async fn follow_folders(run_context: &RunContext, ended: Vec<Folder>) -> Result<(), StoreError> {
    let (store, now) = (&*run_context.store, run_context.now());
    for folder in ended {
        if let Some(row) = store.run(&folder.id().to_string()).await? {
            follow_folder(store, folder, &row, now).await?;
        }
    }
    for state in [RunState::Running, RunState::Unknown] {
        let mut query = Query {
            limit: 500,
            state: Some(state.as_str().to_owned()),
            ..Query::default()
        };
        loop {
            let page = store.runs(&query).await?;
            for row in page.rows {
                end_unended(run_context, row).await?;
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
    }
    Ok(())
}

/// Stores the end of a run whose row has none, or an unknown one. The folder of a one-off run may have been deleted before its
/// host died; its end is then recorded only in the row.
async fn end_unended(run_context: &RunContext, row: RunRow) -> Result<(), StoreError> {
    let (store, now) = (&*run_context.store, run_context.now());
    let Some(folder) = folder_of(&run_context.paths.runs, &row.id) else {
        return Ok(());
    };
    let is_gone = matches!(folder.path().try_exists(), Ok(false));
    if !is_gone {
        return follow_folder(store, folder, &row, now).await;
    }
    if row.activation.is_some() || row.finished_at.is_some() {
        return Ok(());
    }
    let end = RunEnd {
        state: RunState::Unknown.as_str().to_owned(),
        finished_at: now,
        object: row.object,
    };
    store.end_run(&row.id, end).await
}

/// Reads every folder and ends orphans. `written` is the last number in `system.json`.
fn scan(runs: &Path, written: u64, now: Timestamp) -> Found {
    let folders = Folder::list(runs).unwrap_or_default();
    let mut found = Found::default();
    // Oldest first, so that notices without a number get theirs in the order of the starts.
    for folder in folders.into_iter().rev() {
        let Ok(DocumentReading::Known(document)) = folder.read() else {
            continue;
        };
        found.last = found.last.max(document.notified_seq.unwrap_or(0));
        if is_mine_or_alive(&document) && !document.state.is_terminal() {
            continue;
        }
        let was_running = !document.state.is_terminal();
        let document = match bring_to_end(&folder, *document, now) {
            Ok(document) => document,
            Err(error) => {
                let error = daemon_records::error::chain(&*error);
                tracing::warn!(run = %folder.id(), error, "an orphaned run could not be recorded");
                continue;
            }
        };
        if was_running && document.activation.is_some() {
            found.ended.push(folder.clone());
        }
        for (notice, at) in owed(&document) {
            let mark = folder.marked(notice).ok().flatten();
            let seq = mark
                .and_then(|content| of_mark(&content))
                .map(|(seq, _)| seq);
            found.last = found.last.max(seq.unwrap_or(0));
            if notice == RunNotice::End && document.terminal_notified
                || notice != RunNotice::End && seq.is_some_and(|seq| seq <= written)
            {
                continue;
            }
            let folder = folder.clone();
            found.unpublished.push(Unpublished {
                seq,
                at,
                folder,
                notice,
            });
        }
    }
    found
}

/// Lists the notices of a run that has ended.
fn owed(document: &Document) -> Vec<(RunNotice, Timestamp)> {
    if document.activation.is_some() || !document.state.is_terminal() {
        return Vec::new();
    }
    let replies = document
        .followups
        .iter()
        .filter(|reply| reply.state != RunState::Running && !is_silent(reply));
    let replies = replies.map(|reply| {
        let at = reply.finished_at.unwrap_or(reply.started_at);
        (RunNotice::Reply(reply.n), at)
    });
    let end = document.finished_at.unwrap_or(document.started_at);
    std::iter::once((RunNotice::End, end))
        .chain(replies)
        .collect()
}

/// Returns whether the owner of a run is alive, which may be this process.
fn is_mine_or_alive(document: &Document) -> bool {
    let Some(owner) = Owner::of(document) else {
        return false;
    };
    let process = ProcessId {
        pid: owner.pid,
        start: owner.start,
    };
    boot_id().is_ok_and(|boot| boot == owner.boot_id) && process.is_alive()
}

/// Ends the processes of a run without an owner, and records the end of the run and of its messages.
fn bring_to_end(
    folder: &Folder,
    document: Document,
    now: Timestamp,
) -> Result<Document, Box<dyn std::error::Error>> {
    let is_open = |reply: &daemon_run_folder::Followup| reply.state == RunState::Running;
    let has_open_reply = document.followups.iter().any(is_open);
    if document.state.is_terminal() && !has_open_reply || folder.is_live()? {
        return Ok(document);
    }
    let child = document.child.map(|child| ProcessId {
        pid: child.pid,
        start: child.start,
    });
    // The processes end before the record: a run that is recorded as ended must not change anything later.
    end_processes(child, &folder.id().to_string())?;
    let open: Vec<u32> = document
        .followups
        .iter()
        .filter(|reply| is_open(reply))
        .map(|reply| reply.n)
        .collect();
    let has_ended = document.state.is_terminal();
    let mut writer = Writer::adopt(folder.clone(), now)?;
    if !has_ended {
        writer.finish_orphaned(now)?;
    }
    for n in open {
        // The message is not delivered again: its run has died, or its session has lost the unfinished work.
        writer.ask_ended(n, Err(RunError::orphaned()), now)?;
    }
    Ok(writer.document().clone())
}

/// Completes the publication of a notice.
async fn repeat(
    run_context: &Arc<RunContext>,
    notices: &mut NoticeWriter,
    unpublished: Unpublished,
) {
    let Unpublished { folder, notice, .. } = unpublished;
    let Ok(DocumentReading::Known(document)) = folder.read() else {
        return;
    };
    let new_notice = match notice {
        RunNotice::End => Some(NewNotice::end(&document, &folder)),
        RunNotice::Reply(n) => {
            // The reply file may have been deleted; the notice is then published without a preview.
            let answer = std::fs::read_to_string(folder.reply(n)).unwrap_or_default();
            NewNotice::reply(&document, &folder, n, &answer)
        }
    };
    let Some(seq) = new_notice.and_then(|new_notice| notices.publish(&folder, notice, &new_notice))
    else {
        return;
    };
    if notice != RunNotice::End {
        return;
    }
    let clock = Arc::clone(&run_context.clock);
    // A folder that another process writes is published by that process.
    let Ok(mut record) = Record::adopt(folder, Redactor::default(), clock) else {
        return;
    };
    record.published(seq);
    super::running::index(run_context, &record).await;
}
