//! Thousands of daemons due in the same minute.

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::host::BenchHome;
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_REPOSITORIES: usize = 100;
const N_DAEMONS: usize = 10_000;
// The host's limit of concurrent activations.
const N_SLOTS: usize = 4;
const MOST_P99: Duration = Duration::from_secs(2);
const MOST: Duration = Duration::from_secs(5);
// Waits longer than the requirement, to report how late a row was instead of only that it is missing.
const ROWS_TIMEOUT: Duration = Duration::from_secs(45);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
// A host is not at rest yet this soon after its start.
const YOUNG: SignedDuration = SignedDuration::from_secs(5);

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::new(N_REPOSITORIES, "* * * * *")?;
    let host = world.serve()?;
    let ready = host.took;
    let store = world.store()?;
    let first = Minute::watch(&store, whole_minute_after(Timestamp::now() + YOUNG))?;
    let second = Minute::watch(&store, first.at + SignedDuration::from_mins(1))?;
    let waiting = count(
        &store,
        "SELECT count(*) FROM activation WHERE state = 'pending'",
    )?;
    let n_busy = first.n_busy.max(second.n_busy);
    host.stop()?;

    let (p99, all) = (first.p99.max(second.p99), first.all.max(second.all));
    let shown = |time: Duration| duration(time.as_secs_f64() * 1e9);
    let ours = Sample {
        name: "daemon-run",
        median: p99.as_secs_f64() * 1e9,
        spread: 0.0,
    };
    Ok(Row::new(
        "ticks-10k",
        "10,000 daemons due in the same minute on the real host: from the minute until a reader sees 99 of 100 rows",
        &ours,
    )
    .must(format!("p99 ≤ {}", shown(MOST_P99)), shown(p99), p99 <= MOST_P99)
    .must(format!("all ≤ {}", shown(MOST)), shown(all), all <= MOST)
    .must(
        format!("≤ {N_SLOTS} activations at work"),
        n_busy.to_string(),
        n_busy <= N_SLOTS,
    )
    .note(format!(
        "100 repositories of 100 daemons; the worse of two minutes. The first makes 10,000 activations: p50 {}, p99 {}, \
         all {}; in the second their ticks join those that still wait, {waiting} of them: p50 {}, p99 {}, all {}. \
         Ready after {}.",
        shown(first.p50), shown(first.p99), shown(first.all),
        shown(second.p50), shown(second.p99), shown(second.all),
        shown(ready),
    )))
}

/// When the rows of one minute appeared.
struct Minute {
    at: Timestamp,
    p50: Duration,
    p99: Duration,
    all: Duration,
    /// The most activations that ran at once.
    n_busy: usize,
}

impl Minute {
    /// Waits for a minute and watches its rows appear.
    fn watch(store: &Connection, at: Timestamp) -> Result<Self> {
        if let Ok(wait) = Duration::try_from(at.duration_since(Timestamp::now())) {
            std::thread::sleep(wait);
        }
        let mut minute = Self {
            at,
            p50: Duration::MAX,
            p99: Duration::MAX,
            all: Duration::MAX,
            n_busy: 0,
        };
        let rows = format!(
            "SELECT count(*) FROM tick WHERE scheduled_at = {}",
            at.as_microsecond()
        );
        loop {
            let n_rows = count(store, &rows)?;
            let elapsed = Timestamp::now().duration_since(at).unsigned_abs();
            let reached = [
                (N_DAEMONS / 2, &mut minute.p50),
                (N_DAEMONS * 99 / 100, &mut minute.p99),
                (N_DAEMONS, &mut minute.all),
            ];
            for (n, when) in reached {
                if n_rows >= n {
                    *when = elapsed.min(*when);
                }
            }
            let busy = "SELECT count(*) FROM activation WHERE state IN ('claimed', 'running', 'delivering')";
            minute.n_busy = minute.n_busy.max(count(store, busy)?);
            if n_rows >= N_DAEMONS {
                ensure!(n_rows == N_DAEMONS, "{n_rows} rows of {N_DAEMONS} daemons");
                return Ok(minute);
            }
            ensure!(elapsed < ROWS_TIMEOUT, "{n_rows} rows after {elapsed:?}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

fn whole_minute_after(now: Timestamp) -> Timestamp {
    let minute = now.as_second().div_euclid(60) + 1;
    Timestamp::from_second(minute * 60).expect("the minutes of this century are representable")
}

fn count(store: &Connection, sql: &str) -> Result<usize> {
    let n: i64 = store.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(n)?)
}

#[cfg(test)]
mod tests {
    use super::whole_minute_after;

    #[test]
    fn the_awaited_minute_is_whole_and_later() {
        for (now, minute) in [
            ("2026-11-20T12:00:59.9Z", "2026-11-20T12:01:00Z"),
            ("2026-11-20T12:01:00Z", "2026-11-20T12:02:00Z"),
        ] {
            assert_eq!(
                whole_minute_after(now.parse().unwrap()),
                minute.parse().unwrap()
            );
        }
    }
}
