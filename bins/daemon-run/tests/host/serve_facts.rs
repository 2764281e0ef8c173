//! Facts that payloads do not contain: requested on loopback, awaited, and then the daemon wakes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http::pull_request_opened;
use crate::world::{World, check, eventually, until, watch};

const TOKEN: &str = "ghp_NobodyMaySeeThis";
const DOCS: &str = "when a pull request that touches docs/** is opened";

/// An API that holds every request until the test gives it a response.
struct HeldApi {
    base: String,
    requests: Receiver<(String, Sender<String>)>,
}

impl HeldApi {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (asked, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let head = read_head(&mut stream);
                let (answer, answered) = channel();
                if asked.send((head, answer)).is_err() {
                    return;
                }
                let text: String = answered.recv().unwrap_or_default();
                // A host that was killed reads no answer.
                stream.write_all(text.as_bytes()).unwrap_or_default();
            }
        });
        Self { base, requests }
    }

    /// Waits for a request and returns its target, and where its answer goes.
    fn request(&self) -> (String, Sender<String>) {
        let (head, answer) = eventually("the API is asked", || self.requests.try_recv().ok());
        assert!(
            head.contains(&format!("authorization: Bearer {TOKEN}\r\n")),
            "{head}"
        );
        let target = head.split(' ').nth(1).expect("a target");
        (target.to_owned(), answer)
    }

    fn was_asked(&self) -> bool {
        self.requests.try_recv().is_ok()
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.extend(byte);
    }
    String::from_utf8(head).expect("a request's head is text")
}

fn reply(status: u16, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A world whose daemon waits for changes of the docs, with GitHub's API on loopback.
fn waiting(api: &HeldApi) -> World {
    let world = World::new(&[("docs", &watch(&[DOCS]))]);
    std::fs::write(world.home.join("api-token"), format!("{TOKEN}\n")).expect("the token");
    world.configure("");
    let path = world.home.join("config.toml");
    let text = std::fs::read_to_string(&path).expect("the configuration");
    let own = format!(
        "[sources]\nreconcile = \"0s\"\n\n[sources.github]\ntoken_file = \"api-token\"\napi_base = {:?}",
        api.base
    );
    world.write_config(&text.replace("[sources.github]", &own));
    world
}

fn event_id(answer: &Value) -> String {
    answer.text("event_ids.0")
}

fn fact(event: &Value) -> Value {
    let all = event["facts"].as_array().expect("a list");
    let mut found = all.iter().filter(|fact| fact["need"] == "changed_files");
    found.next().cloned().unwrap_or_default()
}

#[test]
fn a_pull_request_wakes_only_after_the_api_returned_its_files() {
    let api = HeldApi::start();
    let world = waiting(&api);
    let host = world.serve();
    let told = host.hook("pull_request", "d-1", &pull_request_opened(7));
    let id = event_id(&told.json());
    let (target, answer) = api.request();
    assert_eq!(target, "/repos/o/r/pulls/7/files?per_page=100&page=1");
    let event = host.get(&format!("events/{id}"));
    assert_eq!(
        (host.list("activations"), &fact(&event)["state"]),
        (Vec::new(), &json!("waiting"))
    );
    let explained = world.run(&["explain", "docs", "--event", &id, "--repo", "repo"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(
        explained.contains("a needed fact is missing: changed_files"),
        "{explained}"
    );

    let files = json!([{"filename": "docs/a.md", "status": "modified"}]);
    answer.send(reply(200, &files)).expect("it is awaited");
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    assert_eq!(activations[0]["trigger"]["event_ids"], json!([id]));
    let event = host.get(&format!("events/{id}"));
    assert_eq!(event["changed_files"], json!(["docs/a.md"]));
    assert_eq!(
        fact(&event),
        json!({"need": "changed_files", "state": "known", "from": "api", "tries": 1, "next_try_at": null, "note": null})
    );
    let explained = world.run(&["explain", "docs", "--event", &id, "--repo", "repo"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("docs  wakes on github"), "{explained}");
    assert!(
        explained.ends_with("  fact changed_files  from the API\n"),
        "{explained}"
    );
    host.hook("pull_request", "d-1", &pull_request_opened(7));
    assert_eq!(host.settled(1).len(), 1);
    assert!(!api.was_asked());
    assert!(!world.log().contains(TOKEN), "{}", world.log());
}

#[test]
fn a_try_that_failed_is_repeated_by_the_next_host() {
    let api = HeldApi::start();
    let world = waiting(&api);
    let host = world.serve();
    let told = host.hook("pull_request", "d-1", &pull_request_opened(7));
    let id = event_id(&told.json());
    let (_, answer) = api.request();
    answer.send(reply(500, &json!({}))).expect("it is awaited");
    let event = format!("events/{id}");
    until("the failure is stored", || {
        fact(&host.get(&event))["tries"] == 1
    });
    let doctor = host.get("doctor");
    shows!(check(&doctor, "facts"), {"detail": "1 wanted, 0 given up"});
    host.kill();

    let host = world.serve();
    let (_, answer) = api.request();
    let files = json!([{"filename": "docs/a.md"}]);
    answer.send(reply(200, &files)).expect("it is awaited");
    assert_eq!(host.settled(1).len(), 1);
    assert_eq!(fact(&host.get(&event))["tries"], 2);
}

#[test]
fn a_fact_that_the_api_does_not_have_is_given_up_and_wakes_no_daemon() {
    let api = HeldApi::start();
    let world = waiting(&api);
    let host = world.serve();
    let mut body = pull_request_opened(7);
    body["pull_request"]["head"]["sha"] = json!("a".repeat(40));
    let told = host.hook("pull_request", "d-1", &body);
    let id = event_id(&told.json());
    let event = format!("events/{id}");
    let (_, answer) = api.request();
    answer.send(reply(404, &json!({}))).expect("it is awaited");
    let given_up = eventually("the fact is given up", || {
        let fact = fact(&host.get(&event));
        (fact["state"] == "gave_up").then_some(fact)
    });
    assert_eq!(
        given_up,
        json!({"need": "changed_files", "state": "gave_up", "from": null, "tries": 1, "next_try_at": null,
            "note": "local git does not have both commits; GitHub's API: 404 (it is not there, or the token may not see it)"})
    );
    assert_eq!(host.list("activations"), Vec::<Value>::new());
    let said =
        "  fact changed_files  given up: local git does not have both commits; GitHub's API: 404 ";
    for command in [
        &["events", "show", &id][..],
        &["explain", "docs", "--event", &id, "--repo", "repo"],
    ] {
        let shown = world.run(command);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(said), "{shown}");
    }
    let explained = host.ask(
        "POST",
        "/api/v1/explain",
        &json!({"id": "docs", "event": id}),
    );
    assert_eq!(fact(&explained.json()), given_up);
}

#[test]
fn what_local_git_has_is_not_asked_for() {
    let api = HeldApi::start();
    let world = waiting(&api);
    let base = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    world.git(&["checkout", "--quiet", "-b", "topic"]);
    world.write("docs/b.md", "two\n");
    let head = world.commit("propose");
    world.git(&["checkout", "--quiet", "main"]);
    let host = world.serve();
    let mut body = pull_request_opened(7);
    body["pull_request"]["head"]["sha"] = json!(head);
    body["pull_request"]["base"]["sha"] = json!(base);
    let told = host.hook("pull_request", "d-1", &body);
    assert_eq!(host.settled(1).len(), 1);
    let event = host.get(&format!("events/{}", event_id(&told.json())));
    assert_eq!(
        (&fact(&event)["from"], &event["changed_files"]),
        (&json!("local_git"), &json!(["docs/b.md"]))
    );
    assert!(!api.was_asked());
}

#[test]
fn a_token_or_base_that_cannot_be_used_refuses_to_start() {
    let api = HeldApi::start();
    let world = waiting(&api);
    let text = std::fs::read_to_string(world.home.join("config.toml")).expect("it is there");
    let start = |text: &str| {
        world.write_config(text);
        let (code, object) = world.json(&["serve", "--listen", "127.0.0.1:0"]);
        (code, object["error"]["message"].clone())
    };
    let plain = text.replace(&api.base, "http://api.github.com");
    let why = "sources.github.api_base: `http://api.github.com` is not a base of an API: it is neither https nor on this machine";
    assert_eq!(start(&plain), (78, json!(why)));
    let unset = text.replace("token_file = \"api-token\"", "token_env = \"NOT_SET_HERE\"");
    let why = "sources.github.token_env: `NOT_SET_HERE` is not set";
    assert_eq!(start(&unset), (78, json!(why)));
    std::fs::write(world.home.join("api-token"), "two words\n").expect("the token");
    let why = "the token of sources.github: a token is one line of visible ASCII characters";
    assert_eq!(start(&text), (78, json!(why)));
}
