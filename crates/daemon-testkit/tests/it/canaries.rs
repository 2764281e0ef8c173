//! A fault planted in the code under test is found, by the promise that it breaks.

use daemon_testkit::{Canary, Setup, simulate};

/// How many seeds a planted fault may survive.
const SEEDS: u64 = 10;

#[expect(
    clippy::print_stdout,
    reason = "the report of the tests keeps which seed found it"
)]
/// Lives seeds until one of them breaks the promise, and demands that one does and that it is the fault's doing.
fn check(canary: Canary, promise: &str) {
    for seed in 0..SEEDS {
        let healthy = Setup {
            days: 150,
            ..Setup::of_seed(seed)
        };
        let spoiled = Setup {
            canary: Some(canary),
            ..healthy
        };
        let violations = simulate(&spoiled).violations;
        if violations.iter().any(|text| text.starts_with(promise)) {
            assert_eq!(simulate(&healthy).violations, [""; 0], "seed {seed}");
            println!(
                "{canary:?} breaks {promise} in seed {seed}, the {}. that lives with it",
                seed + 1
            );
            return;
        }
    }
    panic!("{canary:?} goes unnoticed");
}

#[test]
fn without_the_unique_index_a_tick_makes_two_activations() {
    check(Canary::UniqueIndexDropped, "G2");
}

#[test]
fn jitter_in_the_tick_itself_is_no_instant_of_the_calendar() {
    check(Canary::JitterInScheduledAt, "P5");
}

#[test]
fn an_event_that_gives_way_to_a_tick_wakes_nobody() {
    check(Canary::OverlapDropsWatch, "G6");
}

#[test]
fn a_cursor_left_in_the_future_mutes_its_daemon() {
    check(Canary::CursorKept, "G1");
}
