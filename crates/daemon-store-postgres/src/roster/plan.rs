//! Spawn plans and their checks.

use daemon_roster::{
    DaemonName, PacketHash, PlanCheck, PlanId, RosterTables, RowId, SpawnPlan, WantedSpawn,
};
use tokio_postgres::Row;

use super::upsert;
use crate::column::{Columns as _, micros};
use crate::failure::TxResult;
use crate::transaction::Tx;

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
    "of_row",
];

pub(super) async fn put(tx: &Tx, plan: &SpawnPlan) -> TxResult<()> {
    tx.run(
        &upsert("roster_plan", 1, &COLUMNS),
        &[
            &plan.id.as_str(),
            &plan.wanted.project.as_str(),
            &plan.wanted.role.as_str(),
            &plan.wanted.harness.as_str(),
            &plan.wanted.name.as_ref().map(DaemonName::as_str),
            &plan.name.as_str(),
            &plan.status.as_str(),
            &plan.packet.0.as_slice(),
            &micros(plan.created_at),
            &plan.row.as_ref().map(RowId::as_str),
        ],
    )
    .await?;
    let columns = ["plan", "place", "name", "outcome"];
    let put = upsert("roster_plan_check", 2, &columns);
    for (place, check) in (0i64..).zip(&plan.checks) {
        tx.run(
            &put,
            &[
                &plan.id.as_str(),
                &place,
                &check.name.as_str(),
                &check.outcome.as_str(),
            ],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn load(tx: &Tx, tables: &mut RosterTables) -> TxResult<()> {
    let rows = tx.rows("SELECT * FROM roster_plan", &[]).await?;
    for found in &rows {
        let plan = read(tx, found).await?;
        tables.plans.insert(plan.id.clone(), plan);
    }
    Ok(())
}

async fn read(tx: &Tx, row: &Row) -> TxResult<SpawnPlan> {
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
        checks: checks(tx, &id).await?,
        packet: PacketHash(row.hash("packet")?),
        created_at: row.at("created_at")?,
        row: row.maybe_word("of_row")?,
        id,
    })
}

async fn checks(tx: &Tx, plan: &PlanId) -> TxResult<Vec<PlanCheck>> {
    let rows = tx
        .rows(
            "SELECT name, outcome FROM roster_plan_check WHERE plan = $1 ORDER BY place",
            &[&plan.as_str()],
        )
        .await?;
    let mut checks = Vec::new();
    for found in &rows {
        checks.push(PlanCheck {
            name: found.word("name")?,
            outcome: found.word("outcome")?,
        });
    }
    Ok(checks)
}
