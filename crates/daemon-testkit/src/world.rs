//! One simulated life: hosts over a store, faults, and the oracle that follows.

mod faults;
mod rounds;
mod runs;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Gate, HostEpoch};
use daemon_event::DaemonKey;
use daemon_store::memory::Model;
use jiff::Timestamp;

use crate::dice::Dice;
use crate::host::Host;
use crate::oracle::{Broken, Oracle};
use crate::setup::{Declared, N_DAEMONS, Rules, Setup, Timetable};
use crate::story::{Line, Story};
use crate::tally::Tally;
use crate::tzdb::Tzdb;
use crate::zone::new_year;

const DAY: i64 = 86_400;
/// The days without faults at the end, in which everything that was begun must end.
const QUIET_DAYS: i64 = 3;

/// What a life came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The promises that were broken, in words; empty if none was.
    pub violations: Vec<String>,
    /// The instant that the first of them is about, by the clock on the wall.
    pub first_broken: Option<Timestamp>,
    /// A hash over everything that happened, in order.
    pub trace: u64,
    /// What happened, counted.
    pub tally: Tally,
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

/// Runs one life to its end and judges it.
pub fn simulate(setup: &Setup) -> Outcome {
    World::new(setup, Story::Silent).live().0
}

/// Runs one life to its end, judges it, and tells what happened.
pub fn tell(setup: &Setup) -> (Outcome, Vec<Line>) {
    World::new(setup, Story::Told(Vec::new())).live()
}

struct World {
    setup: Setup,
    dice: Dice,
    tzdb: Arc<Tzdb>,
    store: Model,
    hosts: Vec<Host>,
    epoch: HostEpoch,
    keys: Vec<DaemonKey>,
    rules: Vec<Rules>,
    /// What the repository says, whether or not a host has read it.
    declared: Vec<Option<Declared>>,
    registered: Vec<Option<Declared>>,
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
        let mut store = Model::with_zones(zones);
        if let Some(canary) = setup.canary {
            store.plant(canary);
        }
        let mut world = Self {
            setup: *setup,
            tzdb,
            store,
            hosts: (0..n_hosts).map(|_| Host::default()).collect(),
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
            tally: Tally::default(),
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

    /// Schedules the first of each happening that recurs.
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

    fn live(mut self) -> (Outcome, Vec<Line>) {
        let end = i64::from(self.setup.days) * DAY;
        self.run_until(end);
        self.calm();
        self.run_until(end + QUIET_DAYS * DAY);
        self.finish()
    }

    /// Adds a line to the story, if it is told.
    fn say(&mut self, text: impl FnOnce(&Self) -> String) {
        if matches!(self.story, Story::Silent) {
            return;
        }
        let text = text(self);
        let (day, wall) = (u32::try_from(self.real / DAY).unwrap_or(0), self.now());
        if let Story::Told(lines) = &mut self.story {
            lines.push(Line { day, wall, text });
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

    fn finish(mut self) -> (Outcome, Vec<Line>) {
        self.oracle.judge(&self.store);
        self.tally.minutes = u64::try_from(self.real / 60).unwrap_or(0);
        for row in self.store.all_ticks() {
            self.tally.add_row(row);
        }
        self.tally.activations = u64::try_from(self.store.all_activations().count()).unwrap_or(0);
        let (mut violations, mut first_broken) = (Vec::new(), None);
        for violation in std::mem::take(&mut self.oracle.violations) {
            *match violation.kind {
                Broken::Duplicate => &mut self.tally.duplicates,
                Broken::Gap => &mut self.tally.gaps,
                Broken::Other => &mut self.tally.others,
            } += 1;
            first_broken = first_broken.or(Some(violation.at));
            violations.push(violation.text);
        }
        let outcome = Outcome {
            violations,
            first_broken,
            trace: self.trace,
            tally: self.tally,
        };
        (outcome, self.story.lines())
    }

    /// Adds to the hash of what happened.
    fn note(&mut self, what: &[i64]) {
        for number in [self.real, self.offset].iter().chain(what) {
            // A word at a time: the upper half is folded in, so that no bit of it is lost to the multiplication.
            let word = (self.trace ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.trace = word ^ (word >> 32);
        }
    }
}
