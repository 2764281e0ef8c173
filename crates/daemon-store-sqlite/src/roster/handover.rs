//! Batons and resets.

use daemon_roster::{Baton, Generation, Reset, RosterTables, RowId};
use daemon_store::stored::roster::RESET_COLUMNS;
use rusqlite::{Connection, Row, params};

use super::upsert;
use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;

pub(super) fn put_baton(conn: &Connection, baton: &Baton) -> TxResult<()> {
    let columns = ["project", "role", "holder", "generation"];
    conn.prepare_cached(&upsert("roster_baton", 2, &columns))?
        .execute(params![
            baton.project.as_str(),
            baton.role.as_str(),
            baton.holder.as_ref().map(RowId::as_str),
            integer(baton.generation.0),
        ])?;
    Ok(())
}

pub(super) fn put_reset(conn: &Connection, reset: &Reset) -> TxResult<()> {
    conn.prepare_cached(&upsert("roster_reset", 1, &RESET_COLUMNS))?
        .execute(params![
            reset.id.as_str(),
            reset.project.as_str(),
            reset.role.as_str(),
            reset.predecessor.as_str(),
            reset.successor.as_ref().map(RowId::as_str),
            reset.state.as_str(),
            reset.requested_by.to_string(),
            reset.reason.as_str(),
            micros(reset.requested_at),
            reset.spawned_at.map(micros),
            reset.ready_at.map(micros),
            reset.ended_at.map(micros),
        ])?;
    Ok(())
}

pub(super) fn load(conn: &Connection, tables: &mut RosterTables) -> TxResult<()> {
    let mut find = conn.prepare_cached("SELECT * FROM roster_baton")?;
    let mut rows = find.query([])?;
    while let Some(found) = rows.next()? {
        let baton = Baton {
            project: found.word("project")?,
            role: found.word("role")?,
            holder: found.maybe_word("holder")?,
            generation: Generation(found.count("generation")?),
        };
        let key = (baton.project.clone(), baton.role.clone());
        tables.batons.insert(key, baton);
    }
    let mut find = conn.prepare_cached("SELECT * FROM roster_reset")?;
    let mut rows = find.query([])?;
    while let Some(found) = rows.next()? {
        let reset = read_reset(found)?;
        tables.resets.insert(reset.id.clone(), reset);
    }
    Ok(())
}

fn read_reset(row: &Row<'_>) -> TxResult<Reset> {
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
