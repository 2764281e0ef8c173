//! The model behind the store traits.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use daemon_engine::{
    Activation, Admission, AttemptEnd, DaemonState, Gate, HostEnd, HostEpoch, NewTrigger, Output,
    OutputKey, RunLease, Settlement,
};
use daemon_event::{ActivationId, DaemonKey, EventId, RepoName, Subject, TriggerKey};
use jiff::Timestamp;

use super::model::Model;
use crate::error::StoreError;
use crate::rows::{
    Accepted, ClaimRequest, Counts, Coverage, DaemonRow, Ended, EventRow, Matched, NewEvent,
    OutputPlace, Page, Query, Rates, Reclaimed, RefCursor, Registration, RegistryChange, RunRow,
    StoredTick, TickActivations, TickCommit, TickResult, TriedFact,
};
use crate::traits::{Activations, Events, Hosting, Outbox, Registry, Ticks, WantedFacts};

/// The in-memory store; its clones share one content.
///
/// The traits are shared between tasks while the model has one owner, so a lock stands between them: the only one, never
/// held across an await, around operations that cannot fail half-way.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    model: Arc<Mutex<Model>>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().expect("no operation of the model panics")
    }
}

#[async_trait]
impl Events for MemoryStore {
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        Ok(self.model().accept(events))
    }

    async fn accept_moves(
        &self,
        repo: &RepoName,
        cursors: Vec<RefCursor>,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Accepted>, StoreError> {
        Ok(self.model().accept_moves(repo, cursors, events))
    }

    async fn ref_cursors(&self, repo: &RepoName) -> Result<Vec<RefCursor>, StoreError> {
        Ok(self.model().ref_cursors(repo))
    }

    async fn unmatched(&self, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        Ok(self.model().unmatched(after, limit))
    }

    async fn commit_matches(
        &self,
        matched: Vec<Matched>,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        self.model().commit_matches(matched, now)
    }

    async fn event(&self, id: &EventId) -> Result<Option<EventRow>, StoreError> {
        Ok(self.model().event(id))
    }

    async fn head_of(&self, pull_request: &Subject) -> Result<Option<String>, StoreError> {
        Ok(self.model().head_of(pull_request))
    }

    async fn known(&self, new: &NewEvent) -> Result<Option<EventId>, StoreError> {
        Ok(self.model().known(new))
    }

    async fn events(&self, query: &Query) -> Result<Page<EventRow>, StoreError> {
        self.model().list_events(query)
    }
}

#[async_trait]
impl WantedFacts for MemoryStore {
    async fn due_facts(&self, now: Timestamp, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        Ok(self.model().due_facts(now, limit))
    }

    async fn next_fact_at(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.model().next_fact_at())
    }

    async fn settle_fact(
        &self,
        tried: TriedFact,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        self.model().settle_fact(tried, now)
    }
}

#[async_trait]
impl Registry for MemoryStore {
    async fn register(&self, registration: Registration) -> Result<RegistryChange, StoreError> {
        Ok(self.model().register(&registration))
    }

    async fn daemons(&self) -> Result<Vec<DaemonRow>, StoreError> {
        Ok(self.model().daemons())
    }

    async fn daemons_once(&self) -> Result<Vec<DaemonKey>, StoreError> {
        Ok(self.model().daemons_once.iter().cloned().collect())
    }

    async fn daemons_of(&self, repo: &RepoName) -> Result<Vec<DaemonRow>, StoreError> {
        let mut rows = self.model().daemons();
        rows.retain(|row| row.key.repo == *repo);
        Ok(rows)
    }

    async fn set_gate(&self, daemon: &DaemonKey, gate: Gate) -> Result<(), StoreError> {
        self.model().set_gate(daemon, gate)
    }

    async fn set_host_gate(&self, gate: Gate) -> Result<(), StoreError> {
        self.model().set_host_gate(gate);
        Ok(())
    }

    async fn host_gate(&self) -> Result<Gate, StoreError> {
        Ok(self.model().host_gate())
    }
}

#[async_trait]
impl Ticks for MemoryStore {
    async fn coverages(&self) -> Result<Vec<Coverage>, StoreError> {
        Ok(self.model().coverages())
    }

    async fn tick_activations(
        &self,
        daemons: &[DaemonKey],
    ) -> Result<Vec<TickActivations>, StoreError> {
        Ok(self.model().tick_activations(daemons))
    }

    async fn commit_ticks(&self, commits: Vec<TickCommit>) -> Result<Vec<TickResult>, StoreError> {
        Ok(self.model().commit_ticks(commits))
    }

    async fn retract(&self, now: Timestamp) -> Result<u64, StoreError> {
        Ok(self.model().retract(now))
    }

    async fn ticks(&self, query: &Query) -> Result<Page<StoredTick>, StoreError> {
        self.model().list_ticks(query)
    }
}

#[async_trait]
impl Activations for MemoryStore {
    async fn enqueue(&self, trigger: NewTrigger) -> Result<Admission, StoreError> {
        Ok(self.model().enqueue(trigger))
    }

    async fn triggered(
        &self,
        daemon: &DaemonKey,
        key: &TriggerKey,
    ) -> Result<Option<ActivationId>, StoreError> {
        Ok(self.model().triggered(daemon, key))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Option<Activation>, StoreError> {
        Ok(self.model().claim(request))
    }

    async fn claim_one(
        &self,
        id: &ActivationId,
        request: &ClaimRequest,
    ) -> Result<Option<Activation>, StoreError> {
        Ok(self.model().claim_one(id, request))
    }

    async fn over_rate(
        &self,
        ids: &[ActivationId],
        rates: Rates,
        now: Timestamp,
    ) -> Result<BTreeSet<ActivationId>, StoreError> {
        Ok(self.model().over_rate(ids, rates, now))
    }

    async fn unfinished_among(
        &self,
        ids: &[ActivationId],
    ) -> Result<BTreeSet<ActivationId>, StoreError> {
        Ok(self.model().unfinished_among(ids))
    }

    async fn hasten(&self, ids: &[ActivationId], now: Timestamp) -> Result<(), StoreError> {
        self.model().hasten(ids, now);
        Ok(())
    }

    async fn next_claim_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.model().next_claim_at(now))
    }

    async fn start_run(
        &self,
        id: &ActivationId,
        lease: RunLease,
        run: RunRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.model().start_run(id, lease, run, now)
    }

    async fn put_run(&self, run: RunRow, lease: Option<RunLease>) -> Result<(), StoreError> {
        self.model().put_run(run, lease)
    }

    async fn forget_run(&self, id: &str) -> Result<(), StoreError> {
        self.model().forget_run(id);
        Ok(())
    }

    async fn renew(
        &self,
        leases: Vec<(ActivationId, RunLease)>,
        until: Timestamp,
    ) -> Result<Vec<ActivationId>, StoreError> {
        Ok(self.model().renew(leases, until))
    }

    async fn end_attempt(
        &self,
        id: &ActivationId,
        lease: RunLease,
        end: AttemptEnd,
    ) -> Result<Ended, StoreError> {
        self.model().end_attempt(id, lease, end)
    }

    async fn reclaim(
        &self,
        epoch: HostEpoch,
        now: Timestamp,
    ) -> Result<Vec<Reclaimed>, StoreError> {
        Ok(self.model().reclaim(epoch, now))
    }

    async fn reclaimable(
        &self,
        epoch: HostEpoch,
        now: Timestamp,
    ) -> Result<Vec<Activation>, StoreError> {
        Ok(self.model().reclaimable(epoch, now))
    }

    async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        Ok(self.model().expire(now))
    }

    async fn cancel(
        &self,
        id: &ActivationId,
        reason: &str,
        now: Timestamp,
    ) -> Result<Ended, StoreError> {
        self.model().cancel(id, reason, now)
    }

    async fn retry(&self, id: &ActivationId, now: Timestamp) -> Result<Activation, StoreError> {
        self.model().retry(id, now)
    }

    async fn activation(&self, id: &ActivationId) -> Result<Option<Activation>, StoreError> {
        Ok(self.model().activation(id))
    }

    async fn activations(&self, query: &Query) -> Result<Page<Activation>, StoreError> {
        self.model().list_activations(query)
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        Ok(self.model().run(id))
    }

    async fn runs(&self, query: &Query) -> Result<Page<RunRow>, StoreError> {
        self.model().list_runs(query)
    }

    async fn runs_of(&self, activation: &ActivationId) -> Result<Vec<RunRow>, StoreError> {
        Ok(self.model().runs_of(activation))
    }

    async fn state(&self, daemon: &DaemonKey, now: Timestamp) -> Result<DaemonState, StoreError> {
        Ok(self.model().state(daemon, now))
    }
}

#[async_trait]
impl Outbox for MemoryStore {
    async fn due_outputs(&self, now: Timestamp, limit: u32) -> Result<Vec<Output>, StoreError> {
        Ok(self.model().due_outputs(now, limit))
    }

    async fn next_output_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.model().next_output_at(now))
    }

    async fn begin_send(&self, key: &OutputKey) -> Result<(), StoreError> {
        self.model().begin_send(key)
    }

    async fn settle(&self, key: &OutputKey, settlement: Settlement) -> Result<Output, StoreError> {
        self.model().settle(key, settlement)
    }

    async fn outputs_of(&self, activation: &ActivationId) -> Result<Vec<Output>, StoreError> {
        Ok(self.model().outputs_of(activation))
    }

    async fn outputs_at(
        &self,
        surface: &str,
        place: &OutputPlace,
    ) -> Result<Vec<Output>, StoreError> {
        Ok(self.model().outputs_at(surface, place))
    }

    async fn outputs(&self, query: &Query) -> Result<Page<Output>, StoreError> {
        self.model().list_outputs(query)
    }
}

#[async_trait]
impl Hosting for MemoryStore {
    async fn begin_epoch(
        &self,
        previous: HostEnd,
        now: Timestamp,
    ) -> Result<HostEpoch, StoreError> {
        Ok(self.model().begin_epoch(previous, now))
    }

    async fn starts_after_crashes(&self, since: Timestamp) -> Result<u32, StoreError> {
        Ok(self.model().starts_after_crashes(since))
    }

    async fn epoch(&self) -> Result<HostEpoch, StoreError> {
        Ok(self.model().epoch)
    }

    async fn retain(
        &self,
        payloads: Timestamp,
        ids: Timestamp,
        ticks: Timestamp,
    ) -> Result<(), StoreError> {
        self.model().retain(payloads, ids, ticks);
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        Ok(self.model().counts())
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
