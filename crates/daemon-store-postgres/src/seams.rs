//! The store traits: which function runs for each method, and in which kind of transaction.

use std::collections::BTreeSet;

use async_trait::async_trait;
use daemon_engine::{
    Activation, Admission, AttemptEnd, DaemonState, Gate, HostEnd, HostEpoch, NewTrigger, Output,
    OutputKey, RunLease, Settlement,
};
use daemon_event::{ActivationId, DaemonKey, EventId, RepoName, Subject, TriggerKey};
use daemon_roster::{CheckInRecord, RosterChanges, RowId};
use daemon_store::{
    Accepted, Activations, AuditQuery, Bookmark, ClaimRequest, Counts, Coverage, DaemonRow,
    Daemons, Ended, EventRow, Events, FleetState, Hosting, LoadedRoster, Matched, NewEvent,
    OtherHost, Outbox, OutputPlace, Page, Query, Rates, Reclaimed, RefCursor, Registration,
    RegistryChange, RosterRecords, RosterVersion, RunEnd, RunRow, ScheduleText, Search,
    SearchFound, SearchQuery, StoreError, StoredAudit, StoredTick, TickActivations, TickCommit,
    TickResult, Ticks, TriedFact, WantedFacts,
};
use jiff::Timestamp;

use crate::attempt::EndOf;
use crate::claim::{Choice, Claim, ClaimResult};
use crate::store::PostgresStore;
use crate::transaction::{Tries, TxKind};
use crate::{
    accept, activation, admission, attempt, claim, event, fleet, hosting, lane, listing, memory,
    output, partition, registry, roster, run, search, tick, wanted,
};

/// Runs an operation in a transaction, and again where another transaction was faster or the connection broke.
macro_rules! transaction {
    ($store:expr, $access:ident($context:expr), $tx:ident => $operation:expr) => {{
        let mut tries = Tries::new($context);
        loop {
            let $tx = $store.begin(&mut tries, access!($access)).await?;
            let done = $operation.await;
            if let Some(result) = $store.end(&mut tries, $tx, done).await {
                if is_work!($access) && result.is_ok() {
                    $store.own_work.notify_one();
                }
                break result;
            }
        }
    }};
}

macro_rules! access {
    (write) => {
        TxKind::Write
    };
    (work) => {
        TxKind::Write
    };
    (read) => {
        TxKind::Read
    };
}

/// Whether an operation can make work for a host that waits.
macro_rules! is_work {
    (work) => {
        true
    };
    ($other:ident) => {
        false
    };
}

/// Implements a trait of the store.
///
/// A line is the signature of a method, with borrowed arguments first; then the kind of transaction (`work` writes something that a
/// host may wait for), the description for
/// errors, and the function that runs in it. The function takes its values; the loop keeps them, because it may run again. `and`
/// adds methods that are more than one operation.
macro_rules! seam {
    (impl $seam:ident {
        $(fn $method:ident($(&$borrowed:ident: $of:ty,)* $($owned:ident: $type:ty),*) -> $value:ty
            = $access:ident($context:literal, $operation:path);)*
    } $(and { $($more:tt)* })?) => {
        #[async_trait]
        impl $seam for PostgresStore {
            $(async fn $method(&self, $($borrowed: &$of,)* $($owned: $type),*) -> Result<$value, StoreError> {
                transaction!(self, $access($context), tx => {
                    $operation(&tx, $($borrowed,)* $(<$type as Clone>::clone(&$owned)),*)
                })
            })*
            $($($more)*)?
        }
    };
}

seam! {
    impl Events {
        fn accept_moves(&repo: RepoName, cursors: Vec<RefCursor>, events: Vec<NewEvent>) -> Vec<Accepted>
            = work("store moves of refs", accept::accept_moves);
        fn ref_cursors(&repo: RepoName,) -> Vec<RefCursor>
            = read("read cursors of refs", event::ref_cursors);
        fn accept_marked(bookmarks: Vec<Bookmark>, events: Vec<NewEvent>) -> Vec<Accepted>
            = work("store events and bookmarks", accept::accept_marked);
        fn bookmarks(&prefix: str,) -> Vec<Bookmark>
            = read("read bookmarks", event::bookmarks);
        fn unmatched(after: u64, limit: u32) -> Vec<EventRow>
            = read("read unmatched events", event::unmatched);
        fn commit_matches(matched: Vec<Matched>, now: Timestamp) -> Vec<Admission>
            = work("commit matches", admission::commit_matches);
        fn event(&id: EventId,) -> Option<EventRow>
            = read("read an event", event::event);
        fn events_among(&ids: [EventId],) -> Vec<EventRow>
            = read("read some events", event::among);
        fn head_of(&pull_request: Subject,) -> Option<String>
            = read("read the branch of a pull request", event::head_of);
        fn known(&new: NewEvent,) -> Option<EventId>
            = read("look for an event", accept::known);
        fn events(&query: Query,) -> Page<EventRow>
            = read("list events", listing::events);
    } and {
        async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
            let accepted = self.accepting.run(events).await?;
            self.own_work.notify_one();
            Ok(accepted)
        }

        async fn match_and_claim(
            &self,
            claim: &ClaimRequest,
            matched: Vec<Matched>,
        ) -> Result<(Vec<Admission>, Option<Activation>), StoreError> {
            let done = self.claim_as(claim, (Some(matched), Choice::Next)).await?;
            self.own_work.notify_one();
            Ok(done)
        }
    }
}

seam! {
    impl WantedFacts {
        fn due_facts(now: Timestamp, limit: u32) -> Vec<EventRow>
            = read("read due facts", wanted::due);
        fn next_fact_at() -> Option<Timestamp>
            = read("read when a fact is due", wanted::next_at);
        fn settle_fact(tried: TriedFact, now: Timestamp) -> Vec<Admission>
            = work("settle a fact", wanted::settle);
    }
}

seam! {
    impl Daemons {
        fn register(registration: Registration) -> RegistryChange
            = work("register daemons", registry::register);
        fn daemons() -> Vec<DaemonRow>
            = read("read daemons", registry::daemons);
        fn daemons_once() -> Vec<DaemonKey>
            = read("read daemons", lane::daemons);
        fn daemons_of(&repo: RepoName,) -> Vec<DaemonRow>
            = read("read daemons", registry::daemons_of);
        fn set_gate(&daemon: DaemonKey, gate: Gate) -> ()
            = work("set a gate", registry::set_gate);
        fn set_host_gate(gate: Gate) -> ()
            = write("set the host's gate", hosting::set_gate);
        fn host_gate() -> Gate
            = read("read the host's gate", hosting::gate);
    }
}

seam! {
    impl Ticks {
        fn coverages() -> Vec<Coverage>
            = read("read coverages", tick::all_coverages);
        fn tick_activations(&daemons: [DaemonKey],) -> Vec<TickActivations>
            = read("read unfinished ticks", tick::activations);
        fn commit_ticks(commits: Vec<TickCommit>) -> Vec<TickResult>
            = work("record ticks", tick::commit);
        fn cover(daemon: DaemonKey, schedule: Option<ScheduleText>, now: Timestamp) -> ()
            = work("change a schedule", tick::cover);
        fn retract(now: Timestamp) -> u64
            = write("retract ticks", tick::retract);
        fn ticks(&query: Query,) -> Page<StoredTick>
            = read("list ticks", listing::ticks);
    }
}

seam! {
    impl Activations {
        fn enqueue(trigger: NewTrigger) -> Admission
            = work("admit a trigger", admission::enqueue);
        fn triggered(&daemon: DaemonKey, &key: TriggerKey,) -> Option<ActivationId>
            = read("find a trigger", admission::triggered);
        fn over_rate(&ids: [ActivationId], rates: Rates, now: Timestamp) -> BTreeSet<ActivationId>
            = read("read what began", claim::over_rate);
        fn unfinished_among(&ids: [ActivationId],) -> BTreeSet<ActivationId>
            = read("read what has not ended", claim::unfinished_among);
        fn hasten(&ids: [ActivationId], now: Timestamp) -> ()
            = work("hasten activations", attempt::hasten);
        fn next_claim_at(now: Timestamp) -> Option<Timestamp>
            = read("read the next claim", claim::next_claim_at);
        fn start_run(&id: ActivationId, lease: RunLease, run: RunRow, now: Timestamp) -> ()
            = write("start a run", attempt::start_run);
        fn put_run(run: RunRow, lease: Option<RunLease>) -> ()
            = write("store a run", attempt::put_run);
        fn end_run(&id: str, end: RunEnd) -> ()
            = write("store the end of a run", run::end);
        fn forget_run(&id: str,) -> ()
            = write("forget a run", run::forget);
        fn renew(leases: Vec<(ActivationId, RunLease)>, until: Timestamp) -> Vec<ActivationId>
            = write("renew leases", attempt::renew);
        fn reclaim(epoch: HostEpoch, now: Timestamp) -> Vec<Reclaimed>
            = work("reclaim activations", attempt::reclaim);
        fn reclaimable(epoch: HostEpoch, now: Timestamp) -> Vec<Activation>
            = read("read what can be reclaimed", attempt::reclaimable);
        fn expire(now: Timestamp) -> u64
            = write("expire activations", attempt::expire);
        fn cancel(&id: ActivationId, &reason: str, now: Timestamp) -> Ended
            = work("cancel an activation", attempt::cancel);
        fn retry(&id: ActivationId, now: Timestamp) -> Activation
            = work("retry an activation", attempt::retry);
        fn activation(&id: ActivationId,) -> Option<Activation>
            = read("read an activation", activation::one);
        fn activations(&query: Query,) -> Page<Activation>
            = read("list activations", listing::activations);
        fn run(&id: str,) -> Option<RunRow>
            = read("read a run", run::find);
        fn runs(&query: Query,) -> Page<RunRow>
            = read("list runs", listing::runs);
        fn runs_of(&activation: ActivationId,) -> Vec<RunRow>
            = read("read runs", run::of);
        fn state(&daemon: DaemonKey, now: Timestamp) -> DaemonState
            = read("read a daemon's state", memory::state);
    } and {
        async fn end_attempt(
            &self,
            id: &ActivationId,
            lease: RunLease,
            end: AttemptEnd,
        ) -> Result<Ended, StoreError> {
            let id = id.clone();
            let ended = self.ending.run(EndOf { id, lease, end }).await?;
            self.own_work.notify_one();
            Ok(ended)
        }

        async fn claim(&self, request: &ClaimRequest) -> Result<Option<Activation>, StoreError> {
            Ok(self.claim_as(request, (None, Choice::Next)).await?.1)
        }

        async fn claim_one(
            &self,
            id: &ActivationId,
            request: &ClaimRequest,
        ) -> Result<Option<Activation>, StoreError> {
            Ok(self.claim_as(request, (None, Choice::This(id.clone()))).await?.1)
        }
    }
}

seam! {
    impl Outbox {
        fn due_outputs(now: Timestamp, limit: u32) -> Vec<Output>
            = read("read due outputs", output::due);
        fn next_output_at(now: Timestamp) -> Option<Timestamp>
            = read("read the next output", output::next_at);
        fn hasten_outputs(now: Timestamp) -> ()
            = work("hasten outputs", output::hasten);
        fn begin_send(&key: OutputKey,) -> ()
            = write("begin to send an output", output::begin_send);
        fn settle(&key: OutputKey, settlement: Settlement) -> Output
            = work("settle an output", output::settle);
        fn output(&key: OutputKey,) -> Option<Output>
            = read("read an output", output::one);
        fn outputs_of(&activation: ActivationId,) -> Vec<Output>
            = read("read outputs", output::of);
        fn outputs_at(&surface: str, &place: OutputPlace,) -> Vec<Output>
            = read("look outputs up", output::at);
        fn outputs(&query: Query,) -> Page<Output>
            = read("list outputs", listing::outputs);
    }
}

seam! {
    impl RosterRecords {
        fn load_roster(now: Timestamp) -> LoadedRoster
            = read("load the roster", roster::load);
        fn commit_roster(expected: RosterVersion, changes: RosterChanges) -> RosterVersion
            = write("commit changes of the roster", roster::commit);
        fn check_ins_of(&row: RowId, limit: u32) -> Vec<CheckInRecord>
            = read("read check-ins", roster::check_ins_of);
        fn roster_audit(&query: AuditQuery,) -> Vec<StoredAudit>
            = read("list audit entries", roster::audit);
        fn prune_roster(now: Timestamp) -> ()
            = write("prune the roster", roster::prune);
    }
}

seam! {
    impl Search {
        fn search(&query: SearchQuery,) -> SearchFound
            = read("search", search::search);
    }
}

seam! {
    impl Hosting {
        fn begin_epoch(previous: HostEnd, now: Timestamp) -> HostEpoch
            = write("begin an epoch", hosting::begin_epoch);
        fn starts_after_crashes(since: Timestamp) -> u32
            = read("count the starts after crashes", hosting::starts_after_crashes);
        fn epoch() -> HostEpoch
            = read("read the epoch", hosting::epoch);
        fn counts() -> Counts
            = read("count rows", hosting::counts);
        fn probe() -> ()
            = write("probe the store", hosting::probe);
        fn forget_states(before: Timestamp) -> ()
            = write("forget states", memory::forget);
        fn fleet() -> Option<FleetState>
            = read("read the hosts", fleet::fleet);
        fn run_elsewhere(&run: str,) -> Option<OtherHost>
            = read("find the host of a run", fleet::run_elsewhere);
    } and {
        async fn retain(
            &self,
            payloads: Timestamp,
            ids: Timestamp,
            ticks: Timestamp,
        ) -> Result<(), StoreError> {
            self.turn_partitions(payloads, ticks).await?;
            let mut after = 0;
            // In parts, because one transaction for all payloads would keep their rows locked for long.
            while let Some(last) = self.forget_payloads(payloads, after).await? {
                after = last;
            }
            transaction!(self, write("forget what is old"), tx => partition::forget(&tx, ids, ticks))
        }

        async fn check_in(&self, about: &str, now: Timestamp) -> Result<u32, StoreError> {
            let n_taken =
                transaction!(self, write("check in"), tx => fleet::check_in(&tx, about, now))?;
            // Only then is there work, and every host checks in often.
            if n_taken > 0 {
                self.own_work.notify_one();
            }
            Ok(n_taken)
        }

        fn is_shared(&self) -> bool {
            true
        }

        async fn wait_for_work(&self) {
            Self::wait_for_work(self).await;
        }
    }
}

impl PostgresStore {
    async fn forget_payloads(
        &self,
        before: Timestamp,
        after: i64,
    ) -> Result<Option<i64>, StoreError> {
        transaction!(self, write("forget payloads"), tx => partition::forget_payloads(&tx, before, after))
    }

    async fn claim_as(
        &self,
        request: &ClaimRequest,
        (matched, choice): (Option<Vec<Matched>>, Choice),
    ) -> Result<(Vec<Admission>, Option<Activation>), StoreError> {
        let claim = |matched, choice| Claim {
            request: request.clone(),
            matched,
            choice,
        };
        let (admissions, mut claimed) = self.claiming.run(claim(matched, choice)).await?;
        // What was admitted is committed, so that only the claim is done again.
        while matches!(claimed, ClaimResult::Locked) {
            claimed = self
                .claiming
                .run(claim(None, Choice::NextAfterWait))
                .await?
                .1;
        }
        Ok((admissions, claimed.activation()))
    }
}
