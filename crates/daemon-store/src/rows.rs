//! The rows of a store that are not types of the engine.

// What may be claimed is decided in the engine, so the request is defined there.
use daemon_engine::{
    Activation, ActivationState, FactState, Gate, NewTrigger, OutputState, RunLease, WantedFact,
};
pub use daemon_engine::{ClaimRequest, Rates};
use daemon_event::{
    ActivationId, DaemonKey, Event, EventFacts, EventId, Need, RepoName, Source, Subject,
};
use daemon_schedule::{Cancels, TickOutcome, TickRow, Unfinished};
use jiff::{SignedDuration, Timestamp};

/// An event to be stored.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The event, parsed and verified.
    pub event: Event,
    /// The keys that identify a repetition: the event is a duplicate if any of them is stored.
    pub identities: Vec<Identity>,
    /// The keys of the reported change, which every source derives in the same way. An event that shares one with a stored
    /// event is a report of the same change, unless this source has already reported the stored one as this kind.
    pub happenings: Vec<Identity>,
    /// The keys under which the same change is stored if it became known in another way. The event is a duplicate if any of
    /// them is stored; they are not stored with it.
    pub counterparts: Vec<Identity>,
    /// Whether conditions are still to be matched against it.
    pub matching: Matching,
}

/// A key that identifies repetitions of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The key: `id:github:<delivery>` or `body:github:<sha-256>`; of a change, `move:<repo>:<ref>:<before>:<after>`.
    pub key: String,
    /// How long the key counts after it was first stored; `None` for as long as it is kept.
    pub within: Option<SignedDuration>,
}

/// Whether conditions are still to be matched against a stored event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// The event is to be matched.
    Due,
    /// The event was matched, or need not be.
    Done,
}

/// The result of storing an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The id under which it is stored: for a duplicate, that of the first.
    pub id: EventId,
    /// Whether it was stored before.
    pub freshness: Freshness,
}

/// Whether an event was already stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It is stored for the first time.
    New,
    /// It was stored before; the repetition is counted and nothing else changes.
    Duplicate,
    /// Another source or kind reported the same change before. This report is kept with that event, which is matched again
    /// if this report is to be matched.
    Report,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// The order in which events were stored, from 1, without gaps among those accepted.
    pub seq: u64,
    /// The event as it was first reported; its facts include those of later reports.
    pub event: Event,
    /// Reports of the same change by other sources, or by the same source as another kind; oldest first, with the event's id.
    pub later_reports: Vec<Event>,
    /// How many further deliveries of the same report were counted and dropped.
    pub duplicates: u64,
    /// Whether conditions are still to be matched against it.
    pub matching: Matching,
    /// Its triggers, one per daemon that it matched.
    pub triggers: Vec<EventTrigger>,
    /// The facts that conditions need and the payload does not contain, by name of the need.
    pub wanted: Vec<WantedFact>,
}

impl EventRow {
    /// Returns every report of the change, each with the facts of all. Services come before git, because a pull request says
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

    /// Puts the report about a subject first, if one exists, since a run works with the report that woke it.
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

/// A daemon that an event matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTrigger {
    /// The daemon that the event woke.
    pub daemon: DaemonKey,
    /// Indexes of the conditions that matched.
    pub conditions: Vec<u32>,
    /// The activation of the trigger; `None` if a queue limit refused it.
    pub activation: Option<ActivationId>,
}

/// A matched event with its triggers, which are committed together with the mark that it was matched.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The id of the event that was matched.
    pub event: EventId,
    /// The number of later reports that were matched. An event that has more when this is committed is matched again.
    pub n_later: usize,
    /// One trigger per daemon that it wakes.
    pub triggers: Vec<NewTrigger>,
    /// The facts on which the remaining conditions depend.
    pub wanted: Vec<Need>,
}

/// The result of one try to fetch a wanted fact.
#[derive(Clone, Debug)]
pub struct TriedFact {
    /// The id of the event that the fact belongs to.
    pub event: EventId,
    /// The new state of the fact.
    pub fact: WantedFact,
    /// The consequences of a found fact.
    pub found: Option<FoundFact>,
}

/// The consequences of a found fact.
#[derive(Clone, Debug)]
pub struct FoundFact {
    /// All known facts of the event, including the new one.
    pub facts: EventFacts,
    /// One trigger per daemon that it wakes now.
    pub triggers: Vec<NewTrigger>,
    /// Further facts that conditions need.
    pub wanted: Vec<Need>,
}

/// The last seen position of a branch or tag of a watched repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefCursor {
    /// The full name of the ref, such as `refs/heads/main`.
    pub name: String,
    /// The commit; `None` if the ref was deleted.
    pub commit: Option<String>,
    /// The number of moves that were reported.
    pub moves: u64,
}

/// A string that the host keeps under a name, such as how far it has compared the events of a service with its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bookmark {
    /// The name; its first part, up to `/`, says what the string is.
    pub name: String,
    /// The string, which only its writer reads.
    pub text: String,
    /// When it was written.
    pub at: Timestamp,
}

/// A registered daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonRow {
    /// The repository and the id; for a file without a usable id, the name of its directory.
    pub key: DaemonKey,
    /// The file's path in the repository.
    pub path: String,
    /// The content hash of the file and its support tree.
    pub rev: String,
    /// The commit from which it was read.
    pub commit: String,
    /// The purpose; empty if it could not be read.
    pub purpose: String,
    /// Whether the file is valid, so that the daemon can wake.
    pub validity: Validity,
    /// The linter's findings, as a JSON array.
    pub diagnostics: String,
    /// Its conditions and support tree, as JSON that only the host reads.
    pub definition: String,
    /// Whether it has conditions and a schedule.
    pub modes: Modes,
    /// The schedule and its zone, if it has a valid schedule.
    pub schedule: Option<ScheduleText>,
    /// Whether it may start activations.
    pub gate: Gate,
    /// The number of consecutive failed activations.
    pub failures: u32,
    /// The newest event that does not wake it: only later ones do.
    pub since_seq: u64,
    /// When it was first registered.
    pub registered_at: Timestamp,
}

/// Whether a daemon file is valid, so that it can wake its daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// The file is valid.
    Valid,
    /// The file has errors; the daemon does not wake until they are fixed.
    Invalid,
}

/// The kinds of triggers that can wake a daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Whether the file has conditions.
    pub watch: bool,
    /// Whether the file has a schedule.
    pub schedule: bool,
}

/// A five-field expression and the zone it is read in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleText {
    /// The five-field expression, as the daemon file spells it.
    pub expression: String,
    /// The IANA name of the zone.
    pub zone: String,
}

/// The new registry of one repository.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The repository, whose whole registry is replaced.
    pub repo: RepoName,
    /// The commit that was read.
    pub commit: String,
    /// Every daemon file of that commit. `gate`, `failures`, `since_seq` and `registered_at` are kept from the stored row
    /// of the same key, except that a new `rev` opens a tripped gate; a key that was not registered gets `Open`, 0, the
    /// newest event that was stored, or received until `since`, and `now`.
    pub daemons: Vec<DaemonRow>,
    /// When the commit was read.
    pub now: Timestamp,
    /// Events received after this instant wake new daemons; `None` means events that are stored after the registration.
    pub since: Option<Timestamp>,
}

/// The changes of a registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryChange {
    /// Daemons that were not registered before.
    pub added: Vec<DaemonKey>,
    /// Daemons with a new revision.
    pub modified: Vec<DaemonKey>,
    /// Daemons that are no longer registered; their pending activations are cancelled.
    pub removed: Vec<DaemonKey>,
}

/// The period during which a daemon had one expression and zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The daemon that the schedule belongs to.
    pub daemon: DaemonKey,
    /// Its number among the daemon's coverages.
    pub number: u64,
    /// The expression and zone of that period.
    pub schedule: ScheduleText,
    /// Ticks up to and including this instant are recorded.
    pub cursor: Timestamp,
}

/// Ticks of one coverage, which are committed together with the new cursor.
#[derive(Clone, Debug)]
pub struct TickCommit {
    /// The daemon whose ticks are recorded.
    pub daemon: DaemonKey,
    /// The number of the coverage that the ticks belong to.
    pub coverage: u64,
    /// The cursor as it was read. The commit writes nothing if the store has another value: another host was faster.
    pub from: Timestamp,
    /// The cursor afterwards: ticks up to and including it are recorded.
    pub to: Timestamp,
    /// The rows to be recorded. One that is `enqueued` or `coalesced` gets its activation from `trigger`.
    pub rows: Vec<TickRow>,
    /// The activation that the enqueued tick makes.
    pub trigger: Option<NewTrigger>,
    /// Whether the leased activations of the daemon's earlier ticks are cancelled.
    pub cancels: Cancels,
    /// The instant that is stored as the time of recording.
    pub now: Timestamp,
}

/// The result of a [`TickCommit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TickResult {
    /// It is recorded; the id is the activation that the trigger made or joined.
    Recorded(Option<ActivationId>),
    /// The cursor had moved: nothing was written.
    Elsewhere {
        /// The stored cursor; `None` if the coverage has ended.
        cursor: Option<Timestamp>,
    },
}

/// A recorded tick, or an unbroken range of ticks with one outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTick {
    /// The daemon whose ticks they are.
    pub daemon: DaemonKey,
    /// The coverage whose calendar the instants follow; `None` where that is not known.
    pub coverage: Option<u64>,
    /// The first instant of the range.
    pub first: Timestamp,
    /// The only, or last, instant.
    pub scheduled_at: Timestamp,
    /// How many instants the range has, from 1.
    pub count: u64,
    /// The outcome of all of them.
    pub outcome: TickOutcome,
    /// The activation they made, joined, or gave way to.
    pub activation: Option<ActivationId>,
    /// When a host recorded them, which is later than their instants after an outage.
    pub recorded_at: Timestamp,
}

/// The unfinished activations of a daemon's ticks, which its overlap policy depends on; oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickActivations {
    /// Claimed, running or delivering activations.
    pub running: Vec<ActivationId>,
    /// Activations that wait to be claimed.
    pub pending: Vec<ActivationId>,
}

impl TickActivations {
    /// Reports whether all of them have ended.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.pending.is_empty()
    }

    /// Returns the numbers of both, for a policy.
    pub fn unfinished(&self) -> Unfinished {
        let count = |ids: &[ActivationId]| u64::try_from(ids.len()).expect("a count fits");
        Unfinished {
            running: count(&self.running),
            pending: count(&self.pending),
        }
    }
}

/// The place on a surface by which outputs are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// The surface's own id for it.
    RemoteId(String),
    /// The target, such as a branch's full name.
    Target(String),
    /// The revision, such as a commit.
    Revision(String),
}

/// A row of the run index.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// The id, which is the name of its folder.
    pub id: String,
    /// The activation; `None` for a run that is not an attempt.
    pub activation: Option<ActivationId>,
    /// The daemon of that activation.
    pub daemon: Option<DaemonKey>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The name of the provider.
    pub provider: String,
    /// `running`, `done`, `failed`, `cancelled`, `timeout` or `unknown`.
    pub state: String,
    /// When the run started.
    pub started_at: Timestamp,
    /// When the run ended; `None` while it is under way.
    pub finished_at: Option<Timestamp>,
    /// The object that listings show, as JSON; fields that change during a run are read from the folder.
    pub object: String,
}

/// The end of a run in its row of the run index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// `done`, `failed`, `cancelled`, `timeout` or `unknown`.
    pub state: String,
    /// When the run ended.
    pub finished_at: Timestamp,
    /// The object that listings show, as JSON.
    pub object: String,
}

/// A query of a listing; a field that is `None` does not restrict it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The maximum number of rows, 1 to 500.
    pub limit: u32,
    /// The cursor that the page before returned.
    pub after: Option<String>,
    /// Only of daemons with this id, in any repository.
    pub daemon: Option<String>,
    /// Only rows of this repository.
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
    /// At most `limit` rows, newest first.
    pub rows: Vec<T>,
    /// The value of `after` for the next page; `None` on the last one.
    pub next: Option<String>,
}

/// The result of the end of an attempt, or of a cancellation.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The activation in its new state.
    pub activation: Activation,
    /// The gate of its daemon after the end.
    pub gate: Gate,
}

/// An activation that was taken back from an ended host, or after its lease expired.
#[derive(Clone, Debug, PartialEq)]
pub struct Reclaimed {
    /// The activation that was taken back.
    pub id: ActivationId,
    /// The lease that ended: a write under it is refused from now on.
    pub lease: RunLease,
    /// The state afterwards.
    pub state: ActivationState,
}

/// The number of rows of each kind, for metrics and `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All stored events.
    pub events: u64,
    /// Events waiting to be matched.
    pub unmatched: u64,
    /// Activations in each state, also those with none.
    pub activations: Vec<(ActivationState, u64)>,
    /// Outputs in each state, also those with none.
    pub outputs: Vec<(OutputState, u64)>,
    /// Wanted facts in each state, also those with none.
    pub facts: Vec<(FactState, u64)>,
}
