//! Lives many seeds and tells what came of them: `simulate [--seeds N] [--seed S] [--days D]`,
//! or compares calendars: `simulate --calendar N [--seed S]`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reports to its terminal, and how long it took"
)]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use daemon_testkit::{Report, Setup, compare_calendars, core_time, every_zone, simulate};

/// How many seeds a run has unless it is told otherwise.
const SEEDS: u64 = 300;

#[derive(Default)]
struct Wanted {
    seeds: Option<u64>,
    seed: Option<u64>,
    days: Option<u32>,
    calendar: Option<u64>,
}

fn main() -> ExitCode {
    let outcome = Wanted::read().and_then(|wanted| match wanted.calendar {
        Some(n) => compare(n, wanted.seed.unwrap_or(1)),
        None => live(&wanted),
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("simulate: {error:#}");
            ExitCode::from(64)
        }
    }
}

impl Wanted {
    fn read() -> Result<Self> {
        let mut wanted = Self::default();
        let mut args = std::env::args().skip(1);
        while let Some(flag) = args.next() {
            let value = args
                .next()
                .with_context(|| format!("`{flag}` needs a number"))?;
            let number: u64 = value
                .parse()
                .with_context(|| format!("`{value}` is no number"))?;
            match flag.as_str() {
                "--seeds" => wanted.seeds = Some(number),
                "--seed" => wanted.seed = Some(number),
                "--days" => wanted.days = Some(u32::try_from(number)?),
                "--calendar" => wanted.calendar = Some(number),
                _ => bail!("no flag `{flag}`"),
            }
        }
        Ok(wanted)
    }
}

fn live(wanted: &Wanted) -> Result<ExitCode> {
    let first = wanted.seed.unwrap_or(0);
    // A seed by itself is one that is looked into.
    let n_seeds = match wanted.seeds {
        Some(n) => n,
        None if wanted.seed.is_some() => 1,
        None => SEEDS,
    };
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    let n_threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= n_seeds {
                        return;
                    }
                    let mut setup = Setup::of_seed(first + place);
                    setup.days = wanted.days.unwrap_or(setup.days);
                    let before = core_time();
                    let outcome = simulate(&setup);
                    let took = core_time().saturating_sub(before);
                    if n_seeds == 1 {
                        println!("seed {}: trace {:016x}", setup.seed, outcome.trace);
                        for violation in &outcome.violations {
                            println!("  {violation}");
                        }
                    }
                    let mut report = report.lock().expect("no holder panics");
                    report.add(setup.seed, &outcome, took);
                    if report.n_seeds.is_multiple_of(100) {
                        let failures = report.failures.len();
                        eprintln!("{} of {n_seeds} seeds, {failures} failed", report.n_seeds);
                    }
                }
            });
        }
    });
    let report = report.into_inner().expect("no holder panics");
    println!("{report}");
    println!(
        "{:.1} s on {n_threads} cores",
        started.elapsed().as_secs_f64()
    );
    if report.failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("replay one with: cargo xtask simulate --seed S");
    Ok(ExitCode::FAILURE)
}

fn compare(n: u64, seed: u64) -> Result<ExitCode> {
    let zones = every_zone();
    let n_threads = std::thread::available_parallelism()?.get();
    let started = Instant::now();
    let share = zones.len().div_ceil(n_threads);
    let parts: Vec<_> = zones.chunks(share).collect();
    let n_zones = u64::try_from(zones.len())?.max(1);
    let reports: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0_u64..)
            .zip(parts)
            .map(|(place, part)| {
                scope.spawn(move || {
                    let own = n * u64::try_from(part.len()).unwrap_or(0) / n_zones + 1;
                    compare_calendars(own, seed + place, part, |done| {
                        if done.is_multiple_of(100) {
                            eprintln!("{done} of {} zones", part.len());
                        }
                    })
                })
            })
            .collect();
        let joined = running
            .into_iter()
            .map(|one| one.join().expect("no comparison panics"));
        joined.collect()
    });
    let mut n_differences = 0;
    for report in &reports {
        n_differences += report.differences.len();
        for difference in &report.differences {
            println!("{difference}");
        }
    }
    println!(
        "{} triples over {} zones from 1990 to 2037, {} near a change of the clocks: {n_differences} differences, {:.1} s",
        reports.iter().map(|one| one.n_triples).sum::<u64>(),
        reports.iter().map(|one| one.n_zones).sum::<usize>(),
        reports.iter().map(|one| one.n_near_changes).sum::<u64>(),
        started.elapsed().as_secs_f64()
    );
    Ok(if n_differences == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
