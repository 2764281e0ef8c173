//! Rows and tokens.

use daemon_roster::{
    BridgeHandle, Cadence, Credential, Generation, HandoffRef, Harness, Incarnation, LastActivity,
    Liveness, ProcessRef, ProcessState, Project, Role, RosterRow, RosterTables, RowId, SessionRef,
    SpawnRecord, TokenHash,
};
use daemon_store::stored::roster::ROW_COLUMNS;
use tokio_postgres::Row;

use super::upsert;
use crate::column::{Columns as _, integer, maybe_text, micros};
use crate::failure::TxResult;
use crate::transaction::Tx;

pub(super) async fn put(tx: &Tx, row: &RosterRow) -> TxResult<()> {
    let spawn = row.spawn.as_ref();
    let handle = spawn.and_then(|spawn| spawn.handle.as_ref());
    tx.run(
        &upsert("roster_row", 1, &ROW_COLUMNS),
        &[
            &row.id.as_str(),
            &row.kind.as_str(),
            &row.project.as_ref().map(Project::as_str),
            &row.role.as_ref().map(Role::as_str),
            &row.name.as_str(),
            &row.actor_ref.as_str(),
            &row.harness.as_ref().map(Harness::as_str),
            &i64::from(row.incarnation.0),
            &row.process.as_ref().map(ProcessRef::as_str),
            &row.session.as_ref().map(SessionRef::as_str),
            &micros(row.expected_at),
            &row.first_checkin_at.map(micros),
            &row.last_checkin_at.map(micros),
            &row.last_activity.map(|it| micros(it.at)),
            &row.last_activity.map(|it| i64::from(it.incarnation.0)),
            &row.gate.as_str(),
            &row.cadence.map(Cadence::as_str),
            &row.context_tokens.map(integer::<u64>),
            &row.context_limit.map(integer::<u64>),
            &row.needs_compaction,
            &row.wind_down.as_str(),
            &row.handoff_ref.as_ref().map(HandoffRef::as_str),
            &row.predecessor.as_ref().map(RowId::as_str),
            &row.successor.as_ref().map(RowId::as_str),
            &row.generation.map(|it| integer(it.0)),
            &maybe_text(row.trouble.as_deref()),
            &spawn.map(|it| it.nonce.as_str()),
            &handle.map(BridgeHandle::as_str),
            &spawn.map(|it| it.process.as_str()),
            &row.due_at.map(micros),
            &row.notified.map(Liveness::as_str),
            &row.retired_at.map(micros),
            &row.charter.map(|it| it.to_string()),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn put_credential(tx: &Tx, credential: &Credential) -> TxResult<()> {
    let columns = ["hash", "of_row", "incarnation"];
    tx.run(
        &upsert("roster_credential", 1, &columns),
        &[
            &credential.hash.0.as_slice(),
            &credential.row.as_str(),
            &i64::from(credential.incarnation.0),
        ],
    )
    .await?;
    Ok(())
}

/// Loads the rows, without those that are not standing and were retired before an instant.
pub(super) async fn load(tx: &Tx, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let rows = tx
        .rows(
            "SELECT * FROM roster_row WHERE kind = 'standing' OR retired_at IS NULL OR retired_at >= $1",
            &[&since],
        )
        .await?;
    for found in &rows {
        let row = read(found)?;
        tables.rows.insert(row.id.clone(), row);
    }
    let rows = tx.rows("SELECT * FROM roster_credential", &[]).await?;
    for found in &rows {
        let credential = Credential {
            hash: TokenHash(found.hash("hash")?),
            row: found.word("of_row")?,
            incarnation: Incarnation(found.small("incarnation")?),
        };
        tables.credentials.insert(credential.hash, credential);
    }
    Ok(())
}

fn read(row: &Row) -> TxResult<RosterRow> {
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
        needs_compaction: row.flag("needs_compaction")?,
        wind_down: row.word("winddown")?,
        handoff_ref: row.maybe_word("handoff_ref")?,
        charter: row.maybe_word("charter")?,
        predecessor: row.maybe_word("predecessor")?,
        successor: row.maybe_word("successor")?,
        generation: row.maybe_count("generation")?.map(Generation),
        trouble: row.maybe_text("trouble")?,
        spawn: spawn(row)?,
        due_at: row.maybe_at("due_at")?,
        notified: row.maybe_word("notified")?,
        retired_at: row.maybe_at("retired_at")?,
    })
}

fn activity(row: &Row) -> TxResult<Option<LastActivity>> {
    let Some(at) = row.maybe_at("activity_at")? else {
        return Ok(None);
    };
    let incarnation = Incarnation(row.small("activity_incarnation")?);
    Ok(Some(LastActivity { at, incarnation }))
}

fn spawn(row: &Row) -> TxResult<Option<SpawnRecord>> {
    let Some(nonce) = row.maybe_word("nonce")? else {
        return Ok(None);
    };
    Ok(Some(SpawnRecord {
        nonce,
        handle: row.maybe_word("handle")?,
        process: row.word::<ProcessState>("process_state")?,
    }))
}
