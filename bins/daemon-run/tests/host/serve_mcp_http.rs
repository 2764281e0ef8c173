//! Tools over the Model Context Protocol and HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use daemon_api::ops::Operation;
use daemon_mcp::{ClientError, Endpoint, ToolClient, ToolResult, ToolStatus};
use serde_json::{Map, Value, json};

use crate::http;
use crate::world::{Host, World};

const PATIENCE: Duration = Duration::from_secs(60);

/// Connects with a bearer token, as other programs do.
pub(crate) async fn connect(host: &Host, token: &str) -> Result<ToolClient, ClientError> {
    let endpoint = Endpoint {
        url: format!("http://{}/mcp", host.address()),
        headers: BTreeMap::from([("Authorization".to_owned(), format!("Bearer {token}"))]),
        proxy: None,
    };
    ToolClient::connect(&endpoint, PATIENCE).await
}

pub(crate) async fn called(client: &ToolClient, tool: &str, arguments: Value) -> ToolResult {
    let arguments: Map<_, _> = serde_json::from_value(arguments).expect("an object");
    let called = client.call(tool, arguments).await;
    called.unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn is_of_roster(tool: &str) -> bool {
    let mut operations = Operation::ALL.iter();
    operations.any(|operation| operation.roster_tool() == Some(tool))
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// Sends a request and reads the head of the answer: its status, and the session that it names. What answers may be a stream.
fn head(
    host: &Host,
    method: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Option<String>) {
    let bearer = format!("Bearer {}", host.token());
    let usual = [
        ("Authorization", bearer.as_str()),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let given = |name: &str| headers.iter().any(|(one, _)| *one == name);
    let usual = usual.into_iter().filter(|(name, _)| !given(name));
    let all: Vec<_> = usual.chain(headers.iter().copied()).collect();
    let all: Vec<_> = all
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let request = http::request(host.address(), method, "/mcp", &all, body.as_bytes());
    let mut stream = TcpStream::connect(host.address()).expect("the host listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(&request).expect("it is sent");
    let mut bytes = Vec::new();
    let mut one = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut one).expect("it answers") > 0 {
        bytes.push(one[0]);
    }
    let text = String::from_utf8(bytes).expect("a head is text");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let session = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_session = name.eq_ignore_ascii_case("mcp-session-id");
        is_session.then(|| value.trim().to_owned())
    });
    (status.expect("a status"), session)
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    }})
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})
}

#[test]
fn a_client_over_http_lists_fires_and_works_on_text() {
    let (_world, host) = World::serving();
    runtime().block_on(async {
        let client = connect(&host, host.token()).await.expect("it connects");
        let names: BTreeSet<&str> = client
            .tools()
            .iter()
            .map(|tool| tool.name.as_str())
            // Those of the roster have tests of their own.
            .filter(|name| !is_of_roster(name))
            .collect();
        let expected = [
            "activation",
            "activations",
            "daemon",
            "dismiss_notice",
            "event",
            "events",
            "explain",
            "fire",
            "lint",
            "list",
            "logs",
            "next",
            "notices",
            "output",
            "outputs",
            "remind",
            "run",
            "runs",
            "show",
            "ticks",
        ];
        assert_eq!(names, BTreeSet::from(expected));
        let listed = called(&client, "list", json!({})).await;
        let listed = listed.structured.expect("an object");
        shows!(listed, {"schema_version": 1, "daemons.0.id": "pusher"});
        let fired = called(&client, "fire", json!({"id": "pusher"})).await;
        let fired = fired.structured.expect("an object");
        shows!(fired, {"wakes": true, "duplicate": false, "activation.daemon_id": "pusher"});
        let text = "---\nid: x\n---\n";
        let linted = called(&client, "lint", json!({"text": text})).await;
        let linted = linted.structured.expect("an object");
        shows!(linted, {"ok": false, "summary.files": 1});
        let next = json!({"cron": "0 9 * * *", "from": "2026-01-02T00:00:00Z", "n": 1});
        let next = called(&client, "next", next).await.structured;
        shows!(next.expect("an object"), {"times": ["2026-01-02T09:00:00Z"]});
        let runs = called(&client, "daemon", json!({"action": "list"})).await;
        assert_eq!(runs.status, ToolStatus::Ok, "{runs:?}");
        // A client that stays connected does not delay the stop of the host.
        host.stop();
        client.close().await;
    });
}

#[test]
fn no_tool_over_http_takes_a_path_or_dispatches_a_run() {
    let (world, host) = World::serving();
    let file = world.home.join("config.toml").display().to_string();
    runtime().block_on(async {
        let client = connect(&host, host.token()).await.expect("it connects");
        for (tool, arguments, message) in [
            (
                "lint",
                json!({"paths": [file]}),
                "`paths` is not served over HTTP",
            ),
            ("lint", json!({}), "`text` is missing"),
            (
                "explain",
                json!({"id": "pusher"}),
                "`id` is not served over HTTP",
            ),
            (
                "explain",
                json!({"condition": "when x", "event": file}),
                "`event` is an object",
            ),
            (
                "next",
                json!({"repo": "/"}),
                "`repo` is not served over HTTP",
            ),
            (
                "fire",
                json!({"id": "pusher", "dry_run": true}),
                "`dry_run` is not served over HTTP",
            ),
            (
                "daemon",
                json!({"action": "emanate", "tasks": [{"task": "x", "cwd": "/"}]}),
                "only list and check are served over HTTP",
            ),
        ] {
            let refused = called(&client, tool, arguments).await;
            assert_eq!(refused.status, ToolStatus::Error, "{tool}: {refused:?}");
            assert!(refused.text.contains(message), "{tool}: {refused:?}");
        }
        client.close().await;
    });
}

#[test]
fn each_request_over_http_needs_the_token_and_no_other_site_reaches_the_tools() {
    let (_world, host) = World::serving();
    let (status, session) = head(&host, "POST", &[], &initialize());
    let session = session.expect("a session");
    assert_eq!(status, 200);
    let of_session = ("Mcp-Session-Id", session.as_str());
    for method in ["POST", "GET", "DELETE"] {
        let body = match method {
            "POST" => ping(),
            _ => Value::Null,
        };
        for (header, expected) in [
            (("Authorization", ""), 401),
            (("Authorization", "Bearer wrong"), 401),
            (("Host", "rebound.example"), 403),
            (("Origin", "http://other.example"), 403),
        ] {
            let (status, _) = head(&host, method, &[of_session, header], &body);
            assert_eq!(status, expected, "{method} with {header:?}");
        }
    }
    assert_eq!(head(&host, "POST", &[of_session], &ping()).0, 200);
    assert_eq!(head(&host, "GET", &[of_session], &Value::Null).0, 200);
    let unknown = ("Mcp-Session-Id", "another");
    assert_eq!(head(&host, "POST", &[unknown], &ping()).0, 404);
    let (status, _) = head(&host, "DELETE", &[of_session], &Value::Null);
    assert!(matches!(status, 200..300), "{status}");
    assert_eq!(head(&host, "POST", &[of_session], &ping()).0, 404);
    runtime().block_on(async {
        let refused = connect(&host, "wrong").await.map(drop);
        assert!(refused.is_err(), "it connected with another token");
    });
    host.stop();
}

#[test]
fn a_token_of_the_configuration_has_its_scope_until_a_reload_removes_it() {
    let world = World::pushed();
    let row = |scope: &str| {
        let token = format!("{scope}-0123456789-0123456789-0123456789");
        std::fs::write(world.home.join(scope), &token).expect("a file");
        (
            token,
            format!("[[token]]\nname = {scope:?}\nscope = {scope:?}\nfile = {scope:?}\n"),
        )
    };
    let ((reader, first), (operator, second)) = (row("read"), row("operate"));
    world.watch_with(&format!("{first}{second}"));
    let host = world.serve();
    runtime().block_on(async {
        let client = connect(&host, &reader).await.expect("it connects");
        let is_offered = client.tools().iter().any(|tool| tool.name == "fire");
        assert!(!is_offered, "{:?}", client.tools());
        let list = called(&client, "list", json!({})).await;
        assert_eq!(list.status, ToolStatus::Ok, "{list:?}");
        let fire: Map<_, _> = serde_json::from_value(json!({"id": "pusher"})).expect("an object");
        let fired = client.call("fire", fire).await;
        assert!(fired.is_err(), "{fired:?}");
        client.close().await;
        let client = connect(&host, &operator).await.expect("it connects");
        let fired = called(&client, "fire", json!({"id": "pusher"})).await;
        assert_eq!(fired.status, ToolStatus::Ok, "{fired:?}");
        client.close().await;
    });
    let (_, session) = head(&host, "POST", &[], &initialize());
    let session = session.expect("a session");
    let as_reader = format!("Bearer {reader}");
    let as_reader = ("Authorization", as_reader.as_str());
    let of_owner = [("Mcp-Session-Id", session.as_str()), as_reader];
    assert_eq!(head(&host, "POST", &of_owner, &ping()).0, 404);
    let status = |token: &str, method: &str, path: &str| {
        let bearer = format!("Bearer {token}");
        host.open(method, path, &[("Authorization", &bearer)])
            .status
    };
    assert_eq!(status(&reader, "GET", "/api/v1/daemons"), 200);
    assert_eq!(status(&reader, "POST", "/api/v1/hold"), 403);
    assert_eq!(status(&operator, "POST", "/api/v1/hold"), 202);
    assert_eq!(status(&operator, "POST", "/api/v1/reload"), 403);
    world.watch_with(&second);
    assert_eq!(status(host.token(), "POST", "/api/v1/reload"), 202);
    assert_eq!(status(&reader, "GET", "/api/v1/daemons"), 401);
    assert_eq!(head(&host, "POST", &[as_reader], &initialize()).0, 401);
    assert_eq!(status(&operator, "GET", "/api/v1/daemons"), 200);
}

#[test]
fn a_token_that_is_short_or_that_two_have_stops_the_start() {
    let long = "0123456789-0123456789-0123456789";
    let own = "0123456789-0123456789-0123456789-own";
    for (first, second, message) in [
        ("short", long, "a token has at least 32 bytes"),
        (long, long, "another name has the same token"),
        (long, own, "it is the token of the host"),
    ] {
        let world = World::pushed();
        let file = world.home.join("token");
        std::fs::write(&file, own).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("its owner");
        let rows = [("one", first), ("two", second)].map(|(name, token)| {
            std::fs::write(world.home.join(name), token).expect("a file");
            format!("[[token]]\nname = {name:?}\nscope = \"read\"\nfile = {name:?}\n")
        });
        world.watch_with(&rows.concat());
        let (code, told) = world.refused(&[]);
        assert_eq!(code, Some(78), "{told}");
        assert!(told.contains(message), "{told}");
    }
}
