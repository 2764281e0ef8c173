//! Signals.

use daemon_roster::{CoordinationSignal, DedupeKey, RosterTables, RowId, SignalClaim};
use daemon_store::stored::roster::SIGNAL_COLUMNS;
use tokio_postgres::Row;

use super::upsert;
use crate::column::{Columns as _, maybe_text, micros, text};
use crate::failure::TxResult;
use crate::transaction::Tx;

pub(super) async fn put(tx: &Tx, signal: &CoordinationSignal) -> TxResult<()> {
    let claim = signal.claim.as_ref();
    tx.run(
        &upsert("roster_signal", 1, &SIGNAL_COLUMNS),
        &[
            &signal.id.as_str(),
            &signal.kind.as_str(),
            &signal.project.as_str(),
            &signal.target.as_ref().map(RowId::as_str),
            &signal.dedupe_key.as_ref().map(DedupeKey::as_str),
            &i64::from(signal.priority),
            &text(&signal.payload),
            &maybe_text(signal.reference.as_deref()),
            &signal.status.as_str(),
            &signal.requested_by.to_string(),
            &claim.map(|it| it.by.as_str()),
            &claim.map(|it| it.token.as_str()),
            &claim.map(|it| micros(it.lease_until)),
            &i64::from(signal.attempts),
            &maybe_text(signal.result.as_deref()),
            &maybe_text(signal.error.as_deref()),
            &signal.ended_at.map(micros),
        ],
    )
    .await?;
    Ok(())
}

/// Loads the signals that did not end before an instant.
pub(super) async fn load(tx: &Tx, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let rows = tx
        .rows(
            "SELECT * FROM roster_signal WHERE ended_at IS NULL OR ended_at >= $1",
            &[&since],
        )
        .await?;
    for found in &rows {
        let signal = read(found)?;
        tables.signals.insert(signal.id.clone(), signal);
    }
    Ok(())
}

fn read(row: &Row) -> TxResult<CoordinationSignal> {
    Ok(CoordinationSignal {
        id: row.word("id")?,
        kind: row.word("kind")?,
        project: row.word("project")?,
        target: row.maybe_word("target")?,
        dedupe_key: row.maybe_word("dedupe_key")?,
        priority: row.narrow("priority")?,
        payload: row.text("payload")?,
        reference: row.maybe_text("reference")?,
        status: row.word("status")?,
        requested_by: row.word("requested_by")?,
        claim: claim(row)?,
        attempts: row.small("attempts")?,
        result: row.maybe_text("result")?,
        error: row.maybe_text("error")?,
        ended_at: row.maybe_at("ended_at")?,
    })
}

fn claim(row: &Row) -> TxResult<Option<SignalClaim>> {
    let Some(by) = row.maybe_word("claimed_by")? else {
        return Ok(None);
    };
    Ok(Some(SignalClaim {
        by,
        token: row.word("token")?,
        lease_until: row.at("lease_until")?,
    }))
}
