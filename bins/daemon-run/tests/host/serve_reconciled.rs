//! Webhooks that never came: GitHub is asked for them again, and what it shows becomes events, once.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use daemon_fakes::{FakeClock, GithubAccess, GithubApi, GithubWebhook};
use serde_json::{Value, json};

use crate::world::{Host, World, check, until, watch};

const TOKEN: &str = "ghp_NobodyMaySeeThisOneToo";
const REPO: &str = "o/r";
const CHECK: &str = "github comparison";

fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("the clock is right")
}

fn world() -> (World, GithubApi) {
    world_compared("1s")
}

/// Makes a world whose daemon wakes on pull requests, and a GitHub with its branches, which is compared at an interval.
pub(crate) fn world_compared(interval: &str) -> (World, GithubApi) {
    let world = World::new(&[("helper", &watch(&["when a pull request is opened"]))]);
    let api = GithubApi::start(0, FakeClock::new(now)).expect("a port");
    api.add_repo(REPO);
    api.add_token(TOKEN, "helper-bot", GithubAccess::Write);
    let main = world.git(&["rev-parse", "main"]);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "a change"]);
    world.git(&["branch", "topic"]);
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let topic = world.git(&["rev-parse", "topic"]);
    api.set_branch(REPO, "main", Some(main.trim()));
    api.set_branch(REPO, "topic", Some(topic.trim()));
    std::fs::write(world.home.join("surface-token"), format!("{TOKEN}\n")).expect("the token");
    let base = api.server().base_url();
    world.configure(&format!(
        "[sources]\nreconcile = {interval:?}\n\n[surfaces.github]\ntoken_file = \"surface-token\"\napi_base = {base:?}\n"
    ));
    (world, api)
}

/// Adds a webhook that leads to a host: what is sent is passed on, and the sender sees this status.
pub(crate) fn hook(api: &GithubApi, status: u16) -> Receiver<GithubWebhook> {
    let (send, sent) = channel();
    api.add_hook(REPO, "https://host.example/webhooks/github", move |hook| {
        send.send(hook.clone()).expect("the test receives it");
        status
    });
    sent
}

pub(crate) fn open_pull(api: &GithubApi) {
    let body = json!({"title": "A change", "body": "Mine.", "head": "topic", "base": "main"});
    let (status, made) = api.act("ann", "POST", &format!("/repos/{REPO}/pulls"), &body);
    assert_eq!(status, 201, "{made}");
}

/// Waits until every place was compared once.
pub(crate) fn compared(host: &Host) {
    until("GitHub is compared", || {
        let found = check(&host.get("doctor"), CHECK);
        let detail = found["detail"].as_str().expect("a text");
        detail.contains("compared at")
    });
}

pub(crate) fn deliver(host: &Host, hook: &GithubWebhook) -> Value {
    let body: Value = serde_json::from_str(&hook.body).expect("JSON");
    host.hook(&hook.event, &hook.guid, &body).json()
}

#[test]
fn a_failed_delivery_is_asked_for_again_and_wakes_once() {
    let (world, api) = world();
    let sent = hook(&api, 503);
    let host = world.serve();
    compared(&host);
    open_pull(&api);
    let lost = sent.recv().expect("it was sent");
    let again = sent.recv().expect("it is sent again");
    assert_eq!(again, lost);
    deliver(&host, &again);
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    let events = host.list("events");
    let opened: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "pull_request")
        .collect();
    assert_eq!(opened.len(), 1, "{events:?}");
    assert!(!world.log().contains(TOKEN));
}

#[test]
fn what_no_webhook_brought_wakes_once_and_a_late_webhook_is_a_duplicate() {
    let (world, api) = world();
    let sent = hook(&api, 200);
    let host = world.serve();
    compared(&host);
    open_pull(&api);
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    let events = host.list("events");
    let made: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "pull_request")
        .collect();
    assert_eq!(
        made.iter()
            .map(|event| &event["delivery_id"])
            .collect::<Vec<_>>(),
        ["reconciled:o/r:1"],
        "{events:?}"
    );
    assert_eq!(made[0]["actor"], "ann");
    let late = sent.recv().expect("it was sent");
    assert_eq!(deliver(&host, &late)["duplicate"], true);
    assert_eq!(host.settled(1).len(), 1);
    let report = check(&host.get("doctor"), CHECK);
    assert_eq!(report["status"], "ok", "{report}");
    let detail = report["detail"].as_str().expect("a text");
    assert!(
        detail.ends_with("0 deliveries asked for again, 1 events made"),
        "{detail}"
    );
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_is_killed_while_it_compares_loses_and_doubles_nothing() {
    let (world, api) = world();
    let host = world.serve();
    compared(&host);
    host.kill();
    open_pull(&api);
    for place in ["C1", "C2"] {
        assert_eq!(world.dies_at(place), None, "{place}");
    }
    let host = world.serve();
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    let events = host.list("events");
    assert_eq!(events.len(), 1, "{events:?}");
}

#[test]
fn missing_rights_are_shown_and_the_second_net_holds() {
    let (world, api) = world();
    let host = world.serve();
    compared(&host);
    let report = check(&host.get("doctor"), CHECK);
    assert_eq!(report["status"], "warn", "{report}");
    let detail = report["detail"].as_str().expect("a text");
    let expected = "no webhook of `o/r` leads to `/webhooks/github`; compared at ";
    assert!(detail.starts_with(expected), "{detail}");
    open_pull(&api);
    assert_eq!(host.settled(1).len(), 1);
}
