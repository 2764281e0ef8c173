//! Spawn plans and their checks.

use daemon_roster::{
    DaemonName, PacketHash, PlanCheck, PlanId, RosterTables, RowId, SpawnPlan, WantedSpawn,
};
use rusqlite::{Connection, Row, params};

use super::upsert;
use crate::column::{Columns as _, micros};
use crate::failure::TxResult;

const COLUMNS: [&str; 10] = [
    "id",
    "project",
    "role",
    "harness",
    "wanted",
    "name",
    "status",
    "packet",
    "created_at",
    "row",
];

pub(super) fn put(conn: &Connection, plan: &SpawnPlan) -> TxResult<()> {
    conn.prepare_cached(&upsert("roster_plan", 1, &COLUMNS))?
        .execute(params![
            plan.id.as_str(),
            plan.wanted.project.as_str(),
            plan.wanted.role.as_str(),
            plan.wanted.harness.as_str(),
            plan.wanted.name.as_ref().map(DaemonName::as_str),
            plan.name.as_str(),
            plan.status.as_str(),
            plan.packet.0,
            micros(plan.created_at),
            plan.row.as_ref().map(RowId::as_str),
        ])?;
    let columns = ["plan", "place", "name", "outcome"];
    let mut put = conn.prepare_cached(&upsert("roster_plan_check", 2, &columns))?;
    for (place, check) in (0i64..).zip(&plan.checks) {
        put.execute(params![
            plan.id.as_str(),
            place,
            check.name.as_str(),
            check.outcome.as_str(),
        ])?;
    }
    Ok(())
}

pub(super) fn load(conn: &Connection, tables: &mut RosterTables) -> TxResult<()> {
    let mut find = conn.prepare_cached("SELECT * FROM roster_plan")?;
    let mut rows = find.query([])?;
    while let Some(found) = rows.next()? {
        let plan = read(conn, found)?;
        tables.plans.insert(plan.id.clone(), plan);
    }
    Ok(())
}

fn read(conn: &Connection, row: &Row<'_>) -> TxResult<SpawnPlan> {
    let id: PlanId = row.word("id")?;
    Ok(SpawnPlan {
        wanted: WantedSpawn {
            project: row.word("project")?,
            role: row.word("role")?,
            harness: row.word("harness")?,
            name: row.maybe_word("wanted")?,
        },
        name: row.word("name")?,
        status: row.word("status")?,
        checks: checks(conn, &id)?,
        packet: PacketHash(row.get("packet")?),
        created_at: row.at("created_at")?,
        row: row.maybe_word("row")?,
        id,
    })
}

fn checks(conn: &Connection, plan: &PlanId) -> TxResult<Vec<PlanCheck>> {
    let mut find = conn.prepare_cached(
        "SELECT name, outcome FROM roster_plan_check WHERE plan = ?1 ORDER BY place",
    )?;
    let mut rows = find.query([plan.as_str()])?;
    let mut checks = Vec::new();
    while let Some(found) = rows.next()? {
        checks.push(PlanCheck {
            name: found.word("name")?,
            outcome: found.word("outcome")?,
        });
    }
    Ok(checks)
}
