//! The keys that `advance` reports.

use std::collections::BTreeMap;

use daemon_cron::{Schedule, Zone};
use daemon_schedule::{ClockDirection, Recurrence as _, Scheduler};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::{at, expr, zone};

/// Advances and returns the keys reported, with the span to record, sorted.
fn due(scheduler: &mut Scheduler<&'static str>, now: &str) -> Vec<(&'static str, String)> {
    let mut acc = Vec::new();
    scheduler.advance(at(now), |due| {
        acc.push((*due.key, format!("{}..{}", due.from, due.to)));
    });
    acc.sort_unstable();
    acc
}

fn span(key: &'static str, from: &str, to: &str) -> (&'static str, String) {
    (key, format!("2026-11-20T{from}Z..2026-11-20T{to}Z"))
}

fn two_keys() -> Scheduler<&'static str> {
    let mut scheduler = Scheduler::new();
    let cursor = at("2026-11-20T08:58:00Z");
    scheduler.insert("nine", expr("0 9 * * *"), &Zone::utc(), cursor);
    scheduler.insert("hourly", expr("0 * * * *"), &Zone::utc(), cursor);
    scheduler
}

#[test]
fn a_key_is_reported_once_per_tick_with_its_span() {
    let mut scheduler = two_keys();
    assert_eq!(due(&mut scheduler, "2026-11-20T08:59:30Z"), []);
    assert_eq!(scheduler.deadline(), Some(at("2026-11-20T09:00:00Z")));
    assert_eq!(
        due(&mut scheduler, "2026-11-20T09:00:00.2Z"),
        [
            span("hourly", "08:58:00", "09:00:00"),
            span("nine", "08:58:00", "09:00:00")
        ]
    );
    assert_eq!(due(&mut scheduler, "2026-11-20T09:00:59Z"), []);
    assert_eq!(
        due(&mut scheduler, "2026-11-20T10:00:00Z"),
        [span("hourly", "09:00:00", "10:00:00")]
    );
}

#[test]
fn the_deadline_is_the_next_minute_or_at_once_after_a_change() {
    let mut scheduler = Scheduler::new();
    assert_eq!(scheduler.deadline(), None);
    scheduler.insert(
        "nine",
        expr("0 9 * * *"),
        &Zone::utc(),
        at("2026-11-20T08:58:00Z"),
    );
    assert_eq!(scheduler.deadline(), Some(Timestamp::UNIX_EPOCH));
    assert_eq!(due(&mut scheduler, "2026-11-20T08:59:30Z"), []);
    assert_eq!(scheduler.deadline(), Some(at("2026-11-20T09:00:00Z")));
}

#[test]
fn a_cursor_within_a_minute_is_reported_unchanged() {
    let mut scheduler = Scheduler::new();
    scheduler.insert(
        "nine",
        expr("0 9 * * *"),
        &Zone::utc(),
        at("2026-11-20T08:59:59.123456789Z"),
    );
    scheduler.insert(
        "seen-late",
        expr("0 9 * * *"),
        &Zone::utc(),
        at("2026-11-20T09:00:00.5Z"),
    );
    assert_eq!(
        due(&mut scheduler, "2026-11-20T09:00:30Z"),
        [span("nine", "08:59:59.123456789", "09:00:00")]
    );
    assert_eq!(scheduler.cursor(&"nine"), Some(at("2026-11-20T09:00:00Z")));
    assert_eq!(
        scheduler.cursor(&"seen-late"),
        Some(at("2026-11-20T09:00:00.5Z"))
    );
}

#[test]
fn a_failed_recording_is_reported_again() {
    let mut scheduler = two_keys();
    due(&mut scheduler, "2026-11-20T09:00:00Z");
    scheduler.set_cursor(&"nine", at("2026-11-20T08:58:00Z"));
    scheduler.set_cursor(&"gone", at("2026-11-20T08:58:00Z"));
    assert_eq!(
        due(&mut scheduler, "2026-11-20T09:00:05Z"),
        [span("nine", "08:58:00", "09:00:00")]
    );
}

#[test]
fn removed_and_replaced_keys_are_not_reported_by_their_old_schedule() {
    let mut scheduler = two_keys();
    assert_eq!(
        scheduler.remove(&"hourly"),
        Some(at("2026-11-20T08:58:00Z"))
    );
    assert_eq!(scheduler.remove(&"hourly"), None);
    scheduler.insert(
        "nine",
        expr("30 9 * * *"),
        &Zone::utc(),
        at("2026-11-20T08:59:00Z"),
    );
    assert_eq!(scheduler.len(), 1);
    assert_eq!(due(&mut scheduler, "2026-11-20T09:00:00Z"), []);
    assert_eq!(
        due(&mut scheduler, "2026-11-20T09:30:00Z"),
        [span("nine", "08:59:00", "09:30:00")]
    );
}

#[test]
fn a_key_with_a_cursor_in_the_future_is_reported_at_its_next_tick() {
    let mut scheduler = Scheduler::new();
    scheduler.insert(
        "nine",
        expr("0 9 * * *"),
        &Zone::utc(),
        at("2099-01-01T00:00:00Z"),
    );
    assert_eq!(due(&mut scheduler, "2026-11-20T08:59:00Z"), []);
    let mut reported = Vec::new();
    scheduler.advance(at("2026-11-20T09:00:00Z"), |due| {
        reported.push((due.from, due.after, due.to));
    });
    let expected = (
        at("2099-01-01T00:00:00Z"),
        at("2026-11-20T08:59:00Z"),
        at("2026-11-20T09:00:00Z"),
    );
    assert_eq!(reported, [expected]);
}

#[test]
fn a_step_back_sets_cursors_to_now_and_a_step_of_a_minute_changes_nothing() {
    let mut scheduler = two_keys();
    assert_eq!(due(&mut scheduler, "2026-11-20T09:00:00Z").len(), 2);
    assert_eq!(
        scheduler.advance(at("2026-11-20T08:59:30Z"), |_| ()),
        ClockDirection::Forward
    );
    assert_eq!(due(&mut scheduler, "2026-11-20T09:00:01Z"), []);
    let back = at("2026-11-20T07:30:10Z");
    assert_eq!(
        scheduler.advance(back, |due| panic!("{due:?}")),
        ClockDirection::SteppedBack
    );
    assert_eq!(scheduler.cursor(&"hourly"), Some(back));
    assert_eq!(
        due(&mut scheduler, "2026-11-20T08:00:00Z"),
        [span("hourly", "07:30:10", "08:00:00")]
    );
}

#[test]
fn a_pause_of_ten_years_is_one_report() {
    let mut scheduler = Scheduler::new();
    scheduler.insert(
        "minutely",
        expr("* * * * *"),
        &Zone::utc(),
        at("2016-11-20T09:00:00Z"),
    );
    scheduler.insert(
        "never",
        expr("0 0 30 2 *"),
        &Zone::utc(),
        at("2016-11-20T09:00:00Z"),
    );
    assert_eq!(due(&mut scheduler, "2016-11-20T09:00:00Z"), []);
    let reported = due(&mut scheduler, "2026-11-20T09:00:00Z");
    assert_eq!(
        reported,
        [(
            "minutely",
            "2016-11-20T09:00:00Z..2026-11-20T09:00:00Z".to_owned()
        )]
    );
}

#[test]
fn clock_changes_follow_the_rules_of_the_zone() {
    let new_york = zone("America/New_York");
    let mut scheduler = Scheduler::new();
    let cursor = at("2026-03-08T04:00:00Z");
    scheduler.insert("skipped", expr("30 2 * * *"), &new_york, cursor);
    scheduler.insert("interval", expr("*/30 2 * * *"), &new_york, cursor);
    scheduler.insert("repeated", expr("30 1 * * *"), &new_york, cursor);
    let mut acc: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for (from, n_hours) in [(cursor, 24), (at("2026-11-01T03:00:00Z"), 24)] {
        for minute in 0..n_hours * 60 {
            let now = from + SignedDuration::from_mins(minute);
            scheduler.advance(now, |due| acc.entry(due.key).or_default().push(due.to));
        }
        acc.entry("interval")
            .or_default()
            .push(Timestamp::UNIX_EPOCH);
    }
    // The jump between the two days is one report for each key.
    let jump = at("2026-11-01T03:00:00Z");
    let times = |texts: &[&str]| texts.iter().map(|text| at(text)).collect::<Vec<_>>();
    let mut interval = vec![Timestamp::UNIX_EPOCH, jump];
    interval.extend(times(&["2026-11-01T07:00:00Z", "2026-11-01T07:30:00Z"]));
    interval.push(Timestamp::UNIX_EPOCH);
    assert_eq!(acc["interval"], interval);
    assert_eq!(
        acc["repeated"],
        times(&[
            "2026-03-08T06:30:00Z",
            "2026-11-01T03:00:00Z",
            "2026-11-01T05:30:00Z"
        ])
    );
    assert_eq!(
        acc["skipped"],
        times(&[
            "2026-03-08T07:00:00Z",
            "2026-11-01T03:00:00Z",
            "2026-11-01T07:30:00Z"
        ])
    );
}

const TEXTS: [&str; 8] = [
    "* * * * *",
    "*/7 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "30 1 * * *",
    "0 9 1 * 1",
    "0 0 * * *",
    "15 */3 * * 6,0",
];
const ZONES: [&str; 3] = ["UTC", "Europe/Berlin", "Australia/Lord_Howe"];

#[derive(Clone, Debug)]
enum Action {
    Insert {
        key: u8,
        text: usize,
        zone: usize,
    },
    /// Inserts many keys at once, some of which exist already or occur twice.
    Load {
        entries: Vec<(u8, usize, usize)>,
    },
    Remove {
        key: u8,
    },
    Advance {
        seconds: i64,
    },
    /// Recording the next report of this key fails.
    Fail {
        key: u8,
    },
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        2 => (0..6_u8, 0..TEXTS.len(), 0..ZONES.len())
            .prop_map(|(key, text, zone)| Action::Insert { key, text, zone }),
        1 => prop::collection::vec((0..120_u8, 0..TEXTS.len(), 0..ZONES.len()), 0..150)
            .prop_map(|entries| Action::Load { entries }),
        1 => (0..6_u8).prop_map(|key| Action::Remove { key }),
        6 => prop_oneof![1..90_i64, 1..7_200_i64, 1..2_000_000_i64]
            .prop_map(|seconds| Action::Advance { seconds }),
        2 => (0..6_u8).prop_map(|key| Action::Fail { key }),
    ]
}

/// A scheduler and a model of it that looks at each key separately.
struct Pair {
    scheduler: Scheduler<u8>,
    model: BTreeMap<u8, (Schedule, Timestamp)>,
    zones: [Zone; 3],
    now: Timestamp,
    failing: Option<u8>,
}

impl Pair {
    fn new(start: i64) -> Self {
        Self {
            scheduler: Scheduler::new(),
            model: BTreeMap::new(),
            zones: ZONES.map(zone),
            now: Timestamp::from_second(start).unwrap(),
            failing: None,
        }
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Insert { key, text, zone } => {
                let (expr, zone) = (expr(TEXTS[text]), &self.zones[zone]);
                self.scheduler.insert(key, expr, zone, self.now);
                let schedule = Schedule::new(expr, zone.clone());
                self.model.insert(key, (schedule, self.now));
            }
            Action::Load { entries } => self.load(&entries),
            Action::Remove { key } => {
                let expected = self.model.remove(&key).map(|(_, cursor)| cursor);
                assert_eq!(self.scheduler.remove(&key), expected);
            }
            Action::Fail { key } => self.failing = Some(key),
            Action::Advance { seconds } => {
                self.now += SignedDuration::from_secs(seconds);
                self.advance();
            }
        }
        assert_eq!(self.scheduler.len(), self.model.len());
        for (key, (_, cursor)) in &self.model {
            assert_eq!(self.scheduler.cursor(key), Some(*cursor));
        }
    }

    fn load(&mut self, entries: &[(u8, usize, usize)]) {
        let entries = entries
            .iter()
            .map(|(key, text, zone)| (*key, expr(TEXTS[*text]), &self.zones[*zone], self.now));
        self.scheduler.insert_all(entries.clone());
        for (key, expr, zone, now) in entries {
            self.model
                .insert(key, (Schedule::new(expr, zone.clone()), now));
        }
    }

    fn advance(&mut self) {
        let mut reported = BTreeMap::new();
        self.scheduler.advance(self.now, |due| {
            assert_eq!(due.from, due.after);
            let span = (due.from, due.to);
            assert!(reported.insert(*due.key, span).is_none(), "twice");
        });
        let minute = self.now.as_second().div_euclid(60);
        let to = Timestamp::from_second(minute * 60).unwrap();
        let mut expected = BTreeMap::new();
        for (key, (schedule, cursor)) in &mut self.model {
            if schedule.latest_in(*cursor, self.now).is_some() {
                expected.insert(*key, (*cursor, to));
                *cursor = to;
            }
        }
        assert_eq!(reported, expected);
        if let Some(key) = self.failing.take()
            && let Some((from, _)) = expected.get(&key)
        {
            self.scheduler.set_cursor(&key, *from);
            if let Some((_, cursor)) = self.model.get_mut(&key) {
                *cursor = *from;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The reports of a key depend only on its own schedule and on failed recordings.
    #[test]
    fn each_key_is_reported_exactly_when_its_own_schedule_has_a_tick(
        start in 1_767_225_600..1_800_000_000_i64, actions in prop::collection::vec(actions(), 1..60),
    ) {
        let mut pair = Pair::new(start);
        for action in actions {
            pair.apply(action);
        }
    }
}
