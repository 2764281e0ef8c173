//! One simulation: hosts over a store, faults, and the oracle that follows them.

mod faults;
mod rounds;
mod runs;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Gate, HostEpoch};
use daemon_event::DaemonKey;
use daemon_store::memory::StoreModel;
use jiff::Timestamp;

use crate::dice::Dice;
use crate::host::SimulatedHost;
use crate::oracle::{Oracle, ViolationKind};
use crate::setup::{Declared, N_DAEMONS, Rules, Setup, Timetable};
use crate::story::{LogLine, Story};
use crate::tally::EventCounts;
use crate::tzdb::Tzdb;
use crate::zone::new_year;

const DAY: i64 = 86_400;
/// The days without faults at the end, in which everything unfinished must end.
const QUIET_DAYS: i64 = 3;

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationOutcome {
    /// The violated guarantees, described; empty if there are no violations.
    pub violations: Vec<String>,
    /// The wall-clock instant that the first of them concerns.
    pub first_broken: Option<Timestamp>,
    /// A hash over all events in their order.
    pub trace: u64,
    /// Counts of the events.
    pub tally: EventCounts,
}

/// An event of the simulation at an instant of real time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Crash,
    Restart(usize),
    Step,
    Walk(u32),
    Correct,
    Edit,
    Remove,
    Declare(usize),
    Hold,
    Release,
    Go(usize),
    Event,
    /// A host reads the registry that another one changed.
    Told(usize),
    /// Hosts look at the clock, as they do each second.
    Look,
    /// Something that waited becomes ready.
    Ready,
    AttemptEnds {
        host: usize,
        number: u64,
    },
    Sweep,
}

/// Runs a simulation to its end and checks it.
pub fn simulate(setup: &Setup) -> SimulationOutcome {
    World::new(setup, Story::Silent).live().0
}

/// Runs a simulation to its end, checks it, and returns a log of its events.
pub fn simulate_with_story(setup: &Setup) -> (SimulationOutcome, Vec<LogLine>) {
    World::new(setup, Story::Told(Vec::new())).live()
}

struct World {
    setup: Setup,
    dice: Dice,
    tzdb: Arc<Tzdb>,
    store: StoreModel,
    hosts: Vec<SimulatedHost>,
    epoch: HostEpoch,
    keys: Vec<DaemonKey>,
    rules: Vec<Rules>,
    /// The content of the repository, which hosts may not have read yet.
    declared: Vec<Option<Declared>>,
    registered: Vec<Option<Declared>>,
    revision: u64,
    /// Seconds since the beginning, by a clock that never steps.
    real: i64,
    /// The time of the wall clock at the beginning.
    base: i64,
    /// How far the wall clock is off.
    offset: i64,
    queue: BinaryHeap<Reverse<(i64, u64, Happening)>>,
    n_queued: u64,
    ready_at: Option<i64>,
    is_claimable: bool,
    is_calm: bool,
    n_made: u64,
    oracle: Oracle,
    trace: u64,
    tally: EventCounts,
    story: Story,
}

impl World {
    fn new(setup: &Setup, story: Story) -> Self {
        let mut dice = Dice(setup.seed);
        let base = new_year(2026) + dice.between(0, 364) * DAY + dice.between(0, DAY - 1);
        let keys: Vec<DaemonKey> = ["ant", "bee", "cat", "dog"]
            .iter()
            .take(N_DAEMONS)
            .map(|id| DaemonKey {
                repo: "o/r".parse().expect("a name"),
                id: id.parse().expect("an id"),
            })
            .collect();
        let rules: Vec<Rules> = keys.iter().map(|_| Rules::draw(&mut dice)).collect();
        let followed = keys.iter().cloned().zip(rules.iter().copied());
        let n_hosts = *dice.of(&[1, 1, 2, 2, 3]);
        let tzdb = Tzdb::published();
        let zones = Arc::clone(&tzdb);
        let mut store = StoreModel::with_zones(zones);
        if let Some(canary) = setup.canary {
            store.plant(canary);
        }
        let mut world = Self {
            setup: *setup,
            tzdb,
            store,
            hosts: (0..n_hosts).map(|_| SimulatedHost::default()).collect(),
            epoch: HostEpoch(0),
            oracle: Oracle::new(followed.collect(), base),
            declared: keys
                .iter()
                .map(|_| {
                    let table = Timetable::draw(&mut dice);
                    Some(Declared { table, text: 0 })
                })
                .collect(),
            registered: vec![None; keys.len()],
            revision: 1,
            keys,
            rules,
            real: 0,
            base,
            offset: 0,
            queue: BinaryHeap::new(),
            n_queued: 0,
            ready_at: None,
            is_claimable: false,
            is_calm: false,
            n_made: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            tally: EventCounts::default(),
            story,
            dice,
        };
        world.introduce();
        for host in 0..n_hosts {
            world.start(host);
        }
        world.schedule_first();
        world
    }

    /// Schedules the first of each kind of event that recurs.
    fn schedule_first(&mut self) {
        for happening in [
            Happening::Crash,
            Happening::Step,
            Happening::Edit,
            Happening::Remove,
            Happening::Hold,
            Happening::Release,
            Happening::Event,
        ] {
            self.again(happening);
        }
        self.after(3600, Happening::Sweep);
    }

    fn introduce(&mut self) {
        for daemon in 0..self.keys.len() {
            self.say(|world| format!("{}: {}", world.keys[daemon].id, world.rules[daemon]));
        }
        self.say(|world| format!("{} hosts", world.hosts.len()));
    }

    fn live(mut self) -> (SimulationOutcome, Vec<LogLine>) {
        let end = i64::from(self.setup.days) * DAY;
        self.run_until(end);
        self.calm();
        self.run_until(end + QUIET_DAYS * DAY);
        self.finish()
    }

    /// Adds a line to the log, if one is kept.
    fn say(&mut self, text: impl FnOnce(&Self) -> String) {
        if matches!(self.story, Story::Silent) {
            return;
        }
        let text = text(self);
        let (day, wall) = (u32::try_from(self.real / DAY).unwrap_or(0), self.now());
        if let Story::Told(lines) = &mut self.story {
            lines.push(LogLine { day, wall, text });
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.wall()).expect("the years are in range")
    }

    const fn wall(&self) -> i64 {
        self.base + self.real + self.offset
    }

    fn since_boot(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.real).unwrap_or(0) + 1_000)
    }

    fn after(&mut self, seconds: i64, happening: Happening) {
        self.n_queued += 1;
        let at = self.real + seconds.max(1);
        self.queue.push(Reverse((at, self.n_queued, happening)));
    }

    fn run_until(&mut self, end: i64) {
        while self.real < end {
            let minute = self.real + 60 - self.wall().rem_euclid(60);
            let next = self.queue.peek().map_or(minute, |Reverse((at, ..))| *at);
            self.real = next.min(minute).min(end);
            let mut has_to_look = self.wall().rem_euclid(60) == 0;
            while let Some(Reverse((at, ..))) = self.queue.peek()
                && *at <= self.real
            {
                if let Some(Reverse((_, _, happening))) = self.queue.pop() {
                    has_to_look |= matches!(happening, Happening::Look | Happening::Restart(_));
                    self.happen(happening);
                }
            }
            if has_to_look {
                self.tick_round();
            }
            if self.is_claimable {
                self.claim_ready();
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Look => {}
            Happening::Ready => {
                self.ready_at = None;
                self.is_claimable = true;
            }
            Happening::AttemptEnds { host, number } => self.end_attempt(host, number),
            Happening::Sweep => {
                self.heartbeat();
                self.sweep();
                self.after(3600, Happening::Sweep);
            }
            Happening::Told(host) => self.hosts[host].is_stale = true,
            Happening::Restart(host) => self.start(host),
            Happening::Go(daemon) => self.set_gate(daemon, Gate::Open),
            Happening::Declare(daemon) => self.declare(daemon),
            fault => self.fault(fault),
        }
    }

    /// Ends all faults: clocks are right, hosts run, gates are open.
    fn calm(&mut self) {
        self.is_calm = true;
        self.say(|_| "no more faults".to_owned());
        self.set_clock(0);
        for host in 0..self.hosts.len() {
            self.hosts[host].doomed = None;
            if !self.hosts[host].is_alive() {
                self.start(host);
            }
        }
        for daemon in 0..self.keys.len() {
            self.set_gate(daemon, Gate::Open);
        }
    }

    fn finish(mut self) -> (SimulationOutcome, Vec<LogLine>) {
        self.oracle.judge(&self.store);
        self.tally.minutes = u64::try_from(self.real / 60).unwrap_or(0);
        for row in self.store.all_ticks() {
            self.tally.add_row(row);
        }
        self.tally.activations = u64::try_from(self.store.all_activations().count()).unwrap_or(0);
        let (mut violations, mut first_broken) = (Vec::new(), None);
        for violation in std::mem::take(&mut self.oracle.violations) {
            *match violation.kind {
                ViolationKind::Duplicate => &mut self.tally.duplicates,
                ViolationKind::Gap => &mut self.tally.gaps,
                ViolationKind::Other => &mut self.tally.others,
            } += 1;
            first_broken = first_broken.or(Some(violation.at));
            violations.push(violation.text);
        }
        let outcome = SimulationOutcome {
            violations,
            first_broken,
            trace: self.trace,
            tally: self.tally,
        };
        (outcome, self.story.lines())
    }

    /// Adds an event to the hash.
    fn note(&mut self, what: &[i64]) {
        for number in [self.real, self.offset].iter().chain(what) {
            // A word at a time: the upper half is folded in, so that no bit of it is lost to the multiplication.
            let word = (self.trace ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.trace = word ^ (word >> 32);
        }
    }
}
