//! Moves of refs: the events they make, and the cursors that are stored with these.

use std::sync::Arc;

use daemon_event::{Event, Source};
use daemon_records::random;
use daemon_repo::{RefName, RefPosition, RefPositions};
use daemon_store::{MAX_PAGE, Matching, NewEvent, Query, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::{Git, RepoError, RepositoryReader, Sight, Watched, store_failed};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// The moves of refs since they were last seen, and where the refs are.
pub(super) struct RefMoves {
    /// Whether the refs were read for the first time, which makes no events.
    pub(super) is_baseline: bool,
    cursors: Vec<daemon_store::RefCursor>,
    pub(super) events: Vec<NewEvent>,
}

/// Returns the moves of refs since the last reading, if any. The first reading is the baseline, without moves.
pub(super) async fn moves(
    reader: &RepositoryReader,
    git: &Git<'_>,
    sight: &Arc<Sight>,
) -> Result<Option<RefMoves>, RepoError> {
    let repo = git.repo;
    let stored = reader
        .store
        .ref_cursors(&repo.name)
        .await
        .map_err(|source| store_failed(repo, source))?;
    if stored.is_empty() {
        return Ok(Some(RefMoves {
            is_baseline: true,
            cursors: rows(&RefPositions::baseline(&sight.refs)),
            events: Vec::new(),
        }));
    }
    let (next, moves) = cursor(stored).advance(&sight.refs);
    if moves.is_empty() {
        return Ok(None);
    }
    daemon_records::failpoint::hit("N1");
    let seen = Arc::clone(sight);
    let work = move |repo: &Watched| {
        let mut events = Vec::new();
        for one in &moves {
            events.extend(repo.repository.events_of(one, (&seen.branch, &seen.tip))?);
        }
        Ok(events)
    };
    let events = git.run(work).await?;
    let now = reader.clock.now();
    let events = events
        .into_iter()
        .filter_map(|event| new_event(repo, event, now));
    let mut events: Vec<NewEvent> = events.collect();
    if events.iter().any(|new| new.event.kind == "push") {
        let webhooks = webhooks(reader, repo, now).await;
        let webhooks = webhooks.map_err(|source| store_failed(repo, source))?;
        for event in &mut events {
            daemon_api::intake::reported_in_parts(event, &webhooks);
        }
    }
    Ok(Some(RefMoves {
        is_baseline: false,
        cursors: rows(&next),
        events,
    }))
}

/// Returns the newest pushes of the last hour that webhooks reported: they may report a move in parts.
async fn webhooks(
    reader: &RepositoryReader,
    repo: &Watched,
    now: Timestamp,
) -> Result<Vec<Event>, StoreError> {
    let query = Query {
        limit: MAX_PAGE,
        repo: Some(repo.name.clone()),
        since: Some(now - HOUR),
        ..Query::default()
    };
    let mut webhooks = Vec::new();
    for row in reader.store.events(&query).await?.rows {
        if row.event.source == Source::Github && row.event.kind == "push" {
            // Listings have no payloads.
            let row = reader.store.event(&row.event.id).await?;
            webhooks.extend(row.map(|row| row.event));
        }
    }
    Ok(webhooks)
}

/// Stores the events of moves together with the new positions of the refs.
pub(super) async fn accept(
    reader: &RepositoryReader,
    repo: &Watched,
    ref_moves: RefMoves,
) -> Result<(), RepoError> {
    let accepted = reader
        .store
        .accept_moves(&repo.name, ref_moves.cursors, ref_moves.events)
        .await;
    let accepted = accepted.map_err(|source| store_failed(repo, source))?;
    daemon_records::failpoint::hit("N3");
    daemon_api::intake::count("git", &accepted);
    reader.backlog.add(&accepted);
    Ok(())
}

fn new_event(repo: &Watched, event: daemon_repo::GitEvent, now: Timestamp) -> Option<NewEvent> {
    match event.into_event(random::event_id(now), now) {
        Ok(event) => Some(daemon_api::intake::new_event(event, Matching::Due)),
        Err(error) => {
            tracing::error!(repo = %repo.name, %error, "a move of a ref could not be made an event");
            None
        }
    }
}

fn cursor(stored: Vec<daemon_store::RefCursor>) -> RefPositions {
    let positions = stored.into_iter().filter_map(|row| {
        let at = match row.commit {
            Some(commit) => Some(commit.parse().ok()?),
            None => None,
        };
        Some((
            row.name.parse().ok()?,
            RefPosition {
                at,
                n_moves: row.moves,
            },
        ))
    });
    positions.collect()
}

fn rows(cursor: &RefPositions) -> Vec<daemon_store::RefCursor> {
    let row = |(name, position): (&RefName, &RefPosition)| daemon_store::RefCursor {
        name: name.as_str().to_owned(),
        commit: position.at.as_ref().map(|at| at.as_str().to_owned()),
        moves: position.n_moves,
    };
    cursor.iter().map(row).collect()
}
