//! Batons and resets.

use daemon_roster::{Baton, Generation, Reset, RosterTables, RowId};
use daemon_store::stored::roster::RESET_COLUMNS;
use tokio_postgres::Row;

use super::upsert;
use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;
use crate::transaction::Tx;

pub(super) async fn put_baton(tx: &Tx, baton: &Baton) -> TxResult<()> {
    let columns = ["project", "role", "holder", "generation"];
    tx.run(
        &upsert("roster_baton", 2, &columns),
        &[
            &baton.project.as_str(),
            &baton.role.as_str(),
            &baton.holder.as_ref().map(RowId::as_str),
            &integer(baton.generation.0),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn put_reset(tx: &Tx, reset: &Reset) -> TxResult<()> {
    tx.run(
        &upsert("roster_reset", 1, &RESET_COLUMNS),
        &[
            &reset.id.as_str(),
            &reset.project.as_str(),
            &reset.role.as_str(),
            &reset.predecessor.as_str(),
            &reset.successor.as_ref().map(RowId::as_str),
            &reset.state.as_str(),
            &reset.requested_by.to_string(),
            &reset.reason.as_str(),
            &micros(reset.requested_at),
            &reset.spawned_at.map(micros),
            &reset.ready_at.map(micros),
            &reset.ended_at.map(micros),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn load(tx: &Tx, tables: &mut RosterTables) -> TxResult<()> {
    let rows = tx.rows("SELECT * FROM roster_baton", &[]).await?;
    for found in &rows {
        let baton = Baton {
            project: found.word("project")?,
            role: found.word("role")?,
            holder: found.maybe_word("holder")?,
            generation: Generation(found.count("generation")?),
        };
        let key = (baton.project.clone(), baton.role.clone());
        tables.batons.insert(key, baton);
    }
    let rows = tx.rows("SELECT * FROM roster_reset", &[]).await?;
    for found in &rows {
        let reset = read_reset(found)?;
        tables.resets.insert(reset.id.clone(), reset);
    }
    Ok(())
}

fn read_reset(row: &Row) -> TxResult<Reset> {
    Ok(Reset {
        id: row.word("id")?,
        project: row.word("project")?,
        role: row.word("role")?,
        predecessor: row.word("predecessor")?,
        successor: row.maybe_word("successor")?,
        state: row.word("state")?,
        requested_by: row.word("requested_by")?,
        reason: row.word("reason")?,
        requested_at: row.at("requested_at")?,
        spawned_at: row.maybe_at("spawned_at")?,
        ready_at: row.maybe_at("ready_at")?,
        ended_at: row.maybe_at("ended_at")?,
    })
}
