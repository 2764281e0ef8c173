//! The records of the roster.

mod audit;
mod handover;
mod plan;
mod reply;
mod row;
mod signal;

use daemon_roster::{CheckInRecord, REPLY_RETENTION, RosterChanges, RosterTables, RowId};
use daemon_store::{
    AUDIT_RETENTION, AuditQuery, CHECK_IN_RETENTION, LoadedRoster, RosterVersion, SIGNAL_RETENTION,
    StoreError, StoredAudit,
};
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;
use crate::recent::WriteTx;

/// Returns the rows and their version, from one snapshot.
pub(crate) fn load(conn: &Connection, now: Timestamp) -> TxResult<LoadedRoster> {
    let mut tables = RosterTables::default();
    row::load(conn, before(now, REPLY_RETENTION), &mut tables)?;
    signal::load(conn, before(now, REPLY_RETENTION), &mut tables)?;
    handover::load(conn, &mut tables)?;
    plan::load(conn, &mut tables)?;
    reply::load(conn, before(now, REPLY_RETENTION), &mut tables)?;
    Ok(LoadedRoster {
        version: version(conn)?,
        tables,
    })
}

/// Stores the changes of a decision with its audit entries.
pub(crate) fn commit(
    tx: &WriteTx<'_>,
    expected: RosterVersion,
    changes: RosterChanges,
) -> TxResult<RosterVersion> {
    let n_changed = tx
        .prepare_cached("UPDATE roster SET version = version + 1 WHERE version = ?1")?
        .execute([integer(expected.0)])?;
    if n_changed == 0 {
        let state = format!("at version {}", version(tx)?.0);
        return Err(StoreError::conflict("roster", expected.0, state).into());
    }
    let RosterTables {
        rows,
        signals,
        batons,
        resets,
        plans,
        credentials,
        replies,
    } = &changes.tables;
    // Retired rows first: a row that is made in their place may have their reference.
    let (retired, active): (Vec<_>, Vec<_>) = rows.values().partition(|row| row.is_retired());
    for one in retired.into_iter().chain(active) {
        row::put(tx, one)?;
    }
    for one in signals.values() {
        signal::put(tx, one)?;
    }
    for one in batons.values() {
        handover::put_baton(tx, one)?;
    }
    for one in resets.values() {
        handover::put_reset(tx, one)?;
    }
    for one in plans.values() {
        plan::put(tx, one)?;
    }
    for one in credentials.values() {
        row::put_credential(tx, one)?;
    }
    for (key, one) in replies {
        reply::put(tx, key, one)?;
    }
    for one in &changes.check_ins {
        audit::append_check_in(tx, one)?;
    }
    for one in &changes.audit {
        audit::append(tx, one)?;
    }
    Ok(RosterVersion(expected.0 + 1))
}

pub(crate) fn check_ins_of(
    conn: &Connection,
    row: &RowId,
    limit: u32,
) -> TxResult<Vec<CheckInRecord>> {
    audit::check_ins_of(conn, row, limit)
}

pub(crate) fn audit(conn: &Connection, query: &AuditQuery) -> TxResult<Vec<StoredAudit>> {
    audit::list(conn, query)
}

/// Removes what is older than it is kept.
pub(crate) fn prune(tx: &WriteTx<'_>, now: Timestamp) -> TxResult<()> {
    tx.execute(
        "DELETE FROM roster_checkin WHERE at < ?1",
        [before(now, CHECK_IN_RETENTION)],
    )?;
    tx.execute(
        "DELETE FROM roster_signal WHERE ended_at < ?1",
        [before(now, SIGNAL_RETENTION)],
    )?;
    tx.execute(
        "DELETE FROM roster_row WHERE kind <> 'standing' AND retired_at < ?1",
        [before(now, REPLY_RETENTION)],
    )?;
    tx.execute(
        "DELETE FROM roster_reply WHERE at < ?1",
        [before(now, REPLY_RETENTION)],
    )?;
    // The trigger refuses the whole statement for one entry that is too new.
    let kept = i64::try_from(AUDIT_RETENTION.as_micros()).expect("400 days fit");
    tx.execute(
        "DELETE FROM roster_audit WHERE at < min(?1, (SELECT max(at) FROM roster_audit) - ?2)",
        [before(now, AUDIT_RETENTION), kept],
    )?;
    Ok(())
}

fn version(conn: &Connection) -> TxResult<RosterVersion> {
    let mut find = conn.prepare_cached("SELECT version FROM roster")?;
    let mut rows = find.query([])?;
    match rows.next()? {
        Some(row) => Ok(RosterVersion(row.count("version")?)),
        None => Err(rusqlite::Error::QueryReturnedNoRows.into()),
    }
}

/// Returns the stored form of the instant that is a span before another.
fn before(now: Timestamp, span: SignedDuration) -> i64 {
    micros(now.checked_sub(span).unwrap_or(Timestamp::MIN))
}

/// Returns the statement that stores a row in place of the one with its key, which is the first column or columns.
fn upsert(table: &str, n_keys: usize, columns: &[&str]) -> String {
    daemon_store::stored::roster::upsert('?', table, n_keys, columns)
}
