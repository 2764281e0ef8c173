//! The single-threaded model: rows in order, and admission.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_engine::{
    Activation, ActivationState, Admission, AdmissionState, Conduct, FactState, Gate, HostCrash,
    HostEnd, HostEpoch, NewTrigger, Output, OutputState, ROOT_PERIOD, WantedFact, admit,
};
use daemon_event::{
    ActivationId, DaemonKey, Event, EventFacts, EventId, RepoName, Subject, TriggerKey,
};
use hashbrown::HashMap;
use jiff::Timestamp;

use super::roster::RosterModel;
use crate::decide::Calendar;
use crate::rows::{
    Bookmark, Counts, Coverage, DaemonRow, Matching, RefCursor, RunRow, ScheduleText, StoredTick,
    Validity,
};
use crate::zones::{SystemZones, Zones};

/// The whole content of a store, with every operation as a plain method.
///
/// Numbers of rows are places in the vectors plus 1, so that listings order alike in every store.
#[derive(Clone, Debug)]
pub struct StoreModel {
    pub(super) events: Vec<StoredEvent>,
    pub(super) event_places: HashMap<EventId, usize>,
    pub(super) identities: HashMap<String, StoredIdentity>,
    /// The branches of pull requests, `None` for those of forks.
    pub(super) heads: BTreeMap<Subject, Option<String>>,
    pub(super) cursors: BTreeMap<RepoName, BTreeMap<String, RefCursor>>,
    pub(super) bookmarks: BTreeMap<String, Bookmark>,
    pub(super) roster: RosterModel,
    /// By path within a key: two files may claim one daemon key, never one path.
    pub(super) daemons: BTreeMap<DaemonKey, BTreeMap<String, DaemonRow>>,
    /// Every key that was ever registered.
    pub(super) daemons_once: BTreeSet<DaemonKey>,
    pub(super) coverages: Vec<Coverage>,
    /// The place of each daemon's open coverage.
    pub(super) open_coverages: BTreeMap<DaemonKey, usize>,
    pub(super) ticks: BTreeMap<u64, StoredTick>,
    /// The rows that were not retracted, by their last instant.
    pub(super) standing_ticks: HashMap<DaemonKey, BTreeMap<Timestamp, u64>>,
    pub(super) next_tick: u64,
    pub(super) activations: Vec<Activation>,
    pub(super) activation_places: HashMap<ActivationId, usize>,
    /// The places of what has not ended, so that no operation looks at all that ever ran.
    pub(super) unfinished: BTreeSet<usize>,
    pub(super) triggers: Vec<StoredTrigger>,
    pub(super) trigger_places: HashMap<DaemonKey, HashMap<TriggerKey, usize>>,
    pub(super) turns: HashMap<DaemonKey, u64>,
    pub(super) n_turns: u64,
    pub(super) runs: BTreeMap<usize, RunRow>,
    pub(super) run_places: HashMap<String, usize>,
    /// The places of an activation and of one of its runs.
    pub(super) runs_of: BTreeSet<(usize, usize)>,
    pub(super) outputs: Vec<Output>,
    pub(super) values: BTreeMap<DaemonKey, BTreeMap<String, String>>,
    /// When daemons that have no file any more were removed.
    pub(super) removed: BTreeMap<DaemonKey, Timestamp>,
    pub(super) host_gate: Gate,
    pub(super) epoch: HostEpoch,
    /// In the order of their epochs, from 1.
    pub(super) starts: Vec<HostStart>,
    zones: Arc<dyn Zones>,
    #[cfg(feature = "internal-testing")]
    canary: Option<crate::Canary>,
}

#[derive(Clone, Debug)]
pub(super) struct StoredEvent {
    pub(super) event: Event,
    pub(super) later_reports: Vec<Event>,
    pub(super) duplicates: u64,
    pub(super) matching: Matching,
    pub(super) wanted: Vec<WantedFact>,
}

/// How a host began.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostStart {
    pub(super) at: Timestamp,
    /// How the one before it had ended.
    pub(super) crash: HostCrash,
}

#[derive(Clone, Debug)]
pub(super) struct StoredIdentity {
    pub(super) event: EventId,
    pub(super) at: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct StoredTrigger {
    pub(super) daemon: DaemonKey,
    pub(super) key: TriggerKey,
    pub(super) conditions: Vec<u32>,
    /// `None` where it was refused.
    pub(super) activation: Option<ActivationId>,
}

impl Default for StoreModel {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            event_places: HashMap::new(),
            identities: HashMap::new(),
            heads: BTreeMap::new(),
            cursors: BTreeMap::new(),
            bookmarks: BTreeMap::new(),
            roster: RosterModel::default(),
            daemons: BTreeMap::new(),
            daemons_once: BTreeSet::new(),
            coverages: Vec::new(),
            open_coverages: BTreeMap::new(),
            ticks: BTreeMap::new(),
            standing_ticks: HashMap::new(),
            next_tick: 1,
            activations: Vec::new(),
            activation_places: HashMap::new(),
            unfinished: BTreeSet::new(),
            triggers: Vec::new(),
            trigger_places: HashMap::new(),
            turns: HashMap::new(),
            n_turns: 0,
            runs: BTreeMap::new(),
            run_places: HashMap::new(),
            runs_of: BTreeSet::new(),
            outputs: Vec::new(),
            values: BTreeMap::new(),
            removed: BTreeMap::new(),
            host_gate: Gate::Open,
            epoch: HostEpoch(0),
            starts: Vec::new(),
            zones: Arc::new(SystemZones),
            #[cfg(feature = "internal-testing")]
            canary: None,
        }
    }
}

impl StoreModel {
    /// Makes an empty model that reads the zones of coverages from a database of its own.
    pub fn with_zones(zones: Arc<dyn Zones>) -> Self {
        Self {
            zones,
            ..Self::default()
        }
    }

    pub(super) fn calendar<'a>(&'a self, schedule: &'a ScheduleText) -> Calendar<'a> {
        Calendar {
            schedule,
            zones: &*self.zones,
        }
    }

    /// Admits one trigger; see [`Activations::enqueue`](crate::Activations::enqueue).
    pub fn enqueue(&mut self, new: NewTrigger) -> Admission {
        match new.trigger.key {
            TriggerKey::Tick(at) => self.enqueue_tick(at, new),
            TriggerKey::Event(_) | TriggerKey::Person(_) => self.admit(new),
        }
    }

    /// Returns the activation of a trigger; see [`Activations::triggered`](crate::Activations::triggered).
    pub fn triggered(&self, daemon: &DaemonKey, key: &TriggerKey) -> Option<ActivationId> {
        match key {
            TriggerKey::Tick(at) => self.standing_tick(daemon, *at)?.activation.clone(),
            TriggerKey::Event(_) | TriggerKey::Person(_) => self.admitted(daemon, key),
        }
    }

    /// Plants a fault.
    #[cfg(feature = "internal-testing")]
    pub fn plant(&mut self, canary: crate::Canary) {
        self.canary = Some(canary);
    }

    #[cfg(feature = "internal-testing")]
    pub(super) fn has(&self, canary: crate::Canary) -> bool {
        self.canary == Some(canary)
    }

    /// Walks all rows of ticks, in the order in which they were written.
    pub fn all_ticks(&self) -> impl Iterator<Item = &StoredTick> {
        self.ticks.values()
    }

    /// Walks all activations, in the order in which they were made.
    pub fn all_activations(&self) -> impl Iterator<Item = &Activation> {
        self.activations.iter()
    }

    /// Admits a trigger of any kind.
    pub(super) fn admit(&mut self, new: NewTrigger) -> Admission {
        #[cfg(feature = "internal-testing")]
        if self.has(crate::Canary::OverlapDropsWatch)
            && matches!(new.trigger.key, TriggerKey::Event(_))
            && let Some(tick) = self.unfinished().find(|row| {
                row.daemon == new.daemon && matches!(row.triggers[0].key, TriggerKey::Tick(_))
            })
        {
            return Admission::Joined(tick.id.clone());
        }
        let admission = admit(&new, &self.standing(&new));
        if !self.turns.contains_key(&new.daemon) {
            self.next_turn(new.daemon.clone());
        }
        match &admission {
            Admission::Enqueued(id) => {
                let id = id.clone();
                self.put_trigger(&new, Some(id.clone()));
                let place = self.activations.len();
                self.activation_places.insert(id, place);
                self.unfinished.insert(place);
                self.activations.push(Activation::pending(new));
            }
            Admission::Joined(id) => {
                let place = self.activation_places[id];
                self.put_trigger(&new, Some(id.clone()));
                self.activations[place].join(new.trigger, new.link);
            }
            Admission::Ended(id, end, _) => {
                self.put_trigger(&new, Some(id.clone()));
                self.activation_places
                    .insert(id.clone(), self.activations.len());
                self.activations.push(Activation::ended(new, *end));
            }
            Admission::Duplicate(_) => {}
            Admission::Refused(_) => self.put_trigger(&new, None),
        }
        admission
    }

    /// Puts a daemon at the end of those that wait for their turn.
    pub(super) fn next_turn(&mut self, daemon: DaemonKey) {
        self.n_turns += 1;
        self.turns.insert(daemon, self.n_turns);
    }

    fn admitted(&self, daemon: &DaemonKey, key: &TriggerKey) -> Option<ActivationId> {
        let place = self.trigger_places.get(daemon)?.get(key)?;
        self.triggers[*place].activation.clone()
    }

    fn standing(&self, new: &NewTrigger) -> AdmissionState {
        let known = self.admitted(&new.daemon, &new.trigger.key);
        #[cfg(feature = "internal-testing")]
        let known = known.filter(|_| !self.has(crate::Canary::UniqueIndexDropped));
        let pending = || {
            self.unfinished()
                .filter(|activation| activation.state == ActivationState::Pending)
        };
        let of_daemon = || pending().filter(|activation| activation.daemon == new.daemon);
        let count = |n: usize| u64::try_from(n).expect("a count fits");
        let since = new.trigger.recorded_at - ROOT_PERIOD;
        let of_root = |counts: &dyn Fn(&Activation) -> bool| {
            let of_root = new.link.iter().flat_map(|link| {
                let root = &link.chain.root;
                self.activations.iter().filter(move |row| {
                    row.chain.root == *root && row.created_at > since && counts(row)
                })
            });
            count(of_root.count())
        };
        AdmissionState {
            known,
            joinable: of_daemon()
                .find(|activation| activation.subject == new.subject)
                .map(|activation| activation.id.clone()),
            pending_of_daemon: count(of_daemon().count()),
            pending_in_all: count(pending().count()),
            of_root: of_root(&|row| row.state != ActivationState::Cancelled),
            ended_of_root: of_root(&|row| {
                row.state == ActivationState::Cancelled && row.started_at.is_none()
            }),
        }
    }

    /// Walks what has not ended, oldest first.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Activation> + Clone {
        self.unfinished
            .iter()
            .map(|place| &self.activations[*place])
    }

    /// Notes whether an activation that was changed has ended.
    pub(super) fn note_end(&mut self, place: usize) {
        if self.activations[place].state.is_final() {
            self.unfinished.remove(&place);
        } else {
            self.unfinished.insert(place);
        }
    }

    fn put_trigger(&mut self, new: &NewTrigger, activation: Option<ActivationId>) {
        let row = StoredTrigger {
            daemon: new.daemon.clone(),
            key: new.trigger.key.clone(),
            conditions: new.trigger.conditions.clone(),
            activation,
        };
        let places = self.trigger_places.entry(row.daemon.clone()).or_default();
        match places.get(&row.key) {
            Some(place) => self.triggers[*place] = row,
            None => {
                places.insert(row.key.clone(), self.triggers.len());
                self.triggers.push(row);
            }
        }
    }

    /// The row that lets a daemon wake, if there is one.
    pub(super) fn valid_row(&self, daemon: &DaemonKey) -> Option<&DaemonRow> {
        self.rows_of(daemon)
            .find(|row| row.validity == Validity::Valid)
    }

    pub(super) fn rows_of(&self, daemon: &DaemonKey) -> impl Iterator<Item = &DaemonRow> {
        self.daemons
            .get(daemon)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    pub(super) fn conduct(&self, daemon: &DaemonKey) -> Option<Conduct> {
        self.rows_of(daemon).next().map(|row| Conduct {
            gate: row.gate,
            failures: row.failures,
        })
    }

    pub(super) fn set_conduct(&mut self, daemon: &DaemonKey, conduct: Conduct) {
        for row in self
            .daemons
            .get_mut(daemon)
            .into_iter()
            .flat_map(BTreeMap::values_mut)
        {
            row.gate = conduct.gate;
            row.failures = conduct.failures;
        }
    }

    /// Raises the epoch; see [`Hosting::begin_epoch`](crate::Hosting::begin_epoch).
    pub fn begin_epoch(&mut self, previous: HostEnd, now: Timestamp) -> HostEpoch {
        let began = self.starts.last().map(|start| start.at);
        let leased = |row: &&Activation| row.state.is_leased();
        let n_leased = self.unfinished().filter(leased).count();
        let alone = |run: &&RunRow| run.activation.is_none() && run.finished_at.is_none();
        // A run of an older host that was never ended was under way in an earlier crash, not in this one.
        let recent = |run: &&RunRow| began.is_none_or(|began| run.started_at >= began);
        let n_alone = self.runs.values().filter(alone).filter(recent).count();
        let crash = HostCrash {
            end: previous,
            present: u32::try_from(n_leased + n_alone).unwrap_or(u32::MAX),
        };
        for place in self.unfinished.clone() {
            let activation = &mut self.activations[place];
            if !activation.state.is_leased() {
                activation.blame = activation.blame.absent_from(previous);
            }
        }
        self.starts.push(HostStart { at: now, crash });
        self.epoch = HostEpoch(self.epoch.0 + 1);
        for output in &mut self.outputs {
            if output.state == OutputState::Sending {
                output.interrupt(now);
            }
        }
        self.epoch
    }

    /// Counts starts that followed a crash; see
    /// [`Hosting::starts_after_crashes`](crate::Hosting::starts_after_crashes).
    pub fn starts_after_crashes(&self, since: Timestamp) -> u32 {
        let recent = |start: &&HostStart| start.at > since && start.crash.end.is_crash();
        u32::try_from(self.starts.iter().filter(recent).count()).unwrap_or(u32::MAX)
    }

    /// Returns how the host of an epoch ended, if another began after it.
    pub(super) fn crash_of(&self, epoch: HostEpoch) -> Option<HostCrash> {
        let next = usize::try_from(epoch.0).ok()?;
        self.starts.get(next).map(|start| start.crash)
    }

    /// Forgets what is old; see [`Hosting::retain`](crate::Hosting::retain).
    pub fn retain(&mut self, payloads: Timestamp, ids: Timestamp, ticks: Timestamp) {
        for stored in &mut self.events {
            let waits = stored
                .wanted
                .iter()
                .any(|fact| fact.state == FactState::Waiting);
            if stored.matching == Matching::Done && !waits && stored.event.received_at < payloads {
                stored.event.payload = [].into();
                stored.event.facts = EventFacts::default();
                stored.later_reports.clear();
                stored.wanted.clear();
            }
        }
        self.identities.retain(|key, identity| {
            // A replay of a signed body can come under any id, so that bodies are remembered as long as ticks.
            let kept_since = if key.starts_with("body:") { ticks } else { ids };
            identity.at >= kept_since
        });
        self.ticks.retain(|_, tick| tick.recorded_at >= ticks);
        for standing in self.standing_ticks.values_mut() {
            standing.retain(|_, number| self.ticks.contains_key(number));
        }
    }

    /// Returns the current epoch; see [`Hosting::epoch`](crate::Hosting::epoch).
    pub fn epoch(&self) -> HostEpoch {
        self.epoch
    }

    /// Returns at once; see [`Hosting::probe`](crate::Hosting::probe).
    pub fn probe(&self) {}

    /// Counts rows; see [`Hosting::counts`](crate::Hosting::counts).
    pub fn counts(&self) -> Counts {
        let count = |n: usize| u64::try_from(n).expect("a count fits");
        Counts {
            events: count(self.events.len()),
            unmatched: count(
                self.events
                    .iter()
                    .filter(|stored| stored.matching == Matching::Due)
                    .count(),
            ),
            activations: ActivationState::ALL
                .into_iter()
                .map(|state| {
                    let n = self.activations.iter().filter(|row| row.state == state);
                    (state, count(n.count()))
                })
                .collect(),
            outputs: OutputState::ALL
                .into_iter()
                .map(|state| {
                    let n = self.outputs.iter().filter(|row| row.state == state);
                    (state, count(n.count()))
                })
                .collect(),
            facts: FactState::ALL
                .into_iter()
                .map(|state| {
                    let all = self.events.iter().flat_map(|stored| &stored.wanted);
                    (state, count(all.filter(|fact| fact.state == state).count()))
                })
                .collect(),
        }
    }
}
