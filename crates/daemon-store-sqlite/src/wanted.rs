//! Facts that are missing in payloads: wanted until they are found or given up.

use daemon_engine::{Admission, FactOrigin, FactState, WantedFact};
use daemon_event::{EventId, Need};
use daemon_store::{EventRow, FoundFact, StoreError, TriedFact};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::column::{Columns as _, integer, micros};
use crate::event::{COLUMNS, TABLES, read_some};
use crate::failure::TxResult;
use crate::{admission, payload};

/// Stores the needs of an event, except for those that are stored.
pub(crate) fn want(tx: &Connection, seq: i64, needs: &[Need], now: Timestamp) -> TxResult<()> {
    // A fact that was given up is not wanted again by another condition; its answer would be the same.
    let mut put = tx.prepare_cached(
        "INSERT INTO wanted (seq, need, state, tries, asked_at, not_before) VALUES (?1, ?2, ?3, 0, ?4, ?4) \
         ON CONFLICT DO NOTHING",
    )?;
    for need in needs {
        put.execute(params![
            seq,
            need.as_str(),
            FactState::Waiting.as_str(),
            micros(now)
        ])?;
    }
    Ok(())
}

/// Returns the needs of an event in all states, by name.
pub(crate) fn of_event(conn: &Connection, seq: u64) -> TxResult<Vec<WantedFact>> {
    let mut find = conn.prepare_cached("SELECT * FROM wanted WHERE seq = ?1 ORDER BY need")?;
    let mut rows = find.query([integer(seq)])?;
    let mut wanted = Vec::new();
    while let Some(row) = rows.next()? {
        wanted.push(WantedFact {
            need: row.word("need")?,
            state: row.word("state")?,
            tries: row.small("tries")?,
            asked_at: row.at("asked_at")?,
            not_before: row.at("not_before")?,
            origin: row.maybe_word("origin")?,
            note: row.get("note")?,
        });
    }
    Ok(wanted)
}

pub(crate) fn due(conn: &Connection, now: Timestamp, limit: u32) -> TxResult<Vec<EventRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {TABLES} JOIN (SELECT seq, min(not_before) AS at FROM wanted \
         WHERE state = 'waiting' AND not_before <= ?1 GROUP BY seq) AS w ON w.seq = e.seq \
         ORDER BY w.at, e.seq LIMIT ?2"
    ))?;
    read_some(conn, find.query(params![micros(now), limit])?)
}

pub(crate) fn next_at(conn: &Connection) -> TxResult<Option<Timestamp>> {
    let mut find =
        conn.prepare_cached("SELECT min(not_before) AS at FROM wanted WHERE state = 'waiting'")?;
    let mut rows = find.query([])?;
    match rows.next()? {
        Some(row) => row.maybe_at("at"),
        None => Ok(None),
    }
}

pub(crate) fn settle(
    tx: &Connection,
    tried: TriedFact,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    let (seq, state) = find(tx, &tried.event, tried.fact.need)?;
    if state != FactState::Waiting {
        return Ok(Vec::new());
    }
    let fact = &tried.fact;
    tx.prepare_cached(
        "UPDATE wanted SET state = ?3, tries = ?4, asked_at = ?5, not_before = ?6, origin = ?7, note = ?8 \
         WHERE seq = ?1 AND need = ?2",
    )?
    .execute(params![
        seq,
        fact.need.as_str(),
        fact.state.as_str(),
        fact.tries,
        micros(fact.asked_at),
        micros(fact.not_before),
        fact.origin.map(FactOrigin::as_str),
        fact.note,
    ])?;
    match tried.found {
        Some(found) => put_found(tx, seq, found, now),
        None => Ok(Vec::new()),
    }
}

fn put_found(
    tx: &Connection,
    seq: i64,
    found: FoundFact,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    payload::put_facts(tx, seq, &found.facts)?;
    want(tx, seq, &found.wanted, now)?;
    let triggers = found.triggers.into_iter();
    triggers
        .map(|trigger| admission::enqueue(tx, trigger))
        .collect()
}

fn find(tx: &Connection, event: &EventId, need: Need) -> TxResult<(i64, FactState)> {
    let mut find = tx.prepare_cached(
        "SELECT w.seq, w.state FROM wanted AS w JOIN event AS e ON e.seq = w.seq \
         WHERE e.id = ?1 AND w.need = ?2",
    )?;
    let found = find
        .query_row(params![event.as_str(), need.as_str()], |row| {
            Ok((row.get(0)?, row.word("state")))
        })
        .optional()?;
    match found {
        Some((seq, state)) => Ok((seq, state?)),
        None => Err(StoreError::not_found("wanted fact", event).into()),
    }
}
