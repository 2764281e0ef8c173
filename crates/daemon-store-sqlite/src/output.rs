//! The outbox.

use daemon_engine::{DeliveryEnd, Output, OutputKey, OutputState, Settlement};
use daemon_event::ActivationId;
use daemon_store::{MAX_PAGE, OutputPlace, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, Row, ToSql, params};

use crate::activation::{self, Numbered};
use crate::attempt;
use crate::column::{Columns as _, instant, micros};
use crate::failure::TxResult;

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "o.number, o.key, a.id AS activation, o.activation AS owner, l.repo, l.daemon, \
     o.ordinal, o.surface, o.target, o.content, o.revision, o.state, o.remote_id, o.url, o.attempts, o.not_before, o.created_at, \
     o.delivered_at, o.in_doubt_since, o.error";

/// The tables of [`COLUMNS`].
pub(crate) const TABLES: &str =
    "output AS o JOIN activation AS a ON a.number = o.activation JOIN lane AS l ON l.id = o.lane";

pub(crate) fn read(row: &Row<'_>) -> TxResult<Output> {
    Ok(Output {
        key: row.word("key")?,
        activation: row.word("activation")?,
        daemon: row.daemon()?,
        ordinal: row.small("ordinal")?,
        surface: row.text("surface")?,
        target: row.text("target")?,
        content: row.text("content")?,
        revision: row.get("revision")?,
        state: row.word("state")?,
        remote_id: row.get("remote_id")?,
        url: row.get("url")?,
        attempts: row.small("attempts")?,
        not_before: row.at("not_before")?,
        created_at: row.at("created_at")?,
        delivered_at: row.maybe_at("delivered_at")?,
        in_doubt_since: row.maybe_at("in_doubt_since")?,
        error: row.get("error")?,
    })
}

fn select(
    conn: &Connection,
    condition: &str,
    values: &[(&str, &dyn ToSql)],
) -> TxResult<Vec<Output>> {
    let mut find =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE {condition}"))?;
    let mut rows = find.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

pub(crate) fn find(conn: &Connection, key: &OutputKey) -> TxResult<Option<Output>> {
    let found = select(conn, "o.key = :key", &[(":key", &key.as_str())])?;
    Ok(found.into_iter().next())
}

fn get(conn: &Connection, key: &OutputKey) -> TxResult<Output> {
    Ok(find(conn, key)?.ok_or_else(|| StoreError::not_found("output", key))?)
}

/// Stores an output of an attempt, unless the same output is stored and does not give way.
pub(crate) fn propose(tx: &Connection, owner: &Numbered, new: &Output) -> TxResult<()> {
    // Read first and not left to ON CONFLICT, since the engine decides which states give way.
    if find(tx, &new.key)?.is_some_and(|known| !known.gives_way()) {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO output (key, activation, lane, ordinal, surface, target, content, state, attempts, not_before, \
         created_at, error, revision) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?12) \
         ON CONFLICT (key) DO UPDATE SET content = excluded.content, revision = excluded.revision, state = excluded.state, attempts = 0, not_before = excluded.not_before, \
         created_at = excluded.created_at, error = excluded.error, remote_id = NULL, url = NULL, delivered_at = NULL, \
         in_doubt_since = NULL",
    )?
    .execute(params![
        new.key.as_str(),
        owner.number,
        owner.lane.0,
        new.ordinal,
        new.surface,
        new.target,
        new.content,
        new.state.as_str(),
        micros(new.not_before),
        micros(new.created_at),
        new.error,
        new.revision,
    ])?;
    Ok(())
}

fn update(tx: &Connection, now: &Output) -> TxResult<()> {
    tx.prepare_cached(
        "UPDATE output SET state = ?2, remote_id = ?3, url = ?4, attempts = ?5, not_before = ?6, delivered_at = ?7, \
         error = ?8, in_doubt_since = ?9, revision = ?10 WHERE key = ?1",
    )?
    .execute(params![
        now.key.as_str(),
        now.state.as_str(),
        now.remote_id,
        now.url,
        now.attempts,
        micros(now.not_before),
        now.delivered_at.map(micros),
        now.error,
        now.in_doubt_since.map(micros),
        now.revision,
    ])?;
    Ok(())
}

/// Returns the states of an activation's outputs.
pub(crate) fn states_of(conn: &Connection, activation: i64) -> TxResult<Vec<OutputState>> {
    let mut find = conn.prepare_cached("SELECT state FROM output WHERE activation = ?1")?;
    let mut rows = find.query([activation])?;
    let mut states = Vec::new();
    while let Some(row) = rows.next()? {
        states.push(row.word("state")?);
    }
    Ok(states)
}

/// Refuses the planned outputs of a cancelled activation.
pub(crate) fn withdraw(tx: &Connection, activation: i64) -> TxResult<()> {
    let planned = select(
        tx,
        "o.activation = :activation AND o.state = 'planned'",
        &[(":activation", &activation)],
    )?;
    for mut output in planned {
        output.withdraw();
        update(tx, &output)?;
    }
    Ok(())
}

/// Makes every unsettled output due.
pub(crate) fn hasten(tx: &Connection, now: Timestamp) -> TxResult<()> {
    let waiting = select(
        tx,
        "o.state IN ('planned', 'ambiguous', 'sending') AND o.not_before > :now",
        &[(":now", &micros(now))],
    )?;
    for mut output in waiting {
        if output.hasten(now) {
            update(tx, &output)?;
        }
    }
    Ok(())
}

pub(crate) fn due(conn: &Connection, now: Timestamp, limit: u32) -> TxResult<Vec<Output>> {
    select(
        conn,
        // Not `sending`: it may be on its way at this moment, and becomes `ambiguous` with the next epoch.
        "o.number IN (SELECT number FROM (SELECT d.number, row_number() OVER (PARTITION BY d.surface, r.repo ORDER BY d.number) \
         AS place FROM output AS d JOIN lane AS r ON r.id = d.lane \
         WHERE d.state IN ('planned', 'ambiguous') AND d.not_before <= :now) WHERE place <= :limit) ORDER BY o.number",
        &[(":now", &micros(now)), (":limit", &limit)],
    )
}

pub(crate) fn next_at(conn: &Connection, now: Timestamp) -> TxResult<Option<Timestamp>> {
    let earliest: Option<i64> = conn
        .prepare_cached(
            "SELECT min(not_before) FROM output WHERE state IN ('planned', 'ambiguous') AND not_before > ?1",
        )?
        .query_row([micros(now)], |row| row.get(0))?;
    earliest
        .map(|micros| instant("not_before", micros))
        .transpose()
}

pub(crate) fn begin_send(tx: &Connection, key: &OutputKey) -> TxResult<()> {
    let mut output = get(tx, key)?;
    if output.state != OutputState::Planned {
        return Err(StoreError::conflict("output", key, output.state.as_str()).into());
    }
    output.begin_send();
    update(tx, &output)
}

pub(crate) fn settle(tx: &Connection, key: &OutputKey, settlement: Settlement) -> TxResult<Output> {
    let mut output = get(tx, key)?;
    if output.state.is_settled() {
        return Err(StoreError::conflict("output", key, output.state.as_str()).into());
    }
    let at = settlement.at;
    let mut owner = activation::get(tx, &output.activation)?;
    output.settle(settlement, owner.activation.state);
    update(tx, &output)?;
    let states = states_of(tx, owner.number)?;
    if owner.activation.close_delivery(states, at) == DeliveryEnd::Closed {
        activation::update(tx, &owner)?;
        attempt::ended(tx, owner)?;
    }
    Ok(output)
}

pub(crate) fn of(conn: &Connection, activation: &ActivationId) -> TxResult<Vec<Output>> {
    select(
        conn,
        "o.activation = (SELECT number FROM activation WHERE id = :id) ORDER BY o.ordinal, o.number",
        &[(":id", &activation.as_str())],
    )
}

pub(crate) fn at(conn: &Connection, surface: &str, place: &OutputPlace) -> TxResult<Vec<Output>> {
    let (column, value) = match place {
        OutputPlace::RemoteId(id) => ("remote_id", id),
        OutputPlace::Target(target) => ("target", target),
        OutputPlace::Revision(revision) => ("revision", revision),
    };
    let mut found = select(
        conn,
        &format!("o.surface = :surface AND o.{column} = :value ORDER BY o.number DESC"),
        &[(":surface", &surface), (":value", value)],
    )?;
    found.retain(Output::may_be_there);
    found.truncate(usize::try_from(MAX_PAGE).expect("a page is small"));
    Ok(found)
}
