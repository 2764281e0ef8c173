//! Webhooks of Linear that never came: what its API shows becomes events, once.

use std::time::{Duration, SystemTime};

use daemon_fakes::{Applied, FakeClock, FaultPlan, LinearApi, LinearWebhook, ServiceFault};
use serde_json::{Value, json};

use crate::http::{Answer, hmac_hex};
use crate::world::{Host, SECRET, World, check, until, watch};

const CHECK: &str = "linear comparison";
const UPDATE: &str = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }";

fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("the clock is right")
}

struct Scene {
    world: World,
    api: LinearApi,
    ann: String,
}

impl Scene {
    /// Makes a world whose daemon wakes when an issue is started, and a Linear with one issue. The daemon may edit it.
    fn new() -> Self {
        let wakes = watch(&["when a Linear issue is moved to In Progress by a non-bot human"]);
        let world = World::new(&[("helper", &wakes)]);
        let api = LinearApi::start(0, "ENG", FakeClock::new(now)).expect("a port");
        let ann = api.add_user("Ann", "ann@example.com");
        let bot = api.add_user("Librarian", "bot@example.com");
        api.add_token("lin_api_x", &bot);
        api.add_issue(&ann, "A lamp flickers", "");
        std::fs::write(world.home.join("linear-token"), "lin_api_x\n").expect("the token");
        let base = api.server().base_url();
        world.configure(&format!(
            "[sources]\nreconcile = \"1s\"\n\n[sources.linear]\nsecret_file = \"hook-secret\"\naccept_late = \"6h\"\n\n\
             [surfaces.linear]\ntoken_file = \"linear-token\"\napi_base = {base:?}\n\n\
             [policy.daemon.helper]\ncapability = \"write\"\n"
        ));
        Self { world, api, ann }
    }

    fn start_work(&self) -> LinearWebhook {
        let states = self.api.states().into_iter();
        let state = { states }.find(|state| state.name == "In Progress");
        let input = json!({"stateId": state.expect("a state").id});
        let variables = json!({"id": "ENG-1", "input": input});
        self.api
            .act(&self.ann, UPDATE, &variables)
            .expect("it is updated");
        self.api.webhooks().pop().expect("it was told")
    }
}

/// Waits until every place was compared once.
fn compared(host: &Host) {
    until("Linear is compared", || {
        let found = check(&host.get("doctor"), CHECK);
        let detail = found["detail"].as_str().expect("a text");
        detail.starts_with("compared at")
    });
}

fn deliver(host: &Host, hook: &LinearWebhook) -> Answer {
    let signature = hmac_hex(SECRET, hook.body.as_bytes());
    let headers = [
        ("Content-Type", "application/json"),
        ("Linear-Event", hook.event.as_str()),
        ("Linear-Delivery", hook.delivery.as_str()),
        ("Linear-Signature", signature.as_str()),
    ];
    host.post("/webhooks/linear", &headers, &hook.body)
}

fn events(host: &Host) -> Vec<Value> {
    let mut events = host.list("events");
    events.retain(|event| event["source"] == "linear");
    events
}

/// Waits until a comparison counted as many duplicates.
fn until_duplicates(host: &Host, n: u64) {
    until("the comparison meets the webhook", || {
        let events = events(host);
        let duplicates = events.iter().map(|event| event["duplicates"].as_u64());
        duplicates.flatten().sum::<u64>() >= n
    });
}

#[test]
fn what_no_webhook_brought_wakes_once_and_a_late_webhook_is_a_duplicate() {
    let scene = Scene::new();
    let host = scene.world.serve();
    compared(&host);
    // The first answers about the change are lost, limited or failures: nothing is stored then, and it is found again.
    scene.api.server().set_faults(FaultPlan::each_once([
        ("POST", "history(", ServiceFault::Closed),
        ("POST", "history(", ServiceFault::Status(502, Applied::No)),
        (
            "POST",
            "history(",
            ServiceFault::RateLimited(1, Applied::No),
        ),
    ]));
    let late = scene.start_work();
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    let events = events(&host);
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    let is_made = event["delivery_id"]
        .as_str()
        .expect("an id")
        .starts_with("reconciled:linear:");
    assert!(is_made, "{event}");
    assert_eq!(
        (&event["actor"], &event["subject"]),
        (&json!("Ann"), &json!("linear:ENG-1"))
    );
    assert_eq!(deliver(&host, &late).json()["duplicate"], true);
    assert_eq!(host.settled(1).len(), 1);
    let report = check(&host.get("doctor"), CHECK);
    assert_eq!(report["status"], "ok", "{report}");
    let detail = report["detail"].as_str().expect("a text");
    assert!(
        detail.ends_with(": since the start 1 events made"),
        "{detail}"
    );
    assert!(!scene.world.log().contains("lin_api_x"));
}

#[test]
fn what_a_webhook_brought_is_not_made_again() {
    let scene = Scene::new();
    let host = scene.world.serve();
    compared(&host);
    assert_eq!(
        deliver(&host, &scene.start_work()).json()["duplicate"],
        false
    );
    until_duplicates(&host, 1);
    assert_eq!(host.settled(1).len(), 1);
    assert_eq!(events(&host).len(), 1);
}

#[test]
fn what_happened_while_no_host_ran_wakes_after_the_start_and_closes_the_gap() {
    let scene = Scene::new();
    let host = scene.world.serve();
    compared(&host);
    host.kill();
    scene.start_work();
    let host = scene.world.serve();
    assert_eq!(host.settled(1).len(), 1);
    until("the gap is closed", || {
        let report = host.get("doctor");
        let checks = report["checks"].as_array().expect("a list");
        checks.iter().all(|check| check["name"] != "linear gap")
    });
}

#[test]
fn outputs_of_the_daemon_itself_do_not_wake_it() {
    let scene = Scene::new();
    scene.world.script(
        "echo '{\"daemon\":\"output\",\"output\":{\"v\":1,\"verb\":\"edit_issue\",\"priority\":1}}'\n\
         echo '{\"daemon\":\"output\",\"output\":{\"v\":1,\"verb\":\"comment\",\"body\":\"On it.\"}}'",
    );
    let wakes = watch(&[
        "when a Linear issue is prioritized",
        "when a comment is added to a Linear issue",
        "when a Linear issue is moved to In Progress",
    ]);
    scene
        .world
        .write_daemon("helper", &crate::world::daemon_file("helper", &wakes));
    scene.world.commit("wake on more");
    let host = scene.world.serve();
    compared(&host);
    scene.start_work();
    host.settled(1);
    until("the comparison finds the outputs", || {
        events(&host).len() >= 3
    });
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    let events = events(&host);
    let why = "the change, and two that outputs made";
    assert_eq!(events.len(), 3, "{why}: {events:?}");
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_is_killed_while_it_compares_loses_and_doubles_nothing() {
    let scene = Scene::new();
    let host = scene.world.serve();
    compared(&host);
    host.kill();
    scene.start_work();
    for place in ["C1", "C2"] {
        assert_eq!(scene.world.dies_at(place), None, "{place}");
    }
    let host = scene.world.serve();
    assert_eq!(host.settled(1).len(), 1);
    assert_eq!(events(&host).len(), 1);
}

#[test]
fn without_a_token_the_doctor_names_what_is_missing() {
    let scene = Scene::new();
    let config = "[sources.linear]\nsecret_file = \"hook-secret\"\n";
    scene.world.configure(config);
    let host = scene.world.serve();
    let found = check(&host.get("doctor"), CHECK);
    assert_eq!(
        (&found["status"], &found["remedy"]),
        (&json!("warn"), &json!("set `surfaces.linear`"))
    );
}
