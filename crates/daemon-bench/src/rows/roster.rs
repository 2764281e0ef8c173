//! Check-ins on the roster of one host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use daemon_records::HeldRoster;
use daemon_records::clock::SystemClock;
use daemon_roster::{
    CheckInParams, Principal, Project, RosterCommand, RosterSettings, TokenHash, WakeReason,
};
use daemon_store::Store;
use daemon_store::memory::MemoryStore;
use daemon_store_sqlite::SqliteStore;
use tokio::task::JoinSet;

use crate::kit::Sample;
use crate::report::Row;

const N_AGENTS: u8 = 64;
const N_ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const MOST_DURABLE: f64 = 1e9 / 2_000.0;
const MOST_IN_MEMORY: f64 = 1e9 / 10_000.0;

/// Check-ins of 64 agents at once, in turns on the disk and in memory.
pub(super) fn check_ins() -> Result<Row> {
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (mut durable, mut in_memory) = (Vec::new(), Vec::new());
    for round in 0..N_ROUNDS {
        let path = scratch.path().join(format!("{round}.db"));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path)?);
        durable.push(1e9 / runtime.block_on(rate(store))?);
        in_memory.push(1e9 / runtime.block_on(rate(Arc::new(MemoryStore::default())))?);
    }
    let durable = Sample::of("SQLite, `synchronous=FULL`", durable);
    let in_memory = Sample::of("in memory", in_memory);
    let of_a_second = |sample: &Sample| format!("{:.0} a second", 1e9 / sample.median);
    let row = Row::new(
        "roster-checkins",
        "one check-in of a registered agent, of 64 at once",
        &durable,
    );
    Ok(row
        .compared_with(&durable, &in_memory)
        .must(
            "≥ 2,000 a second, durable",
            of_a_second(&durable),
            durable.median <= MOST_DURABLE,
        )
        .must(
            "≥ 10,000 a second, in memory",
            of_a_second(&in_memory),
            in_memory.median <= MOST_IN_MEMORY,
        )
        .note(
            "Each is decided over the rows in memory and committed with its audit entry; those that wait share a commit.",
        ))
}

/// Returns the check-ins of a second.
async fn rate(store: Arc<dyn Store>) -> Result<f64> {
    let project: Project = "garden".parse()?;
    let settings = RosterSettings {
        projects: [project.clone()].into(),
        ..RosterSettings::default()
    };
    let held = Arc::new(HeldRoster::load(store, Arc::new(SystemClock), settings).await?);
    for n in 0..N_AGENTS {
        let check_in = RosterCommand::CheckIn(CheckInParams {
            project: Some(project.clone()),
            actor_ref: Some(format!("agent-{n}").parse()?),
            token: Some(TokenHash([n; 32])),
            ..CheckInParams::new(WakeReason::Start)
        });
        held.perform(Principal::Unregistered, check_in, None)
            .await?;
    }
    let begun = Instant::now();
    let mut agents = JoinSet::new();
    for n in 0..N_AGENTS {
        let held = Arc::clone(&held);
        agents.spawn(async move {
            let by = held.view().principal(&TokenHash([n; 32]));
            let by = by.context("it is registered")?;
            let mut n_done = 0_u32;
            while begun.elapsed() < ROUND {
                let check_in = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
                held.perform(by.clone(), check_in, None).await?;
                n_done += 1;
            }
            anyhow::Ok(n_done)
        });
    }
    let mut n_done = 0.0;
    while let Some(done) = agents.join_next().await {
        n_done += f64::from(done??);
    }
    Ok(n_done / begun.elapsed().as_secs_f64())
}
