//! Reports of one change by several sources.

use daemon_event::{Event, EventId, RepoName, Subject};
use daemon_store::stored::facts;
use daemon_store::{Accepted, Freshness, Matching, NewEvent};
use rusqlite::{Connection, params};

use crate::column::{Columns as _, integer, micros};
use crate::event::{actor, actor_word};
use crate::failure::{TxResult, damaged};
use crate::identity::KeyLookup;
use crate::recent::WriteTx;
use crate::{identity, payload, pull_request};

/// Stores a report with the event of the same change, unless this source has reported it as this kind; `None` if there is no
/// such event.
pub(crate) fn accept(tx: &WriteTx<'_>, new: &NewEvent) -> TxResult<Option<Accepted>> {
    let Some(seq) = happening(tx, new)? else {
        return Ok(None);
    };
    let id: String = tx
        .prepare_cached(
            "UPDATE event SET duplicates = duplicates + 1, due = max(due, ?2) WHERE seq = ?1 RETURNING id",
        )?
        .query_row(params![seq, new.matching == Matching::Due], |row| row.get(0))?;
    insert(tx, seq, &new.event)?;
    pull_request::note(tx, &new.event)?;
    let keys = new.identities.iter().chain(&new.happenings);
    identity::add(tx, keys, (seq, new.event.received_at))?;
    Ok(Some(Accepted {
        id: id.parse().map_err(|error| damaged("event id", error))?,
        freshness: Freshness::Report,
    }))
}

/// Finds an event of the same change that this source has not reported as this kind.
pub(crate) fn happening(db: &impl KeyLookup, new: &NewEvent) -> TxResult<Option<i64>> {
    let keys = (&*new.happenings, new.event.received_at);
    identity::named(db, keys, |seq| {
        Ok(!is_reported(db.conn(), seq, &new.event)?)
    })
}

fn is_reported(conn: &Connection, seq: i64, new: &Event) -> TxResult<bool> {
    let mut find = conn.prepare_cached(
        "SELECT 1 FROM event WHERE seq = ?1 AND source = ?2 AND kind = ?3 \
         UNION ALL SELECT 1 FROM report WHERE seq = ?1 AND source = ?2 AND kind = ?3",
    )?;
    Ok(find.exists(params![seq, new.source.as_str(), new.kind])?)
}

fn insert(tx: &Connection, seq: i64, new: &Event) -> TxResult<()> {
    let facts = facts::to_text(&new.facts, || {
        TxResult::Ok(facts::of_payload(new.source, &new.kind, &new.payload))
    })?;
    tx.prepare_cached(
        "INSERT INTO report (seq, source, kind, action, subject, actor, actor_kind, repo, happened_at, received_at, \
         delivery, facts, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        seq,
        new.source.as_str(),
        new.kind,
        new.action,
        new.subject.as_ref().map(Subject::as_str),
        new.actor.as_ref().map(|actor| actor.name.as_str()),
        new.actor.as_ref().map(|actor| actor_word(actor.kind)),
        new.repo.as_ref().map(RepoName::as_str),
        micros(new.time),
        micros(new.received_at),
        new.delivery.as_str(),
        facts,
        payload::column(&new.payload),
    ])?;
    payload::write_long(tx, ("report", tx.last_insert_rowid()), &new.payload)
}

/// Returns the later reports of an event, oldest first, with its id.
pub(crate) fn of_event(conn: &Connection, seq: u64, id: &EventId) -> TxResult<Vec<Event>> {
    let mut find = conn.prepare_cached(
        "SELECT number, source, kind, action, subject, actor, actor_kind, repo, happened_at, received_at, delivery, \
         facts, iif(length(body) <= 262144, body, NULL) AS body, length(body) AS n_body \
         FROM report WHERE seq = ?1 ORDER BY number",
    )?;
    let mut rows = find.query([integer(seq)])?;
    let mut later_reports = Vec::new();
    while let Some(row) = rows.next()? {
        let (source, kind) = (row.word("source")?, row.text("kind")?);
        let payload = payload::of_row(conn, row, ("report", row.get("number")?))?;
        let said = || facts::of_payload(source, &kind, &payload);
        later_reports.push(Event {
            id: id.clone(),
            action: row.get("action")?,
            subject: row.maybe_word("subject")?,
            actor: actor(row)?,
            repo: row.maybe_word("repo")?,
            time: row.at("happened_at")?,
            received_at: row.at("received_at")?,
            delivery: row.word("delivery")?,
            facts: facts::from_text(&row.text("facts")?, said)?,
            source,
            kind,
            payload,
        });
    }
    Ok(later_reports)
}
