//! Simulates many seeds and prints a report: `simulate [--seeds N] [--seed S] [--days D] [--threads T]`,
//! prints the log of one: `simulate --seed S [--day D]`, or compares calendars: `simulate --calendar N [--seed S]`.
//! With `--host` first, the seeds are those of a host's dispatcher.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reports to its terminal, and how long it took"
)]

#[path = "simulate/hosts.rs"]
mod hosts;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use daemon_testkit::{
    LogLine, Setup, SimulationReport, compare_calendars, core_time, every_zone, simulate,
    simulate_with_story,
};

/// How many seconds before a violation its story begins.
const EVE: i64 = 12 * 3600;
/// How many lines of a story are printed.
const MAX_LINES: usize = 400;
/// The default number of seeds.
const SEEDS: u64 = 300;

#[derive(Default)]
struct Wanted {
    seeds: Option<u64>,
    seed: Option<u64>,
    days: Option<u32>,
    day: Option<u32>,
    replays: Option<u64>,
    threads: Option<usize>,
    calendar: Option<u64>,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let is_host = args.next_if(|flag| flag == "--host").is_some();
    let outcome = Wanted::read(args).and_then(|wanted| match wanted.calendar {
        _ if is_host => hosts::run(&wanted),
        Some(n) => compare(n, wanted.seed.unwrap_or(1)),
        None => match (wanted.replays, wanted.seed, wanted.seeds) {
            (Some(n), ..) => replay(n, &wanted, |seed| simulate(&wanted.setup(seed)).trace),
            (None, Some(seed), None) => Ok(tell_one(seed, &wanted)),
            _ => live(&wanted),
        },
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
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut wanted = Self::default();
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
                "--replays" => wanted.replays = Some(number),
                "--day" => wanted.day = Some(u32::try_from(number)?),
                "--threads" => wanted.threads = Some(usize::try_from(number)?),
                "--calendar" => wanted.calendar = Some(number),
                _ => bail!("no flag `{flag}`"),
            }
        }
        Ok(wanted)
    }

    fn setup(&self, seed: u64) -> Setup {
        let standard = Setup::of_seed(seed);
        Setup {
            days: self.days.unwrap_or(standard.days),
            ..standard
        }
    }
}

fn live(wanted: &Wanted) -> Result<ExitCode> {
    let first = wanted.seed.unwrap_or(0);
    let n_seeds = wanted.seeds.unwrap_or(SEEDS);
    let started = Instant::now();
    let report = Mutex::new(SimulationReport::default());
    let (n_threads, n_cores) = on_threads(wanted, n_seeds, |place| {
        let setup = wanted.setup(first + place);
        let before = core_time();
        let outcome = simulate(&setup);
        let took = core_time().saturating_sub(before);
        let mut report = report.lock().expect("no holder panics");
        report.add(setup.seed, &outcome, took);
        if report.n_seeds.is_multiple_of(100) {
            let failures = report.failures.len();
            eprintln!("{} of {n_seeds} seeds, {failures} failed", report.n_seeds);
        }
    })?;
    let report = report.into_inner().expect("no holder panics");
    println!("{report}");
    println!(
        "{:.1} s on {n_threads} of {n_cores} cores",
        started.elapsed().as_secs_f64()
    );
    if report.failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("replay one with: cargo xtask simulate --seed S");
    Ok(ExitCode::FAILURE)
}

/// Runs the work of each index from 0 to `n` − 1, and returns the number of threads used and of cores.
fn on_threads(wanted: &Wanted, n: u64, work: impl Fn(u64) + Sync) -> Result<(usize, usize)> {
    let next = AtomicU64::new(0);
    let n_cores = std::thread::available_parallelism()?.get();
    let n_threads = wanted.threads.unwrap_or(n_cores).max(1);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        place if place < n => work(place),
                        _ => return,
                    }
                }
            });
        }
    });
    Ok((n_threads, n_cores))
}

/// Simulates seeds twice and compares the traces, which `trace` returns for a seed.
fn replay<T: PartialEq>(
    n: u64,
    wanted: &Wanted,
    trace: impl Fn(u64) -> T + Sync,
) -> Result<ExitCode> {
    let different = Mutex::new(Vec::new());
    on_threads(wanted, n, |place| {
        let seed = wanted.seed.unwrap_or(0) + place;
        if trace(seed) != trace(seed) {
            let mut different = different.lock().expect("no holder panics");
            different.push(seed);
        }
    })?;
    let different = different.into_inner().expect("no holder panics");
    let n_alike = n - u64::try_from(different.len())?;
    println!("{n_alike} of {n} seeds have the same trace again");
    if different.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("these do not: {different:?}");
    Ok(ExitCode::FAILURE)
}

/// Simulates one seed and prints its log: of the requested day, or of the time before the first violation.
fn tell_one(seed: u64, wanted: &Wanted) -> ExitCode {
    let setup = wanted.setup(seed);
    let before = core_time();
    let (outcome, story) = simulate_with_story(&setup);
    let mut report = SimulationReport::default();
    report.add(seed, &outcome, core_time().saturating_sub(before));
    let is_told = |line: &&LogLine| match (wanted.day, outcome.first_broken) {
        (Some(day), _) => line.day == day,
        (None, Some(at)) => (-EVE..=EVE / 4).contains(&line.wall.duration_since(at).as_secs()),
        (None, None) => false,
    };
    for line in story
        .iter()
        .take_while(|line| line.text.contains("misfire"))
    {
        println!("{}", line.text);
    }
    for line in story.iter().filter(is_told).take(MAX_LINES) {
        println!("day {} {}  {}", line.day, line.wall, line.text);
    }
    println!("{report}");
    for violation in outcome.violations.iter().skip(1).take(MAX_LINES) {
        println!("seed {seed}: {violation}");
    }
    println!("trace {:016x}", outcome.trace);
    if outcome.violations.is_empty() {
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
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
