use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Response;
use daemon_event::{Enrichment, Event, Source};
use daemon_ingest::{Delivery, Malformed, Rejected, WebhookSource};
use daemon_records::clock;
use daemon_store::{Accepted, Freshness, NewEvent, StoreError};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::super::connections::Connections;
use super::{Admit, Hooks, IN_FLIGHT, LARGE_IN_FLIGHT, SMALL, accept, respond};
use crate::fire::FiredEvent;

/// Commits events after a delay, and then records their payloads for matching.
#[derive(Default)]
struct SlowStore {
    commit_time: Duration,
    committed: Mutex<Vec<usize>>,
    backlog: u64,
    refusal: Option<&'static str>,
    missed: Mutex<Vec<Source>>,
}

#[async_trait]
impl Admit for SlowStore {
    fn now(&self) -> jiff::Timestamp {
        clock::now()
    }

    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        sleep(self.commit_time).await;
        let sizes = events.iter().map(|new| new.event.payload.len());
        self.committed
            .lock()
            .expect("no holder panics")
            .extend(sizes);
        let accepted = events.into_iter().map(|new| Accepted {
            id: new.event.id,
            freshness: Freshness::New,
        });
        Ok(accepted.collect())
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }

    fn missed(&self, source: Source) {
        self.missed.lock().expect("no holder panics").push(source);
    }

    fn unsigned(&self, _: Source) {}

    fn refusal(&self, _: u64) -> Option<String> {
        self.refusal.map(str::to_owned)
    }
}

/// A service whose deliveries are all authentic and contain one event each.
struct Trusted;

impl WebhookSource for Trusted {
    fn max_body(&self) -> usize {
        25 << 20
    }

    fn verify(&self, _: &Delivery<'_>) -> Result<(), Rejected> {
        Ok(())
    }

    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        let fired = FiredEvent {
            source: Source::Github,
            kind: "ping".to_owned(),
            body: delivery.body.to_vec(),
            delivery: None,
            enrichment: Enrichment::default(),
        };
        let event = fired.event(clock::now());
        Ok(vec![event.expect("the body is an object")])
    }
}

fn hooks(commit_time: Duration) -> (Arc<Hooks>, Arc<SlowStore>) {
    hooks_over(SlowStore {
        commit_time,
        ..SlowStore::default()
    })
}

fn hooks_over(store: SlowStore) -> (Arc<Hooks>, Arc<SlowStore>) {
    let store = Arc::new(store);
    let trusted: Arc<dyn WebhookSource> = Arc::new(Trusted);
    let served = [Source::Github, Source::Cloudevents];
    let sources = BTreeMap::from(served.map(|name| (name, Arc::clone(&trusted))));
    let admit: Arc<dyn Admit> = Arc::<SlowStore>::clone(&store);
    (Hooks::new(sources, admit), store)
}

/// Sends an object of `n_bytes`, and returns the status; `None` if the sender disconnects before the response.
async fn send(hooks: &Arc<Hooks>, n_bytes: usize, leaves_after: Duration) -> Option<u16> {
    let connections = Connections::new(1);
    let connection = connections.open().await;
    let object = "{\"hook_id\":1}";
    let body = object.to_owned() + &" ".repeat(n_bytes - object.len());
    let request = Request::new(Body::from(body));
    let answer = accept(hooks, Source::Github, request, &connection);
    let answer = timeout(leaves_after, answer).await.ok()?;
    Some(answer.unwrap_or_else(|refusal| *refusal).status().as_u16())
}

#[tokio::test(start_paused = true)]
async fn an_event_committed_after_its_response_is_reported_to_matching() {
    let (answered, left) = (Duration::from_secs(60), Duration::from_secs(1));
    for n_bytes in [100, usize::try_from(SMALL).expect("it fits") + 1] {
        for (leaves_after, status) in [(answered, Some(503)), (left, None)] {
            let (hooks, store) = hooks(Duration::from_secs(3));
            assert_eq!(send(&hooks, n_bytes, leaves_after).await, status);
            hooks.finish().await;
            let committed = store.committed.lock().expect("no holder panics");
            assert_eq!(*committed, [n_bytes], "{status:?}");
        }
    }
}

async fn message(refusal: Response<Body>) -> String {
    let body = to_bytes(refusal.into_body(), 4_096).await.expect("a body");
    let answer: Value = serde_json::from_slice(&body).expect("an object");
    answer["error"]["message"]
        .as_str()
        .expect("a message")
        .to_owned()
}

#[tokio::test]
async fn a_refused_webhook_names_the_limit() {
    let (hooks, _) = hooks(Duration::ZERO);
    let large: Vec<_> = (0..LARGE_IN_FLIGHT)
        .map(|_| hooks.take_places(SMALL + 1).expect("a place"))
        .collect();
    let refused = hooks
        .take_places(SMALL + 1)
        .expect_err("no place for a large one");
    assert_eq!(
        message(*refused).await,
        "32 webhooks with bodies over 1 MiB are in flight"
    );
    let small: Vec<_> = (large.len()..IN_FLIGHT)
        .map(|_| hooks.take_places(SMALL).expect("a place"))
        .collect();
    let refused = hooks.take_places(SMALL).expect_err("no place at all");
    assert_eq!(message(*refused).await, "128 webhooks are in flight");
    drop((large, small));
}

/// Sends a head whose body never comes, and returns the status, `Retry-After` and the message of the refusal.
async fn refused_at_head(store: SlowStore, name: Source) -> (u16, bool, String) {
    let (hooks, _) = hooks_over(store);
    let connections = Connections::new(1);
    let connection = connections.open().await;
    let silent = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let request = Request::new(Body::from_stream(silent));
    let refused = accept(&hooks, name, request, &connection).await;
    let refused = refused.expect_err("it is refused");
    let has_time = refused.headers().contains_key("retry-after");
    (refused.status().as_u16(), has_time, message(*refused).await)
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_host_refuses_every_sender_before_the_body_is_read() {
    for name in [Source::Github, Source::Cloudevents] {
        let full = SlowStore {
            backlog: 100_000,
            ..SlowStore::default()
        };
        let waits = "100,000 events wait to be matched".to_owned();
        assert_eq!(refused_at_head(full, name).await, (503, true, waits));
        let nearly = SlowStore {
            backlog: 99_999,
            ..SlowStore::default()
        };
        // The silent sender is waited for.
        let slow = "request timeout".to_owned();
        assert_eq!(refused_at_head(nearly, name).await, (408, false, slow));
        let full = SlowStore {
            refusal: Some("63 MiB are free"),
            ..SlowStore::default()
        };
        let disk = "the disk of the host: 63 MiB are free".to_owned();
        assert_eq!(refused_at_head(full, name).await, (503, true, disk));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_want_of_resources_marks_the_source() {
    let ping = || Request::new(Body::from("{\"hook_id\":1}"));
    let slow = Duration::from_secs(3);
    for (name, backlog, commit_time, expected) in [
        (Source::Github, 0, Duration::ZERO, (200, vec![])),
        (
            Source::Github,
            100_000,
            Duration::ZERO,
            (503, vec![Source::Github]),
        ),
        (Source::Github, 0, slow, (503, vec![Source::Github])),
        // No webhooks of this source are received, which any sender may pretend to send.
        (Source::Linear, 100_000, Duration::ZERO, (503, vec![])),
    ] {
        let (hooks, store) = hooks_over(SlowStore {
            backlog,
            commit_time,
            ..SlowStore::default()
        });
        let connections = Connections::new(1);
        let connection = connections.open().await;
        let answer = respond(&hooks, name, ping(), &connection).await;
        let missed = store.missed.lock().expect("no holder panics").clone();
        assert_eq!(
            (answer.status().as_u16(), missed),
            expected,
            "{name} {backlog}"
        );
    }
}
