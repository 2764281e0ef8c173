//! Rows and tokens.

use daemon_roster::{
    BridgeHandle, Cadence, Credential, Generation, HandoffRef, Harness, Incarnation, LastActivity,
    Liveness, ProcessRef, ProcessState, Project, Role, RosterRow, RosterTables, RowId, SessionRef,
    SpawnRecord, TokenHash,
};
use daemon_store::stored::roster::ROW_COLUMNS;
use rusqlite::{Connection, Row, params};

use super::upsert;
use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;

pub(super) fn put(conn: &Connection, row: &RosterRow) -> TxResult<()> {
    let spawn = row.spawn.as_ref();
    let handle = spawn.and_then(|spawn| spawn.handle.as_ref());
    conn.prepare_cached(&upsert("roster_row", 1, &ROW_COLUMNS))?
        .execute(params![
            row.id.as_str(),
            row.kind.as_str(),
            row.project.as_ref().map(Project::as_str),
            row.role.as_ref().map(Role::as_str),
            row.name.as_str(),
            row.actor_ref.as_str(),
            row.harness.as_ref().map(Harness::as_str),
            row.incarnation.0,
            row.process.as_ref().map(ProcessRef::as_str),
            row.session.as_ref().map(SessionRef::as_str),
            micros(row.expected_at),
            row.first_checkin_at.map(micros),
            row.last_checkin_at.map(micros),
            row.last_activity.map(|it| micros(it.at)),
            row.last_activity.map(|it| it.incarnation.0),
            row.gate.as_str(),
            row.cadence.map(Cadence::as_str),
            row.context_tokens.map(integer),
            row.context_limit.map(integer),
            row.needs_compaction,
            row.wind_down.as_str(),
            row.handoff_ref.as_ref().map(HandoffRef::as_str),
            row.predecessor.as_ref().map(RowId::as_str),
            row.successor.as_ref().map(RowId::as_str),
            row.generation.map(|it| integer(it.0)),
            row.trouble,
            spawn.map(|it| it.nonce.as_str()),
            handle.map(BridgeHandle::as_str),
            spawn.map(|it| it.process.as_str()),
            row.due_at.map(micros),
            row.notified.map(Liveness::as_str),
            row.retired_at.map(micros),
            row.charter.map(|it| it.to_string()),
        ])?;
    Ok(())
}

pub(super) fn put_credential(conn: &Connection, credential: &Credential) -> TxResult<()> {
    let columns = ["hash", "row", "incarnation"];
    conn.prepare_cached(&upsert("roster_credential", 1, &columns))?
        .execute(params![
            credential.hash.0,
            credential.row.as_str(),
            credential.incarnation.0
        ])?;
    Ok(())
}

/// Loads the rows, without those that are not standing and were retired before an instant.
pub(super) fn load(conn: &Connection, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let mut find = conn.prepare_cached(
        "SELECT * FROM roster_row WHERE kind = 'standing' OR retired_at IS NULL OR retired_at >= ?1",
    )?;
    let mut rows = find.query([since])?;
    while let Some(found) = rows.next()? {
        let row = read(found)?;
        tables.rows.insert(row.id.clone(), row);
    }
    let mut find = conn.prepare_cached("SELECT * FROM roster_credential")?;
    let mut rows = find.query([])?;
    while let Some(found) = rows.next()? {
        let credential = Credential {
            hash: TokenHash(found.get("hash")?),
            row: found.word("row")?,
            incarnation: Incarnation(found.small("incarnation")?),
        };
        tables.credentials.insert(credential.hash, credential);
    }
    Ok(())
}

fn read(row: &Row<'_>) -> TxResult<RosterRow> {
    Ok(RosterRow {
        id: row.word("id")?,
        kind: row.word("kind")?,
        project: row.maybe_word("project")?,
        role: row.maybe_word("role")?,
        name: row.word("name")?,
        actor_ref: row.word("actor_ref")?,
        harness: row.maybe_word("harness")?,
        incarnation: Incarnation(row.small("incarnation")?),
        process: row.maybe_word("process")?,
        session: row.maybe_word("session")?,
        expected_at: row.at("expected_at")?,
        first_checkin_at: row.maybe_at("first_checkin_at")?,
        last_checkin_at: row.maybe_at("last_checkin_at")?,
        last_activity: activity(row)?,
        gate: row.word("gate")?,
        cadence: row.maybe_word("cadence")?,
        context_tokens: row.maybe_count("context_tokens")?,
        context_limit: row.maybe_count("context_limit")?,
        needs_compaction: row.get("needs_compaction")?,
        wind_down: row.word("winddown")?,
        handoff_ref: row.maybe_word("handoff_ref")?,
        charter: row.maybe_word("charter")?,
        predecessor: row.maybe_word("predecessor")?,
        successor: row.maybe_word("successor")?,
        generation: row.maybe_count("generation")?.map(Generation),
        trouble: row.get("trouble")?,
        spawn: spawn(row)?,
        due_at: row.maybe_at("due_at")?,
        notified: row.maybe_word("notified")?,
        retired_at: row.maybe_at("retired_at")?,
    })
}

fn activity(row: &Row<'_>) -> TxResult<Option<LastActivity>> {
    let Some(at) = row.maybe_at("activity_at")? else {
        return Ok(None);
    };
    let incarnation = Incarnation(row.small("activity_incarnation")?);
    Ok(Some(LastActivity { at, incarnation }))
}

fn spawn(row: &Row<'_>) -> TxResult<Option<SpawnRecord>> {
    let Some(nonce) = row.maybe_word("nonce")? else {
        return Ok(None);
    };
    Ok(Some(SpawnRecord {
        nonce,
        handle: row.maybe_word("handle")?,
        process: row.word::<ProcessState>("process_state")?,
    }))
}
