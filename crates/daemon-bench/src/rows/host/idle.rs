//! An idle host with thousands of daemons.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::host::BenchHome;
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_REPOSITORIES: usize = 100;
// 29 February, so that no schedule is due during the measurement.
const SELDOM: &str = "0 9 29 2 *";
const MOST_MEMORY_KIB: u64 = 150 * 1024;
const MOST_OF_A_CORE: f64 = 0.02;
// The start of the host, and its first round of upkeep 15 seconds later, must be over.
const SETTLE: Duration = Duration::from_secs(20);
// Two polls of every repository, one each 30 seconds.
const WATCHED: Duration = Duration::from_secs(60);

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::new(N_REPOSITORIES, SELDOM)?;
    let cold = {
        let host = world.serve()?;
        let took = host.took;
        host.stop()?;
        took
    };
    let host = world.serve()?;
    std::thread::sleep(SETTLE);
    let (before, began) = (host.usage()?, Instant::now());
    std::thread::sleep(WATCHED);
    let (after, elapsed) = (host.usage()?, began.elapsed());
    let again = host.took;
    host.stop()?;

    let of_a_core = (after.time - before.time).as_secs_f64() / elapsed.as_secs_f64();
    let resident = before.resident_kib.max(after.resident_kib);
    let mebibytes = |kib: u64| format!("{:.0} MiB", kib as f64 / 1024.0);
    let shown = |time: Duration| duration(time.as_secs_f64() * 1e9);
    let ours = Sample {
        name: "daemon-run",
        median: (after.time - before.time).as_secs_f64() * 1e9,
        spread: 0.0,
    };
    Ok(Row::new(
        "idle-10k",
        "the real host with 10,000 daemons and nothing due, processor time in a minute",
        &ours,
    )
    .must("≤ 150 MiB resident", mebibytes(resident), resident <= MOST_MEMORY_KIB)
    .must(
        "≤ 2 % of a core",
        format!("{:.2} %", of_a_core * 100.0),
        of_a_core <= MOST_OF_A_CORE,
    )
    .note(format!(
        "100 repositories of 100 daemons, copies of fixtures/daemons. The start took {} with an empty home and {} with a \
         full one; at most {} were resident.",
        shown(cold),
        shown(again),
        mebibytes(after.peak_kib),
    )))
}
