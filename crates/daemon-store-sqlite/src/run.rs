//! The index of run folders.

use daemon_event::{ActivationId, DaemonKey};
use daemon_store::{RunEnd, RunRow};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::column::{Columns as _, micros};
use crate::failure::TxResult;
use crate::lane;

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "r.number, r.id, a.id AS activation, l.repo, l.daemon, r.attempt, r.provider, r.state, \
     r.started_at, r.finished_at, r.object";

/// The tables of [`COLUMNS`].
pub(crate) const TABLES: &str = "run AS r LEFT JOIN activation AS a ON a.number = r.activation LEFT JOIN lane AS l ON l.id = r.lane";

pub(crate) fn read(row: &Row<'_>) -> TxResult<RunRow> {
    let daemon: Option<DaemonKey> = match row.get::<_, Option<String>>("repo")? {
        None => None,
        Some(_) => Some(row.daemon()?),
    };
    Ok(RunRow {
        id: row.text("id")?,
        activation: row.maybe_word("activation")?,
        daemon,
        attempt: row.small("attempt")?,
        provider: row.text("provider")?,
        state: row.text("state")?,
        started_at: row.at("started_at")?,
        finished_at: row.maybe_at("finished_at")?,
        object: row.text("object")?,
    })
}

pub(crate) fn put(tx: &Connection, run: &RunRow) -> TxResult<()> {
    let activation: Option<i64> = match &run.activation {
        None => None,
        Some(id) => tx
            .prepare_cached("SELECT number FROM activation WHERE id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    };
    let lane = match &run.daemon {
        None => None,
        Some(daemon) => Some(lane::of(tx, daemon)?.0),
    };
    tx.prepare_cached(
        "INSERT INTO run (id, activation, lane, attempt, provider, state, started_at, finished_at, object) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO UPDATE SET \
         activation = excluded.activation, lane = excluded.lane, attempt = excluded.attempt, \
         provider = excluded.provider, state = excluded.state, started_at = excluded.started_at, \
         finished_at = excluded.finished_at, object = excluded.object",
    )?
    .execute(params![
        run.id,
        activation,
        lane,
        run.attempt,
        run.provider,
        run.state,
        micros(run.started_at),
        run.finished_at.map(micros),
        run.object,
    ])?;
    Ok(())
}

/// Stores how a run ended.
pub(crate) fn end(tx: &Connection, id: &str, end: RunEnd) -> TxResult<()> {
    tx.prepare_cached("UPDATE run SET state = ?2, finished_at = ?3, object = ?4 WHERE id = ?1")?
        .execute(params![id, end.state, micros(end.finished_at), end.object])?;
    Ok(())
}

/// Forgets a run that has ended.
pub(crate) fn forget(tx: &Connection, id: &str) -> TxResult<()> {
    tx.prepare_cached("DELETE FROM run WHERE id = ?1 AND finished_at IS NOT NULL")?
        .execute([id])?;
    Ok(())
}

/// Ends the runs of an activation whose lease was taken back or cancelled, since no attempt can write them any more.
pub(crate) fn close(tx: &Connection, activation: i64, state: &str, now: Timestamp) -> TxResult<()> {
    tx.prepare_cached(
        "UPDATE run SET state = ?2, finished_at = ?3 WHERE activation = ?1 AND state = 'running'",
    )?
    .execute(params![activation, state, micros(now)])?;
    Ok(())
}

pub(crate) fn find(conn: &Connection, id: &str) -> TxResult<Option<RunRow>> {
    let mut find =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.id = ?1"))?;
    let mut rows = find.query([id])?;
    rows.next()?.map(read).transpose()
}

pub(crate) fn of(conn: &Connection, activation: &ActivationId) -> TxResult<Vec<RunRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE r.activation = (SELECT number FROM activation WHERE id = ?1) \
         ORDER BY r.number"
    ))?;
    let mut rows = find.query([activation.as_str()])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        runs.push(read(row)?);
    }
    Ok(runs)
}
