//! Lives without planted faults keep every promise; the same seed lives the same life.

use daemon_schedule::TickOutcome;
use daemon_testkit::{
    LogLine, Setup, SimulationOutcome, SimulationReport, core_time, simulate, simulate_with_story,
};

/// How many seeds a change must survive, unless `DAEMON_TEST_SEEDS` says otherwise; each lives 400 days.
const SEEDS: u64 = 300;
/// The number of tests that share the seeds, so that they run in parallel.
const SHARES: u64 = 4;
/// From how many seeds on every kind of fault and of outcome must be among them.
const ENOUGH: u64 = 50;
/// How many seeds are lived a second time.
const REPLAYED: u64 = 200;

#[expect(
    clippy::disallowed_methods,
    reason = "a night asks for more seeds through the environment"
)]
fn n_seeds() -> u64 {
    let told = std::env::var("DAEMON_TEST_SEEDS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// Lives a share of the seeds and demands that all promises are kept and that every kind of fault was among them.
#[expect(
    clippy::print_stdout,
    reason = "the report of the tests keeps what happened"
)]
fn check(share: u64) {
    let mut report = SimulationReport::default();
    for seed in (0..n_seeds()).filter(|seed| seed % SHARES == share) {
        let before = core_time();
        let outcome = simulate(&Setup::of_seed(seed));
        report.add(seed, &outcome, core_time().saturating_sub(before));
    }
    assert_eq!(report.failures, []);
    println!("{report}");
    let (tally, n) = (report.tally, report.n_seeds);
    if n < ENOUGH {
        return;
    }
    let faults = [
        ("crashes", tally.crashes),
        ("clock steps", tally.steps),
        ("edits", tally.edits),
        ("holds", tally.holds),
        ("removals", tally.removals),
        ("hangs", tally.hangs),
        ("releases of the time zone database", tally.releases),
        ("events", tally.events),
    ];
    for (what, count) in faults {
        assert!(count >= n, "only {count} {what} in {n} seeds");
    }
    // Quiet hours are applied by the host, and a full queue is rare; every other outcome occurs.
    let rare = [TickOutcome::SkippedQuiet, TickOutcome::Refused];
    for (outcome, count) in tally.outcomes() {
        assert!(count > 0 || rare.contains(&outcome), "{outcome}");
    }
}

#[test]
fn a_year_of_faults_loses_repeats_and_mutes_nothing() {
    check(0);
}

#[test]
fn a_second_share_of_seeds_keeps_every_promise() {
    check(1);
}

#[test]
fn a_third_share_of_seeds_keeps_every_promise() {
    check(2);
}

#[test]
fn a_fourth_share_of_seeds_keeps_every_promise() {
    check(3);
}

/// A seed in which a daemon is held until its queue is full.
const FULL: u64 = 30;

#[test]
fn a_full_queue_refuses_ticks_and_says_so() {
    let outcome = simulate(&Setup::of_seed(FULL));
    assert_eq!(outcome.violations, [""; 0]);
    let refused = outcome
        .tally
        .outcomes()
        .find(|(outcome, _)| *outcome == TickOutcome::Refused);
    assert!(refused.is_some_and(|(_, count)| count > 0));
}

/// The clock steps back into a range that was recorded before its zone got other rules for it; a schedule is registered
/// three seconds behind a tick, and the clock is twenty seconds late after that.
#[test]
fn what_nobody_can_know_is_not_demanded() {
    for seed in [976, 1248] {
        assert_eq!(
            simulate(&Setup::of_seed(seed)).violations,
            [""; 0],
            "seed {seed}"
        );
    }
}

#[test]
fn the_same_seed_lives_the_same_life() {
    let of = |seed| Setup {
        days: 5,
        ..Setup::of_seed(seed)
    };
    let traces: Vec<u64> = (0..REPLAYED)
        .map(|seed| simulate(&of(seed)).trace)
        .collect();
    let again: Vec<u64> = (0..REPLAYED)
        .map(|seed| simulate(&of(seed)).trace)
        .collect();
    assert_eq!(traces, again);
    let mut different = traces.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), traces.len(), "lives differ by their seeds");
}

#[test]
fn a_life_that_is_told_is_the_life_that_was_lived() {
    let setup = Setup {
        days: 40,
        ..Setup::of_seed(5)
    };
    let (outcome, story): (SimulationOutcome, Vec<LogLine>) = simulate_with_story(&setup);
    assert_eq!(outcome, simulate(&setup));
    let told = |what: &str| story.iter().any(|line| line.text.contains(what));
    for what in [
        "misfire",
        "host 0 starts",
        "host 0 dies",
        "the clock is set",
        "runs at",
        "are enqueued",
    ] {
        assert!(told(what), "{what}");
    }
}
