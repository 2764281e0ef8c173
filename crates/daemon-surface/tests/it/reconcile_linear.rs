//! Comparisons of Linear with the webhooks that came: what changed since the last one becomes events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use daemon_engine::{Comparison, Reconciler as _};
use daemon_event::{Enrichment, Source, read};
use daemon_fakes::{Applied, FakeClock, FaultPlan, LinearApi, ServiceFault};
use daemon_surface::{Credentials, LinearReconciler, ServiceApi};
use serde_json::{Value, json};

use super::outbox::HostClock;

const UPDATE: &str = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }";
const COMMENT: &str =
    "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { comment { id } } }";
const EDIT: &str = "mutation($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success } }";

/// A workspace, its clock, and the cursors of its two places.
struct Scene {
    api: LinearApi,
    seconds: Arc<AtomicU64>,
    ann: String,
    one: LinearReconciler,
    cursors: [Option<String>; 2],
}

impl Scene {
    fn new() -> Self {
        let seconds = Arc::new(AtomicU64::new(1_800_000_000));
        let clock = Arc::clone(&seconds);
        let clock =
            FakeClock::new(move || Duration::from_secs(clock.fetch_add(1, Ordering::Relaxed)));
        let api = LinearApi::start(0, "ENG", clock).unwrap();
        let ann = api.add_user("Ann", "ann@example.com");
        api.add_app("Librarian", "lin_api_x");
        api.add_issue(&ann, "Old", "Before the first comparison.");
        Self {
            one: reconciler(&api),
            api,
            seconds,
            ann,
            cursors: [None, None],
        }
    }

    fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    fn act(&self, document: &str, variables: Value) -> Value {
        self.api.act(&self.ann, document, &variables).unwrap()
    }

    fn update(&self, id: &str, input: Value) {
        self.act(UPDATE, json!({"id": id, "input": input}));
    }

    fn state(&self, name: &str) -> String {
        let states = self.api.states().into_iter();
        { states }.find(|state| state.name == name).unwrap().id
    }

    /// Compares both places and keeps the cursors.
    async fn step(&mut self) -> Vec<Comparison> {
        let mut acc = Vec::new();
        for (place, cursor) in self.one.places().iter().zip(&mut self.cursors) {
            let result = self.one.compare(place, cursor.as_deref()).await.unwrap();
            if let Some(next) = &result.cursor {
                *cursor = Some(next.clone());
            }
            acc.push(result);
        }
        acc
    }

    /// Compares both places and returns what the missed events say, as conditions see them.
    async fn told(&mut self) -> Vec<String> {
        let compared = self.step().await;
        compared.iter().flat_map(facts_of).collect()
    }
}

fn reconciler(api: &LinearApi) -> LinearReconciler {
    let base = api.server().base_url().parse().unwrap();
    let credentials = Credentials::Token("lin_api_x".parse().unwrap());
    let client = ServiceApi::new(base, credentials, HostClock::new().wall()).unwrap();
    LinearReconciler::new(client)
}

fn facts_of(result: &Comparison) -> Vec<String> {
    let events = result.missed.iter();
    let events = events.map(|one| said(one.kind, &one.body));
    events.collect()
}

/// Returns the facts of a payload: those of a webhook and of an event that was made must be equal.
fn said(kind: &str, body: &[u8]) -> String {
    let event = read(Source::Linear, kind, body, &Enrichment::default()).unwrap();
    let time = event.time.map(|time| time.to_string());
    let action = event.action.unwrap_or_default();
    let subject = event.subject.map(|subject| subject.to_string());
    let facts: Vec<String> = event
        .facts
        .iter()
        .map(|(field, value)| format!("{field:?}: {value:?}"))
        .collect();
    format!("{kind}.{action} {subject:?} {time:?} {}", facts.join("; "))
}

#[tokio::test]
async fn what_changed_since_the_baseline_is_told_as_the_webhooks_would() {
    let mut scene = Scene::new();
    let bug = scene.api.add_label("bug");
    let docs = scene.api.add_label("docs");
    assert_eq!(scene.told().await, Vec::<String>::new(), "the baseline");
    assert_eq!(
        scene.step().await,
        [Comparison::default(), Comparison::default()]
    );
    let first = scene.api.webhooks().len();

    let new = scene.api.add_issue(&scene.ann, "New", "A lamp flickers.");
    scene.update(&new, json!({"addedLabelIds": [bug]}));
    scene.update(&new, json!({"removedLabelIds": [bug]}));
    scene.update(&new, json!({"addedLabelIds": [docs]}));
    scene.update("ENG-1", json!({"stateId": scene.state("In Progress")}));
    scene.update("ENG-1", json!({"stateId": scene.state("Done")}));
    scene.update("ENG-1", json!({"assigneeId": scene.ann}));
    scene.update("ENG-1", json!({"priority": 1}));
    scene.update("ENG-1", json!({"title": "Older"}));
    scene.update("ENG-1", json!({"assigneeId": null}));
    let made = scene.act(
        COMMENT,
        json!({"input": {"issueId": "ENG-1", "body": "Seen."}}),
    );
    let id = &made["commentCreate"]["comment"]["id"];
    scene.pass(200);
    scene.act(EDIT, json!({"id": id, "input": {"body": "Seen twice."}}));

    let sent = scene.api.webhooks();
    let mut expected: Vec<String> = sent[first..]
        .iter()
        .map(|hook| said(&hook.event, hook.body.as_bytes()))
        .collect();
    // A list has the comment as it is; its webhook had the first text.
    expected[10] = expected[10].replace("Seen.", "Seen twice.");
    assert_eq!(expected.len(), 12);
    let told = scene.told().await;
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.len(), expected.len());
    assert_eq!(scene.told().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_host_that_is_killed_before_it_stores_the_cursor_makes_the_same_events() {
    let mut scene = Scene::new();
    scene.step().await;
    scene.update("ENG-1", json!({"priority": 2, "title": "Both"}));
    scene.act(
        COMMENT,
        json!({"input": {"issueId": "ENG-1", "body": "Seen."}}),
    );
    let before = scene.cursors.clone();
    let made = scene.step().await;
    let n_made: Vec<usize> = made.iter().map(|one| one.missed.len()).collect();
    assert_eq!(n_made, [2, 1]);
    scene.one = reconciler(&scene.api);
    scene.cursors = before;
    assert_eq!(scene.step().await, made);
}

#[tokio::test]
async fn more_changes_than_are_read_at_once_follow_and_are_reported() {
    let mut scene = Scene::new();
    scene.step().await;
    for n in 0..450 {
        scene.api.add_issue(&scene.ann, &format!("Issue {n}"), "");
    }
    let (mut titles, mut n_partial) = (Vec::new(), 0);
    loop {
        let compared = scene.step().await.remove(0);
        for event in &compared.missed {
            let body: Value = serde_json::from_slice(&event.body).unwrap();
            titles.push(body["data"]["title"].as_str().unwrap().to_owned());
        }
        if !compared.is_partial {
            break;
        }
        let note = compared.note.unwrap();
        assert!(
            note.starts_with("many issues changed: those after "),
            "{note}"
        );
        n_partial += 1;
    }
    let expected: Vec<String> = (0..450).map(|n| format!("Issue {n}")).collect();
    assert_eq!(titles, expected);
    assert!(n_partial > 0);
}

#[tokio::test]
async fn a_workspace_that_cannot_be_read_gives_no_events_and_keeps_the_cursor() {
    let mut scene = Scene::new();
    scene.step().await;
    scene.update("ENG-1", json!({"priority": 2}));
    let place = scene.one.places().remove(0);
    for part in ["issues(filter", "history("] {
        for fault in [
            ServiceFault::Closed,
            ServiceFault::Cut,
            ServiceFault::Truncated,
            ServiceFault::Status(500, Applied::No),
            ServiceFault::RateLimited(1, Applied::No),
            ServiceFault::Html(200, Applied::No),
        ] {
            let one = reconciler(&scene.api);
            let plan = FaultPlan::each_once([("POST", part, fault.clone())]);
            scene.api.server().set_faults(plan);
            let failed = one.compare(&place, scene.cursors[0].as_deref()).await;
            let error = failed.unwrap_err();
            let is_named = error.message.starts_with("Linear's API: ");
            assert!(is_named, "{part} {fault:?} {error}");
        }
    }
    assert_eq!(scene.told().await.len(), 1);
}

#[tokio::test]
async fn a_wrong_token_is_final() {
    let scene = Scene::new();
    let base = scene.api.server().base_url().parse().unwrap();
    let credentials = Credentials::Token("lin_api_wrong".parse().unwrap());
    let client = ServiceApi::new(base, credentials, HostClock::new().wall()).unwrap();
    let one = LinearReconciler::new(client);
    let error = one.compare(&one.places()[0], None).await.unwrap_err();
    assert_eq!(error.kind, daemon_engine::FactErrorKind::Final, "{error}");
}
