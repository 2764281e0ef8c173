//! The state of daemons: values, history and counters.

use std::collections::BTreeMap;

use daemon_engine::{DAY, DaemonState, PastActivation, StateChange, apply};
use daemon_event::DaemonKey;
use daemon_store::StoreError;
use daemon_store::decide::HISTORY;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::column::{Columns as _, micros};
use crate::failure::{TxResult, damaged};
use crate::lane::{self, Lane};

/// Applies the changes of an attempt.
pub(crate) fn change(tx: &Connection, lane: Lane, changes: &[StateChange]) -> TxResult<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut next = values(tx, lane)?;
    apply(&mut next, changes).map_err(StoreError::from)?;
    // Only the changed keys are written: a daemon may keep 500.
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO memory VALUES (?1, ?2, ?3)")?;
    let mut remove = tx.prepare_cached("DELETE FROM memory WHERE lane = ?1 AND key = ?2")?;
    for change in changes {
        let (StateChange::Set { key, .. } | StateChange::Remove { key }) = change;
        match next.get(key) {
            Some(json) => put.execute(params![lane.0, key, json])?,
            None => remove.execute(params![lane.0, key])?,
        };
    }
    Ok(())
}

/// Deletes the state of daemons that were removed before an instant.
pub(crate) fn forget(tx: &Connection, before: Timestamp) -> TxResult<()> {
    tx.prepare_cached(
        "DELETE FROM memory WHERE lane IN (SELECT id FROM lane WHERE removed_at < ?1)",
    )?
    .execute([micros(before)])?;
    Ok(())
}

fn values(conn: &Connection, lane: Lane) -> TxResult<BTreeMap<String, String>> {
    let mut find = conn.prepare_cached("SELECT key, json FROM memory WHERE lane = ?1")?;
    let rows = find.query_map([lane.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn state(
    conn: &Connection,
    daemon: &DaemonKey,
    now: Timestamp,
) -> TxResult<DaemonState> {
    let Some(lane) = lane::find(conn, daemon)? else {
        return Ok(DaemonState::default());
    };
    let day = micros(now - DAY);
    let count = |sql: &str| -> TxResult<u64> {
        let n: i64 = conn
            .prepare_cached(sql)?
            .query_row(params![lane.0, day], |row| row.get(0))?;
        Ok(u64::try_from(n).map_err(|error| damaged("a count", error))?)
    };
    Ok(DaemonState {
        values: values(conn, lane)?,
        history: history(conn, lane)?,
        activations_today: count(
            "SELECT count(*) FROM activation WHERE lane = ?1 AND finished_at > ?2",
        )?,
        outputs_today: count(
            "SELECT count(*) FROM output WHERE lane = ?1 AND state = 'confirmed' AND delivered_at > ?2",
        )?,
    })
}

fn history(conn: &Connection, lane: Lane) -> TxResult<Vec<PastActivation>> {
    let mut find = conn.prepare_cached(
        &format!(
        "SELECT a.id, a.state, a.finished_at, a.summary, \
           (SELECT key FROM wake AS w WHERE w.activation = a.number ORDER BY w.place LIMIT 1) AS key \
         FROM activation AS a WHERE a.lane = ?1 AND a.finished_at IS NOT NULL \
         ORDER BY a.finished_at DESC, a.number DESC LIMIT {HISTORY}"),
    )?;
    let mut rows = find.query([lane.0])?;
    let mut history = Vec::new();
    while let Some(row) = rows.next()? {
        history.push(PastActivation {
            id: row.word("id")?,
            state: row.word("state")?,
            trigger: row.text("key")?,
            finished_at: row.at("finished_at")?,
            summary: row.get("summary")?,
        });
    }
    Ok(history)
}
