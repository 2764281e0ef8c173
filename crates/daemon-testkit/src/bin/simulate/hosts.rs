//! Simulations of a host's dispatcher, and whether the planted faults are found.

use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::Result;
use daemon_testkit::{
    HostCanary, HostReport, HostSetup, core_time, simulate_host, simulate_host_with_story,
};

use crate::{MAX_LINES, SEEDS, Wanted, on_threads, replay};

/// How many seeds a planted fault may survive.
const CANARY_SEEDS: u64 = 100;

/// Lives one seed, or many seeds and the canaries.
pub(crate) fn run(wanted: &Wanted) -> Result<ExitCode> {
    match (wanted.replays, wanted.seed, wanted.seeds) {
        (Some(n), ..) => replay(n, wanted, |seed| {
            simulate_host(&HostSetup::of_seed(seed)).trace
        }),
        (None, Some(seed), None) => Ok(tell_one(seed)),
        _ => live(wanted),
    }
}

fn live(wanted: &Wanted) -> Result<ExitCode> {
    let first = wanted.seed.unwrap_or(0);
    let n_seeds = wanted.seeds.unwrap_or(SEEDS);
    let report = Mutex::new(HostReport::default());
    on_threads(wanted, n_seeds, |place| {
        let seed = first + place;
        let before = core_time();
        let outcome = simulate_host(&HostSetup::of_seed(seed));
        let took = core_time().saturating_sub(before);
        let mut report = report.lock().expect("no holder panics");
        report.add(seed, &outcome, took);
    })?;
    let mut report = report.into_inner().expect("no holder panics");
    report.failures.sort();
    println!("{report}");
    let mut is_green = report.failures.is_empty();
    for canary in HostCanary::ALL {
        let found = find(canary);
        is_green &= found.is_some();
        match found {
            Some((seed, violation)) => {
                println!(
                    "canary `{}`: found by seed {seed}: {violation}",
                    canary.as_str()
                );
            }
            None => println!("canary `{}`: not found", canary.as_str()),
        }
    }
    if is_green {
        return Ok(ExitCode::SUCCESS);
    }
    println!("replay one with: cargo xtask simulate --host --seed S");
    Ok(ExitCode::FAILURE)
}

/// Returns the first seed that finds a planted fault, and the violation.
fn find(canary: HostCanary) -> Option<(u64, String)> {
    (0..CANARY_SEEDS).find_map(|seed| {
        let setup = HostSetup {
            canary: Some(canary),
            ..HostSetup::of_seed(seed)
        };
        let violations = simulate_host(&setup).violations;
        let mut found = violations.into_iter();
        let is_meant = |text: &String| text.starts_with(&format!("{}:", canary.promise()));
        Some((seed, found.find(is_meant)?))
    })
}

/// Lives one seed and prints the end of its story and its violations.
fn tell_one(seed: u64) -> ExitCode {
    let before = core_time();
    let outcome = simulate_host_with_story(&HostSetup::of_seed(seed));
    let mut report = HostReport::default();
    report.add(seed, &outcome, core_time().saturating_sub(before));
    // What is named by a violation is what its reader looks for.
    let named: Vec<&str> = outcome
        .violations
        .iter()
        .flat_map(|text| text.split([' ', ':']))
        .filter(|word| word.len() == 26)
        .collect();
    let is_about = |line: &&String| named.is_empty() || named.iter().any(|id| line.contains(id));
    let lines: Vec<&String> = outcome.story.iter().filter(is_about).collect();
    for line in &lines[lines.len().saturating_sub(MAX_LINES)..] {
        println!("{line}");
    }
    println!("{report}");
    for violation in outcome.violations.iter().skip(1).take(MAX_LINES) {
        println!("seed {seed}: {violation}");
    }
    println!("trace {:016x}", outcome.trace);
    match outcome.violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
