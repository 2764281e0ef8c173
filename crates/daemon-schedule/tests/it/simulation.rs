//! A machine in virtual time with crashes, edits and clock steps. Its store compares cursors and keeps
//! trigger keys unique. The recorded rows are compared with the calendar.

use std::collections::{BTreeMap, BTreeSet};

use daemon_cron::{Schedule, Zone};
use daemon_schedule::{
    ClockDirection, Scheduler, TickOutcome, TickPolicy, TickRow, Unfinished, retracted, superseded,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::{expr, zone};

type Daemon = usize;

/// The durable state. It survives a crash; the scheduler does not.
#[derive(Default)]
struct Store {
    /// Schedule and cursor of each daemon.
    registered: BTreeMap<Daemon, (Schedule, Timestamp)>,
    rows: BTreeMap<Daemon, Vec<TickRow>>,
    /// All trigger keys so far. Each created or joined one activation.
    triggers: BTreeSet<(Daemon, Timestamp)>,
    n_activations: BTreeMap<(Daemon, Timestamp), u32>,
    /// Every span in which a daemon was registered with one schedule.
    coverage: Vec<(Daemon, Schedule, Timestamp, Option<Timestamp>)>,
}

impl Store {
    /// Commits a transaction. Returns `false` and writes nothing if the cursor has moved.
    fn commit(&mut self, daemon: Daemon, from: Timestamp, to: Timestamp, rows: &[TickRow]) -> bool {
        let Some((_, cursor)) = self.registered.get_mut(&daemon).filter(|(_, c)| *c == from) else {
            return false;
        };
        *cursor = to;
        for row in rows {
            if row.outcome == TickOutcome::Enqueued
                && self.triggers.insert((daemon, row.scheduled_at))
            {
                *self
                    .n_activations
                    .entry((daemon, row.scheduled_at))
                    .or_default() += 1;
            }
            let is_known = |known: &TickRow| {
                known.scheduled_at == row.scheduled_at && known.outcome == TickOutcome::Enqueued
            };
            let recorded = self.rows.entry(daemon).or_default();
            if !recorded.iter().any(is_known) {
                recorded.push(*row);
            }
        }
        true
    }

    fn retract(&mut self, now: Timestamp) {
        for (daemon, (schedule, cursor)) in &mut self.registered {
            *cursor = (*cursor).min(now);
            let rows = self.rows.entry(*daemon).or_default();
            *rows = rows
                .iter()
                .filter_map(|row| retracted(*row, schedule, now).0)
                .collect();
        }
    }

    fn register(&mut self, daemon: Daemon, schedule: Schedule, now: Timestamp) {
        if let Some((old, cursor)) = self.registered.remove(&daemon) {
            let rows = self.rows.entry(daemon).or_default();
            rows.extend(superseded(&old, cursor, now));
            let open = self.coverage.iter_mut().rev().find(|span| span.0 == daemon);
            open.unwrap().3 = Some(now);
        }
        self.coverage.push((daemon, schedule.clone(), now, None));
        self.registered.insert(daemon, (schedule, now));
    }
}

#[derive(Clone, Debug)]
enum Incident {
    /// The driver wakes after this number of seconds.
    Wake(i64),
    /// The process crashes before or after the next commit, and restarts after `downtime` seconds.
    Crash {
        commits: bool,
        downtime: i64,
    },
    /// The wall clock steps by this number of seconds.
    ClockStep(i64),
    Edit(Daemon, usize),
}

const TEXTS: [&str; 5] = [
    "0 * * * *",
    "*/10 * * * *",
    "30 2 * * *",
    "0 9,17 * * 1-5",
    "5 */4 * * *",
];

fn incidents() -> impl Strategy<Value = Incident> {
    prop_oneof![
        8 => (1..4_000_i64).prop_map(Incident::Wake),
        2 => (any::<bool>(), prop_oneof![1..600_i64, 1..900_000_i64])
            .prop_map(|(commits, downtime)| Incident::Crash { commits, downtime }),
        1 => (0..4_usize, 0..TEXTS.len()).prop_map(|(daemon, text)| Incident::Edit(daemon, text)),
    ]
}

fn incidents_with_steps() -> impl Strategy<Value = Incident> {
    let step = prop_oneof![
        -90..90_i64,
        -90_000..90_000_i64,
        -32_000_000..32_000_000_i64
    ];
    prop_oneof![6 => incidents(), 1 => step.prop_map(Incident::ClockStep)]
}

struct Machine {
    store: Store,
    scheduler: Scheduler<Daemon>,
    now: Timestamp,
    zones: [Zone; 2],
}

impl Machine {
    fn new(start: i64) -> Self {
        let zones = [Zone::utc(), zone("America/New_York")];
        let now = Timestamp::from_second(start).unwrap();
        let mut machine = Self {
            store: Store::default(),
            scheduler: Scheduler::new(),
            now,
            zones,
        };
        for daemon in 0..4 {
            machine.edit(daemon, daemon);
        }
        machine
    }

    fn edit(&mut self, daemon: Daemon, text: usize) {
        let schedule = Schedule::new(expr(TEXTS[text]), self.zones[daemon % 2].clone());
        self.scheduler
            .insert(daemon, schedule.expr(), schedule.zone(), self.now);
        self.store.register(daemon, schedule, self.now);
    }

    fn restart(&mut self) {
        self.scheduler = Scheduler::new();
        for (daemon, (schedule, cursor)) in &self.store.registered {
            self.scheduler
                .insert(*daemon, schedule.expr(), schedule.zone(), *cursor);
        }
    }

    /// Advances and crashes after `n_commits` transactions.
    fn wake(&mut self, n_commits: usize) {
        let now = self.now;
        let mut due = Vec::new();
        let direction = self.scheduler.advance(now, |it| {
            due.push((*it.key, it.schedule.clone(), it.from, it.after, it.to));
        });
        if direction == ClockDirection::SteppedBack {
            self.store.retract(now);
        }
        for (daemon, schedule, from, after, to) in due.into_iter().take(n_commits) {
            let plan = TickPolicy::default().plan(&schedule, after, now, Unfinished::default());
            if !self.store.commit(daemon, from, to, &plan.rows) {
                let cursor = self.store.registered[&daemon].1;
                self.scheduler.set_cursor(&daemon, cursor);
            }
        }
    }

    fn apply(&mut self, incident: &Incident) {
        let second = SignedDuration::from_secs;
        match *incident {
            Incident::Wake(seconds) => self.now += second(seconds),
            Incident::ClockStep(seconds) => self.now += second(seconds),
            Incident::Edit(daemon, text) => self.edit(daemon, text),
            Incident::Crash { commits, downtime } => {
                self.now += second(120);
                self.wake(usize::from(commits));
                self.now += second(downtime);
                self.restart();
            }
        }
        self.wake(usize::MAX);
    }

    /// Returns the recorded ticks of a daemon with their outcomes, one by one.
    fn recorded(&self, daemon: Daemon) -> Vec<(Timestamp, TickOutcome)> {
        let mut acc = Vec::new();
        for row in self.store.rows.get(&daemon).into_iter().flatten() {
            let contains = |span: &&(Daemon, Schedule, Timestamp, Option<Timestamp>)| {
                span.0 == daemon
                    && span.2 < row.first
                    && span.3.is_none_or(|end| row.scheduled_at <= end)
            };
            let (_, schedule, ..) = self
                .store
                .coverage
                .iter()
                .find(contains)
                .expect("rows have a coverage");
            let mut tick = row.first;
            acc.push((tick, row.outcome));
            while tick < row.scheduled_at {
                tick = schedule.next_after(tick).unwrap();
                acc.push((tick, row.outcome));
            }
        }
        acc.sort_unstable_by_key(|(tick, _)| *tick);
        acc
    }

    /// Returns the ticks of a daemon according to the calendar.
    fn expected(&self, daemon: Daemon) -> Vec<Timestamp> {
        let mut acc = Vec::new();
        for (of, schedule, from, until) in &self.store.coverage {
            let until = until.unwrap_or(self.now);
            let mut tick = *from;
            while *of == daemon
                && let Some(next) = schedule.next_after(tick).filter(|next| *next <= until)
            {
                acc.push(next);
                tick = next;
            }
        }
        acc
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Without clock steps every tick has one row, and every enqueued tick created one activation.
    #[test]
    fn every_tick_is_recorded_once(
        start in 1_767_225_600..1_800_000_000_i64, incidents in prop::collection::vec(incidents(), 1..80),
    ) {
        let mut machine = Machine::new(start);
        for incident in &incidents {
            machine.apply(incident);
        }
        for daemon in 0..4 {
            let recorded: Vec<Timestamp> =
                machine.recorded(daemon).into_iter().map(|(tick, _)| tick).collect();
            prop_assert_eq!(recorded, machine.expected(daemon), "daemon {}", daemon);
        }
        prop_assert!(machine.store.n_activations.values().all(|n| *n == 1));
    }

    /// With clock steps no tick creates two activations, and every later tick has a row.
    #[test]
    fn clock_steps_repeat_no_activation_and_silence_no_daemon(
        start in 1_767_225_600..1_800_000_000_i64,
        incidents in prop::collection::vec(incidents_with_steps(), 1..80),
    ) {
        let mut machine = Machine::new(start);
        for incident in &incidents {
            machine.apply(incident);
        }
        prop_assert!(machine.store.n_activations.values().all(|n| *n == 1));
        // After the last step a day passes in order. It starts two minutes later, because the
        // scheduler waits after a small step back.
        machine.now += SignedDuration::from_mins(2);
        machine.wake(usize::MAX);
        let settled = machine.now;
        for _ in 0..288 {
            machine.now += SignedDuration::from_mins(5);
            machine.wake(usize::MAX);
        }
        for (daemon, (schedule, _)) in &machine.store.registered {
            let mut tick = settled;
            while let Some(next) = schedule.next_after(tick).filter(|next| *next <= machine.now) {
                let covers = |row: &&TickRow| row.first <= next && next <= row.scheduled_at;
                let rows = machine.store.rows[daemon].iter().filter(covers).count();
                prop_assert!(rows >= 1, "daemon {} tick {} has no row", daemon, next);
                tick = next;
            }
        }
    }
}
