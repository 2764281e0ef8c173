//! What is only appended: check-ins and the audit log.

use daemon_roster::{AuditEntry, Cadence, CheckInRecord, Incarnation, RequestKey, RowId};
use daemon_store::{AuditQuery, StoredAudit};
use tokio_postgres::Row;

use crate::column::{Columns as _, integer, micros, text};
use crate::failure::TxResult;
use crate::transaction::Tx;

pub(super) async fn append_check_in(tx: &Tx, record: &CheckInRecord) -> TxResult<()> {
    tx.run(
        "INSERT INTO roster_checkin (of_row, incarnation, at, wake, cadence, context_tokens) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            &record.row.as_str(),
            &i64::from(record.incarnation.0),
            &micros(record.at),
            &record.wake.as_str(),
            &record.cadence.map(Cadence::as_str),
            &record.context_tokens.map(integer::<u64>),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn append(tx: &Tx, entry: &AuditEntry) -> TxResult<()> {
    tx.run(
        "INSERT INTO roster_audit (at, actor, kind, of_row, from_state, to_state, rule, reason, request, count) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            &micros(entry.at),
            &text(&entry.actor.to_string()),
            &entry.kind,
            &entry.row.as_ref().map(RowId::as_str),
            &entry.from,
            &entry.to,
            &entry.rule,
            &text(&entry.reason),
            &entry.request.as_ref().map(RequestKey::as_str),
            &i64::from(entry.count),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn check_ins_of(tx: &Tx, row: &RowId, limit: u32) -> TxResult<Vec<CheckInRecord>> {
    let rows = tx
        .rows(
            "SELECT * FROM roster_checkin WHERE of_row = $1 ORDER BY number DESC LIMIT $2",
            &[&row.as_str(), &i64::from(limit)],
        )
        .await?;
    let mut records = Vec::new();
    for found in &rows {
        records.push(CheckInRecord {
            row: found.word("of_row")?,
            incarnation: Incarnation(found.small("incarnation")?),
            at: found.at("at")?,
            wake: found.word("wake")?,
            cadence: found.maybe_word("cadence")?,
            context_tokens: found.maybe_count("context_tokens")?,
        });
    }
    Ok(records)
}

pub(super) async fn list(tx: &Tx, query: &AuditQuery) -> TxResult<Vec<StoredAudit>> {
    // Two statements, so that each reads its index.
    let of_row = "SELECT * FROM roster_audit WHERE of_row = $3 AND number < $1 ORDER BY number DESC LIMIT $2";
    let all = "SELECT * FROM roster_audit WHERE $3::text IS NULL AND number < $1 ORDER BY number DESC LIMIT $2";
    let row = query.row.as_ref().map(RowId::as_str);
    let sql = if row.is_some() { of_row } else { all };
    let before = query.before.map_or(i64::MAX, integer::<u64>);
    let rows = tx
        .rows(sql, &[&before, &i64::from(query.limit), &row])
        .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> TxResult<StoredAudit> {
    Ok(StoredAudit {
        number: row.count("number")?,
        at: row.at("at")?,
        actor: row.word("actor")?,
        kind: row.text("kind")?,
        row: row.maybe_word("of_row")?,
        from: row.maybe_text("from_state")?,
        to: row.maybe_text("to_state")?,
        rule: row.maybe_text("rule")?,
        reason: row.text("reason")?,
        request: row.maybe_word("request")?,
        count: row.small("count")?,
    })
}
