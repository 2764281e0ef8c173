//! Activations: leases, attempts and runs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use daemon_engine::{
    Activation, Admission, AttemptEnd, DaemonState, HostEpoch, NewTrigger, RunLease,
};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_store::{
    Activations, ClaimRequest, Ended, Page, Query, Rates, Reclaimed, RunRow, StoreError,
};
use jiff::Timestamp;

use crate::store::SqliteStore;
use crate::{activation, admission, attempt, claim, listing, memory, run};

#[async_trait]
impl Activations for SqliteStore {
    async fn enqueue(&self, trigger: NewTrigger) -> Result<Admission, StoreError> {
        self.write("admit a trigger", move |tx| admission::enqueue(tx, trigger))
            .await
    }

    async fn triggered(
        &self,
        daemon: &DaemonKey,
        key: &TriggerKey,
    ) -> Result<Option<ActivationId>, StoreError> {
        let (daemon, key) = (daemon.clone(), key.clone());
        self.read("find a trigger", move |tx| {
            admission::triggered(tx, &daemon, &key)
        })
        .await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Option<Activation>, StoreError> {
        let request = request.clone();
        self.write("claim an activation", move |tx| claim::claim(tx, &request))
            .await
    }

    async fn claim_one(
        &self,
        id: &ActivationId,
        request: &ClaimRequest,
    ) -> Result<Option<Activation>, StoreError> {
        let id = id.clone();
        let request = request.clone();
        self.write("claim one activation", move |tx| {
            claim::claim_one(tx, &id, &request)
        })
        .await
    }

    async fn over_rate(
        &self,
        ids: &[ActivationId],
        rates: Rates,
        now: Timestamp,
    ) -> Result<BTreeSet<ActivationId>, StoreError> {
        let ids = ids.to_vec();
        self.read("read what began", move |tx| {
            claim::over_rate(tx, ids, rates, now)
        })
        .await
    }

    async fn unfinished_among(
        &self,
        ids: &[ActivationId],
    ) -> Result<BTreeSet<ActivationId>, StoreError> {
        let ids = ids.to_vec();
        self.read("read what has not ended", move |tx| {
            claim::unfinished_among(tx, ids)
        })
        .await
    }

    async fn hasten(&self, ids: &[ActivationId], now: Timestamp) -> Result<(), StoreError> {
        let ids = ids.to_vec();
        self.write("hasten activations", move |tx| {
            attempt::hasten(tx, &ids, now)
        })
        .await
    }

    async fn next_claim_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.read("read the next claim", move |tx| {
            claim::next_claim_at(tx, now)
        })
        .await
    }

    async fn start_run(
        &self,
        id: &ActivationId,
        lease: RunLease,
        run: RunRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let id = id.clone();
        self.write("start a run", move |tx| {
            attempt::start_run(tx, &id, lease, &run, now)
        })
        .await
    }

    async fn put_run(&self, run: RunRow, lease: Option<RunLease>) -> Result<(), StoreError> {
        self.write("store a run", move |tx| attempt::put_run(tx, &run, lease))
            .await
    }

    async fn forget_run(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write("forget a run", move |tx| run::forget(tx, &id))
            .await
    }

    async fn renew(
        &self,
        leases: Vec<(ActivationId, RunLease)>,
        until: Timestamp,
    ) -> Result<Vec<ActivationId>, StoreError> {
        self.write("renew leases", move |tx| attempt::renew(tx, leases, until))
            .await
    }

    async fn end_attempt(
        &self,
        id: &ActivationId,
        lease: RunLease,
        end: AttemptEnd,
    ) -> Result<Ended, StoreError> {
        let id = id.clone();
        self.write("end an attempt", move |tx| {
            attempt::end_attempt(tx, &id, lease, &end)
        })
        .await
    }

    async fn reclaim(
        &self,
        epoch: HostEpoch,
        now: Timestamp,
    ) -> Result<Vec<Reclaimed>, StoreError> {
        self.write("reclaim activations", move |tx| {
            attempt::reclaim(tx, epoch, now)
        })
        .await
    }

    async fn reclaimable(
        &self,
        epoch: HostEpoch,
        now: Timestamp,
    ) -> Result<Vec<Activation>, StoreError> {
        self.read("read what can be reclaimed", move |tx| {
            attempt::reclaimable(tx, epoch, now)
        })
        .await
    }

    async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.write("expire activations", move |tx| attempt::expire(tx, now))
            .await
    }

    async fn cancel(
        &self,
        id: &ActivationId,
        reason: &str,
        now: Timestamp,
    ) -> Result<Ended, StoreError> {
        let id = id.clone();
        let reason = reason.to_owned();
        self.write("cancel an activation", move |tx| {
            attempt::cancel(tx, &id, &reason, now)
        })
        .await
    }

    async fn retry(&self, id: &ActivationId, now: Timestamp) -> Result<Activation, StoreError> {
        let id = id.clone();
        self.write("retry an activation", move |tx| {
            attempt::retry(tx, &id, now)
        })
        .await
    }

    async fn activation(&self, id: &ActivationId) -> Result<Option<Activation>, StoreError> {
        let id = id.clone();
        self.read("read an activation", move |tx| {
            Ok(activation::find(tx, &id)?.map(|found| found.activation))
        })
        .await
    }

    async fn activations(&self, query: &Query) -> Result<Page<Activation>, StoreError> {
        let query = query.clone();
        self.read("list activations", move |tx| {
            listing::activations(tx, &query)
        })
        .await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let id = id.to_owned();
        self.read("read a run", move |tx| run::find(tx, &id)).await
    }

    async fn runs(&self, query: &Query) -> Result<Page<RunRow>, StoreError> {
        let query = query.clone();
        self.read("list runs", move |tx| listing::runs(tx, &query))
            .await
    }

    async fn runs_of(&self, activation: &ActivationId) -> Result<Vec<RunRow>, StoreError> {
        let activation = activation.clone();
        self.read("read runs", move |tx| run::of(tx, &activation))
            .await
    }

    async fn state(&self, daemon: &DaemonKey, now: Timestamp) -> Result<DaemonState, StoreError> {
        let daemon = daemon.clone();
        self.read("read a daemon's state", move |tx| {
            memory::state(tx, &daemon, now)
        })
        .await
    }
}
