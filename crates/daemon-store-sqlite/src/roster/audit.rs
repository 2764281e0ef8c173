//! What is only appended: check-ins and the audit log.

use daemon_roster::{AuditEntry, Cadence, CheckInRecord, Incarnation, RequestKey, RowId};
use daemon_store::{AuditQuery, StoredAudit};
use rusqlite::{Connection, Row, params};

use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;

pub(super) fn append_check_in(conn: &Connection, record: &CheckInRecord) -> TxResult<()> {
    conn.prepare_cached(
        "INSERT INTO roster_checkin (row, incarnation, at, wake, cadence, context_tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        record.row.as_str(),
        record.incarnation.0,
        micros(record.at),
        record.wake.as_str(),
        record.cadence.map(Cadence::as_str),
        record.context_tokens.map(integer),
    ])?;
    Ok(())
}

pub(super) fn append(conn: &Connection, entry: &AuditEntry) -> TxResult<()> {
    conn.prepare_cached(
        "INSERT INTO roster_audit (at, actor, kind, row, from_state, to_state, rule, reason, request, count) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        micros(entry.at),
        entry.actor.to_string(),
        entry.kind,
        entry.row.as_ref().map(RowId::as_str),
        entry.from,
        entry.to,
        entry.rule,
        entry.reason,
        entry.request.as_ref().map(RequestKey::as_str),
        entry.count,
    ])?;
    Ok(())
}

pub(super) fn check_ins_of(
    conn: &Connection,
    row: &RowId,
    limit: u32,
) -> TxResult<Vec<CheckInRecord>> {
    let mut find = conn.prepare_cached(
        "SELECT * FROM roster_checkin WHERE row = ?1 ORDER BY number DESC LIMIT ?2",
    )?;
    let mut rows = find.query(params![row.as_str(), limit])?;
    let mut records = Vec::new();
    while let Some(found) = rows.next()? {
        records.push(CheckInRecord {
            row: found.word("row")?,
            incarnation: Incarnation(found.small("incarnation")?),
            at: found.at("at")?,
            wake: found.word("wake")?,
            cadence: found.maybe_word("cadence")?,
            context_tokens: found.maybe_count("context_tokens")?,
        });
    }
    Ok(records)
}

pub(super) fn list(conn: &Connection, query: &AuditQuery) -> TxResult<Vec<StoredAudit>> {
    // Two statements, so that each reads its index.
    let of_row =
        "SELECT * FROM roster_audit WHERE row = ?3 AND number < ?1 ORDER BY number DESC LIMIT ?2";
    let all =
        "SELECT * FROM roster_audit WHERE ?3 IS NULL AND number < ?1 ORDER BY number DESC LIMIT ?2";
    let row = query.row.as_ref().map(RowId::as_str);
    let mut find = conn.prepare_cached(if row.is_some() { of_row } else { all })?;
    let before = query.before.map_or(i64::MAX, integer);
    let mut rows = find.query(params![before, query.limit, row])?;
    let mut entries = Vec::new();
    while let Some(found) = rows.next()? {
        entries.push(read(found)?);
    }
    Ok(entries)
}

fn read(row: &Row<'_>) -> TxResult<StoredAudit> {
    Ok(StoredAudit {
        number: row.count("number")?,
        at: row.at("at")?,
        actor: row.word("actor")?,
        kind: row.text("kind")?,
        row: row.maybe_word("row")?,
        from: row.get("from_state")?,
        to: row.get("to_state")?,
        rule: row.get("rule")?,
        reason: row.text("reason")?,
        request: row.maybe_word("request")?,
        count: row.small("count")?,
    })
}
