//! The tick loop over the twin: every rule of policies, edits and clocks in virtual time.

mod machine;

use std::time::Duration;

use daemon_engine::{ActivationState, Gate};
use daemon_event::TriggerKey;
use daemon_schedule::{Misfire, Overlap, TickOutcome, TickPolicy};
use daemon_store::{Cursors, StoredTick, TickResult, Ticker, TickerState};
use jiff::SignedDuration;

use self::machine::{Machine, at, key};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

#[test]
fn an_outage_makes_one_activation_and_at_most_three_rows() {
    for hours in [1, 30 * 24, 10 * 365 * 24] {
        let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z");
        machine.pass(SignedDuration::from_hours(hours));
        let rows = machine.ticks();
        let n_ticks: u64 = rows.iter().map(|row| row.count).sum();
        assert!(rows.len() <= 3, "{rows:?}");
        assert_eq!(
            (n_ticks, machine.n_pending()),
            (hours.unsigned_abs() * 60, 1)
        );
        assert_eq!(rows.last().unwrap().outcome, TickOutcome::Enqueued);
    }
}

#[test]
fn a_trigger_tells_of_every_tick_that_it_stands_for() {
    let mut machine = Machine::new("0 * * * *", "Europe/Berlin", "2026-01-01T00:30:00Z");
    machine.pass(SignedDuration::from_hours(200));
    let pending = &machine.store.tick_activations(&[key()])[0].pending;
    let activation = machine.store.activation(&pending[0]).unwrap();
    let trigger = &activation.triggers[0];
    assert_eq!(trigger.key, TriggerKey::Tick(at("2026-01-09T08:00:00Z")));
    let occasion = trigger.occasion.as_ref().unwrap();
    assert_eq!(
        (
            occasion.expression.as_str(),
            occasion.zone.as_str(),
            occasion.local.as_str()
        ),
        ("as written", "Europe/Berlin", "2026-01-09 09:00 +01:00")
    );
    let missed = occasion.missed.as_ref().unwrap();
    assert_eq!((missed.count, missed.list.len()), (199, 100));
    assert_eq!(missed.first, at("2026-01-01T01:00:00Z"));
    assert_eq!(missed.last, at("2026-01-09T07:00:00Z"));
    assert_eq!(missed.list[99], missed.last);
}

#[test]
fn buffer_all_counts_what_really_waits_and_refuses_beyond_a_hundred() {
    let policy = TickPolicy {
        overlap: Overlap::BufferAll,
        ..TickPolicy::default()
    };
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z").with(policy);
    for _ in 0..105 {
        machine.pass(MINUTE);
    }
    assert_eq!(machine.n_pending(), 100);
    let refused = |row: &&StoredTick| row.outcome == TickOutcome::Refused;
    assert_eq!(machine.ticks().iter().filter(refused).count(), 5);
    assert!(machine.claim().is_some());
    machine.pass(MINUTE);
    let rows = machine.ticks();
    assert_eq!(rows.last().unwrap().outcome, TickOutcome::Enqueued);
}

#[test]
fn catch_up_enqueues_a_hundred_oldest_first_and_misses_the_rest() {
    let policy = TickPolicy {
        misfire: Misfire::CatchUp,
        overlap: Overlap::BufferAll,
        ..TickPolicy::default()
    };
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z").with(policy);
    let commits = machine.pass(MINUTE * 130);
    assert_eq!(commits.len(), 100, "one activation a commit");
    assert_eq!(machine.n_pending(), 100);
    let rows = machine.rows();
    assert_eq!(rows[0], "00:01 enqueued");
    assert_eq!(rows[100], "01:41..02:10 x30 missed_window");
    assert_eq!(rows.len(), 101);
}

#[test]
fn skipping_misses_what_is_more_than_a_minute_late() {
    let policy = TickPolicy {
        misfire: Misfire::Skip,
        ..TickPolicy::default()
    };
    let mut machine = Machine::new("*/5 * * * *", "UTC", "2026-01-01T00:01:00Z").with(policy);
    machine.pass(MINUTE * 20);
    assert_eq!(
        machine.rows(),
        ["00:05..00:15 x3 missed_window", "00:20 enqueued"]
    );
}

#[test]
fn overlap_decides_by_what_is_unfinished() {
    let second_tick = |overlap| {
        let policy = TickPolicy {
            overlap,
            ..TickPolicy::default()
        };
        let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z").with(policy);
        machine.pass(MINUTE);
        let first = machine.claim().unwrap();
        machine.pass(MINUTE);
        machine.pass(MINUTE);
        let state = machine.store.activation(&first.id).unwrap().state;
        (machine.rows().split_off(1), state, machine.n_pending())
    };
    let rows = |second: &str, third: &str| vec![second.to_owned(), third.to_owned()];
    let claimed = ActivationState::Claimed;
    assert_eq!(
        second_tick(Overlap::BufferOne),
        (rows("00:02 enqueued", "00:03 coalesced"), claimed, 1)
    );
    assert_eq!(
        second_tick(Overlap::Skip),
        (
            rows("00:02 skipped_overlap", "00:03 skipped_overlap"),
            claimed,
            0
        )
    );
    assert_eq!(
        second_tick(Overlap::BufferAll),
        (rows("00:02 enqueued", "00:03 enqueued"), claimed, 2)
    );
    assert_eq!(
        second_tick(Overlap::CancelOther),
        (
            rows("00:02 enqueued", "00:03 coalesced"),
            ActivationState::Cancelled,
            1
        )
    );
}

#[test]
fn jitter_puts_off_the_start_and_never_the_tick() {
    let mut machine = Machine::new("0 9 * * *", "UTC", "2026-01-01T08:59:00Z");
    machine.jitter = Duration::from_secs(300);
    machine.pass(MINUTE);
    assert_eq!(machine.rows(), ["09:00 enqueued"]);
    assert!(machine.claim().is_none());
    machine.pass(MINUTE * 5);
    let claimed = machine.claim().unwrap();
    assert_eq!(claimed.not_before, at("2026-01-01T09:05:00Z"));
}

#[test]
fn ticks_of_a_held_daemon_wait_under_the_same_rules_until_they_expire() {
    for gate in [Gate::Held, Gate::Tripped] {
        let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:00:00Z");
        machine.store.set_gate(&key(), gate).unwrap();
        for _ in 0..24 {
            machine.pass(SignedDuration::from_hours(1));
            machine.store.expire(machine.now);
            assert!(machine.claim().is_none());
        }
        assert_eq!(machine.n_pending(), 1, "one waits and the others join it");
        machine
            .store
            .expire(machine.now + SignedDuration::from_hours(1));
        assert_eq!(machine.n_pending(), 0);
        machine.pass(SignedDuration::from_hours(1));
        machine.store.set_gate(&key(), Gate::Open).unwrap();
        assert!(machine.claim().is_some());
        let outcomes: Vec<TickOutcome> = machine.ticks().iter().map(|tick| tick.outcome).collect();
        assert_eq!(
            (outcomes[0], outcomes[24]),
            (TickOutcome::Enqueued, TickOutcome::Enqueued)
        );
        assert!(
            outcomes[1..24]
                .iter()
                .all(|one| *one == TickOutcome::Coalesced)
        );
    }
}

#[test]
fn a_new_expression_or_zone_supersedes_and_catches_nothing_up() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.now += SignedDuration::from_hours(3);
    machine.edit(Some(("30 * * * *", "UTC")));
    machine.pass(SignedDuration::from_hours(1));
    machine.now += SignedDuration::from_hours(2);
    machine.edit(Some(("30 * * * *", "Asia/Kathmandu")));
    machine.pass(SignedDuration::from_mins(45));
    machine.now += SignedDuration::from_hours(1);
    machine.edit(None);
    machine.pass(SignedDuration::from_hours(9));
    assert_eq!(
        machine.rows(),
        [
            "01:00..03:00 x3 superseded",
            "04:30 enqueued",
            "05:30..06:30 x2 superseded",
            "06:45 coalesced",
            "07:45 superseded",
        ]
    );
}

#[test]
fn any_other_edit_keeps_the_coverage() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.now += SignedDuration::from_hours(2);
    machine.edit(Some(("0 * * * *", "UTC")));
    machine.pass(SignedDuration::from_mins(5));
    assert_eq!(machine.rows(), ["01:00 coalesced", "02:00 enqueued"]);
}

#[test]
fn a_step_forward_is_downtime() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.look();
    machine.set_clock("2026-01-01T05:10:00Z");
    assert_eq!(
        machine.rows(),
        ["01:00..04:00 x4 coalesced", "05:00 enqueued"]
    );
}

#[test]
fn a_step_back_retracts_what_made_nothing_and_records_it_again() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.pass(SignedDuration::from_hours(5));
    machine.set_clock("2026-01-01T03:30:00Z");
    assert_eq!(
        machine.rows(),
        [
            "01:00..03:00 x3 coalesced",
            "04:00 retracted",
            "05:00 enqueued"
        ]
    );
    for _ in 0..12 {
        machine.pass(SignedDuration::from_mins(10));
    }
    assert_eq!(
        machine.rows(),
        [
            "01:00..03:00 x3 coalesced",
            "04:00 retracted",
            "04:00 coalesced",
            "05:00 enqueued"
        ],
        "the key that made an activation keeps its row"
    );
    assert_eq!(machine.n_pending(), 1);
}

#[test]
fn a_step_of_a_minute_or_less_changes_nothing() {
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:30Z");
    machine.pass(MINUTE);
    machine.set_clock("2026-01-01T00:00:31Z");
    for _ in 0..4 {
        machine.pass(SignedDuration::from_secs(30));
    }
    assert_eq!(
        machine.rows(),
        ["00:01 enqueued", "00:02 coalesced"],
        "each minute once"
    );
}

#[test]
fn a_walk_of_the_clock_is_a_step_once_it_adds_up() {
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:30Z");
    machine.pass(MINUTE);
    machine.set_clock("2026-01-01T00:00:50Z");
    assert_eq!(machine.rows(), ["00:01 enqueued"]);
    machine.set_clock("2026-01-01T00:00:20Z");
    assert_eq!(
        machine.store.coverages()[0].cursor,
        at("2026-01-01T00:00:20Z")
    );
}

#[test]
fn a_clock_set_back_while_no_host_ran_is_seen_at_the_start() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.pass(SignedDuration::from_hours(5));
    machine.ticker = Ticker::new(at("2024-01-01T00:00:00Z"));
    machine.now = at("2026-01-01T02:30:00Z");
    assert_eq!(machine.load(), Cursors::Ahead);
    machine.store.retract(machine.now);
    assert_eq!(machine.load(), Cursors::Passed);
    machine.pass(SignedDuration::from_mins(31));
    assert_eq!(
        machine.rows(),
        [
            "01:00..02:00 x2 coalesced",
            "03:00 coalesced",
            "03:00..04:00 x2 retracted",
            "05:00 enqueued"
        ]
    );
}

#[test]
fn schedules_wait_for_a_clock_that_can_be_right() {
    let mut machine = Machine::new("0 * * * *", "UTC", "2026-01-01T00:30:00Z");
    machine.look();
    machine.set_clock("2023-12-31T23:00:00Z");
    machine.pass(SignedDuration::from_mins(10));
    assert_eq!(machine.rows(), [""; 0]);
    machine.set_clock("2026-01-01T01:10:00Z");
    assert_eq!(machine.rows(), ["01:00 enqueued"]);
}

#[test]
fn a_host_that_is_slower_goes_on_from_where_the_other_one_stopped() {
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z");
    machine.now = at("2026-01-01T00:03:00Z");
    let theirs = machine.due();
    let mut slow = Ticker::new(at("2024-01-01T00:00:00Z"));
    slow.load(machine.store.coverages(), machine.now);
    std::mem::swap(&mut machine.ticker, &mut slow);
    machine.now = at("2026-01-01T00:06:00Z");
    let ours = machine.due();
    machine.store.commit_ticks(theirs);
    let results = machine.store.commit_ticks(ours.clone());
    let cursor = Some(at("2026-01-01T00:03:00Z"));
    assert_eq!(results, [TickResult::Elsewhere { cursor }]);
    assert_eq!(
        machine.ticker.recorded(&key(), 1, &results[0]),
        TickerState::Current
    );
    machine.look();
    let n_ticks: u64 = machine.ticks().iter().map(|row| row.count).sum();
    assert_eq!(n_ticks, 6, "{:?}", machine.rows());
}

#[test]
fn a_coverage_that_ended_elsewhere_is_let_go() {
    let mut machine = Machine::new("* * * * *", "UTC", "2026-01-01T00:00:00Z");
    machine.now += MINUTE;
    let late = machine.due();
    machine.edit(Some(("0 * * * *", "UTC")));
    let results = machine.store.commit_ticks(late.clone());
    assert_eq!(results, [TickResult::Elsewhere { cursor: None }]);
    assert_eq!(
        machine.ticker.recorded(&key(), 1, &results[0]),
        TickerState::Stale
    );
}

#[test]
fn a_zone_that_nobody_knows_is_told_and_ticks_nothing() {
    let mut machine = Machine::new("* * * * *", "Mars/Base", "2026-01-01T00:00:00Z");
    let loaded = machine.ticker.load(machine.store.coverages(), machine.now);
    let zones: Vec<String> = loaded
        .unreadable
        .into_iter()
        .map(|coverage| coverage.schedule.zone)
        .collect();
    assert_eq!(zones, ["Mars/Base"]);
    assert!(machine.pass(MINUTE).is_empty());
}
