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

use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;
use crate::transaction::Tx;

/// Returns the rows and their version, from one snapshot.
pub(crate) async fn load(tx: &Tx, now: Timestamp) -> TxResult<LoadedRoster> {
    let mut tables = RosterTables::default();
    row::load(tx, before(now, REPLY_RETENTION), &mut tables).await?;
    signal::load(tx, before(now, REPLY_RETENTION), &mut tables).await?;
    handover::load(tx, &mut tables).await?;
    plan::load(tx, &mut tables).await?;
    reply::load(tx, before(now, REPLY_RETENTION), &mut tables).await?;
    Ok(LoadedRoster {
        version: version(tx).await?,
        tables,
    })
}

/// Stores the changes of a decision with its audit entries.
pub(crate) async fn commit(
    tx: &Tx,
    expected: RosterVersion,
    changes: RosterChanges,
) -> TxResult<RosterVersion> {
    let n_changed = tx
        .run(
            "UPDATE counter SET n = n + 1 WHERE name = 'roster' AND n = $1",
            &[&integer(expected.0)],
        )
        .await?;
    if n_changed == 0 {
        let state = format!("at version {}", version(tx).await?.0);
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
        row::put(tx, one).await?;
    }
    for one in signals.values() {
        signal::put(tx, one).await?;
    }
    for one in batons.values() {
        handover::put_baton(tx, one).await?;
    }
    for one in resets.values() {
        handover::put_reset(tx, one).await?;
    }
    for one in plans.values() {
        plan::put(tx, one).await?;
    }
    for one in credentials.values() {
        row::put_credential(tx, one).await?;
    }
    for (key, one) in replies {
        reply::put(tx, key, one).await?;
    }
    for one in &changes.check_ins {
        audit::append_check_in(tx, one).await?;
    }
    for one in &changes.audit {
        audit::append(tx, one).await?;
    }
    Ok(RosterVersion(expected.0 + 1))
}

pub(crate) async fn check_ins_of(tx: &Tx, row: &RowId, limit: u32) -> TxResult<Vec<CheckInRecord>> {
    audit::check_ins_of(tx, row, limit).await
}

pub(crate) async fn audit(tx: &Tx, query: &AuditQuery) -> TxResult<Vec<StoredAudit>> {
    audit::list(tx, query).await
}

/// Removes what is older than it is kept.
pub(crate) async fn prune(tx: &Tx, now: Timestamp) -> TxResult<()> {
    tx.run(
        "DELETE FROM roster_checkin WHERE at < $1",
        &[&before(now, CHECK_IN_RETENTION)],
    )
    .await?;
    tx.run(
        "DELETE FROM roster_signal WHERE ended_at < $1",
        &[&before(now, SIGNAL_RETENTION)],
    )
    .await?;
    tx.run(
        "DELETE FROM roster_row WHERE kind <> 'standing' AND retired_at < $1",
        &[&before(now, REPLY_RETENTION)],
    )
    .await?;
    tx.run(
        "DELETE FROM roster_reply WHERE at < $1",
        &[&before(now, REPLY_RETENTION)],
    )
    .await?;
    // The trigger refuses the whole statement for one entry that is too new.
    let kept = i64::try_from(AUDIT_RETENTION.as_micros()).expect("400 days fit");
    tx.run(
        "DELETE FROM roster_audit WHERE at < least($1, (SELECT max(at) FROM roster_audit) - $2)",
        &[&before(now, AUDIT_RETENTION), &kept],
    )
    .await?;
    Ok(())
}

async fn version(tx: &Tx) -> TxResult<RosterVersion> {
    let row = tx
        .row("SELECT n FROM counter WHERE name = 'roster'", &[])
        .await?;
    Ok(RosterVersion(row.count("n")?))
}

/// Returns the stored form of the instant that is a span before another.
fn before(now: Timestamp, span: SignedDuration) -> i64 {
    micros(now.checked_sub(span).unwrap_or(Timestamp::MIN))
}

/// Returns the statement that stores a row in place of the one with its key, which is the first column or columns.
fn upsert(table: &str, n_keys: usize, columns: &[&str]) -> String {
    daemon_store::stored::roster::upsert('$', table, n_keys, columns)
}
