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
    Daemons, Ended, EventRow, Events, Hosting, LoadedRoster, Matched, NewEvent, Outbox,
    OutputPlace, Page, Query, Rates, Reclaimed, RefCursor, Registration, RegistryChange,
    RosterRecords, RosterVersion, RunEnd, RunRow, ScheduleText, Search, SearchFound, SearchQuery,
    StoreError, StoredAudit, StoredTick, TickActivations, TickCommit, TickResult, Ticks, TriedFact,
    WantedFacts,
};
use jiff::Timestamp;

use crate::recent::WriteTx;
use crate::store::SqliteStore;
use crate::{
    activation, admission, attempt, bookmark, claim, event, hosting, lane, listing, memory, output,
    payload, pull_request, registry, roster, run, search, tick, wanted,
};

/// Events whose payloads have this many bytes together are stored in a transaction of their own.
const OWN_TRANSACTION_BYTES: usize = 1024 * 1024;

/// Implements a trait of the store.
///
/// A line is the signature of a method, with borrowed arguments first; then the kind of transaction, the description for
/// errors, and the function that runs in it. That function runs on another thread, so borrowed arguments are cloned. `and`
/// adds methods that are more than one operation.
macro_rules! seam {
    (impl $seam:ident {
        $(fn $method:ident($(&$borrowed:ident: $of:ty,)* $($owned:ident: $type:ty),*) -> $value:ty
            = $transaction:ident($context:literal, $operation:path);)*
    } $(and { $($more:tt)* })?) => {
        #[async_trait]
        impl $seam for SqliteStore {
            $(async fn $method(&self, $($borrowed: &$of,)* $($owned: $type),*) -> Result<$value, StoreError> {
                $(let $borrowed = <$of as ToOwned>::to_owned($borrowed);)*
                // The function takes its values; the closure keeps them, because the writer may run it again.
                self.$transaction($context, move |tx| {
                    $operation(tx, $(&$borrowed,)* $(<$type as Clone>::clone(&$owned)),*)
                })
                    .await
            })*
            $($($more)*)?
        }
    };
}

seam! {
    impl Events {
        fn accept_moves(&repo: RepoName, cursors: Vec<RefCursor>, events: Vec<NewEvent>) -> Vec<Accepted>
            = write("store moves of refs", event::accept_moves);
        fn ref_cursors(&repo: RepoName,) -> Vec<RefCursor>
            = read("read cursors of refs", event::ref_cursors);
        fn accept_marked(bookmarks: Vec<Bookmark>, events: Vec<NewEvent>) -> Vec<Accepted>
            = write_alone("store events and bookmarks", bookmark::accept);
        fn bookmarks(&prefix: str,) -> Vec<Bookmark>
            = read("read bookmarks", bookmark::named);
        fn unmatched(after: u64, limit: u32) -> Vec<EventRow>
            = read("read unmatched events", event::unmatched);
        fn commit_matches(matched: Vec<Matched>, now: Timestamp) -> Vec<Admission>
            = write("commit matches", event::commit_matches);
        fn match_and_claim(&claim: ClaimRequest, matched: Vec<Matched>) -> (Vec<Admission>, Option<Activation>)
            = write("commit matches and claim", event::match_and_claim);
        fn event(&id: EventId,) -> Option<EventRow>
            = read("read an event", event::event);
        fn events_among(&ids: [EventId],) -> Vec<EventRow>
            = read("read some events", event::among);
        fn head_of(&pull_request: Subject,) -> Option<String>
            = read("read the branch of a pull request", pull_request::head);
        fn known(&new: NewEvent,) -> Option<EventId>
            = read("look for an event", event::known);
        fn events(&query: Query,) -> Page<EventRow>
            = read("list events", listing::events);
    } and {
        async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
            let n_bytes: usize = events.iter().map(|new| new.event.payload.len()).sum();
            let accept = move |tx: &WriteTx<'_>| event::accept(tx, &events);
            if n_bytes < OWN_TRANSACTION_BYTES {
                self.write("store events", accept).await
            } else {
                self.write_alone("store events", accept).await
            }
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
            = write("settle a fact", wanted::settle);
    }
}

seam! {
    impl Daemons {
        fn register(registration: Registration) -> RegistryChange
            = write_alone("register daemons", registry::register);
        fn daemons() -> Vec<DaemonRow>
            = read("read daemons", registry::daemons);
        fn daemons_once() -> Vec<DaemonKey>
            = read("read daemons", lane::daemons);
        fn daemons_of(&repo: RepoName,) -> Vec<DaemonRow>
            = read("read daemons", registry::daemons_of);
        fn set_gate(&daemon: DaemonKey, gate: Gate) -> ()
            = write("set a gate", registry::set_gate);
        fn set_host_gate(gate: Gate) -> ()
            = write("set the host's gate", hosting::set_gate);
        fn host_gate() -> Gate
            = read("read the host's gate", hosting::gate);
    }
}

seam! {
    impl Ticks {
        fn coverages() -> Vec<Coverage>
            = read("read coverages", registry::coverages);
        fn tick_activations(&daemons: [DaemonKey],) -> Vec<TickActivations>
            = read("read unfinished ticks", tick::activations);
        fn commit_ticks(commits: Vec<TickCommit>) -> Vec<TickResult>
            = write_alone("record ticks", tick::commit);
        fn cover(daemon: DaemonKey, schedule: Option<ScheduleText>, now: Timestamp) -> ()
            = write("change a schedule", tick::cover);
        fn retract(now: Timestamp) -> u64
            = write_alone("retract ticks", tick::retract);
        fn ticks(&query: Query,) -> Page<StoredTick>
            = read("list ticks", listing::ticks);
    }
}

seam! {
    impl Activations {
        fn enqueue(trigger: NewTrigger) -> Admission
            = write("admit a trigger", admission::enqueue);
        fn triggered(&daemon: DaemonKey, &key: TriggerKey,) -> Option<ActivationId>
            = read("find a trigger", admission::triggered);
        fn claim(&request: ClaimRequest,) -> Option<Activation>
            = write("claim an activation", claim::claim);
        fn claim_one(&id: ActivationId, &request: ClaimRequest,) -> Option<Activation>
            = write("claim one activation", claim::claim_one);
        fn over_rate(&ids: [ActivationId], rates: Rates, now: Timestamp) -> BTreeSet<ActivationId>
            = read("read what began", claim::over_rate);
        fn unfinished_among(&ids: [ActivationId],) -> BTreeSet<ActivationId>
            = read("read what has not ended", claim::unfinished_among);
        fn hasten(&ids: [ActivationId], now: Timestamp) -> ()
            = write("hasten activations", attempt::hasten);
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
        fn end_attempt(&id: ActivationId, lease: RunLease, end: AttemptEnd) -> Ended
            = write("end an attempt", attempt::end_attempt);
        fn reclaim(epoch: HostEpoch, now: Timestamp) -> Vec<Reclaimed>
            = write("reclaim activations", attempt::reclaim);
        fn reclaimable(epoch: HostEpoch, now: Timestamp) -> Vec<Activation>
            = read("read what can be reclaimed", attempt::reclaimable);
        fn expire(now: Timestamp) -> u64
            = write("expire activations", attempt::expire);
        fn cancel(&id: ActivationId, &reason: str, now: Timestamp) -> Ended
            = write("cancel an activation", attempt::cancel);
        fn retry(&id: ActivationId, now: Timestamp) -> Activation
            = write("retry an activation", attempt::retry);
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
    }
}

seam! {
    impl Outbox {
        fn due_outputs(now: Timestamp, limit: u32) -> Vec<Output>
            = read("read due outputs", output::due);
        fn next_output_at(now: Timestamp) -> Option<Timestamp>
            = read("read the next output", output::next_at);
        fn hasten_outputs(now: Timestamp) -> ()
            = write("hasten outputs", output::hasten);
        fn begin_send(&key: OutputKey,) -> ()
            = write("begin to send an output", output::begin_send);
        fn settle(&key: OutputKey, settlement: Settlement) -> Output
            = write("settle an output", output::settle);
        fn output(&key: OutputKey,) -> Option<Output>
            = read("read an output", output::find);
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
    } and {
        async fn retain(
            &self,
            payloads: Timestamp,
            ids: Timestamp,
            ticks: Timestamp,
        ) -> Result<(), StoreError> {
            let context = "forget what is old";
            let mut after = 0;
            // In parts, because one transaction for all payloads would delay every other write.
            while let Some(last) = self
                .write_alone(context, move |tx| payload::forget(tx, payloads, after))
                .await?
            {
                after = last;
            }
            self.write(context, move |tx| event::forget(tx, ids, ticks))
                .await
        }
    }
}
