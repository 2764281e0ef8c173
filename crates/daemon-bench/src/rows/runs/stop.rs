//! Runs that ignore SIGTERM.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::host::BenchHome;
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_RUNS: usize = 5;
const MOST: Duration = Duration::from_secs(10);
// Longer than the requirement, so that a slow stop is measured.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
// The processes of each run: the child, a grandchild in its group, one in its own session, and their sleeps.
const N_STUBBORN: usize = 4;
// The child ignores SIGTERM, and so do the process in its group and the one in a session of its own.
const AGENT: &str = r#"#!/bin/sh
case "$(cat)" in
*"obey"*) exec sleep 600;;
esac
trap '' TERM
sh -c 'while :; do sleep 1; done' &
setsid sh -c 'while :; do sleep 1; done' &
echo begun
while :; do sleep 1; done
"#;

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::bare(AGENT)?;
    let host = world.serve()?;
    let stubborn = stop(&world, "refuse", N_STUBBORN)?;
    let obedient = stop(&world, "obey", 1)?;
    host.stop()?;
    let sample = |name, took: Duration| Sample {
        name,
        median: took.as_secs_f64() * 1e9,
        spread: 0.0,
    };
    let (ours, peer) = (
        sample("runs that ignore SIGTERM", stubborn),
        sample("runs that obey it", obedient),
    );
    Ok(Row::new(
        "run-stop",
        "stop five runs at once, from the command until the last of their processes is dead",
        &ours,
    )
    .compared_with(&ours, &peer)
    .must(
        format!("≤ {}", duration(MOST.as_secs_f64() * 1e9)),
        duration(ours.median),
        stubborn <= MOST,
    )
    .note(
        "Each is a child, a grandchild in its group and one that left for a session of its own, all deaf to SIGTERM; they are \
         given 5 s before SIGKILL.",
    ))
}

/// Starts runs, stops them, and returns how long it took until none of their processes was alive.
fn stop(world: &BenchHome, task: &str, n_processes: usize) -> Result<Duration> {
    let ids = world.emanate(&[task; N_RUNS])?;
    wait_until(|| Ok(living(&ids)? >= N_RUNS * n_processes))?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let reclaimed = scope.spawn(|| world.call(&["emanate", "reclaim"]));
        wait_until(|| Ok(living(&ids)? == 0))?;
        let took = began.elapsed();
        let reply = reclaimed
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        ensure!(
            reply["status"] == "reclaimed" && reply["pending"] == 0,
            "not every run was stopped: {reply}"
        );
        Ok(took)
    })
}

/// Counts the live processes that have the marker of a run in their environment.
fn living(ids: &[String]) -> Result<usize> {
    let mut n_living = 0;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        // The environment of a process that has ended meanwhile cannot be read, and a zombie has none.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let is_theirs = variables.any(|variable| {
            let id = variable.strip_prefix(b"DAEMON_RUN_ID=");
            id.is_some_and(|id| ids.iter().any(|theirs| theirs.as_bytes() == id))
        });
        n_living += usize::from(is_theirs);
    }
    Ok(n_living)
}

fn wait_until(mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !holds()? {
        ensure!(began.elapsed() < TIMEOUT, "waited in vain");
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
