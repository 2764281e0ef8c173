//! The store traits: each method is one transaction.
//!
//! After a crash *before* a method returns, all of its writes are there or none; after it has returned `Ok`, all of them
//! survive any crash.

use std::collections::BTreeSet;

use async_trait::async_trait;
use daemon_engine::{
    Activation, Admission, AttemptEnd, DaemonState, Gate, HostEnd, HostEpoch, NewTrigger, Output,
    OutputKey, RunLease, Settlement,
};
use daemon_event::{ActivationId, DaemonKey, EventId, RepoName, Subject, TriggerKey};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::fleet::{FleetState, OtherHost};
use crate::roster::RosterRecords;
use crate::rows::{
    Accepted, Bookmark, ClaimRequest, Counts, Coverage, DaemonRow, Ended, EventRow, Matched,
    NewEvent, OutputPlace, Page, Query, Rates, Reclaimed, RefCursor, Registration, RegistryChange,
    RunEnd, RunRow, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult, TriedFact,
};
use crate::search::Search;

/// Events: stored once, found by id, matched once.
#[async_trait]
pub trait Events: Send + Sync {
    /// Stores events in one transaction and returns for each whether it was new.
    ///
    /// An event is a duplicate if any of its identities or counterparts is stored and still counts; then only the count of
    /// the first rises. Two events of one call may be duplicates of each other. A sender that got `Ok` never needs to repeat.
    ///
    /// A report of a change that another source reported, or the same source as another kind, is kept with the first
    /// event and returned as `Report`: those of its keys that name no other event any more name the first from then on,
    /// its facts complete those of the first, and the first is matched again if this one is to be matched.
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError>;

    /// Stores events of a repository's refs together with where those refs are now.
    ///
    /// A crash before it leaves cursors and events as they were: the same moves are found again.
    async fn accept_moves(
        &self,
        repo: &RepoName,
        cursors: Vec<RefCursor>,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Accepted>, StoreError>;

    /// Returns where the refs of a repository were last seen; empty before the first sight.
    async fn ref_cursors(&self, repo: &RepoName) -> Result<Vec<RefCursor>, StoreError>;

    /// Stores events together with the bookmarks that say how far their source was read. A bookmark replaces that of its name.
    ///
    /// A crash before it leaves both as they were: the same events are found again.
    async fn accept_marked(
        &self,
        bookmarks: Vec<Bookmark>,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Accepted>, StoreError>;

    /// Returns the bookmarks whose names begin with a prefix, by name.
    async fn bookmarks(&self, prefix: &str) -> Result<Vec<Bookmark>, StoreError>;

    /// Returns up to `limit` events behind `after` (0: from the first) that are still to be matched, oldest first.
    async fn unmatched(&self, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError>;

    /// Marks events as matched and admits their triggers, in order; an event already matched is passed over,
    /// and so is one that has more reports than were matched: it stays to be matched.
    ///
    /// What an event wants is stored in the same transaction, due at `now`.
    ///
    /// The admissions are in the order of the triggers, without those of events that were passed over.
    ///
    /// # Errors
    /// `NotFound` for an event that is not stored; nothing is written then.
    async fn commit_matches(
        &self,
        matched: Vec<Matched>,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError>;

    /// Does [`Self::commit_matches`] and then, if something was admitted, [`Activations::claim`] in one transaction.
    ///
    /// # Errors
    /// As [`Self::commit_matches`]; nothing is leased then.
    async fn match_and_claim(
        &self,
        claim: &ClaimRequest,
        matched: Vec<Matched>,
    ) -> Result<(Vec<Admission>, Option<Activation>), StoreError>;

    /// Returns one event.
    async fn event(&self, id: &EventId) -> Result<Option<EventRow>, StoreError>;

    /// Returns those of some events that are stored, as [`Self::events`] lists them; at most 500 ids, in any order.
    async fn events_among(&self, ids: &[EventId]) -> Result<Vec<EventRow>, StoreError>;

    /// Returns the branch of its own repository that a pull request comes from, as the newest event or report of it said;
    /// `None` for a branch of a fork, and for a pull request that no event described. It outlives the payloads.
    async fn head_of(&self, pull_request: &Subject) -> Result<Option<String>, StoreError>;

    /// Returns the stored event of which an event would be a duplicate or another report if it were accepted.
    async fn known(&self, new: &NewEvent) -> Result<Option<EventId>, StoreError>;

    /// Lists events, the newest stored first; `daemon` asks for those that reached a daemon, `since` and `until` are
    /// compared with when they were received.
    ///
    /// A listed event has no payload, no later reports, and of its facts the title at most: the payloads of one page may be gigabytes.
    ///
    /// # Errors
    /// `Query`, as in every listing, for a limit, state or cursor that the listing does not know.
    async fn events(&self, query: &Query) -> Result<Page<EventRow>, StoreError>;
}

/// Facts that are missing in payloads: wanted until they are found or given up.
#[async_trait]
pub trait WantedFacts: Send + Sync {
    /// Returns up to `limit` events that wait for a fact whose time has come, the longest overdue first.
    async fn due_facts(&self, now: Timestamp, limit: u32) -> Result<Vec<EventRow>, StoreError>;

    /// Returns the earliest try of a fact that waits; it may be past.
    async fn next_fact_at(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Stores the result of a try. With a found fact, the facts of the event, its new triggers and its further
    /// needs are stored in the same transaction; a need that was stored before is not wanted again.
    ///
    /// A fact that is no longer waiting is passed over: nothing is written, so that no event is matched twice for it.
    ///
    /// # Errors
    /// `NotFound` for a fact that is not wanted.
    async fn settle_fact(
        &self,
        tried: TriedFact,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError>;
}

/// The registered daemons.
#[async_trait]
pub trait Daemons: Send + Sync {
    /// Replaces the registry of one repository with the daemons of a commit.
    ///
    /// Coverages follow in the same transaction: a valid schedule whose expression or zone is new starts a coverage with
    /// its cursor at `now`; a coverage ends when its daemon is removed, becomes invalid or changes its schedule, and its
    /// unrecorded ticks become `superseded`. Pending activations of daemons of the repository that are no longer
    /// registered or valid are cancelled.
    ///
    /// Two rows of one key are both stored as invalid.
    async fn register(&self, registration: Registration) -> Result<RegistryChange, StoreError>;

    /// Returns every registered daemon, by repository and id.
    async fn daemons(&self) -> Result<Vec<DaemonRow>, StoreError>;

    /// Returns every daemon that was ever registered, also those that are gone, by repository and id.
    async fn daemons_once(&self) -> Result<Vec<DaemonKey>, StoreError>;

    /// Returns the daemons of one repository, by id.
    async fn daemons_of(&self, repo: &RepoName) -> Result<Vec<DaemonRow>, StoreError>;

    /// Holds or opens one daemon; opening forgets its failures.
    ///
    /// # Errors
    /// `NotFound` for a daemon that is not registered.
    async fn set_gate(&self, daemon: &DaemonKey, gate: Gate) -> Result<(), StoreError>;

    /// Holds or opens the whole host.
    async fn set_host_gate(&self, gate: Gate) -> Result<(), StoreError>;

    /// Returns the gate of the whole host.
    async fn host_gate(&self) -> Result<Gate, StoreError>;
}

/// Schedules: coverages, cursors and the records of ticks.
#[async_trait]
pub trait Ticks: Send + Sync {
    /// Returns every open coverage.
    async fn coverages(&self) -> Result<Vec<Coverage>, StoreError>;

    /// Returns what the schedules of daemons must know of their activations, in the order of the keys.
    async fn tick_activations(
        &self,
        daemons: &[DaemonKey],
    ) -> Result<Vec<TickActivations>, StoreError>;

    /// Records ticks, moves cursors and admits activations in one transaction.
    ///
    /// Each commit is independent: one whose cursor had moved, or whose coverage has ended, writes nothing and does
    /// not hinder the others. What is recorded already is cut off its rows, and a trigger whose tick is recorded wakes
    /// no daemon. What the trigger was admitted as corrects the outcome of its rows: a tick that was to make an activation
    /// and joined one is `coalesced`, one that was to join what has been claimed meanwhile is `enqueued`, and a full
    /// queue makes it `refused`.
    async fn commit_ticks(&self, commits: Vec<TickCommit>) -> Result<Vec<TickResult>, StoreError>;

    /// Gives a schedule to a key that no registration contains, or takes it away: starts a coverage, ends the open one, or does both.
    /// A coverage of the same schedule continues.
    ///
    /// Unrecorded ticks of the coverage that ends are recorded as superseded, as for a registration.
    async fn cover(
        &self,
        daemon: DaemonKey,
        schedule: Option<ScheduleText>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Marks as retracted what was recorded for instants after `now` without having made an activation, and sets cursors
    /// later than `now` to it: the clock stepped back. Returns how many records were marked.
    ///
    /// A range that contains `now` is divided, and only its later part is retracted. Retracted ticks may be
    /// recorded a second time. Pending activations with a `not_before` after `now` are due at once: otherwise they would wait,
    /// with every tick that joins them, until the clock has caught up. Outputs that wait for their
    /// next try are due as well.
    async fn retract(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// Lists ticks by when they were scheduled.
    async fn ticks(&self, query: &Query) -> Result<Page<StoredTick>, StoreError>;
}

/// Activations: admitted once, leased to one attempt at a time.
#[async_trait]
pub trait Activations: Send + Sync {
    /// Admits one trigger, for a person's request or an event that one daemon alone shall see.
    ///
    /// The trigger of a tick writes the tick's row with it. A tick that is recorded already keeps its row, and one that
    /// made or joined an activation names that again.
    async fn enqueue(&self, trigger: NewTrigger) -> Result<Admission, StoreError>;

    /// Returns the activation of a trigger that was admitted before, which [`Self::enqueue`] would name as a duplicate.
    async fn triggered(
        &self,
        daemon: &DaemonKey,
        key: &TriggerKey,
    ) -> Result<Option<ActivationId>, StoreError>;

    /// Leases the next ready activation: persons first, then oldest first, daemons in turn.
    ///
    /// A daemon is placed behind all others when it is first woken and whenever it gets a claim; among the ready
    /// daemons the foremost gets the next one, for its oldest ready activation.
    ///
    /// An activation is ready if [`obstacle`](daemon_engine::obstacle) finds none. The claim increments `run_lease` and
    /// `attempts` and sets `rev` to the registered revision.
    async fn claim(&self, request: &ClaimRequest) -> Result<Option<Activation>, StoreError>;

    /// Leases one given activation, for `fire` without a host; `None` where it is not ready.
    async fn claim_one(
        &self,
        id: &ActivationId,
        request: &ClaimRequest,
    ) -> Result<Option<Activation>, StoreError>;

    /// Returns those of some activations that rates alone would keep from beginning at `now`.
    async fn over_rate(
        &self,
        ids: &[ActivationId],
        rates: Rates,
        now: Timestamp,
    ) -> Result<BTreeSet<ActivationId>, StoreError>;

    /// Returns those of some activations that have not ended.
    async fn unfinished_among(
        &self,
        ids: &[ActivationId],
    ) -> Result<BTreeSet<ActivationId>, StoreError>;

    /// Makes pending activations due at `now` that were to wait longer, because the thing they waited for exists. Others are passed
    /// over.
    async fn hasten(&self, ids: &[ActivationId], now: Timestamp) -> Result<(), StoreError>;

    /// Returns the earliest future `not_before` of a pending activation.
    async fn next_claim_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError>;

    /// Marks a claimed activation as running and stores its run.
    ///
    /// # Errors
    /// `LeaseLost` if another attempt, or none, holds it.
    async fn start_run(
        &self,
        id: &ActivationId,
        lease: RunLease,
        run: RunRow,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Stores the current state of a run. A run of an activation is written under that activation's lease.
    ///
    /// # Errors
    /// `LeaseLost` as above.
    async fn put_run(&self, run: RunRow, lease: Option<RunLease>) -> Result<(), StoreError>;

    /// Stores how a run ended, as its folder has it. Only the row of the run changes; a run that is not known is left out.
    ///
    /// It needs no lease: the activation may have been taken back or cancelled while the run ended, and listings must still
    /// agree with the folder.
    async fn end_run(&self, id: &str, end: RunEnd) -> Result<(), StoreError>;

    /// Forgets a run whose folder goes; one that has not ended, or is not known, is left as it is.
    async fn forget_run(&self, id: &str) -> Result<(), StoreError>;

    /// Renews leases and returns those that were lost.
    async fn renew(
        &self,
        leases: Vec<(ActivationId, RunLease)>,
        until: Timestamp,
    ) -> Result<Vec<ActivationId>, StoreError>;

    /// Ends an attempt: the activation's next state, outputs, state changes, the daemon's failures and gate, together.
    ///
    /// # Errors
    /// `LeaseLost` if another attempt, or none, holds it; then nothing of the attempt is kept. `State` if the changes of
    /// state do not fit; then nothing was written and the lease is still held.
    async fn end_attempt(
        &self,
        id: &ActivationId,
        lease: RunLease,
        end: AttemptEnd,
    ) -> Result<Ended, StoreError>;

    /// Takes back what an earlier epoch left leased, and what has an expired lease.
    ///
    /// The caller has made sure that the process trees of those attempts are dead, and stored the ends of their runs. Runs that
    /// are still `running` become `unknown`. What dies of crashes of its host does not count as a failure of its daemon.
    async fn reclaim(&self, epoch: HostEpoch, now: Timestamp)
    -> Result<Vec<Reclaimed>, StoreError>;

    /// Lists what `reclaim` would take back.
    async fn reclaimable(
        &self,
        epoch: HostEpoch,
        now: Timestamp,
    ) -> Result<Vec<Activation>, StoreError>;

    /// Cancels pending activations that were ready for longer than the expiry and returns how many.
    ///
    /// The time counts from `not_before`, so that a backoff and a person's retry restart it.
    async fn expire(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// Cancels an activation that is not final; of a leased one the lease ends, so that its attempt can write nothing.
    ///
    /// Its running run becomes `cancelled`, and its planned outputs are refused; what is being sent is still looked up.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a final one.
    async fn cancel(
        &self,
        id: &ActivationId,
        reason: &str,
        now: Timestamp,
    ) -> Result<Ended, StoreError>;

    /// Makes a failed, dead or cancelled activation pending again, with its attempts counted from 0.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for any other state.
    async fn retry(&self, id: &ActivationId, now: Timestamp) -> Result<Activation, StoreError>;

    /// Returns one activation.
    async fn activation(&self, id: &ActivationId) -> Result<Option<Activation>, StoreError>;

    /// Lists activations by when they were made.
    async fn activations(&self, query: &Query) -> Result<Page<Activation>, StoreError>;

    /// Returns one run.
    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError>;

    /// Lists runs by when they started.
    async fn runs(&self, query: &Query) -> Result<Page<RunRow>, StoreError>;

    /// Returns the runs of one activation, oldest first.
    async fn runs_of(&self, activation: &ActivationId) -> Result<Vec<RunRow>, StoreError>;

    /// Returns what a daemon remembers; `now` bounds the counters of a day.
    async fn state(&self, daemon: &DaemonKey, now: Timestamp) -> Result<DaemonState, StoreError>;
}

/// The outbox.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Returns unsettled outputs whose time has come, oldest first: at most `limit` of each surface and repository, so that one
    /// that does not answer keeps no other waiting.
    async fn due_outputs(&self, now: Timestamp, limit: u32) -> Result<Vec<Output>, StoreError>;

    /// Returns the earliest future `not_before` of an unsettled output.
    async fn next_output_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError>;

    /// Makes every unsettled output due at once: the surface that failed may have been configured since.
    async fn hasten_outputs(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Marks an output as being sent and counts the try. A crash after it makes the output ambiguous.
    ///
    /// # Errors
    /// `Conflict` unless it is planned.
    async fn begin_send(&self, key: &OutputKey) -> Result<(), StoreError>;

    /// Stores the result of a step; the last settled output ends its activation: `succeeded`, or `failed` if one gave up.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for an output that is settled.
    async fn settle(&self, key: &OutputKey, settlement: Settlement) -> Result<Output, StoreError>;

    /// Returns one output.
    async fn output(&self, key: &OutputKey) -> Result<Option<Output>, StoreError>;

    /// Returns the outputs of one activation by ordinal.
    async fn outputs_of(&self, activation: &ActivationId) -> Result<Vec<Output>, StoreError>;

    /// Returns the outputs that are, or may be, at a place of a surface, newest first and at most [`MAX_PAGE`](crate::MAX_PAGE).
    async fn outputs_at(
        &self,
        surface: &str,
        place: &OutputPlace,
    ) -> Result<Vec<Output>, StoreError>;

    /// Lists outputs by when they were made.
    async fn outputs(&self, query: &Query) -> Result<Page<Output>, StoreError>;
}

/// The host's own bookkeeping.
#[async_trait]
pub trait Hosting: Send + Sync {
    /// Raises the epoch and returns it; what earlier epochs were sending becomes ambiguous.
    ///
    /// How the host before ended is stored with how many runs it left under way, which decides what
    /// [`reclaim`](Activations::reclaim) counts against their activations.
    async fn begin_epoch(&self, previous: HostEnd, now: Timestamp)
    -> Result<HostEpoch, StoreError>;

    /// Counts the starts after `since` that followed a crash.
    async fn starts_after_crashes(&self, since: Timestamp) -> Result<u32, StoreError>;

    /// Returns the current epoch, 0 before the first.
    async fn epoch(&self) -> Result<HostEpoch, StoreError>;

    /// Forgets payloads, identities and ticks that are older than the given instants.
    ///
    /// With its payload goes what was read from it, except [`Events::head_of`], and the facts that were wanted in addition. Payloads of events still to be matched, or
    /// waiting for a fact, stay. Identities that begin with `body:` are kept as long as ticks.
    async fn retain(
        &self,
        payloads: Timestamp,
        ids: Timestamp,
        ticks: Timestamp,
    ) -> Result<(), StoreError>;

    /// Deletes the state of daemons that were removed before an instant and did not return; a host keeps it for
    /// [`STATE_KEPT`](crate::decide::STATE_KEPT).
    async fn forget_states(&self, before: Timestamp) -> Result<(), StoreError>;

    /// Counts rows; every state is named.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Returns once every acknowledged write is durable and the store can be written.
    async fn probe(&self) -> Result<(), StoreError>;

    /// Reports whether other hosts may use the same rows.
    fn is_shared(&self) -> bool {
        false
    }

    /// Stores that this host is at work and what it says of itself, as JSON; and makes ambiguous what hosts were sending that are gone.
    ///
    /// Returns how many outputs that were. In a store that is not shared, nothing is done.
    async fn check_in(&self, _about: &str, _now: Timestamp) -> Result<u32, StoreError> {
        Ok(0)
    }

    /// Returns the hosts of a shared store and what waits in it; `None` for a store that is not shared.
    async fn fleet(&self) -> Result<Option<FleetState>, StoreError> {
        Ok(None)
    }

    /// Returns the host that began a run, if it is another one than this. `None` for an unknown run, and in a store that is not shared.
    async fn run_elsewhere(&self, _run: &str) -> Result<Option<OtherHost>, StoreError> {
        Ok(None)
    }

    /// Returns when another host may have stored something that this one can work on; never in a store that is not shared.
    ///
    /// It is a hint: a wait may end without work, and a hint may be lost, so that each concern reads its work at an interval, too.
    async fn wait_for_work(&self) {
        std::future::pending::<()>().await;
    }
}

/// A whole store.
pub trait Store:
    Events + WantedFacts + Daemons + Ticks + Activations + Outbox + RosterRecords + Search + Hosting
{
}

impl<T> Store for T where
    T: Events
        + WantedFacts
        + Daemons
        + Ticks
        + Activations
        + Outbox
        + RosterRecords
        + Search
        + Hosting
{
}
