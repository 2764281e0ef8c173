//! A hundred runs that print as much as they can.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::host::BenchHome;
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_RUNS: usize = 100;
const MOST_MEMORY_KIB: u64 = 64 * 1024;
const TIMEOUT: Duration = Duration::from_secs(180);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
// One run prints a line of 256 MiB, the others short lines for ten seconds; every second of those prints them as its result.
const AGENT: &str = r#"#!/bin/sh
case "$(cat)" in
*"one long line"*) head -c 268435456 /dev/zero | tr '\0' x; echo;;
*"as a result"*) timeout 10 yes "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abcdef"; exit 0;;
*) timeout 10 yes "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abcdef";;
esac
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::bare(AGENT)?;
    let host = world.serve()?;
    let kinds = ["short lines as a result", "short lines"];
    let mut tasks: Vec<&str> = kinds.into_iter().cycle().take(N_RUNS - 1).collect();
    tasks.push("one long line");
    // A first run loads what every run shares, so that the growth is that of the hundred.
    world.emanate(&["one long line"])?;
    wait_for_the_end(&world)?;
    let before = host.usage()?;
    let began = Instant::now();
    let ids = world.emanate(&tasks)?;
    wait_for_the_end(&world)?;
    let took = began.elapsed();
    let after = host.usage()?;
    host.stop()?;

    let mut printed = 0;
    for id in &ids {
        let run = document(&world.runs().join(id))?;
        ensure!(run["state"] == "done", "{id} ended {}", run["state"]);
        printed += run["dropped"]["bytes"].as_u64().unwrap_or(0);
    }
    let over = after.peak_kib.saturating_sub(before.resident_kib);
    let mebibytes = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    let ours = Sample {
        name: "daemon-run",
        median: took.as_secs_f64() * 1e9,
        spread: 0.0,
    };
    Ok(Row::new(
        "noisy-runs",
        "a hundred runs at once that print without end for ten seconds, until the last of them is recorded",
        &ours,
    )
    .must(
        "≤ 64 MiB over the host's resident memory",
        mebibytes(over),
        over <= MOST_MEMORY_KIB,
    )
    .note(format!(
        "One of them prints a single line of 256 MiB. {} resident before, {} at most; {} of output beyond what a folder keeps \
         were counted and thrown away; the host's processor time was {}.",
        mebibytes(before.resident_kib),
        mebibytes(after.peak_kib),
        mebibytes(printed / 1024),
        duration((after.time - before.time).as_secs_f64() * 1e9),
    )))
}

fn wait_for_the_end(world: &BenchHome) -> Result<()> {
    let began = Instant::now();
    loop {
        let list = world.call(&["emanate", "list", "--last", "1"])?;
        if list["running"] == 0 {
            return Ok(());
        }
        ensure!(began.elapsed() < TIMEOUT, "{} runs go on", list["running"]);
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn document(folder: &Path) -> Result<Value> {
    let path = folder.join("daemon.json");
    let text =
        std::fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}
