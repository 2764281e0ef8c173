//! Signals.

use daemon_roster::{CoordinationSignal, DedupeKey, RosterTables, RowId, SignalClaim};
use daemon_store::stored::roster::SIGNAL_COLUMNS;
use rusqlite::{Connection, Row, params};

use super::upsert;
use crate::column::{Columns as _, micros};
use crate::failure::TxResult;

pub(super) fn put(conn: &Connection, signal: &CoordinationSignal) -> TxResult<()> {
    let claim = signal.claim.as_ref();
    conn.prepare_cached(&upsert("roster_signal", 1, &SIGNAL_COLUMNS))?
        .execute(params![
            signal.id.as_str(),
            signal.kind.as_str(),
            signal.project.as_str(),
            signal.target.as_ref().map(RowId::as_str),
            signal.dedupe_key.as_ref().map(DedupeKey::as_str),
            signal.priority,
            signal.payload,
            signal.reference,
            signal.status.as_str(),
            signal.requested_by.to_string(),
            claim.map(|it| it.by.as_str()),
            claim.map(|it| it.token.as_str()),
            claim.map(|it| micros(it.lease_until)),
            signal.attempts,
            signal.result,
            signal.error,
            signal.ended_at.map(micros),
        ])?;
    Ok(())
}

/// Loads the signals that did not end before an instant.
pub(super) fn load(conn: &Connection, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let mut find = conn
        .prepare_cached("SELECT * FROM roster_signal WHERE ended_at IS NULL OR ended_at >= ?1")?;
    let mut rows = find.query([since])?;
    while let Some(found) = rows.next()? {
        let signal = read(found)?;
        tables.signals.insert(signal.id.clone(), signal);
    }
    Ok(())
}

fn read(row: &Row<'_>) -> TxResult<CoordinationSignal> {
    Ok(CoordinationSignal {
        id: row.word("id")?,
        kind: row.word("kind")?,
        project: row.word("project")?,
        target: row.maybe_word("target")?,
        dedupe_key: row.maybe_word("dedupe_key")?,
        priority: row.get("priority")?,
        payload: row.text("payload")?,
        reference: row.get("reference")?,
        status: row.word("status")?,
        requested_by: row.word("requested_by")?,
        claim: claim(row)?,
        attempts: row.small("attempts")?,
        result: row.get("result")?,
        error: row.get("error")?,
        ended_at: row.maybe_at("ended_at")?,
    })
}

fn claim(row: &Row<'_>) -> TxResult<Option<SignalClaim>> {
    let Some(by) = row.maybe_word("claimed_by")? else {
        return Ok(None);
    };
    Ok(Some(SignalClaim {
        by,
        token: row.word("token")?,
        lease_until: row.at("lease_until")?,
    }))
}
