//! The match loop: stored events meet conditions, and what they wake is committed with the mark that they were matched.

use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Joining, NewTrigger, Trigger};
use daemon_event::{
    ActivationId, DaemonId, DaemonKey, Enrichment, Event, RepoName, TriggerKey, read,
};
use daemon_store::{EventRow, Matched, StoreError};
use daemon_watch::Need;
use serde::Deserialize;

use super::Inner;
use crate::random;

/// How many events one transaction matches.
const BATCH: u32 = 256;
/// How long the loop sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(5);

/// Matches until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    while !inner.stop.is_cancelled() {
        if let Err(error) = match_waiting(&inner).await {
            inner.trouble("matching cannot reach the store", &error);
        }
        tokio::select! {
            () = inner.stop.cancelled() => {}
            () = inner.signals.matches.notified() => {}
            () = tokio::time::sleep(IDLE) => {}
        }
    }
}

/// Matches everything that waits.
///
/// # Errors
/// If the store fails; what was not committed is matched again.
pub(crate) async fn match_waiting(inner: &Inner) -> Result<(), StoreError> {
    loop {
        // A registration changes what events meet; it waits for the batch.
        let registering = inner.registering.read().await;
        let waiting = inner.store.unmatched(BATCH).await?;
        if waiting.is_empty() {
            inner.set_backlog(0);
            return Ok(());
        }
        let mut matched = Vec::with_capacity(waiting.len());
        for row in &waiting {
            matched.push(Matched {
                event: row.event.id.clone(),
                triggers: triggers(inner, row).await?,
            });
        }
        crate::failpoint::hit("M1");
        let admissions = inner.store.commit_matches(matched, random::now()).await?;
        crate::failpoint::hit("M3");
        drop(registering);
        inner.set_backlog(
            inner
                .backlog()
                .saturating_sub(u64::try_from(waiting.len()).expect("a batch is small")),
        );
        if !admissions.is_empty() {
            inner.signals.claims.notify_one();
        }
        metrics::counter!("daemon_events_matched_total")
            .increment(u64::try_from(waiting.len()).unwrap_or(0));
    }
}

/// Returns what one event wakes.
async fn triggers(inner: &Inner, row: &EventRow) -> Result<Vec<NewTrigger>, StoreError> {
    let event = enriched(inner, &row.event).await;
    let woken = inner.registry.matches(&event);
    if woken.is_empty() {
        return Ok(Vec::new());
    }
    let config = inner.config();
    let origin = origin(inner, &event, config.limits.chain_depth).await?;
    let registry = inner.registry.get();
    let now = random::now();
    let mut triggers = Vec::new();
    for (key, conditions) in woken {
        let Some(daemon) = registry.find_key(&key).filter(|daemon| daemon.is_valid()) else {
            continue;
        };
        if row.seq <= daemon.row.since_seq {
            continue;
        }
        if let Some(origin) = &origin
            && (origin.daemon == key || origin.depth > config.limits.chain_depth)
        {
            tracing::info!(daemon = %key, event = %event.id, depth = origin.depth, "a daemon's own output does not wake it");
            continue;
        }
        let settle = config
            .policy
            .daemon
            .get(key.id.as_str())
            .and_then(|policy| policy.settle);
        triggers.push(NewTrigger {
            rev: daemon.row.rev.clone(),
            subject: event.subject.clone(),
            trigger: Trigger {
                key: TriggerKey::Event(event.id.clone()),
                conditions,
                by: None,
                recorded_at: now,
            },
            activation_id: random::activation_id(now),
            not_before: settle.map_or(now, |settle| now + settle.signed()),
            joining: Joining::Coalesce,
            daemon: key,
        });
    }
    Ok(triggers)
}

/// Adds the changed files of a pull request where a condition may need them and both commits are here.
async fn enriched(inner: &Inner, event: &Event) -> Event {
    let Some(repo) = &event.repo else {
        return event.clone();
    };
    let is_pull_request = event.kind.starts_with("pull_request");
    if !is_pull_request || !inner.registry.needs(repo, Need::ChangedFiles) {
        return event.clone();
    }
    match pull_request_files(inner, repo, event).await {
        Some(files) => with_changed_files(event, files),
        None => event.clone(),
    }
}

/// Reads an event again with the files that it changed.
pub(crate) fn with_changed_files(event: &Event, files: Vec<String>) -> Event {
    let enrichment = Enrichment {
        changed_files: Some(files),
        ..Default::default()
    };
    match read(event.source, &event.kind, &event.payload, &enrichment) {
        Ok(reading) => Event {
            facts: reading.facts,
            ..event.clone()
        },
        Err(_) => event.clone(),
    }
}

#[derive(Deserialize)]
struct PullRequestPayload {
    pull_request: PullRequestEnds,
}

#[derive(Deserialize)]
struct PullRequestEnds {
    base: End,
    head: End,
}

#[derive(Deserialize)]
struct End {
    sha: String,
}

async fn pull_request_files(inner: &Inner, repo: &RepoName, event: &Event) -> Option<Vec<String>> {
    let payload: PullRequestPayload = serde_json::from_slice(&event.payload).ok()?;
    let ends = payload.pull_request;
    let (base, head) = (ends.base.sha.parse().ok()?, ends.head.sha.parse().ok()?);
    let watched = inner.repo(repo)?;
    let listed =
        tokio::task::spawn_blocking(move || watched.repository.pull_request_files(&base, &head))
            .await;
    match listed {
        Ok(Ok(files)) => Some(files?.paths().into_iter().map(str::to_owned).collect()),
        Ok(Err(error)) => {
            tracing::warn!(%error, event = %event.id, "the files of a pull request cannot be listed");
            None
        }
        Err(error) => {
            tracing::error!(%error, "listing the files of a pull request panicked");
            None
        }
    }
}

/// The daemon whose output an event is, and how long the chain of daemons behind it is.
struct Origin {
    daemon: DaemonKey,
    depth: u32,
}

#[derive(Deserialize)]
struct MarkedPayload {
    daemon: MarkPayload,
}

#[derive(Deserialize)]
struct MarkPayload {
    id: String,
    activation: String,
}

/// Reads the mark that the repository put into an event, and believes it only of an activation that exists.
fn mark(event: &Event) -> Option<(DaemonId, ActivationId)> {
    if event.source != daemon_event::Source::Git {
        return None;
    }
    let marked: MarkedPayload = serde_json::from_slice(&event.payload).ok()?;
    Some((
        marked.daemon.id.parse().ok()?,
        marked.daemon.activation.parse().ok()?,
    ))
}

async fn origin(inner: &Inner, event: &Event, limit: u32) -> Result<Option<Origin>, StoreError> {
    let mut depth = 0;
    let mut daemon = None;
    let mut next = mark(event);
    while let Some((id, activation)) = next.take() {
        let Some(found) = inner
            .store
            .activation(&activation)
            .await?
            .filter(|found| found.daemon.id == id)
        else {
            break;
        };
        depth += 1;
        daemon.get_or_insert(found.daemon.clone());
        if depth > limit {
            break;
        }
        for trigger in &found.triggers {
            if let TriggerKey::Event(cause) = &trigger.key
                && let Some(cause) = inner.store.event(cause).await?
            {
                next = next.or_else(|| mark(&cause.event));
            }
        }
    }
    Ok(daemon.map(|daemon| Origin { daemon, depth }))
}
