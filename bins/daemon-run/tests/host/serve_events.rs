//! The event bus over the socket: subscriptions across reloads and hosts, and the turns that events start.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::conversing::{api, call, world};
use crate::rpc::Rpc;
use crate::world::{Host, World, eventually, until};

fn ask(host: &Host, method: &str, params: &Value) -> Value {
    Rpc::initialized(host.socket()).call(method, params)
}

fn subscriptions(world: &World) -> PathBuf {
    world.home.join("events/subscriptions.toml")
}

/// Subscribes the agent `scout` to a source, and returns the id.
fn subscribe(host: &Host, source: &str, once: bool) -> Value {
    let params = json!({"source": source, "target_agent": "scout", "once": once});
    let created = ask(host, "subscription/create", &params);
    shows!(created, {
        "result.subscription.source": source, "result.subscription.target_agent": "scout",
        "result.subscription.once": once, "result.subscription.problem": null,
    });
    created["result"]["subscription"]["id"].clone()
}

/// Returns the types of the lines of the conversation that an event of a source starts.
fn types(host: &Host, source: &str) -> Vec<Value> {
    let params = json!({"agent": "scout", "sender": format!("event:{source}")});
    let answer = ask(host, "conversation/history", &params);
    let lines = answer["result"]["lines"].as_array().cloned();
    let lines = lines.unwrap_or_default().into_iter();
    lines.map(|mut line| line["type"].take()).collect()
}

#[test]
fn an_event_is_stored_answered_and_starts_a_turn() {
    let api = api([Reply::text("Seen.")]);
    let world = world(&api, "");
    let host = world.serve();
    subscribe(&host, "deploy", false);
    let publish = |source: &str| {
        let params = json!({"source": source, "payload": {"n": 1}});
        ask(&host, "event/publish", &params)
    };
    shows!(publish("Deploy"), {"result.matched": 0});
    let published = publish("deploy");
    shows!(published, {"result.matched": 1});
    until("the turn has ended", || {
        types(&host, "deploy").last() == Some(&json!("end"))
    });
    let id = &published["result"]["event_id"];
    let stored = ask(&host, "event/get", &json!({"id": id}));
    shows!(stored, {"result.id": id, "result.kind": "deploy", "result.payload.n": 1});
    shows!(publish("agent:scout:done"), {"error.code": -32003, "error.data.code": "forbidden"});
    let params = json!({"source": "deploy", "target_agent": "nemo"});
    let unknown = ask(&host, "subscription/create", &params);
    shows!(unknown, {"error.code": -32004, "error.data.code": "not-found"});
    shows!(ask(&host, "subscription/delete", &json!({"id": 7})), {"error.code": -32004});
    let stats = ask(&host, "host/stats", &json!({}));
    shows!(stats, {"result.subscriptions": 1});
}

/// Reads the notifications of a stream until it has shown `n` events of a type.
fn read_until(rpc: &mut Rpc, kind: &str, n: usize) -> Vec<Value> {
    let mut notifications = Vec::new();
    let count = |all: &[Value]| {
        let events = all.iter().map(|one| &one["params"]["event"]["type"]);
        events.filter(|found| **found == kind).count()
    };
    while count(&notifications) < n {
        let next = rpc.answer();
        assert_eq!(next["method"], "stream/event", "{next}");
        notifications.push(next);
    }
    notifications
}

#[test]
fn a_stream_opened_before_three_reloads_shows_every_later_event_without_a_gap() {
    let api = api((0..4).map(|n| Reply::text(format!("{n}"))));
    let world = world(&api, "");
    let host = world.serve();
    let mut stream = Rpc::initialized(host.socket());
    let request = json!({"jsonrpc": "2.0", "id": "f", "method": "event/subscribe", "params": {"after_seq": 0}});
    stream.line(&request.to_string());
    for n in 0..4 {
        let sent = call(&host, "conversation/send", &json!({"content": "x"}));
        shows!(sent, {"result.text": n.to_string()});
        if n < 3 {
            let reloaded = ask(&host, "host/reload", &json!({}));
            shows!(reloaded, {"result.generation": n + 2});
        }
    }
    let notifications = read_until(&mut stream, "published", 4);
    for (at, notification) in notifications.iter().enumerate() {
        shows!(notification, {"params.request_id": "f", "params.seq": at + 1});
    }
    let ends = notifications.iter().map(|one| &one["params"]["event"]);
    let ends: Vec<_> = ends.filter(|event| event["type"] == "end").collect();
    let expected = |turn: u64| json!({"type": "end", "agent": "scout", "sender": "t", "turn": turn, "outcome": "done", "error": null});
    assert_eq!(
        ends,
        (1..=4)
            .map(expected)
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>()
    );

    // The stream ends when its client cancels it, and a later one begins behind the number that it names.
    let cancel = json!({"jsonrpc": "2.0", "method": "cancel", "params": {"request_id": "f"}});
    stream.line(&cancel.to_string());
    shows!(stream.answer(), {"id": "f", "result": {}});
    let params = json!({"after_seq": notifications.len() - 1, "kinds": ["published"]});
    let again = json!({"jsonrpc": "2.0", "id": "g", "method": "event/subscribe", "params": params});
    stream.line(&again.to_string());
    shows!(stream.answer(), {"params.seq": notifications.len(), "params.event.source": "agent:scout:done"});
    let late = ask(&host, "event/subscribe", &json!({"after_seq": 100_000}));
    shows!(late, {"error.code": -32004});
    // A client that says nothing more cannot cancel: its stream ends.
    stream.close_writing();
    shows!(stream.answer(), {"id": "g", "result": {}});
}

#[test]
fn a_corrupt_file_of_subscriptions_is_not_written_until_it_is_repaired() {
    let api = api([]);
    let world = world(&api, "");
    let broken = "[[subscription]]\nid = 1\nsource = \"s\n";
    fs::create_dir_all(world.home.join("events")).expect("a directory");
    fs::write(subscriptions(&world), broken).expect("a file");
    let host = world.serve();
    let params = json!({"source": "s", "target_agent": "scout"});
    for (method, params) in [
        ("subscription/create", params.clone()),
        ("subscription/list", json!({})),
        ("subscription/delete", json!({"id": 1})),
    ] {
        let refused = ask(&host, method, &params);
        shows!(refused, {"error.code": -32010, "error.data.code": "storage-failed"}, "{method}");
    }
    let published = ask(
        &host,
        "event/publish",
        &json!({"source": "s", "payload": null}),
    );
    shows!(published, {"result.matched": 0});
    let bytes = fs::read_to_string(subscriptions(&world)).expect("the file");
    assert_eq!(bytes, broken);
    fs::write(subscriptions(&world), broken.replace("\"s", "\"s\"")).expect("a file");
    ask(&host, "host/reload", &json!({}));
    let listed = ask(&host, "subscription/list", &json!({}));
    let entry = json!({"id": 1, "source": "s", "target_agent": null, "once": false,
        "problem": "missing field `target_agent`"});
    shows!(listed, {"result.subscriptions": [entry]});
    shows!(ask(&host, "subscription/create", &params), {"result.subscription.id": 2});
}

#[test]
fn an_id_is_new_after_a_restart_and_a_restart_rewrites_no_file() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    assert_eq!(subscribe(&host, "s", false), 1);
    assert_eq!(subscribe(&host, "s", true), 2);
    shows!(ask(&host, "subscription/delete", &json!({"id": 2})), {"result": {}});
    let file = || {
        let metadata = fs::metadata(subscriptions(&world)).expect("the file");
        (metadata.ino(), metadata.mtime_nsec())
    };
    let written = file();
    host.kill();
    let host = world.serve();
    let listed = ask(&host, "subscription/list", &json!({}));
    shows!(listed, {"result.subscriptions.0.id": 1});
    assert_eq!(file(), written);
    assert_eq!(subscribe(&host, "s", false), 3);
}

#[test]
fn a_once_subscription_starts_one_turn_for_fifty_concurrent_clients() {
    let api = api([Reply::text("Once.")]);
    let world = world(&api, "");
    let host = world.serve();
    subscribe(&host, "s", true);
    let clients: Vec<Rpc> = (0..50).map(|_| Rpc::initialized(host.socket())).collect();
    let matched: u64 = std::thread::scope(|scope| {
        let publishing = clients.into_iter().map(|mut client| {
            scope.spawn(move || {
                let answer = client.call("event/publish", &json!({"source": "s", "payload": 1}));
                answer["result"]["matched"].as_u64().expect("a number")
            })
        });
        let publishing: Vec<_> = publishing.collect();
        publishing
            .into_iter()
            .map(|one| one.join().expect("it ends"))
            .sum()
    });
    assert_eq!(matched, 1);
    until("the turn has ended", || types(&host, "s").len() == 4);
    assert_eq!(types(&host, "s"), ["meta", "user", "assistant", "end"]);
    assert_eq!(api.received().len(), 1);
    let text = fs::read_to_string(subscriptions(&world)).expect("the file");
    assert_eq!(text, "next_id = 2\nsubscription = []\n");
}

#[test]
fn an_agent_that_wakes_itself_ends_after_eight_hops() {
    let api = api((0..20).map(|_| Reply::text("Again.")));
    let world = world(&api, "");
    let host = world.serve();
    subscribe(&host, "agent:scout:done", false);
    let sent = call(&host, "conversation/send", &json!({"content": "Begin."}));
    shows!(sent, {"result.text": "Again."});
    eventually("the ninth hop is refused", || {
        world
            .log()
            .contains("an event was refused: too many led to it")
            .then_some(())
    });
    let listed = ask(&host, "event/list", &json!({}));
    assert_eq!(
        listed["result"]["events"].as_array().map(Vec::len),
        Some(8),
        "{listed}"
    );
    assert_eq!(api.received().len(), 9);
}
