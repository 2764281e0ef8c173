//! The rows that stores keep beside the engine's own types.

// What may be claimed is decided in the engine, so the request is defined there.
use daemon_engine::{
    Activation, ActivationState, FactState, Gate, NewTrigger, OutputState, RunLease, WantedFact,
};
pub use daemon_engine::{ClaimRequest, Rates};
use daemon_event::{
    ActivationId, DaemonKey, Event, EventId, Facts, Need, RepoName, Source, Subject,
};
use daemon_schedule::{Cancels, TickOutcome, TickRow, Unfinished};
use jiff::{SignedDuration, Timestamp};

/// An event on its way into the store.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The event.
    pub event: Event,
    /// The keys by which a repetition is known; any one already stored makes this event a duplicate.
    pub identities: Vec<Identity>,
    /// The keys of what happened, which every source that reports it derives alike: an event that shares one with a stored
    /// event is the same happening, unless this source reported the stored one as this kind already.
    pub happenings: Vec<Identity>,
    /// Whether conditions are still to be matched against it.
    pub matching: Matching,
}

/// One key by which an event is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The key: `id:github:<delivery>`, `body:github:<sha-256>`; of what happened, `move:<repo>:<ref>:<before>:<after>`.
    pub key: String,
    /// How long the key counts after it was first stored; `None` for as long as it is kept.
    pub within: Option<SignedDuration>,
}

/// Whether conditions are still to be matched against a stored event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// They are.
    Due,
    /// They were, or need not be.
    Done,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The id under which it is stored: for a duplicate, that of the first.
    pub id: EventId,
    /// Whether it was already there.
    pub freshness: Freshness,
}

/// Whether an event was already stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It was not.
    New,
    /// It was; the repetition is counted and nothing else happens.
    Duplicate,
    /// What happened was, as another source or kind reports it; this report is kept, and the event is due again if it is.
    Report,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// The order in which events were stored, from 1, without gaps among those accepted.
    pub seq: u64,
    /// The event as it was reported first; its facts include those of the later reports.
    pub event: Event,
    /// Reports of the same happening by other sources, or by the same as another kind; oldest first, under the event's id.
    pub later_reports: Vec<Event>,
    /// How often it was told again.
    pub duplicates: u64,
    /// Whether conditions are still to be matched against it.
    pub matching: Matching,
    /// The triggers that it became, with what became of each.
    pub triggers: Vec<EventTrigger>,
    /// The facts that its payload lacked and a condition needed, by name of the need.
    pub wanted: Vec<WantedFact>,
}

impl EventRow {
    /// Returns every report of the happening, each with the facts of all: services before git, since a pull request says
    /// more than a branch, then by kind, so that nothing depends on which report came first.
    pub fn reports(&self) -> Vec<Event> {
        let later_reports = self.later_reports.iter().map(|event| self.completed(event));
        let mut reports: Vec<Event> = std::iter::once(self.event.clone())
            .chain(later_reports)
            .collect();
        reports.sort_by(|one, other| {
            let rank = |event: &Event| (event.source == Source::Git, event.source);
            rank(one)
                .cmp(&rank(other))
                .then_with(|| one.kind.cmp(&other.kind))
        });
        reports
    }

    /// Puts the report that is about a subject first, if there is one; a run that it woke works with it.
    #[must_use]
    pub fn led_by(mut self, subject: Option<&Subject>) -> Self {
        let is_about = |event: &Event| event.subject.as_ref() == subject;
        if is_about(&self.event) {
            return self;
        }
        if let Some(place) = self.later_reports.iter().position(is_about) {
            let lead = self.completed(&self.later_reports[place]);
            self.later_reports[place] = std::mem::replace(&mut self.event, lead);
        }
        self
    }

    fn completed(&self, report: &Event) -> Event {
        let mut event = report.clone();
        event.facts.complete(&self.event.facts);
        event
    }
}

/// One daemon that an event reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTrigger {
    /// The daemon.
    pub daemon: DaemonKey,
    /// The conditions that it met.
    pub conditions: Vec<u32>,
    /// The activation that carries it; `None` where a queue limit refused it.
    pub activation: Option<ActivationId>,
}

/// A matched event: what it wakes, committed together with the mark that it was matched.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The event.
    pub event: EventId,
    /// How many later reports were matched; an event that has more by then stays to be matched.
    pub n_later: usize,
    /// One trigger per daemon that it wakes.
    pub triggers: Vec<NewTrigger>,
    /// The facts without which conditions that otherwise hold cannot be decided.
    pub wanted: Vec<Need>,
}

/// What became of one try at a wanted fact.
#[derive(Clone, Debug)]
pub struct TriedFact {
    /// The event.
    pub event: EventId,
    /// Where the fact stands from now on.
    pub fact: WantedFact,
    /// What came of a fact that was found.
    pub found: Option<FoundFact>,
}

/// What came of a fact that was found.
#[derive(Clone, Debug)]
pub struct FoundFact {
    /// Everything that is known of the event from now on.
    pub facts: Facts,
    /// One trigger per daemon that it wakes now.
    pub triggers: Vec<NewTrigger>,
    /// The facts that conditions need beyond it.
    pub wanted: Vec<Need>,
}

/// Where a branch or tag of a watched repository was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefCursor {
    /// The full name: `refs/heads/main`.
    pub name: String,
    /// The commit, or `None` once the ref is gone.
    pub commit: Option<String>,
    /// How many moves were told.
    pub moves: u64,
}

/// A registered daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonRow {
    /// Its repository and id; for a file without a usable id, the directory's name.
    pub key: DaemonKey,
    /// The file's path in the repository.
    pub path: String,
    /// The content hash of the file and its support tree.
    pub rev: String,
    /// The commit it was read at.
    pub commit: String,
    /// Its purpose, as far as it could be read.
    pub purpose: String,
    /// Whether it may wake.
    pub validity: Validity,
    /// What was found in the file, as the linter's JSON array.
    pub diagnostics: String,
    /// What else the host keeps of it: its conditions and support tree, as JSON that only the host reads.
    pub definition: String,
    /// Whether it has conditions and a schedule.
    pub modes: Modes,
    /// Its schedule and zone, if it has a valid one.
    pub schedule: Option<ScheduleText>,
    /// Whether it may start activations.
    pub gate: Gate,
    /// How many of its activations failed in a row.
    pub failures: u32,
    /// Only events stored after this one wake it.
    pub since_seq: u64,
    /// When it was first registered.
    pub registered_at: Timestamp,
}

/// Whether a daemon file may wake its daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It may.
    Valid,
    /// It has errors; it does not wake until they are mended.
    Invalid,
}

/// What can wake a daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// It has conditions.
    pub watch: bool,
    /// It has a schedule.
    pub schedule: bool,
}

/// A five-field expression and the zone it is read in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleText {
    /// The expression, as written.
    pub expression: String,
    /// The IANA name of the zone.
    pub zone: String,
}

/// The registry of one repository as it shall be from now on.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The repository.
    pub repo: RepoName,
    /// The commit that was read.
    pub commit: String,
    /// Every daemon file found there. `gate`, `failures`, `since_seq` and `registered_at` are kept from the stored row
    /// of the same key, except that a new `rev` opens a tripped gate; a key that was not registered gets `Open`, 0, the
    /// newest event that was stored, or received until `since`, and `now`.
    pub daemons: Vec<DaemonRow>,
    /// When it was read.
    pub now: Timestamp,
    /// Events received after this wake the daemons that are new; `None` for events that are stored after this.
    pub since: Option<Timestamp>,
}

/// What a registration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryChange {
    /// Newly registered.
    pub added: Vec<DaemonKey>,
    /// With a new revision.
    pub modified: Vec<DaemonKey>,
    /// No longer there; their pending activations are cancelled.
    pub removed: Vec<DaemonKey>,
}

/// One (expression, zone) of one daemon, from when it was seen until it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The daemon.
    pub daemon: DaemonKey,
    /// Counts the daemon's coverages.
    pub number: u64,
    /// The expression and zone.
    pub schedule: ScheduleText,
    /// Ticks up to and including this instant are recorded.
    pub cursor: Timestamp,
}

/// Ticks of one coverage, committed with the move of its cursor.
#[derive(Clone, Debug)]
pub struct TickCommit {
    /// The daemon.
    pub daemon: DaemonKey,
    /// The coverage.
    pub coverage: u64,
    /// The cursor as it was read; another value in the store means that somebody else was faster.
    pub from: Timestamp,
    /// The cursor from now on.
    pub to: Timestamp,
    /// What is recorded. A row `enqueued` or `coalesced` gets its activation from `trigger`.
    pub rows: Vec<TickRow>,
    /// The activation that the enqueued tick makes.
    pub trigger: Option<NewTrigger>,
    /// Whether the leased activations of the daemon's earlier ticks are cancelled.
    pub cancels: Cancels,
    /// When it is recorded.
    pub now: Timestamp,
}

/// What became of a [`TickCommit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TickResult {
    /// It is recorded, with the activation that the trigger made or joined.
    Recorded(Option<ActivationId>),
    /// The cursor had moved: nothing was written.
    Elsewhere {
        /// The cursor as it is; `None` once the coverage has ended.
        cursor: Option<Timestamp>,
    },
}

/// A recorded tick, or an unbroken range of ticks with one outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTick {
    /// The daemon.
    pub daemon: DaemonKey,
    /// The coverage whose calendar the instants follow; `None` where that is not known.
    pub coverage: Option<u64>,
    /// The first instant of the range.
    pub first: Timestamp,
    /// The only, or last, instant.
    pub scheduled_at: Timestamp,
    /// How many instants.
    pub count: u64,
    /// What became of them.
    pub outcome: TickOutcome,
    /// The activation they made, joined, or gave way to.
    pub activation: Option<ActivationId>,
    /// When they were recorded.
    pub recorded_at: Timestamp,
}

/// What a daemon's schedule must know of its activations: those of ticks that have not ended, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickActivations {
    /// Those that are claimed, running or delivering.
    pub running: Vec<ActivationId>,
    /// Those that are pending.
    pub pending: Vec<ActivationId>,
}

impl TickActivations {
    /// Tells whether every one has ended.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.pending.is_empty()
    }

    /// Counts them, for a policy.
    pub fn unfinished(&self) -> Unfinished {
        let count = |ids: &[ActivationId]| u64::try_from(ids.len()).expect("a count fits");
        Unfinished {
            running: count(&self.running),
            pending: count(&self.pending),
        }
    }
}

/// Where an output is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// The surface's own id for it.
    RemoteId(String),
    /// Where it was to land: a branch's full name.
    Target(String),
    /// What it puts there: a commit.
    Revision(String),
}

/// A run, as the index of run folders knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its id, which is its folder's name.
    pub id: String,
    /// The activation, for an attempt's run.
    pub activation: Option<ActivationId>,
    /// The daemon of that activation.
    pub daemon: Option<DaemonKey>,
    /// Which attempt.
    pub attempt: u32,
    /// The provider.
    pub provider: String,
    /// `running`, `done`, `failed`, `cancelled`, `timeout` or `unknown`.
    pub state: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The whole object as the listings show it, as JSON; its live fields are read from the folder.
    pub object: String,
}

/// What a listing asks for; `None` does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// At most so many rows (1 to 500).
    pub limit: u32,
    /// The cursor that the page before returned.
    pub after: Option<String>,
    /// Only of this daemon, in whatever repository.
    pub daemon: Option<String>,
    /// Only of this repository.
    pub repo: Option<RepoName>,
    /// Only in this state (for ticks: with this outcome).
    pub state: Option<String>,
    /// Only those made at or after this instant.
    pub since: Option<Timestamp>,
    /// Only those made before this instant.
    pub until: Option<Timestamp>,
}

/// One page of a listing, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// What to pass as `after` for the next page.
    pub next: Option<String>,
}

/// What the end of an attempt, or a cancellation, left.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The activation as it is now.
    pub activation: Activation,
    /// The gate of its daemon as it is now.
    pub gate: Gate,
}

/// An activation whose last host or lease is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Reclaimed {
    /// The activation.
    pub id: ActivationId,
    /// The lease that ended.
    pub lease: RunLease,
    /// What it became.
    pub state: ActivationState,
}

/// How many rows of each kind there are, for metrics and `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events stored.
    pub events: u64,
    /// Events waiting to be matched.
    pub unmatched: u64,
    /// Activations by state.
    pub activations: Vec<(ActivationState, u64)>,
    /// Outputs by state.
    pub outputs: Vec<(OutputState, u64)>,
    /// Wanted facts by state.
    pub facts: Vec<(FactState, u64)>,
}
