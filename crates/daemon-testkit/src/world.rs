//! One simulated life: hosts over a store, faults, and the oracle that follows.

mod faults;
mod rounds;
mod runs;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::AddAssign;
use std::time::Duration;

use daemon_engine::{Gate, HostEpoch};
use daemon_event::DaemonKey;
use daemon_store::memory::Model;
use jiff::Timestamp;

use crate::dice::Dice;
use crate::host::Host;
use crate::oracle::{Oracle, Violation};
use crate::setup::{N_DAEMONS, Rules, Setup, Timetable};
use crate::zone::new_year;

const DAY: i64 = 86_400;
/// The days without faults at the end, in which everything that was begun must end.
const QUIET_DAYS: i64 = 3;

/// What a life came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The promises that were broken, in words; empty if none was.
    pub violations: Vec<String>,
    /// A hash over everything that happened, in order.
    pub trace: u64,
    /// What happened, counted.
    pub tally: Tally,
}

/// What happened, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Virtual minutes.
    pub minutes: u64,
    /// Ticks that were recorded.
    pub ticks: u64,
    /// Activations that were made.
    pub activations: u64,
    /// Hosts that died.
    pub crashes: u64,
    /// Clocks that were set.
    pub steps: u64,
    /// Schedules that changed.
    pub edits: u64,
    /// Gates that were closed.
    pub holds: u64,
    /// Daemons that were removed.
    pub removals: u64,
    /// Providers that hung.
    pub hangs: u64,
    /// Events that were told.
    pub events: u64,
    /// Ticks recorded, or activations made, twice.
    pub duplicates: u64,
    /// Ticks without a row.
    pub gaps: u64,
    /// Other broken promises.
    pub others: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.minutes += other.minutes;
        self.ticks += other.ticks;
        self.activations += other.activations;
        self.crashes += other.crashes;
        self.steps += other.steps;
        self.edits += other.edits;
        self.holds += other.holds;
        self.removals += other.removals;
        self.hangs += other.hangs;
        self.events += other.events;
        self.duplicates += other.duplicates;
        self.gaps += other.gaps;
        self.others += other.others;
    }
}

/// Something that happens at an instant of real time.
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

/// Runs one life to its end and judges it.
pub fn simulate(setup: &Setup) -> Outcome {
    let mut world = World::new(setup);
    let end = i64::from(setup.days) * DAY;
    world.run_until(end);
    world.calm();
    world.run_until(end + QUIET_DAYS * DAY);
    world.finish()
}

struct World {
    setup: Setup,
    dice: Dice,
    store: Model,
    hosts: Vec<Host>,
    epoch: HostEpoch,
    keys: Vec<DaemonKey>,
    rules: Vec<Rules>,
    /// What the repository says, whether or not a host has read it.
    declared: Vec<Option<Timetable>>,
    registered: Vec<Option<Timetable>>,
    revision: u64,
    /// Seconds since the beginning, by a clock that never steps.
    real: i64,
    /// What the wall clock showed at the beginning.
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
    tally: Tally,
}

impl World {
    fn new(setup: &Setup) -> Self {
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
        let mut store = Model::default();
        if let Some(canary) = setup.canary {
            store.plant(canary);
        }
        let mut world = Self {
            setup: *setup,
            store,
            hosts: (0..n_hosts).map(|_| Host::default()).collect(),
            epoch: HostEpoch(0),
            oracle: Oracle::new(followed.collect(), base),
            declared: keys
                .iter()
                .map(|_| Some(Timetable::draw(&mut dice)))
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
            tally: Tally::default(),
            dice,
        };
        for host in 0..n_hosts {
            world.start(host);
        }
        for happening in [
            Happening::Crash,
            Happening::Step,
            Happening::Edit,
            Happening::Remove,
            Happening::Hold,
            Happening::Event,
        ] {
            world.again(happening);
        }
        world.after(3600, Happening::Sweep);
        world
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

    fn finish(mut self) -> Outcome {
        self.oracle.judge(&self.store);
        self.tally.minutes = u64::try_from(self.real / 60).unwrap_or(0);
        self.tally.ticks = self.store.all_ticks().map(|row| row.count).sum();
        self.tally.activations = self.n_made;
        let mut violations = Vec::new();
        for violation in std::mem::take(&mut self.oracle.violations) {
            let (count, text) = match violation {
                Violation::Duplicate(text) => (&mut self.tally.duplicates, text),
                Violation::Gap(text) => (&mut self.tally.gaps, text),
                Violation::Other(text) => (&mut self.tally.others, text),
            };
            *count += 1;
            violations.push(text);
        }
        Outcome {
            violations,
            trace: self.trace,
            tally: self.tally,
        }
    }

    /// Adds to the hash of what happened.
    fn note(&mut self, what: &[i64]) {
        for number in [self.real, self.offset].iter().chain(what) {
            for byte in number.to_le_bytes() {
                self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
}
