//! What a host says of itself, and where its limits are.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use daemon_fakes::Reply;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::conversing::{self, api};
use crate::fields::Shown as _;
use crate::rpc::Rpc;
use crate::world::{World, send, watch};

fn code(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    (
        error["code"].as_i64().unwrap_or_default(),
        error["data"].text("code"),
    )
}

#[test]
fn a_host_says_what_it_has_and_what_it_does() {
    let (world, host) = World::serving();
    let agents = world.home.join("agents");
    fs::create_dir_all(&agents).expect("a directory");
    fs::write(
        agents.join("scout.md"),
        "---\ndescription: Finds.\n---\nx\n",
    )
    .expect("an agent");
    let mut rpc = Rpc::initialized(host.socket());
    let stats = rpc.call("host/stats", &json!({}))["result"].take();
    shows!(stats, {
        "registered_agents": 1, "active_model": "sh", "clients": 1, "dispatches": 1, "degraded": null,
    });
    assert!(stats["rss_bytes"].as_u64() > Some(1 << 20), "{stats}");
    assert!(stats["uptime_s"].is_u64(), "{stats}");
    let (exit, pong) = world.json(&["call", "ping"]);
    assert_eq!((exit, pong["uptime_ms"].is_u64()), (0, true), "{pong}");
}

#[test]
fn requests_of_all_clients_share_the_places_of_the_host() {
    let world = World::pushed();
    world.configure("[host]\ndispatches = 1\nworkers = 1\n");
    let host = world.serve();
    let mut first = Rpc::initialized(host.socket());
    first.line(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "event/subscribe", "params": {}}).to_string(),
    );
    let mut second = Rpc::initialized(host.socket());
    crate::world::until("the place is taken", || {
        code(&second.call("host/stats", &json!({}))) == (-32007, "busy".to_owned())
    });
    // Without a place: it asks whether the host answers.
    assert!(second.call("ping", &json!({}))["result"].is_object());
    drop(first);
    crate::world::until("the place is free", || {
        second.call("host/stats", &json!({}))["result"].is_object()
    });
}

#[test]
fn a_wrong_configuration_is_located_for_programs() {
    let (world, host) = World::serving();
    let path = world.home.join("config.toml");
    let right = fs::read_to_string(&path).expect("a configuration");
    fs::write(&path, format!("{right}\n[limits]\n  host = \"x\"\n")).expect("it is written");
    let answer = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
    assert_eq!(code(&answer), (-32008, "config-invalid".to_owned()));
    let line = right.lines().count() + 3;
    shows!(answer["error"]["data"], {"line": line, "column": 10});
}

#[test]
fn a_member_that_a_request_does_not_have_is_refused() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    rpc.line(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping", "zz": 1}).to_string());
    let answer = rpc.answer();
    assert_eq!(
        (code(&answer), answer["id"].as_u64()),
        ((-32602, "invalid-params".to_owned()), Some(9))
    );
}

#[test]
fn a_day_whose_budget_is_used_up_refuses_to_fire() {
    let world = World::new(&[("pusher", &watch(&["when a commit is pushed to main"]))]);
    world.script("cat > /dev/null\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"x\"}'\n");
    world.configure("[budget]\nday_usd = 0\n");
    let refused = |(exit, answer): (i32, Value)| (exit, answer["error"].text("code"));
    let expected = (77, "over-budget".to_owned());
    assert_eq!(
        refused(world.json(&["fire", "pusher", "--repo", "repo"])),
        expected
    );
    let host = world.serve();
    assert_eq!(refused(world.json(&["fire", "pusher"])), expected);
    assert_eq!(host.list("activations"), [Value::Null; 0]);
}

#[test]
fn a_client_that_sends_all_of_a_body_that_is_too_large_reads_why_it_is_refused() {
    let world = World::pushed();
    world.configure("[sources.linear]\nsecret_file = \"hook-secret\"\n");
    fs::write(world.home.join("hook-secret"), "a secret of the hook\n").expect("a secret");
    let host = world.serve();
    let mut stream = TcpStream::connect(host.address()).expect("the host listens");
    let body = vec![b'x'; (4 << 20) + 1];
    let head = format!(
        "POST /webhooks/linear HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nLinear-Signature: {}\r\nContent-Length: {}\r\n\r\n",
        host.address(),
        "0".repeat(64),
        body.len()
    );
    stream
        .write_all(head.as_bytes())
        .expect("the head is taken");
    stream.write_all(&body).expect("the body is taken");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 413");
}

#[test]
fn a_host_whose_log_has_lost_its_reader_goes_on_and_stops_in_order() {
    let world = World::pushed();
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut host = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut ready = String::new();
    let stdout = host.stdout.take().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut ready)
        .expect("a line");
    assert!(ready.contains("\"ready\":true"), "{ready}");
    // From here on every line of the log fails.
    drop(host.stderr.take());
    for command in ["hold", "go", "reload"] {
        assert_eq!(world.json(&[command]).0, 0, "{command}");
    }
    let (exit, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(exit, 0, "{fired}");
    send(&host, Signal::INT);
    let status = host.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn no_run_works_where_it_could_read_or_change_the_home() {
    let (world, _host) = World::serving();
    let link = world.beside("link");
    std::os::unix::fs::symlink(&world.home, &link).expect("a link");
    let above = world.home.parent().expect("it has a parent").to_owned();
    let inside = world.home.join("daemons");
    for directory in [&world.home, &above, &inside, &link] {
        let call = json!({"action": "emanate", "cwd": directory, "tasks": [{"task": "x"}]});
        let (exit, refused) = world.tool(&call);
        assert_eq!(
            (exit, refused["error"].text("code").as_str()),
            (77, "policy"),
            "{refused}"
        );
    }
    let call = json!({"action": "emanate", "cwd": world.repo, "tasks": [{"task": "x"}]});
    assert_eq!(world.tool(&call).0, 0);
}

#[test]
fn a_service_that_quotes_the_key_does_not_bring_it_into_a_conversation() {
    let key = "sk-quoted-0123456789abcdef";
    let quoted = format!("bad key: Bearer {key}");
    let api = api([Reply::Status {
        code: 401,
        headers: Vec::new(),
        body: json!({"error": {"message": quoted}}).to_string(),
    }]);
    let world = conversing::world(&api, "key_file = \"key\"");
    fs::write(world.home.join("key"), key).expect("a key");
    let host = world.serve();
    let answer = conversing::call(&host, "conversation/send", &json!({"content": "Hello."}));
    let why = answer["error"].text("message");
    assert!(why.contains("401") && !why.contains(key), "{why}");
    let log = conversing::log(&world);
    assert!(!String::from_utf8_lossy(&log).contains(key));
}
