//! The store traits, each method one operation of the writer or one snapshot of a reader.

mod activations;

use async_trait::async_trait;
use daemon_engine::{Admission, Gate, HostEnd, HostEpoch, Output, OutputKey, Settlement};
use daemon_event::{ActivationId, DaemonKey, EventId, RepoName, Subject};
use daemon_store::{
    Accepted, Counts, Coverage, DaemonRow, EventRow, Events, Hosting, Matched, NewEvent, Outbox,
    OutputPlace, Page, Query, RefCursor, Registration, Registry, RegistryChange, StoreError,
    StoredTick, TickActivations, TickCommit, TickResult, Ticks, TriedFact, WantedFacts,
};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::store::SqliteStore;
use crate::{event, hosting, lane, listing, output, payload, pull_request, registry, tick, wanted};

/// Events whose payloads are this large together share their transaction with nothing, in bytes.
const ALONE: usize = 1024 * 1024;

#[async_trait]
impl Events for SqliteStore {
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        let n_bytes: usize = events.iter().map(|new| new.event.payload.len()).sum();
        let accept = move |tx: &Connection| event::accept(tx, &events);
        if n_bytes < ALONE {
            self.write("store events", accept).await
        } else {
            self.write_alone("store events", accept).await
        }
    }

    async fn accept_moves(
        &self,
        repo: &RepoName,
        cursors: Vec<RefCursor>,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Accepted>, StoreError> {
        let repo = repo.clone();
        self.write("store moves of refs", move |tx| {
            event::accept_moves(tx, &repo, &cursors, &events)
        })
        .await
    }

    async fn ref_cursors(&self, repo: &RepoName) -> Result<Vec<RefCursor>, StoreError> {
        let repo = repo.clone();
        self.read("read cursors of refs", move |tx| {
            event::ref_cursors(tx, &repo)
        })
        .await
    }

    async fn unmatched(&self, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        self.read("read unmatched events", move |tx| {
            event::unmatched(tx, after, limit)
        })
        .await
    }

    async fn commit_matches(
        &self,
        matched: Vec<Matched>,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        self.write("commit matches", move |tx| {
            event::commit_matches(tx, matched, now)
        })
        .await
    }

    async fn event(&self, id: &EventId) -> Result<Option<EventRow>, StoreError> {
        let id = id.clone();
        self.read("read an event", move |tx| event::event(tx, &id))
            .await
    }

    async fn head_of(&self, pull_request: &Subject) -> Result<Option<String>, StoreError> {
        let subject = pull_request.clone();
        self.read("read the branch of a pull request", move |tx| {
            pull_request::head(tx, &subject)
        })
        .await
    }

    async fn known(&self, new: &NewEvent) -> Result<Option<EventId>, StoreError> {
        let new = new.clone();
        self.read("look for an event", move |tx| event::known(tx, &new))
            .await
    }

    async fn events(&self, query: &Query) -> Result<Page<EventRow>, StoreError> {
        let query = query.clone();
        self.read("list events", move |tx| listing::events(tx, &query))
            .await
    }
}

#[async_trait]
impl WantedFacts for SqliteStore {
    async fn due_facts(&self, now: Timestamp, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        self.read("read due facts", move |tx| wanted::due(tx, now, limit))
            .await
    }

    async fn next_fact_at(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read("read when a fact is due", wanted::next_at).await
    }

    async fn settle_fact(
        &self,
        tried: TriedFact,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        self.write("settle a fact", move |tx| wanted::settle(tx, tried, now))
            .await
    }
}

#[async_trait]
impl Registry for SqliteStore {
    async fn register(&self, registration: Registration) -> Result<RegistryChange, StoreError> {
        self.write_alone("register daemons", move |tx| {
            registry::register(tx, &registration)
        })
        .await
    }

    async fn daemons(&self) -> Result<Vec<DaemonRow>, StoreError> {
        self.read("read daemons", registry::daemons).await
    }

    async fn daemons_once(&self) -> Result<Vec<DaemonKey>, StoreError> {
        self.read("read daemons", lane::daemons).await
    }

    async fn daemons_of(&self, repo: &RepoName) -> Result<Vec<DaemonRow>, StoreError> {
        let repo = repo.clone();
        self.read("read daemons", move |tx| registry::daemons_of(tx, &repo))
            .await
    }

    async fn set_gate(&self, daemon: &DaemonKey, gate: Gate) -> Result<(), StoreError> {
        let daemon = daemon.clone();
        self.write("set a gate", move |tx| {
            registry::set_gate(tx, &daemon, gate)
        })
        .await
    }

    async fn set_host_gate(&self, gate: Gate) -> Result<(), StoreError> {
        self.write("set the host's gate", move |tx| hosting::set_gate(tx, gate))
            .await
    }

    async fn host_gate(&self) -> Result<Gate, StoreError> {
        self.read("read the host's gate", hosting::gate).await
    }
}

#[async_trait]
impl Ticks for SqliteStore {
    async fn coverages(&self) -> Result<Vec<Coverage>, StoreError> {
        self.read("read coverages", registry::coverages).await
    }

    async fn tick_activations(
        &self,
        daemons: &[DaemonKey],
    ) -> Result<Vec<TickActivations>, StoreError> {
        let daemons = daemons.to_vec();
        self.read("read unfinished ticks", move |tx| {
            tick::activations(tx, &daemons)
        })
        .await
    }

    async fn commit_ticks(&self, commits: Vec<TickCommit>) -> Result<Vec<TickResult>, StoreError> {
        self.write_alone("record ticks", move |tx| tick::commit(tx, commits))
            .await
    }

    async fn retract(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.write_alone("retract ticks", move |tx| tick::retract(tx, now))
            .await
    }

    async fn ticks(&self, query: &Query) -> Result<Page<StoredTick>, StoreError> {
        let query = query.clone();
        self.read("list ticks", move |tx| listing::ticks(tx, &query))
            .await
    }
}

#[async_trait]
impl Outbox for SqliteStore {
    async fn due_outputs(&self, now: Timestamp, limit: u32) -> Result<Vec<Output>, StoreError> {
        self.read("read due outputs", move |tx| output::due(tx, now, limit))
            .await
    }

    async fn next_output_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.read("read the next output", move |tx| output::next_at(tx, now))
            .await
    }

    async fn begin_send(&self, key: &OutputKey) -> Result<(), StoreError> {
        let key = key.clone();
        self.write("begin to send an output", move |tx| {
            output::begin_send(tx, &key)
        })
        .await
    }

    async fn settle(&self, key: &OutputKey, settlement: Settlement) -> Result<Output, StoreError> {
        let key = key.clone();
        self.write("settle an output", move |tx| {
            output::settle(tx, &key, settlement)
        })
        .await
    }

    async fn outputs_of(&self, activation: &ActivationId) -> Result<Vec<Output>, StoreError> {
        let activation = activation.clone();
        self.read("read outputs", move |tx| output::of(tx, &activation))
            .await
    }

    async fn outputs_at(
        &self,
        surface: &str,
        place: &OutputPlace,
    ) -> Result<Vec<Output>, StoreError> {
        let (surface, place) = (surface.to_owned(), place.clone());
        self.read("look outputs up", move |tx| {
            output::at(tx, &surface, &place)
        })
        .await
    }

    async fn outputs(&self, query: &Query) -> Result<Page<Output>, StoreError> {
        let query = query.clone();
        self.read("list outputs", move |tx| listing::outputs(tx, &query))
            .await
    }
}

#[async_trait]
impl Hosting for SqliteStore {
    async fn begin_epoch(
        &self,
        previous: HostEnd,
        now: Timestamp,
    ) -> Result<HostEpoch, StoreError> {
        self.write("begin an epoch", move |tx| {
            hosting::begin_epoch(tx, previous, now)
        })
        .await
    }

    async fn starts_after_crashes(&self, since: Timestamp) -> Result<u32, StoreError> {
        self.read("count the starts after crashes", move |conn| {
            hosting::starts_after_crashes(conn, since)
        })
        .await
    }

    async fn epoch(&self) -> Result<HostEpoch, StoreError> {
        self.read("read the epoch", hosting::epoch).await
    }

    async fn retain(
        &self,
        payloads: Timestamp,
        ids: Timestamp,
        ticks: Timestamp,
    ) -> Result<(), StoreError> {
        let context = "forget what is old";
        let mut behind = 0;
        // One transaction for all of them would keep others waiting.
        while let Some(last) = self
            .write_alone(context, move |tx| payload::forget(tx, payloads, behind))
            .await?
        {
            behind = last;
        }
        self.write(context, move |tx| event::forget(tx, ids, ticks))
            .await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.read("count rows", hosting::counts).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.write("probe the store", hosting::probe).await
    }
}
