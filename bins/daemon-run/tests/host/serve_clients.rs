//! Clients that come in too large a number, say nothing, or leave; and logs that a crash tore.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::{Duration, Instant};

use daemon_fakes::{Message, Reply};
use serde_json::{Value, json};

use crate::conversing::{api, call, history, of, world};
use crate::rpc::Rpc;
use crate::world::{World, eventually, until};

#[test]
fn a_client_above_the_limit_is_closed_and_has_a_place_once_another_leaves() {
    let world = World::pushed();
    world.configure("[host]\nclients = 2\n");
    let host = world.serve();
    let first = Rpc::initialized(host.socket());
    let mut second = Rpc::initialized(host.socket());
    let hello = json!({"protocol_version": 1});
    let mut third = Rpc::connect(host.socket());
    assert_eq!(third.call("initialize", &hello), Value::Null);
    shows!(second.call("host/stats", &json!({})), {"result.clients": 2});
    drop(first);
    let stats = eventually("there is a place again", || {
        let mut rpc = Rpc::connect(host.socket());
        let known = rpc.call("initialize", &hello)["result"].is_object();
        known.then(|| rpc.call("host/stats", &json!({})))
    });
    shows!(stats, {"result.clients": 2});
}

#[test]
fn a_client_over_tcp_that_never_says_who_it_is_is_closed_after_ten_seconds() {
    let world = World::pushed();
    world.configure("[tcp]\nlisten = \"127.0.0.1:0\"\n");
    let host = world.serve();
    let begun = Instant::now();
    let mut silent = Rpc::over_tcp(&world.tcp_address());
    let mut half = Rpc::over_tcp(&world.tcp_address());
    half.send(b"{\"jsonrpc\": \"2.0\", \"id\": 1, ");
    let mut owner = Rpc::initialized(host.socket());
    shows!(owner.call("host/stats", &json!({})), {"result.clients": 3});
    for silent in [&mut silent, &mut half] {
        assert_eq!(silent.answer(), Value::Null);
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_secs(10), "{elapsed:?}");
    }
    until("their places are free", || {
        owner.call("host/stats", &json!({}))["result"]["clients"] == 1
    });
}

#[test]
fn a_turn_ends_with_its_client_if_the_configuration_says_so() {
    let slow = Message::text("Said to an empty room, word by word by word.");
    let api = api([
        Reply::Drip(slow, Duration::from_secs(2)),
        Reply::text("Here."),
    ]);
    let world = world(&api, "[conversation]\non_disconnect = \"cancel\"\n");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "Still there?"}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/stream", "params": params});
    rpc.line(&request.to_string());
    until("the model is called", || api.received().len() == 1);
    drop(rpc);
    let end = eventually("the turn has ended", || {
        let last = history(&host).pop()?;
        (last["type"] == "end").then_some(last)
    });
    shows!(end, {"outcome": "killed"});
    let next = call(&host, "conversation/send", &json!({"content": "And now?"}));
    shows!(next, {"result.text": "Here.", "result.turn": 2});
}

#[test]
fn a_torn_last_line_of_a_session_log_is_cut_off_and_counted() {
    let api = api([Reply::text("Whole.")]);
    let world = world(&api, "");
    let host = world.serve();
    let said = call(&host, "conversation/send", &json!({"content": "Be whole."}));
    shows!(said, {"result.text": "Whole."});
    host.kill();
    let whole = crate::conversing::log(&world);
    let sessions = world.home.join("sessions");
    let mut entries = std::fs::read_dir(sessions).expect("the sessions");
    let path = entries.next().expect("a session").expect("an entry").path();
    let mut log = OpenOptions::new().append(true).open(path).expect("a log");
    log.write_all(b"{\"n\":5,\"type\":\"us")
        .expect("it is torn");
    let host = world.serve();
    assert_eq!(history(&host).len(), 4);
    assert_eq!(crate::conversing::log(&world), whole);
    let metrics = host.ask("GET", "/metrics", &Value::Null).body;
    assert!(
        metrics.contains("daemon_session_lines_torn_total 1"),
        "{metrics}"
    );
}
