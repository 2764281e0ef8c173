//! Lives without planted faults keep every promise; the same seed lives the same life.

use daemon_testkit::{Report, Setup, core_time, simulate};

/// How many seeds a change must survive, unless `DAEMON_TEST_SEEDS` says otherwise.
const SEEDS: u64 = 300;
/// How long each of them lives; `cargo xtask simulate` lives longer.
const DAYS: u32 = 30;

#[expect(
    clippy::disallowed_methods,
    reason = "a night asks for more seeds through the environment"
)]
fn n_seeds() -> u64 {
    let told = std::env::var("DAEMON_TEST_SEEDS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

fn live(seeds: impl Iterator<Item = u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let before = core_time();
        let outcome = simulate(&Setup {
            days: DAYS,
            ..Setup::of_seed(seed)
        });
        report.add(seed, &outcome, core_time().saturating_sub(before));
    }
    report
}

#[test]
fn a_month_of_faults_loses_repeats_and_mutes_nothing() {
    let n = n_seeds();
    let report = std::thread::scope(|scope| {
        let even = scope.spawn(|| live((0..n).step_by(2)));
        let mut report = live((1..n).step_by(2));
        report.merge(even.join().expect("no life panics"));
        report
    });
    assert_eq!(report.failures, []);
    let tally = report.tally;
    for (what, count) in [
        ("crashes", tally.crashes),
        ("clock steps", tally.steps),
        ("edits", tally.edits),
        ("holds", tally.holds),
        ("removals", tally.removals),
        ("hangs", tally.hangs),
        ("events", tally.events),
    ] {
        assert!(count >= n / 10, "only {count} {what} in {n} seeds");
    }
}

#[test]
fn the_same_seed_lives_the_same_life() {
    for seed in [3, 1_000_003] {
        let setup = Setup {
            days: 60,
            ..Setup::of_seed(seed)
        };
        let (one, other) = (simulate(&setup), simulate(&setup));
        assert_eq!(one, other, "seed {seed}");
    }
    let of = |seed| {
        let setup = Setup {
            days: 60,
            ..Setup::of_seed(seed)
        };
        simulate(&setup).trace
    };
    assert_ne!(of(3), of(4));
}
