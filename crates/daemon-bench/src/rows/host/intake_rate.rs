//! Webhooks at a steady rate, on an idle machine and on one whose processors are busy with runs.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::intake::{LARGE, NO_AGENT, issue, timed, world};
use crate::kit::Sample;
use crate::report::{Row, duration};

const PER_SECOND: u32 = 200;
const SECONDS: u32 = 60;
const PER_SECOND_AT_MOST: u32 = 1_000;
const SECONDS_AT_MOST: u32 = 20;
const N_SENDERS: usize = 8;
const LENGTH: usize = 10_000;
const SLOWEST_OF_99: f64 = 100e6;
const SLOWEST: f64 = 1e9;
const SLOWEST_LARGE: f64 = 3e9;
const N_RUNS: usize = 16;
/// Uses all of a processor for longer than the row takes.
const BURNS: &str = "#!/bin/sh\ncat > /dev/null\nexec timeout 150 sh -c 'while :; do :; done'\n";

pub(crate) fn measure() -> Result<Row> {
    let world = world(NO_AGENT)?;
    let host = world.serve()?;
    let took = deliver(host.address()?, 0, (PER_SECOND, SECONDS))?;
    host.stop()?;
    let row = Row::new(
        "intake-rate",
        "a signed webhook of 10 kB, 200 a second for a minute, until it is answered",
        &Sample::of("daemon-run", took.clone()),
    );
    Ok(in_time(row, &took))
}

pub(crate) fn busy() -> Result<Row> {
    let world = world(BURNS)?;
    let host = world.serve()?;
    let address = host.address()?;
    world.emanate(&["use a processor"; N_RUNS])?;
    let steady = deliver(address, 0, (PER_SECOND, SECONDS))?;
    let fast = deliver(address, steady.len(), (PER_SECOND_AT_MOST, SECONDS_AT_MOST))?;
    let first = steady.len() + fast.len();
    let (large, status) = timed(&issue(first, &"x".repeat(LARGE))?, address)?;
    ensure!(
        status == 200,
        "the large webhook was answered with {status}"
    );
    let running = world.call(&["emanate", "list", "--last", "1"])?["running"].clone();
    host.stop()?;
    ensure!(running == N_RUNS, "{running} runs were active at the end");
    let of_99 = fast[fast.len() * 99 / 100];
    let row = Row::new(
        "intake-busy",
        "a signed webhook of 10 kB, 200 a second for a minute, while 16 runs use all processors",
        &Sample::of("daemon-run", steady.clone()),
    );
    Ok(in_time(row, &steady)
        .must(
            format!(
                "{PER_SECOND_AT_MOST} a second: ≤ {} for 99 of 100",
                duration(SLOWEST)
            ),
            duration(of_99),
            of_99 <= SLOWEST,
        )
        .must(
            format!("23 MiB: < {}", duration(SLOWEST_LARGE)),
            duration(large),
            large < SLOWEST_LARGE,
        )
        .note("The senders share the processors with the host and the runs."))
}

/// Sends webhooks at a rate, for a number of seconds; returns their times in order of length.
fn deliver(address: &str, first: usize, (rate, seconds): (u32, u32)) -> Result<Vec<f64>> {
    let text = "x".repeat(LENGTH - 300);
    let next = Mutex::new(0..rate * seconds);
    let begun = Instant::now();
    let send = || {
        let mut took = Vec::new();
        loop {
            let Some(n) = next.lock().expect("no holder panics").next() else {
                return Ok::<_, anyhow::Error>(took);
            };
            let webhook = issue(first + usize::try_from(n)?, &text)?;
            let at = Duration::from_secs(1) * n / rate;
            thread::sleep(at.saturating_sub(begun.elapsed()));
            let (_, status) = timed(&webhook, address)?;
            ensure!(status == 200, "a webhook was answered with {status}");
            // From when it was to be sent: a sender that is late because of the one before counts.
            took.push((begun.elapsed() - at).as_secs_f64() * 1e9);
        }
    };
    let took = thread::scope(|scope| {
        let senders: Vec<_> = (0..N_SENDERS).map(|_| scope.spawn(send)).collect();
        let ends = senders
            .into_iter()
            .map(|one| one.join().expect("a sender does not panic"));
        ends.collect::<Result<Vec<_>>>()
    })?;
    let mut took = took.concat();
    took.sort_by(f64::total_cmp);
    Ok(took)
}

/// Adds what the times of a steady rate must be.
fn in_time(row: Row, took: &[f64]) -> Row {
    let (p99, most) = (took[took.len() * 99 / 100], took[took.len() - 1]);
    row.must(
        format!("≤ {} for 99 of 100", duration(SLOWEST_OF_99)),
        duration(p99),
        p99 <= SLOWEST_OF_99,
    )
    .must(
        format!("< {} for all", duration(SLOWEST)),
        duration(most),
        most < SLOWEST,
    )
}
