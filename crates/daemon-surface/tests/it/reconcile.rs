//! Comparisons of GitHub with the webhooks that came: what is asked for again, and what is made an event.

use std::sync::{Arc, Mutex};

use daemon_engine::{Comparison, FactError, Reconciler as _};
use daemon_fakes::{Applied, FaultPlan, GithubAccess, GithubApi, GithubWebhook, ServiceFault};
use daemon_surface::{Credentials, GithubReconciler, RefReading, ServiceApi};
use serde_json::{Value, json};

use super::github_kit::{REPO, TOKEN, as_ann, github};
use super::outbox::HostClock;

const DELIVERIES: usize = 0;
const OBJECTS: usize = 1;

fn reconciler(api: &GithubApi, token: &str) -> GithubReconciler {
    with(api, Credentials::Token(token.parse().unwrap()))
}

fn with(api: &GithubApi, credentials: Credentials) -> GithubReconciler {
    let base = api.server().base_url().parse().unwrap();
    let client = ServiceApi::new(base, credentials, HostClock::new().wall()).unwrap();
    let repo = (REPO.parse().unwrap(), RefReading::Api);
    GithubReconciler::new(client, vec![repo])
}

/// Compares a place, from its number among the places.
async fn compared(
    one: &GithubReconciler,
    place: usize,
    cursor: Option<&str>,
) -> Result<Comparison, FactError> {
    let places = one.places();
    one.compare(&places[place], cursor).await
}

/// Compares a place and keeps the cursor.
async fn step(one: &GithubReconciler, place: usize, cursor: &mut Option<String>) -> Comparison {
    let result = compared(one, place, cursor.as_deref()).await.unwrap();
    if let Some(next) = &result.cursor {
        *cursor = Some(next.clone());
    }
    result
}

fn told(result: &Comparison) -> Vec<String> {
    let word = |missed: &daemon_engine::MissedEvent| {
        let body: Value = serde_json::from_slice(&missed.body).unwrap();
        format!(
            "{} {}{} {} by {}",
            missed.delivery,
            missed.kind,
            body["action"]
                .as_str()
                .map_or_else(String::new, |it| format!(".{it}")),
            body["number"].as_u64().map_or_else(
                || body["ref"].as_str().unwrap_or_default().to_owned(),
                |number| format!("#{number}")
            ),
            body["sender"]["login"].as_str().unwrap_or("-"),
        )
    };
    result.missed.iter().map(word).collect()
}

fn n_requests(api: &GithubApi) -> usize {
    api.server().received().len()
}

#[tokio::test]
async fn what_changed_since_the_baseline_becomes_events_once() {
    let api = github();
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    let first = step(&one, OBJECTS, &mut cursor).await;
    assert_eq!((first.missed.len(), first.note), (0, None));
    // Nothing changed: four conditional requests.
    let before = n_requests(&api);
    assert_eq!(
        step(&one, OBJECTS, &mut cursor).await,
        Comparison::default()
    );
    assert_eq!(n_requests(&api) - before, 4);

    api.set_branch(REPO, "topic", Some(&"d".repeat(40)));
    api.set_branch(REPO, "new", Some(&"e".repeat(40)));
    let pull = json!({"title": "Other", "body": "", "head": "new", "base": "main"});
    as_ann(&api, "pulls", pull);
    let (status, _) = api.act("ann", "PUT", "/repos/o/r/pulls/3/merge", &json!({}));
    assert_eq!(status, 200);
    let expected = [
        "reconciled:o/r:1 push refs/heads/main by ann",
        "reconciled:o/r:2 create new by -",
        "reconciled:o/r:3 push refs/heads/new by ann",
        "reconciled:o/r:4 push refs/heads/topic by ann",
        "reconciled:o/r:5 pull_request.synchronize #2 by -",
        "reconciled:o/r:6 pull_request.opened #3 by ann",
        "reconciled:o/r:7 pull_request.closed #3 by ann",
    ];
    let without_cursor = cursor.clone();
    let missed = step(&one, OBJECTS, &mut cursor).await;
    assert_eq!(told(&missed), expected);
    let body: Value = serde_json::from_slice(&missed.missed[6].body).unwrap();
    assert_eq!(
        (
            &body["pull_request"]["merged"],
            &body["repository"]["full_name"]
        ),
        (&json!(true), &json!(REPO))
    );
    let body: Value = serde_json::from_slice(&missed.missed[3].body).unwrap();
    assert_eq!(body["changed_files"], json!(["a.rs"]));
    assert_eq!(step(&one, OBJECTS, &mut cursor).await.missed, []);
    // A host that was killed before it stored the cursor makes the same events.
    let again = reconciler(&api, TOKEN);
    let again = compared(&again, OBJECTS, without_cursor.as_deref())
        .await
        .unwrap();
    assert_eq!(again, missed);
    // And so does the same host.
    let again = compared(&one, OBJECTS, without_cursor.as_deref())
        .await
        .unwrap();
    assert_eq!(again, missed);
}

#[tokio::test]
async fn pull_requests_are_read_in_pages_until_the_known_ones() {
    let api = github();
    for n in 0..1_050 {
        let branch = format!("b{n}");
        api.set_branch(REPO, &branch, Some(&format!("{n:040x}")));
    }
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    step(&one, OBJECTS, &mut cursor).await;
    for n in 0..1_050 {
        let pull = json!({"title": "Many", "body": "", "head": format!("b{n}"), "base": "main"});
        as_ann(&api, "pulls", pull);
    }
    let missed = step(&one, OBJECTS, &mut cursor).await;
    let numbers: Vec<String> = told(&missed);
    assert_eq!(numbers.len(), 1_050);
    assert!(numbers[0].contains("opened #3 "), "{}", numbers[0]);
    assert!(
        numbers[1_049].contains("opened #1052 "),
        "{}",
        numbers[1_049]
    );
}

#[tokio::test]
async fn a_repository_that_cannot_be_read_gives_no_events_and_no_cursor() {
    let api = github();
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    step(&one, OBJECTS, &mut cursor).await;
    api.set_branch(REPO, "topic", Some(&"d".repeat(40)));
    let pull = json!({"title": "Other", "body": "", "head": "topic", "base": "main"});
    let (status, _) = api.act(
        "ann",
        "PATCH",
        "/repos/o/r/pulls/2",
        &json!({"state": "closed"}),
    );
    assert_eq!(status, 200);
    as_ann(&api, "pulls", pull);
    for part in [
        "/git/matching-refs/heads",
        "/pulls",
        "/compare/",
        "/issues/2",
    ] {
        for fault in [
            ServiceFault::Closed,
            ServiceFault::Status(500, Applied::No),
            ServiceFault::RateLimited(1, Applied::No),
            ServiceFault::Truncated,
            ServiceFault::Html(200, Applied::No),
        ] {
            let one = reconciler(&api, TOKEN);
            let plan = FaultPlan::each_once([("GET", part, fault.clone())]);
            api.server().set_faults(plan);
            let failed = compared(&one, OBJECTS, cursor.as_deref()).await;
            let error = failed.unwrap_err();
            assert!(
                error.message.starts_with("GitHub's API: "),
                "{part} {fault:?} {error}"
            );
        }
    }
    let missed = step(&reconciler(&api, TOKEN), OBJECTS, &mut cursor).await;
    let actions = told(&missed);
    assert_eq!(
        actions,
        [
            "reconciled:o/r:1 push refs/heads/topic by ann",
            "reconciled:o/r:2 pull_request.synchronize #2 by -",
            "reconciled:o/r:3 pull_request.closed #2 by ann",
            "reconciled:o/r:4 pull_request.opened #3 by ann",
        ]
    );
}

/// A receiver of webhooks whose status a test sets, and what it got.
#[derive(Clone, Default)]
struct Receiver {
    status: Arc<Mutex<u16>>,
    got: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    fn respond(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }

    fn receive(&self, hook: &GithubWebhook) -> u16 {
        let status = *self.status.lock().unwrap();
        self.got.lock().unwrap().push(hook.guid.clone());
        status
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.got.lock().unwrap())
    }
}

fn comment(api: &GithubApi) {
    as_ann(api, "issues/1/comments", json!({"body": "hm"}));
}

#[tokio::test]
async fn failed_deliveries_are_asked_for_again_at_most_three_times() {
    let api = github();
    let (ours, others) = (Receiver::default(), Receiver::default());
    let (to_us, to_others) = (ours.clone(), others.clone());
    api.add_hook(REPO, "https://ci.example/hook", move |hook| {
        to_others.receive(hook)
    });
    api.add_hook(REPO, "https://host.example/webhooks/github", move |hook| {
        to_us.receive(hook)
    });
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    ours.respond(503);
    others.respond(500);
    comment(&api);
    assert_eq!(
        step(&one, DELIVERIES, &mut cursor).await.n_asked,
        0,
        "the baseline"
    );
    comment(&api);
    others.take();
    let guid = ours.take().pop().unwrap();
    for _ in 0..3 {
        let result = step(&one, DELIVERIES, &mut cursor).await;
        // The first one is within the overlap.
        assert!(result.n_asked >= 1, "{result:?}");
        assert!(ours.take().contains(&guid));
    }
    let result = step(&one, DELIVERIES, &mut cursor).await;
    let note = result.note.unwrap_or_default();
    assert_eq!(result.n_asked, 0);
    assert!(
        note.starts_with("2 deliveries failed again each time they were asked for (3 times)"),
        "{note}"
    );
    comment(&api);
    ours.respond(200);
    let lost = ours.take();
    assert_eq!(step(&one, DELIVERIES, &mut cursor).await.n_asked, 1);
    assert_eq!(ours.take(), lost);
    assert_eq!(step(&one, DELIVERIES, &mut cursor).await.n_asked, 0);
    let before = n_requests(&api);
    assert_eq!(step(&one, DELIVERIES, &mut cursor).await.n_asked, 0);
    assert_eq!(n_requests(&api) - before, 1);
    let others_got = others.take();
    assert_eq!(
        others_got.len(),
        1,
        "the webhook of another system is left alone"
    );
}

#[tokio::test]
async fn of_many_failed_deliveries_the_oldest_come_first_and_the_gap_stays_until_the_last() {
    let api = github();
    let ours = Receiver::default();
    let to_us = ours.clone();
    api.add_hook(REPO, "https://host.example/webhooks/github", move |hook| {
        to_us.receive(hook)
    });
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    ours.respond(503);
    step(&one, DELIVERIES, &mut cursor).await;
    for _ in 0..150 {
        comment(&api);
    }
    let lost = ours.take();
    ours.respond(200);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let result = step(&one, DELIVERIES, &mut cursor).await;
        asked.push((result.n_asked, result.is_partial, result.note));
    }
    let expected = [(100, true, None), (50, false, None), (0, false, None)];
    assert_eq!(asked, expected);
    assert_eq!(ours.take(), lost);
}

#[tokio::test]
async fn without_rights_on_webhooks_that_is_said() {
    let api = github();
    api.add_token("ghp_reader", "reader", GithubAccess::Read);
    let plan = FaultPlan::each_once([("GET", "/hooks", ServiceFault::Status(404, Applied::No))]);
    api.server().set_faults(plan);
    let result = compared(&reconciler(&api, TOKEN), DELIVERIES, None)
        .await
        .unwrap();
    let note = result.note.unwrap();
    assert!(
        note.starts_with("the credentials may not read the webhooks of `o/r`"),
        "{note}"
    );
    let result = compared(&reconciler(&api, TOKEN), DELIVERIES, None)
        .await
        .unwrap();
    let expected = "no webhook of `o/r` leads to `/webhooks/github`";
    assert_eq!(result.note.as_deref(), Some(expected));

    let ours = Receiver::default();
    let to_us = ours.clone();
    api.add_hook(REPO, "https://host.example/webhooks/github", move |hook| {
        to_us.receive(hook)
    });
    let one = reconciler(&api, "ghp_reader");
    let mut cursor = None;
    step(&one, DELIVERIES, &mut cursor).await;
    ours.respond(500);
    comment(&api);
    let result = step(&one, DELIVERIES, &mut cursor).await;
    let expected = "the credentials may not ask for failed deliveries again";
    assert_eq!(
        (result.n_asked, result.note.as_deref()),
        (0, Some(expected))
    );
}

#[tokio::test]
async fn an_app_asks_for_the_deliveries_of_its_own_webhook() {
    let api = github();
    let ours = Receiver::default();
    let to_us = ours.clone();
    api.set_app_hook("https://host.example/webhooks/github", move |hook| {
        to_us.receive(hook)
    });
    let key = include_str!("app_key.pem").parse().unwrap();
    let app = daemon_surface::AppCredentials::new(7, key, None, |_| ());
    let one = with(&api, Credentials::App(app));
    let names: Vec<String> = one.places().into_iter().map(|place| place.name).collect();
    assert_eq!(names, ["github-deliveries/app", "github-objects/o/r"]);
    let mut cursor = None;
    step(&one, DELIVERIES, &mut cursor).await;
    ours.respond(502);
    comment(&api);
    ours.respond(200);
    let lost = ours.take();
    assert_eq!(step(&one, DELIVERIES, &mut cursor).await.n_asked, 1);
    assert_eq!(ours.take(), lost);
}

#[tokio::test]
async fn requests_are_left_for_outputs() {
    let api = github();
    api.set_hourly_limit(20);
    let one = reconciler(&api, TOKEN);
    let mut cursor = None;
    let mut n_compared = 0;
    let error = loop {
        match compared(&one, OBJECTS, cursor.as_deref()).await {
            Ok(result) => cursor = result.cursor.or(cursor),
            Err(error) => break error,
        }
        n_compared += 1;
    };
    let expected = "GitHub's API: less than a quarter of the requests of its limit is left";
    assert_eq!((error.message.as_str(), n_compared), (expected, 4));
    assert!(n_requests(&api) < 20);
}
