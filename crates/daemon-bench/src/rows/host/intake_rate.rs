//! Webhooks at a steady rate.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::intake::{issue, timed, world};
use crate::kit::Sample;
use crate::report::{Row, duration};

const PER_SECOND: u32 = 200;
const SECONDS: u32 = 60;
const N_SENDERS: usize = 8;
const LENGTH: usize = 10_000;
const SLOWEST_OF_99: f64 = 100e6;
const SLOWEST: f64 = 1e9;

pub(crate) fn measure() -> Result<Row> {
    let world = world()?;
    let host = world.serve()?;
    let address = host.address()?;
    let text = "x".repeat(LENGTH - 300);
    let n_webhooks = usize::try_from(PER_SECOND * SECONDS)?;
    let next = Mutex::new(0..n_webhooks);
    let begun = Instant::now();
    let sent = thread::scope(|scope| {
        let senders: Vec<_> = (0..N_SENDERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut took = Vec::new();
                    while let Some(n) = next.lock().expect("no holder panics").next() {
                        let webhook = issue(n, &text)?;
                        let at = Duration::from_secs(1) * u32::try_from(n)? / PER_SECOND;
                        thread::sleep(at.saturating_sub(begun.elapsed()));
                        let (_, status) = timed(&webhook, address)?;
                        // From when it was to be sent: a sender that is late because of the one before counts.
                        took.push(((begun.elapsed() - at).as_secs_f64() * 1e9, status));
                    }
                    Ok::<_, anyhow::Error>(took)
                })
            })
            .collect();
        let ends = senders
            .into_iter()
            .map(|one| one.join().expect("a sender does not panic"));
        ends.collect::<Result<Vec<_>>>()
    })?;
    host.stop()?;
    let sent = sent.concat();
    let n_refused = sent.iter().filter(|(_, status)| *status != 200).count();
    ensure!(n_refused == 0, "{n_refused} webhooks were refused");
    let mut took: Vec<f64> = sent.into_iter().map(|(took, _)| took).collect();
    took.sort_by(f64::total_cmp);
    let (p99, most) = (took[took.len() * 99 / 100], took[took.len() - 1]);
    let ours = Sample::of("daemon-run", took);
    Ok(Row::new(
        "intake-rate",
        "a signed webhook of 10 kB, 200 a second for a minute, until it is answered",
        &ours,
    )
    .must(
        format!("≤ {} for 99 of 100", duration(SLOWEST_OF_99)),
        duration(p99),
        p99 <= SLOWEST_OF_99,
    )
    .must(
        format!("< {} for all", duration(SLOWEST)),
        duration(most),
        most < SLOWEST,
    ))
}
