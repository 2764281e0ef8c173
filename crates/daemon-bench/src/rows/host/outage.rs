//! A host that was down for an hour, a month, ten years.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::host::BenchHome;
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_REPOSITORIES: usize = 10;
const N_DAEMONS: usize = 1_000;
const OUTAGES: [(&str, i64); 3] = [("1 h", 1), ("30 d", 30 * 24), ("10 y", 3_652 * 24)];
const MOST_READY: Duration = Duration::from_secs(5);
const MOST_ROWS_AFTER: Duration = Duration::from_secs(5);
// Missed ticks are recorded as ranges, so the number of rows does not grow with the outage.
const MOST_ROWS: i64 = 3;
// Longer than the requirement, so that a slow start is measured.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::new(N_REPOSITORIES, "* * * * *")?;
    world.serve()?.stop()?;
    world.keep_store()?;
    let mut found = Vec::new();
    for (name, hours) in OUTAGES {
        found.push((
            name,
            Recovery::of(&world, SignedDuration::from_hours(hours))?,
        ));
    }

    let worst = |part: fn(&Recovery) -> Duration| {
        let parts = found.iter().map(|(_, recovery)| part(recovery));
        parts.max().expect("there are outages")
    };
    let (ready, rows_after) = (worst(|one| one.ready), worst(|one| one.rows_after));
    let n_rows = found
        .iter()
        .map(|(_, one)| one.most_rows)
        .max()
        .unwrap_or(0);
    let is_once = found.iter().all(|(_, one)| one.activations == (1, 1));
    let shown = |time: Duration| duration(time.as_secs_f64() * 1e9);
    let each: Vec<String> = found
        .iter()
        .map(|(name, one)| {
            format!(
                "{name}: ready after {}, every row {} later",
                shown(one.ready),
                shown(one.rows_after)
            )
        })
        .collect();
    let ours = Sample {
        name: "daemon-run",
        median: ready.as_secs_f64() * 1e9,
        spread: 0.0,
    };
    Ok(Row::new(
        "outage",
        "start of the real host after an outage, 1,000 daemons due every minute, from the process to the ready line",
        &ours,
    )
    .must(format!("ready ≤ {}", shown(MOST_READY)), shown(ready), ready <= MOST_READY)
    .must(
        format!("every row ≤ {} after ready", shown(MOST_ROWS_AFTER)),
        shown(rows_after),
        rows_after <= MOST_ROWS_AFTER,
    )
    .must(format!("≤ {MOST_ROWS} rows a daemon"), n_rows.to_string(), n_rows <= MOST_ROWS)
    .must("one activation a daemon", if is_once { "one" } else { "other" }, is_once)
    .note(format!("{}.", each.join("; "))))
}

/// The start of a host after an outage.
struct Recovery {
    ready: Duration,
    rows_after: Duration,
    /// The highest number of rows of a daemon.
    most_rows: i64,
    /// The lowest and the highest number of activations of a daemon.
    activations: (i64, i64),
}

impl Recovery {
    fn of(world: &BenchHome, outage: SignedDuration) -> Result<Self> {
        let now = Timestamp::now();
        world.restore_store(now - outage)?;
        let host = world.serve()?;
        let ready = Instant::now();
        let store = world.store()?;
        // The cursor is written in the transaction of the rows, so once it has passed the outage all rows exist.
        let minute = Timestamp::from_second(now.as_second().div_euclid(60) * 60)?.as_microsecond();
        while one(
            &store,
            "SELECT count(*) FROM coverage WHERE is_open = 1 AND cursor < ?1",
            minute,
        )? > 0
        {
            ensure!(
                ready.elapsed() < READY_TIMEOUT,
                "not every tick was recorded"
            );
            std::thread::sleep(POLL_INTERVAL);
        }
        let rows_after = ready.elapsed();
        let n_daemons = one(
            &store,
            "SELECT count(DISTINCT lane) FROM tick WHERE first <= ?1",
            minute,
        )?;
        ensure!(
            n_daemons == i64::try_from(N_DAEMONS)?,
            "{n_daemons} daemons have rows"
        );
        let per_daemon = |least_or_most: &str, table: &str| {
            let sql = format!(
                "SELECT {least_or_most}(n) FROM (SELECT count(*) AS n FROM {table} GROUP BY lane)"
            );
            one(&store, &sql, minute)
        };
        let made = "(SELECT lane FROM tick WHERE outcome = 'enqueued' AND first <= ?1)";
        let recovery = Self {
            ready: host.took,
            rows_after,
            most_rows: per_daemon("max", "(SELECT lane FROM tick WHERE first <= ?1)")?,
            activations: (per_daemon("min", made)?, per_daemon("max", made)?),
        };
        host.stop()?;
        Ok(recovery)
    }
}

fn one(store: &Connection, sql: &str, minute: i64) -> Result<i64> {
    Ok(store
        .prepare_cached(sql)?
        .query_row([minute], |row| row.get(0))?)
}
