//! The guarantees of ticks by their names, each over lives that are rich in what could break it.

use daemon_schedule::TickOutcome;
use daemon_testkit::{EventCounts, Setup, simulate};

/// Lives a few seeds and demands that none breaks a guarantee, and that what could break it happened.
fn check(guarantee: &str, temptations: fn(&EventCounts) -> u64) {
    let mut tally = EventCounts::default();
    for seed in 100..106 {
        let outcome = simulate(&Setup {
            days: 150,
            ..Setup::of_seed(seed)
        });
        let broken = outcome.violations.iter();
        let broken: Vec<&String> = broken.filter(|text| text.starts_with(guarantee)).collect();
        assert_eq!(broken, [""; 0], "seed {seed}");
        tally += outcome.tally;
    }
    let n = temptations(&tally);
    assert!(n > 0, "nothing could have broken {guarantee}");
}

fn ticks_that_are(tally: &EventCounts, wanted: TickOutcome) -> u64 {
    let mut outcomes = tally.outcomes();
    outcomes
        .find(|(outcome, _)| *outcome == wanted)
        .map_or(0, |(_, count)| count)
}

#[test]
fn g1_every_tick_in_coverage_has_a_row() {
    check("G1", |tally| tally.crashes.min(tally.edits));
}

#[test]
fn g2_a_tick_has_at_most_one_activation_whatever_clocks_and_hosts_do() {
    check("G2", |tally| tally.steps.min(tally.crashes));
}

#[test]
fn g3_every_outcome_is_accounted_for() {
    check("G3", |tally| {
        let missed = ticks_that_are(tally, TickOutcome::MissedWindow);
        missed.min(ticks_that_are(tally, TickOutcome::Coalesced))
    });
}

#[test]
fn g4_an_enqueued_activation_comes_to_an_end() {
    check("G4", |tally| tally.hangs.min(tally.holds));
}

#[test]
fn g6_schedule_and_watch_never_suppress_each_other() {
    check("G6", |tally| tally.events);
}

#[test]
fn instants_of_rows_are_those_of_the_slow_calendar() {
    check("P5", |tally| tally.releases);
    check("P7", |tally| tally.removals);
}
