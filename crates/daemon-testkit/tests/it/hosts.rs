//! Simulated hosts keep every promise, and a fault planted in the world around the dispatcher is found.

use daemon_testkit::{
    HostCanary, HostReport, HostSetup, core_time, simulate_host, simulate_host_with_story,
};

/// How many seeds a change must survive.
const SEEDS: u64 = 300;
/// How many tests share them, so that they run side by side.
const SHARES: u64 = 2;
/// How many seeds a planted fault may survive.
const CANARY_SEEDS: u64 = 10;

#[expect(
    clippy::print_stdout,
    reason = "the report of the tests keeps what happened"
)]
fn check(share: u64) {
    let mut report = HostReport::default();
    for seed in (0..SEEDS).filter(|seed| seed % SHARES == share) {
        let before = core_time();
        let outcome = simulate_host(&HostSetup::of_seed(seed));
        report.add(seed, &outcome, core_time().saturating_sub(before));
    }
    assert_eq!(report.failures, []);
    println!("{report}");
    let (tally, n) = (report.tally, report.n_seeds);
    for (what, count) in [
        ("crashes", tally.crashes),
        ("stops", tally.stops),
        ("clock steps", tally.steps),
        ("faults of the store", tally.store_faults),
        ("outages", tally.outages),
        ("full disks", tally.full_disks),
        ("attempts taken back", tally.taken_back),
        ("writes of stale attempts", tally.fenced),
        ("look-ups", tally.look_ups),
        ("acknowledged events", tally.acknowledged),
    ] {
        assert!(count >= n, "only {count} {what} in {n} seeds");
    }
}

#[test]
fn every_event_has_an_outcome_and_every_output_lands_once() {
    check(0);
}

#[test]
fn a_second_share_of_hosts_keeps_every_promise() {
    check(1);
}

#[expect(
    clippy::print_stdout,
    reason = "the report of the tests keeps which seed found it"
)]
fn check_canary(canary: HostCanary) {
    for seed in 0..CANARY_SEEDS {
        let healthy = HostSetup::of_seed(seed);
        let spoiled = HostSetup {
            canary: Some(canary),
            ..healthy
        };
        let promise = format!("{}:", canary.promise());
        let violations = simulate_host(&spoiled).violations;
        if let Some(found) = violations.iter().find(|text| text.starts_with(&promise)) {
            assert_eq!(simulate_host(&healthy).violations, [""; 0], "seed {seed}");
            println!("`{}` is found by seed {seed}: {found}", canary.as_str());
            return;
        }
    }
    panic!("`{}` goes unnoticed", canary.as_str());
}

#[test]
fn an_event_acknowledged_before_its_commit_is_missed() {
    check_canary(HostCanary::AcknowledgeBeforeCommit);
}

#[test]
fn an_attempt_that_ends_without_the_fence_is_found() {
    check_canary(HostCanary::AttemptWithoutFence);
}

#[test]
fn an_output_sent_again_without_a_look_up_is_found() {
    check_canary(HostCanary::SendWithoutLookUp);
}

#[test]
fn the_same_seed_lives_the_same_host() {
    let traces = |seeds: std::ops::Range<u64>| -> Vec<u64> {
        seeds
            .map(|seed| simulate_host(&HostSetup::of_seed(seed)).trace)
            .collect()
    };
    let mut different = traces(0..30);
    assert_eq!(different, traces(0..30));
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 30, "lives differ by their seeds");
}

#[test]
fn a_host_whose_story_is_kept_lives_the_same_life() {
    let setup = HostSetup::of_seed(3);
    let told = simulate_host_with_story(&setup);
    assert_eq!(told.trace, simulate_host(&setup).trace);
    for what in [
        "starts",
        "dies",
        "the clock is set",
        "Claim",
        "Settle",
        "ends",
    ] {
        assert!(told.story.iter().any(|line| line.contains(what)), "{what}");
    }
}
