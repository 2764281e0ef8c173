//! One simulated life of a host: the real dispatcher over the twin of the stores, with runs and surfaces that fail.

mod attempts;
mod effects;
mod faults;
mod intake;
mod oracle;
mod progress;
mod report;

use std::collections::BTreeMap;
use std::time::Duration;

use daemon_dispatch::{ClaimLimits, Concern, Dispatcher, HostEffect, HostEvent, Now, Settings};
use daemon_engine::{HostEnd, HostEpoch, OutputKey};
use daemon_event::{DaemonKey, EventId};
use daemon_store::memory::StoreModel;
use jiff::Timestamp;

use crate::dice::Dice;
use attempts::SimulatedAttempt;
use intake::SimulatedDelivery;
use oracle::HostOracle;
use progress::ProgressOracle;
pub use report::{HostReport, HostTally};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// How long everything may take to end once there are no more faults: an output is tried for a day.
const LONGEST_DRAIN: u64 = 27 * HOUR;
const IDS: [&str; 3] = ["ant", "bee", "cat"];

/// What a life is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSetup {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// How many virtual hours have faults; the simulation continues until everything has ended.
    pub hours: u32,
    /// A fault in the world around the dispatcher.
    pub canary: Option<HostCanary>,
}

impl HostSetup {
    /// The standard life of a seed.
    pub const fn of_seed(seed: u64) -> Self {
        Self {
            seed,
            hours: 6,
            canary: None,
        }
    }
}

/// A fault that breaks one promise, to see that the oracle finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCanary {
    /// A sender is acknowledged before its events are durable.
    AcknowledgeBeforeCommit,
    /// The end of an attempt is stored under the current lease, also for a stale attempt.
    AttemptWithoutFence,
    /// A look-up reports every output as absent without asking the surface.
    SendWithoutLookUp,
}

impl HostCanary {
    /// Every canary.
    pub const ALL: [Self; 3] = [
        Self::AcknowledgeBeforeCommit,
        Self::AttemptWithoutFence,
        Self::SendWithoutLookUp,
    ];

    /// Returns the name that reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AcknowledgeBeforeCommit => "acknowledge before commit",
            Self::AttemptWithoutFence => "attempt without the fence",
            Self::SendWithoutLookUp => "output sent without look-up",
        }
    }

    /// Returns the promise that it breaks, which begins each violation that is its doing.
    pub const fn promise(self) -> &'static str {
        match self {
            Self::AcknowledgeBeforeCommit => "P1",
            Self::AttemptWithoutFence => "P10",
            Self::SendWithoutLookUp => "P11",
        }
    }
}

/// The result of one life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOutcome {
    /// The promises that were broken, in words; empty if none was.
    pub violations: Vec<String>,
    /// A hash over everything that happened, in order.
    pub trace: u64,
    /// What happened, counted.
    pub tally: HostTally,
    /// What happened, line by line, if that was asked for.
    pub story: Vec<String>,
}

/// Runs one life to its end and checks it.
pub fn simulate_host(setup: &HostSetup) -> HostOutcome {
    HostWorld::new(setup, None).live()
}

/// Runs one life to its end, checks it, and records what happened.
pub fn simulate_host_with_story(setup: &HostSetup) -> HostOutcome {
    HostWorld::new(setup, Some(Vec::new())).live()
}

/// Something that happens at an instant of real time.
#[derive(Clone, Debug)]
enum HostHappening {
    /// The dispatcher asked to be called; a later request replaces this one.
    Deadline(u64),
    /// An effect reaches the store, a surface or the disk.
    Apply(u64, Box<HostEffect>),
    /// The result of an effect reaches the dispatcher.
    Complete(u64, Box<HostEvent>),
    AttemptStarts(u64),
    AttemptEnds(u64),
    /// A sender has a new event.
    Emit,
    Deliver(usize),
    /// A delivery of a host's life reaches the store.
    Commit(u64, usize),
    Committed(u64, usize, bool),
    /// A sender has waited for as long as the host lets it wait.
    Late(usize, u32),
    Start,
    Crash,
    StopHost,
    StepClock,
    CorrectClock,
    /// The host's tick loop notices that the clock stepped back.
    Retract(u64),
    StoreFails,
    DiskFills,
    DiskFrees,
    /// The host has read the repository of the last daemon.
    RepositoryRead(u64),
    OpenGate(usize),
    Watch,
    WatchClaims,
}

/// One host process.
#[derive(Debug)]
struct SimulatedHost {
    dispatcher: Dispatcher,
    is_stopping: bool,
    started_at: u64,
    /// Whether the repository of the last daemon is still unread.
    is_partly_unread: bool,
}

struct HostWorld {
    setup: HostSetup,
    dice: Dice,
    store: StoreModel,
    keys: Vec<DaemonKey>,
    /// `None` while no host runs.
    host: Option<SimulatedHost>,
    /// Counts hosts; what belongs to an earlier one is void.
    life: u64,
    epoch: HostEpoch,
    /// How the last host ended.
    last_end: HostEnd,
    /// Counts the driver's views of the repositories, over all lives.
    view: u64,
    /// Milliseconds since the beginning, by a clock that never steps.
    real: u64,
    base: i64,
    /// How far the wall clock is off.
    offset: i64,
    queue: BTreeMap<(u64, u64), HostHappening>,
    n_queued: u64,
    /// The number of the newest request for a deadline.
    deadline: u64,
    attempts: BTreeMap<u64, SimulatedAttempt>,
    deliveries: Vec<SimulatedDelivery>,
    /// Which daemons an event wakes, as bits.
    wakes: BTreeMap<EventId, u8>,
    /// How often each output landed.
    landed: BTreeMap<OutputKey, u32>,
    store_fails_until: u64,
    is_disk_full: bool,
    is_calm: bool,
    n_made: u64,
    oracle: HostOracle,
    progress: ProgressOracle,
    trace: u64,
    tally: HostTally,
    story: Option<Vec<String>>,
}

impl HostWorld {
    fn new(setup: &HostSetup, story: Option<Vec<String>>) -> Self {
        let keys = IDS.iter().map(|id| DaemonKey {
            repo: "o/r".parse().expect("a name"),
            id: id.parse().expect("an id"),
        });
        let mut world = Self {
            setup: *setup,
            dice: Dice(setup.seed),
            store: StoreModel::default(),
            keys: keys.collect(),
            host: None,
            life: 0,
            epoch: HostEpoch(0),
            last_end: HostEnd::Stopped,
            view: 0,
            real: 0,
            base: 1_780_000_000_000,
            offset: 0,
            queue: BTreeMap::new(),
            n_queued: 0,
            deadline: 0,
            attempts: BTreeMap::new(),
            deliveries: Vec::new(),
            wakes: BTreeMap::new(),
            landed: BTreeMap::new(),
            store_fails_until: 0,
            is_disk_full: false,
            is_calm: false,
            n_made: 0,
            oracle: HostOracle::default(),
            progress: ProgressOracle::default(),
            trace: 0xcbf2_9ce4_8422_2325,
            tally: HostTally::default(),
            story,
        };
        world.register();
        world.start();
        for happening in [
            HostHappening::Emit,
            HostHappening::Crash,
            HostHappening::StopHost,
            HostHappening::StepClock,
            HostHappening::StoreFails,
            HostHappening::DiskFills,
        ] {
            world.again(happening);
        }
        world.after(30 * SECOND, HostHappening::Watch);
        world.after(5 * SECOND, HostHappening::WatchClaims);
        world
    }

    fn live(mut self) -> HostOutcome {
        let end = u64::from(self.setup.hours) * HOUR;
        self.run_until(end);
        self.calm();
        let latest = end + LONGEST_DRAIN;
        while self.real < latest && !self.is_drained() {
            self.run_until(self.real + MINUTE);
        }
        self.judge();
        self.tally.minutes = self.real / MINUTE;
        HostOutcome {
            violations: self.oracle.violations,
            trace: self.trace,
            tally: self.tally,
            story: self.story.unwrap_or_default(),
        }
    }

    fn run_until(&mut self, end: u64) {
        while let Some(entry) = self.queue.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), happening) = entry.remove_entry();
            self.real = at;
            self.happen(happening);
        }
        self.real = end;
    }

    fn happen(&mut self, happening: HostHappening) {
        match happening {
            HostHappening::Deadline(number) => {
                if number == self.deadline {
                    self.handle(HostEvent::Time);
                }
            }
            HostHappening::Apply(life, effect) => self.apply(life, *effect),
            HostHappening::Complete(life, event) => {
                if life == self.life {
                    self.handle(*event);
                }
            }
            HostHappening::AttemptStarts(number) => self.attempt_starts(number),
            HostHappening::AttemptEnds(number) => self.attempt_ends(number),
            HostHappening::Emit => self.emit(),
            HostHappening::Deliver(place) => self.deliver(place),
            HostHappening::Commit(life, place) => self.commit(life, place),
            HostHappening::Committed(life, place, is_durable) => {
                self.committed(life, place, is_durable);
            }
            HostHappening::Late(place, n_tries) => self.late(place, n_tries),
            HostHappening::Watch => {
                self.watch();
                self.after(30 * SECOND, HostHappening::Watch);
            }
            HostHappening::WatchClaims => {
                self.watch_claims();
                self.after(5 * SECOND, HostHappening::WatchClaims);
            }
            fault => self.fault(fault),
        }
    }

    /// Hands an event to the dispatcher and begins what it decides.
    fn handle(&mut self, event: HostEvent) {
        let now = self.both_clocks();
        let Some(host) = &mut self.host else {
            return;
        };
        let mut effects = Vec::new();
        host.dispatcher.handle(event, now, &mut effects);
        let next = host.dispatcher.next_deadline();
        let is_finished = host.dispatcher.is_finished();
        self.deadline += 1;
        if let Some(next) = next {
            let wait = next.saturating_sub(now.since_boot);
            // Rounded up: a call before the deadline decides nothing and asks for the same deadline again.
            let wait = u64::try_from(wait.as_millis()).unwrap_or(0) + 1;
            self.after(wait, HostHappening::Deadline(self.deadline));
        }
        for effect in effects {
            self.begin(effect);
        }
        if is_finished {
            self.stopped();
        }
    }

    /// Makes a dispatcher as the host's driver does.
    fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(self.settings(), &Concern::ALL, self.both_clocks())
    }

    fn settings(&self) -> Settings {
        Settings {
            limits: ClaimLimits {
                host_slots: 4,
                daemon_slots: 2,
                ..ClaimLimits::default()
            },
            drain: Duration::from_secs(25),
            surfaces: ["remote".to_owned()].into(),
            ..Settings::new(self.epoch)
        }
    }

    fn both_clocks(&self) -> Now {
        Now {
            wall: self.now(),
            since_boot: Duration::from_millis(1_000_000 + self.real),
        }
    }

    fn now(&self) -> Timestamp {
        let millis = self.base + self.offset + i64::try_from(self.real).expect("a life is short");
        Timestamp::from_millisecond(millis).expect("the years are in range")
    }

    fn after(&mut self, wait: u64, happening: HostHappening) {
        self.n_queued += 1;
        self.queue
            .insert((self.real + wait.max(1), self.n_queued), happening);
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.dice.below(high - low + 1)
    }

    /// Adds a line to the story, if there is one.
    fn say(&mut self, line: impl FnOnce(&Self) -> String) {
        if let Some(mut story) = self.story.take() {
            story.push(format!("{:>10.3} {}", self.seconds(), line(self)));
            self.story = Some(story);
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a life is short, and this is for people"
    )]
    fn seconds(&self) -> f64 {
        self.real as f64 / 1_000.0
    }

    /// Adds to the hash of what happened.
    fn note(&mut self, what: &[u64]) {
        for number in [self.real, self.offset.cast_unsigned()].iter().chain(what) {
            let word = (self.trace ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.trace = word ^ (word >> 32);
        }
    }
}
