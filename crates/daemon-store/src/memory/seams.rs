//! The store traits over the model.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use daemon_engine::{
    Activation, Admission, AttemptEnd, DaemonState, Gate, HostEnd, HostEpoch, NewTrigger, Output,
    OutputKey, RunLease, Settlement,
};
use daemon_event::{ActivationId, DaemonKey, EventId, RepoName, Subject, TriggerKey};
use daemon_roster::{CheckInRecord, RosterChanges, RowId};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::error::StoreError;
use crate::roster::{AuditQuery, LoadedRoster, RosterRecords, RosterVersion, StoredAudit};
use crate::rows::{
    Accepted, Bookmark, ClaimRequest, Counts, Coverage, DaemonRow, Ended, EventRow, Matched,
    NewEvent, OutputPlace, Page, Query, Rates, Reclaimed, RefCursor, Registration, RegistryChange,
    RunEnd, RunRow, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult, TriedFact,
};
use crate::search::{Search, SearchFound, SearchQuery};
use crate::traits::{Activations, Daemons, Events, Hosting, Outbox, Ticks, WantedFacts};

/// The in-memory store; its clones share one content.
///
/// The traits are shared between tasks and the model has one owner, so a lock guards it. The lock is never held across an
/// await, and no operation under it can fail half-way.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    model: Arc<Mutex<StoreModel>>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Plants a fault.
    #[cfg(feature = "internal-testing")]
    pub fn plant(&self, canary: crate::Canary) {
        self.model().plant(canary);
    }

    fn model(&self) -> MutexGuard<'_, StoreModel> {
        self.model.lock().expect("no operation of the model panics")
    }
}

/// What a method of the model returns, as a method of a trait returns it.
trait Answer<T> {
    fn answer(self) -> Result<T, StoreError>;
}

impl<T> Answer<T> for T {
    fn answer(self) -> Result<T, StoreError> {
        Ok(self)
    }
}

impl<T> Answer<T> for Result<T, StoreError> {
    fn answer(self) -> Self {
        self
    }
}

/// Implements a trait of the store: each method calls the method of the model that has its name.
macro_rules! seam {
    (impl $seam:ident {
        $(fn $method:ident($($argument:ident: $type:ty),*) -> $value:ty;)*
    }) => {
        #[async_trait]
        impl $seam for MemoryStore {
            $(async fn $method(&self, $($argument: $type),*) -> Result<$value, StoreError> {
                self.model().$method($($argument),*).answer()
            })*
        }
    };
}

seam! {
    impl Events {
        fn accept(events: Vec<NewEvent>) -> Vec<Accepted>;
        fn accept_moves(repo: &RepoName, cursors: Vec<RefCursor>, events: Vec<NewEvent>) -> Vec<Accepted>;
        fn ref_cursors(repo: &RepoName) -> Vec<RefCursor>;
        fn accept_marked(bookmarks: Vec<Bookmark>, events: Vec<NewEvent>) -> Vec<Accepted>;
        fn bookmarks(prefix: &str) -> Vec<Bookmark>;
        fn unmatched(after: u64, limit: u32) -> Vec<EventRow>;
        fn commit_matches(matched: Vec<Matched>, now: Timestamp) -> Vec<Admission>;
        fn match_and_claim(claim: &ClaimRequest, matched: Vec<Matched>) -> (Vec<Admission>, Option<Activation>);
        fn event(id: &EventId) -> Option<EventRow>;
        fn events_among(ids: &[EventId]) -> Vec<EventRow>;
        fn head_of(pull_request: &Subject) -> Option<String>;
        fn known(new: &NewEvent) -> Option<EventId>;
        fn events(query: &Query) -> Page<EventRow>;
    }
}

seam! {
    impl WantedFacts {
        fn due_facts(now: Timestamp, limit: u32) -> Vec<EventRow>;
        fn next_fact_at() -> Option<Timestamp>;
        fn settle_fact(tried: TriedFact, now: Timestamp) -> Vec<Admission>;
    }
}

seam! {
    impl Daemons {
        fn register(registration: Registration) -> RegistryChange;
        fn daemons() -> Vec<DaemonRow>;
        fn daemons_once() -> Vec<DaemonKey>;
        fn daemons_of(repo: &RepoName) -> Vec<DaemonRow>;
        fn set_gate(daemon: &DaemonKey, gate: Gate) -> ();
        fn set_host_gate(gate: Gate) -> ();
        fn host_gate() -> Gate;
    }
}

seam! {
    impl Ticks {
        fn coverages() -> Vec<Coverage>;
        fn tick_activations(daemons: &[DaemonKey]) -> Vec<TickActivations>;
        fn commit_ticks(commits: Vec<TickCommit>) -> Vec<TickResult>;
        fn cover(daemon: DaemonKey, schedule: Option<ScheduleText>, now: Timestamp) -> ();
        fn retract(now: Timestamp) -> u64;
        fn ticks(query: &Query) -> Page<StoredTick>;
    }
}

seam! {
    impl Activations {
        fn enqueue(trigger: NewTrigger) -> Admission;
        fn triggered(daemon: &DaemonKey, key: &TriggerKey) -> Option<ActivationId>;
        fn claim(request: &ClaimRequest) -> Option<Activation>;
        fn claim_one(id: &ActivationId, request: &ClaimRequest) -> Option<Activation>;
        fn over_rate(ids: &[ActivationId], rates: Rates, now: Timestamp) -> BTreeSet<ActivationId>;
        fn unfinished_among(ids: &[ActivationId]) -> BTreeSet<ActivationId>;
        fn hasten(ids: &[ActivationId], now: Timestamp) -> ();
        fn next_claim_at(now: Timestamp) -> Option<Timestamp>;
        fn start_run(id: &ActivationId, lease: RunLease, run: RunRow, now: Timestamp) -> ();
        fn put_run(run: RunRow, lease: Option<RunLease>) -> ();
        fn end_run(id: &str, end: RunEnd) -> ();
        fn forget_run(id: &str) -> ();
        fn renew(leases: Vec<(ActivationId, RunLease)>, until: Timestamp) -> Vec<ActivationId>;
        fn end_attempt(id: &ActivationId, lease: RunLease, end: AttemptEnd) -> Ended;
        fn reclaim(epoch: HostEpoch, now: Timestamp) -> Vec<Reclaimed>;
        fn reclaimable(epoch: HostEpoch, now: Timestamp) -> Vec<Activation>;
        fn expire(now: Timestamp) -> u64;
        fn cancel(id: &ActivationId, reason: &str, now: Timestamp) -> Ended;
        fn retry(id: &ActivationId, now: Timestamp) -> Activation;
        fn activation(id: &ActivationId) -> Option<Activation>;
        fn activations(query: &Query) -> Page<Activation>;
        fn run(id: &str) -> Option<RunRow>;
        fn runs(query: &Query) -> Page<RunRow>;
        fn runs_of(activation: &ActivationId) -> Vec<RunRow>;
        fn state(daemon: &DaemonKey, now: Timestamp) -> DaemonState;
    }
}

seam! {
    impl Outbox {
        fn due_outputs(now: Timestamp, limit: u32) -> Vec<Output>;
        fn next_output_at(now: Timestamp) -> Option<Timestamp>;
        fn hasten_outputs(now: Timestamp) -> ();
        fn begin_send(key: &OutputKey) -> ();
        fn settle(key: &OutputKey, settlement: Settlement) -> Output;
        fn output(key: &OutputKey) -> Option<Output>;
        fn outputs_of(activation: &ActivationId) -> Vec<Output>;
        fn outputs_at(surface: &str, place: &OutputPlace) -> Vec<Output>;
        fn outputs(query: &Query) -> Page<Output>;
    }
}

seam! {
    impl RosterRecords {
        fn load_roster(now: Timestamp) -> LoadedRoster;
        fn commit_roster(expected: RosterVersion, changes: RosterChanges) -> RosterVersion;
        fn check_ins_of(row: &RowId, limit: u32) -> Vec<CheckInRecord>;
        fn roster_audit(query: &AuditQuery) -> Vec<StoredAudit>;
        fn prune_roster(now: Timestamp) -> ();
    }
}

seam! {
    impl Search {
        fn search(query: &SearchQuery) -> SearchFound;
    }
}

seam! {
    impl Hosting {
        fn begin_epoch(previous: HostEnd, now: Timestamp) -> HostEpoch;
        fn starts_after_crashes(since: Timestamp) -> u32;
        fn epoch() -> HostEpoch;
        fn retain(payloads: Timestamp, ids: Timestamp, ticks: Timestamp) -> ();
        fn forget_states(before: Timestamp) -> ();
        fn counts() -> Counts;
        fn probe() -> ();
    }
}
