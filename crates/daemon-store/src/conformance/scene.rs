//! Rows for the cases: small, distinct, and readable in a failure.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use daemon_engine::{
    Activation, ActivationState, Admission, AttemptEnd, AttemptOutcome, Gate, HostEpoch, Joining,
    NewOutput, NewTrigger, OutputKey, OutputState, Trigger,
};
use daemon_event::{
    ActivationId, DaemonKey, DeliveryId, Event, EventFacts, EventId, Field, FieldValue, RepoName,
    Source, Subject, TriggerKey,
};
use daemon_schedule::{TickOutcome, TickRow};
use jiff::{SignedDuration, Timestamp};

use crate::rows::{
    ClaimRequest, DaemonRow, Identity, Matching, Modes, NewEvent, Query, Registration, RunRow,
    ScheduleText, Validity,
};
use crate::traits::Store;

/// The host of the cases.
pub(super) const HOST: HostEpoch = HostEpoch(1);

/// Returns an instant some seconds after the beginning of the case.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + seconds).expect("the years of the cases are in range")
}

pub(super) fn repo() -> RepoName {
    "o/r".parse().expect("a valid name")
}

pub(super) fn daemon(id: &str) -> DaemonKey {
    DaemonKey {
        repo: repo(),
        id: id.parse().expect("a valid id"),
    }
}

pub(super) fn event_id(n: u64) -> EventId {
    EventId::new(n, [0; 10])
}

pub(super) fn activation_id(n: u64) -> ActivationId {
    ActivationId::new(n, [1; 10])
}

pub(super) fn subject(text: &str) -> Option<Subject> {
    Some(text.parse().expect("a valid subject"))
}

pub(super) fn event(n: u64, received_at: Timestamp) -> Event {
    Event {
        id: event_id(n),
        source: Source::Github,
        kind: "pull_request".to_owned(),
        action: Some("opened".to_owned()),
        subject: subject("github:o/r#42"),
        actor: None,
        repo: Some(repo()),
        time: received_at,
        received_at,
        delivery: format!("d-{n}").parse::<DeliveryId>().expect("a valid id"),
        facts: facts(n),
        payload: format!("{{\"n\":{n}}}").into_bytes().into(),
    }
}

fn facts(n: u64) -> EventFacts {
    let mut facts = EventFacts::default();
    facts.set(Field::Number, FieldValue::Number(n));
    facts.set_text(Field::Title, "a \"title\" in\n\u{1F41E} 语言");
    facts.set(Field::Draft, FieldValue::Flag(n.is_multiple_of(2)));
    facts.set_texts(Field::Message, ["one", ""]);
    facts
}

/// Returns an event to be matched, known by one key.
pub(super) fn new_event(n: u64, key: &str) -> NewEvent {
    NewEvent {
        event: event(n, at(i64::try_from(n).expect("small"))),
        identities: vec![forever(key)],
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Due,
    }
}

pub(super) fn forever(key: &str) -> Identity {
    Identity {
        key: key.to_owned(),
        within: None,
    }
}

pub(super) fn within(key: &str, seconds: i64) -> Identity {
    Identity {
        key: key.to_owned(),
        within: Some(SignedDuration::from_secs(seconds)),
    }
}

/// Returns the row of a valid daemon with conditions.
pub(super) fn row(id: &str) -> DaemonRow {
    DaemonRow {
        key: daemon(id),
        path: format!(".agents/daemons/{id}/DAEMON.md"),
        rev: "rev-1".to_owned(),
        commit: "c0ffee".to_owned(),
        purpose: format!("does {id}"),
        validity: Validity::Valid,
        definition: "{}".to_owned(),
        diagnostics: "[]".to_owned(),
        modes: Modes {
            watch: true,
            schedule: false,
        },
        schedule: None,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: at(0),
    }
}

pub(super) fn scheduled(id: &str, expression: &str) -> DaemonRow {
    DaemonRow {
        modes: Modes {
            watch: false,
            schedule: true,
        },
        schedule: Some(ScheduleText {
            expression: expression.to_owned(),
            zone: "UTC".to_owned(),
        }),
        ..row(id)
    }
}

pub(super) fn registration(daemons: Vec<DaemonRow>, now: Timestamp) -> Registration {
    Registration {
        repo: repo(),
        commit: "c0ffee".to_owned(),
        daemons,
        now,
        since: None,
    }
}

/// Registers valid daemons at the beginning.
pub(super) async fn registered(store: &dyn Store, ids: &[&str]) {
    let rows = ids.iter().map(|id| row(id)).collect();
    store
        .register(registration(rows, at(0)))
        .await
        .expect("registers");
}

/// Returns the trigger of a person.
pub(super) fn asked(id: &str, n: u64, now: Timestamp) -> NewTrigger {
    trigger(id, n, TriggerKey::Person(format!("p-{n}").into()), now)
}

/// Returns the trigger of an event about a subject that is its own.
pub(super) fn woken(id: &str, n: u64, now: Timestamp) -> NewTrigger {
    NewTrigger {
        subject: subject(&format!("github:o/r#{n}")),
        ..trigger(id, n, TriggerKey::Event(event_id(n)), now)
    }
}

pub(super) fn trigger(id: &str, n: u64, key: TriggerKey, now: Timestamp) -> NewTrigger {
    NewTrigger {
        daemon: daemon(id),
        rev: "rev-1".to_owned(),
        subject: None,
        trigger: Trigger {
            key,
            conditions: vec![0],
            by: None,
            occasion: None,
            recorded_at: now,
        },
        activation_id: activation_id(n),
        not_before: now,
        joining: Joining::Coalesce,
        link: None,
    }
}

pub(super) fn claim(now: Timestamp) -> ClaimRequest {
    ClaimRequest {
        owner: HOST,
        now,
        lease_until: now + SignedDuration::from_secs(60),
        host_slots: 4,
        daemon_slots: 1,
        rates: Default::default(),
        day_usd: None,
    }
}

/// Admits a trigger that must make an activation.
pub(super) async fn enqueue(store: &dyn Store, new: NewTrigger) -> ActivationId {
    match store.enqueue(new).await.expect("admits") {
        Admission::Enqueued(id) => id,
        other => panic!("expected a new activation, found {other:?}"),
    }
}

/// Claims what must be ready.
pub(super) async fn claimed(store: &dyn Store, now: Timestamp) -> Activation {
    store
        .claim(&claim(now))
        .await
        .expect("claims")
        .expect("something is ready")
}

pub(super) async fn state_of(store: &dyn Store, id: &ActivationId) -> ActivationState {
    read(store, id).await.state
}

pub(super) async fn read(store: &dyn Store, id: &ActivationId) -> Activation {
    store
        .activation(id)
        .await
        .expect("reads")
        .expect("the activation is there")
}

pub(super) fn ending(outcome: AttemptOutcome, now: Timestamp) -> AttemptEnd {
    AttemptEnd {
        tokens: Some(100),
        cost_usd: Some(0.25),
        summary: Some("looked".to_owned()),
        ..AttemptEnd::new(outcome, now, u32::MAX)
    }
}

pub(super) fn done(now: Timestamp) -> AttemptEnd {
    ending(AttemptOutcome::Done, now)
}

pub(super) fn failed(now: Timestamp) -> AttemptEnd {
    ending(
        AttemptOutcome::Final {
            reason: "no such model".to_owned(),
        },
        now,
    )
}

pub(super) fn crashed(now: Timestamp) -> AttemptEnd {
    ending(
        AttemptOutcome::Retryable {
            reason: "it crashed".to_owned(),
        },
        now,
    )
}

/// Enqueues, claims and fails one activation.
pub(super) async fn fail_one(store: &dyn Store, id: &str, n: u64, now: Timestamp) -> Gate {
    enqueue(store, woken(id, n, now)).await;
    let activation = claimed(store, now).await;
    store
        .end_attempt(&activation.id, activation.run_lease, failed(now))
        .await
        .expect("ends")
        .gate
}

pub(super) fn planned(activation: &ActivationId, ordinal: u32) -> NewOutput {
    let target = format!("refs/heads/daemon/{ordinal}");
    NewOutput {
        key: OutputKey::derive(activation, ordinal, "git", &target),
        ordinal,
        surface: "git".to_owned(),
        target,
        content: "{\"v\":1}".to_owned(),
        revision: Some(format!("c0ffee-{ordinal}")),
        state: OutputState::Planned,
        error: None,
    }
}

pub(super) fn run(id: &str, activation: &Activation, now: Timestamp) -> RunRow {
    RunRow {
        id: id.to_owned(),
        activation: Some(activation.id.clone()),
        daemon: Some(activation.daemon.clone()),
        attempt: activation.attempts,
        provider: "builtin".to_owned(),
        state: "running".to_owned(),
        started_at: now,
        finished_at: None,
        object: "{}".to_owned(),
    }
}

pub(super) fn tick(at: Timestamp, outcome: TickOutcome) -> TickRow {
    TickRow {
        first: at,
        scheduled_at: at,
        count: 1,
        outcome,
    }
}

pub(super) fn first(limit: u32) -> Query {
    Query {
        limit,
        ..Query::default()
    }
}

/// Drives futures side by side on one task.
pub(super) async fn join_all<T>(
    futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>,
) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(Some).collect();
    let mut results: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (future, result) in waiting.iter_mut().zip(&mut results) {
            if let Some(pending) = future
                && let Poll::Ready(value) = pending.as_mut().poll(context)
            {
                *result = Some(value);
                *future = None;
            }
        }
        if waiting.iter().all(Option::is_none) {
            Poll::Ready(results.iter_mut().filter_map(Option::take).collect())
        } else {
            Poll::Pending
        }
    })
    .await
}
