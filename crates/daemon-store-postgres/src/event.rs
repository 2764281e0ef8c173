//! Events as they are read, with their reports, triggers and wanted facts.

use std::borrow::Borrow;
use std::collections::HashMap;

use daemon_event::{Actor, ActorKind, Event, EventFacts, EventId, RepoName, Subject, TriggerKey};
use daemon_store::stored::{conditions_from_text, facts};
use daemon_store::{Bookmark, EventRow, EventTrigger, Matching, RefCursor};
use tokio_postgres::Row;

use crate::column::{Columns as _, integer, text};
use crate::failure::TxResult;
use crate::identity::EventPlace;
use crate::transaction::{Tx, Value};
use crate::wanted;

/// How many bytes of payloads are read at once, one event more or less: each can have 25 MiB.
const READ_BYTES: usize = 8 * 1024 * 1024;

/// The columns of `event AS e` that [`read_own`] reads.
pub(crate) const OWN_COLUMNS: &str = "e.repo, e.received_at, e.seq, e.id, e.source, e.kind, e.action, e.subject, e.actor, \
     e.actor_kind, e.happened_at, e.delivery, e.duplicates, e.due";

pub(crate) async fn unmatched(tx: &Tx, after: u64, limit: u32) -> TxResult<Vec<EventRow>> {
    let chosen = "SELECT repo, received_at, seq, row_number() OVER (ORDER BY seq) AS place \
         FROM event WHERE due AND seq > $1 ORDER BY seq LIMIT $2";
    read_some(tx, chosen, &[&integer(after), &i64::from(limit)]).await
}

pub(crate) async fn event(tx: &Tx, id: &EventId) -> TxResult<Option<EventRow>> {
    let chosen = "SELECT repo, received_at, seq, 1::bigint AS place FROM event WHERE id = $1";
    let found = read_some(tx, chosen, &[&id.as_str()]).await?;
    Ok(found.into_iter().next())
}

/// The tables from which [`listed`] reads.
pub(crate) const LISTED_TABLES: &str =
    "event AS e LEFT JOIN payload AS p USING (repo, received_at, seq)";

/// Reads some events as listings have them.
pub(crate) async fn among(tx: &Tx, ids: &[EventId]) -> TxResult<Vec<EventRow>> {
    let names: Vec<&str> = ids.iter().map(EventId::as_str).collect();
    let sql = format!("SELECT {OWN_COLUMNS}, p.facts FROM {LISTED_TABLES} WHERE e.id = ANY($1)");
    let rows = tx.rows(&sql, &[&names]).await?;
    listed(tx, &rows).await
}

/// Reads events with their triggers from the columns [`OWN_COLUMNS`] and `p.facts`: without payloads, and of their facts the title.
pub(crate) async fn listed(tx: &Tx, rows: &[Row]) -> TxResult<Vec<EventRow>> {
    let mut events = own(tx, rows).await?;
    for (read, row) in events.iter_mut().zip(rows) {
        if let Some(text) = row.try_get::<_, Option<&str>>("facts")? {
            read.event.facts = facts::listed_of_text(text);
        }
    }
    Ok(events)
}

/// Reads the events whose keys and places a query returns, until their payloads together are large; at least one if there is any.
pub(crate) async fn read_some(
    tx: &Tx,
    chosen: &str,
    values: &[Value<'_>],
) -> TxResult<Vec<EventRow>> {
    let sql = format!(
        "WITH chosen AS ({chosen}), sized AS (SELECT c.*, coalesce(octet_length(p.body), 0) + coalesce((\
           SELECT sum(octet_length(r.body)) FROM report AS r \
           WHERE r.repo = c.repo AND r.received_at = c.received_at AND r.seq = c.seq), 0) AS n_bytes \
         FROM chosen AS c LEFT JOIN payload AS p USING (repo, received_at, seq)), \
         kept AS (SELECT * FROM (SELECT *, sum(n_bytes) OVER (ORDER BY place) - n_bytes AS before FROM sized) AS s \
           WHERE before < {READ_BYTES}) \
         SELECT {OWN_COLUMNS}, p.facts, p.body FROM kept AS k JOIN event AS e USING (repo, received_at, seq) \
         LEFT JOIN payload AS p USING (repo, received_at, seq) ORDER BY k.place"
    );
    let rows = tx.rows(&sql, values).await?;
    let mut events = own(tx, &rows).await?;
    let places = rows
        .iter()
        .map(EventPlace::read)
        .collect::<TxResult<Vec<_>>>()?;
    let mut reports = reports(tx, &places).await?;
    for ((read, row), place) in events.iter_mut().zip(&rows).zip(&places) {
        let event = &mut read.event;
        if let Some(body) = row.try_get::<_, Option<&[u8]>>("body")? {
            event.payload = body.into();
        }
        let said = || facts::of_payload(event.source, &event.kind, &event.payload);
        if let Some(text) = row.try_get::<_, Option<&str>>("facts")? {
            event.facts = facts::from_text(text, said)?;
        }
        read.later_reports = reports.remove(&place.seq).unwrap_or_default();
        for report in &mut read.later_reports {
            report.id = event.id.clone();
            event.facts.complete(&report.facts);
        }
    }
    Ok(events)
}

/// Reads events, their triggers and their wanted facts, without payloads and facts.
async fn own(tx: &Tx, rows: &[Row]) -> TxResult<Vec<EventRow>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut events = rows.iter().map(read_own).collect::<TxResult<Vec<_>>>()?;
    let keys: Vec<String> = events
        .iter()
        .map(|read| TriggerKey::Event(read.event.id.clone()).to_string())
        .collect();
    let mut triggers = triggers(tx, &keys).await?;
    let places = rows
        .iter()
        .map(EventPlace::read)
        .collect::<TxResult<Vec<_>>>()?;
    let mut wanted = wanted::of_events(tx, &places).await?;
    for ((read, key), place) in events.iter_mut().zip(&keys).zip(&places) {
        read.triggers = triggers.remove(key).unwrap_or_default();
        read.wanted = wanted.remove(&place.seq).unwrap_or_default();
    }
    Ok(events)
}

fn read_own(row: &Row) -> TxResult<EventRow> {
    Ok(EventRow {
        seq: row.count("seq")?,
        later_reports: Vec::new(),
        event: Event {
            id: row.word("id")?,
            source: row.word("source")?,
            kind: row.text("kind")?,
            action: row.maybe_text("action")?,
            subject: row.maybe_word("subject")?,
            actor: actor(row)?,
            repo: row.maybe_word("repo")?,
            time: row.at("happened_at")?,
            received_at: row.at("received_at")?,
            delivery: row.word("delivery")?,
            facts: EventFacts::default(),
            payload: [].into(),
        },
        duplicates: row.count("duplicates")?,
        matching: if row.flag("due")? {
            Matching::Due
        } else {
            Matching::Done
        },
        triggers: Vec::new(),
        wanted: Vec::new(),
    })
}

fn actor(row: &Row) -> TxResult<Option<Actor>> {
    let Some(name) = row.maybe_text("actor")? else {
        return Ok(None);
    };
    let kind = match row.text("actor_kind")?.as_str() {
        "bot" => ActorKind::Bot,
        _ => ActorKind::Human,
    };
    Ok(Some(Actor { name, kind }))
}

/// Returns the triggers of some keys, by key.
async fn triggers(tx: &Tx, keys: &[String]) -> TxResult<HashMap<String, Vec<EventTrigger>>> {
    let rows = tx
        .rows(
            "SELECT key, repo, daemon, conditions, activation FROM wake WHERE key = ANY($1) ORDER BY number",
            &[&keys],
        )
        .await?;
    let mut triggers: HashMap<String, Vec<EventTrigger>> = HashMap::new();
    for row in &rows {
        triggers
            .entry(row.text("key")?)
            .or_default()
            .push(EventTrigger {
                daemon: row.daemon()?,
                conditions: conditions_from_text(&row.text("conditions")?)?,
                activation: row.maybe_word("activation")?,
            });
    }
    Ok(triggers)
}

/// Returns the later reports of some events, by number of the event, oldest first.
async fn reports(tx: &Tx, places: &[EventPlace]) -> TxResult<HashMap<i64, Vec<Event>>> {
    let (repos, instants, seqs) = columns_of(places);
    let rows = tx
        .rows(
            "SELECT r.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS k (repo, received_at, seq) \
             JOIN report AS r USING (repo, received_at, seq) ORDER BY r.number",
            &[&repos, &instants, &seqs],
        )
        .await?;
    let mut reports: HashMap<i64, Vec<Event>> = HashMap::new();
    for row in &rows {
        let (source, kind) = (row.word("source")?, row.text("kind")?);
        let payload: std::sync::Arc<[u8]> = row.bytes("body")?.into();
        let said = || facts::of_payload(source, &kind, &payload);
        reports.entry(row.number("seq")?).or_default().push(Event {
            // Replaced by that of the event, which the caller has.
            id: EventId::new(0, [0; 10]),
            action: row.maybe_text("action")?,
            subject: row.maybe_word("subject")?,
            actor: actor(row)?,
            repo: row.maybe_word::<RepoName>("own_repo")?,
            time: row.at("happened_at")?,
            received_at: row.at("reported_at")?,
            delivery: row.word("delivery")?,
            facts: facts::from_text(&row.text("facts")?, said)?,
            source,
            kind,
            payload,
        });
    }
    Ok(reports)
}

/// Returns the keys of events as arrays, one for each column.
pub(crate) fn columns_of<P: Borrow<EventPlace>>(places: &[P]) -> (Vec<&str>, Vec<i64>, Vec<i64>) {
    let places = || places.iter().map(Borrow::borrow);
    (
        places().map(|place| place.repo.as_str()).collect(),
        places().map(|place| place.received_at).collect(),
        places().map(|place| place.seq).collect(),
    )
}

pub(crate) async fn ref_cursors(tx: &Tx, repo: &RepoName) -> TxResult<Vec<RefCursor>> {
    let rows = tx
        .rows(
            "SELECT name, commit_id, moves FROM ref_cursor WHERE repo = $1 ORDER BY name COLLATE \"C\"",
            &[&repo.as_str()],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RefCursor {
                name: row.text("name")?,
                commit: row.maybe_text("commit_id")?,
                moves: row.count("moves")?,
            })
        })
        .collect()
}

/// Returns the bookmarks whose names begin with a prefix, by name.
pub(crate) async fn bookmarks(tx: &Tx, prefix: &str) -> TxResult<Vec<Bookmark>> {
    let rows = tx
        .rows(
            "SELECT name, text, at FROM bookmark WHERE left(name, length($1)) = $1 ORDER BY name COLLATE \"C\"",
            &[&text(prefix)],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Bookmark {
                name: row.text("name")?,
                text: row.text("text")?,
                at: row.at("at")?,
            })
        })
        .collect()
}

/// Returns the branch of a pull request, unless it is of a fork or not known.
pub(crate) async fn head_of(tx: &Tx, subject: &Subject) -> TxResult<Option<String>> {
    let found = tx
        .maybe_row(
            "SELECT head FROM pull_request WHERE subject = $1",
            &[&text(subject.as_str())],
        )
        .await?;
    found.map_or(Ok(None), |row| row.maybe_text("head"))
}
