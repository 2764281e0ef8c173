//! The control protocol on its socket.

use daemon_api::control::MAX_LINE;
use daemon_api::ops::Operation;
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::rpc::Rpc;
use crate::world::World;

fn code(answer: &Value) -> (Value, i64, String) {
    let error = &answer["error"];
    (
        answer["id"].clone(),
        error["code"].as_i64().unwrap_or_default(),
        error["data"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

#[test]
fn a_client_introduces_itself_first() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::connect(host.socket());
    assert!(rpc.call("ping", &json!({}))["result"]["uptime_ms"].is_u64());
    let refused = rpc.call("daemon/list", &json!({}));
    assert_eq!(
        code(&refused),
        (json!(1), -32001, "not-initialized".to_owned())
    );
    for (params, number, word) in [
        (
            json!({"protocol_version": 2}),
            -32014,
            "unsupported-version",
        ),
        (json!({}), -32602, "invalid-params"),
        (
            json!({"protocol_version": 1, "surprise": 1}),
            -32602,
            "invalid-params",
        ),
    ] {
        assert_eq!(
            code(&rpc.call("initialize", &params)),
            (json!(1), number, word.to_owned())
        );
    }
    let answer = rpc.call(
        "initialize",
        &json!({"protocol_version": 1, "client": {"name": "t", "version": "1"}}),
    );
    shows!(answer, {
        "result": {
            "protocol_version": 1,
            "host": {"name": "daemon-run", "version": env!("CARGO_PKG_VERSION"), "epoch": 1},
            "actor": "owner",
            "scope": "admin",
            "limits": {"line_bytes": MAX_LINE, "open_requests": 64},
        },
    });
    shows!(rpc.call("daemon/list", &json!({})), {"result.daemons.0.id": "pusher"});
}

/// Lines that are refused: each with the id of the error as JSON, its number and its code.
const WRONG_LINES: &str = include_str!("programs/wrong-lines.txt");

#[test]
fn a_line_that_is_no_request_is_answered_and_the_next_is_read() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}",
        "x".repeat(129)
    );
    let rows = WRONG_LINES.lines().skip(1).map(|row| {
        let mut columns = row.rsplitn(4, " | ");
        let mut column = || columns.next().expect("there are four columns");
        let (word, number) = (column(), column().parse().expect("a number"));
        let id: Value = serde_json::from_str(column()).expect("the table has JSON");
        (column(), id, number, word)
    });
    assert_eq!(rows.clone().count(), 18);
    let long = (
        long.as_str(),
        json!("x".repeat(129)),
        -32600,
        "invalid-request",
    );
    for (line, id, number, word) in rows.chain([long]) {
        rpc.line(line);
        let answer = rpc.answer();
        assert_eq!(code(&answer), (id, number, word.to_owned()), "{line}");
        // The words of the parser and of the runner's tool mean nothing to a client of this protocol.
        let message = answer["error"]["message"].as_str().expect("a message");
        for word in ["untagged", "struct", "emanation"] {
            assert!(!message.contains(word), "{line}: {message}");
        }
    }
    let long = "x".repeat(10_000);
    for line in [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"{long}\":1}}"),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run/list\",\"params\":{{\"limit\":\"{long}\"}}}}"
        ),
    ] {
        rpc.line(&line);
        let answer = rpc.answer().to_string();
        assert!(
            answer.contains("\"error\"") && answer.len() < 500,
            "{answer}"
        );
    }
    rpc.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n");
    assert_eq!(code(&rpc.answer()).1, -32700);
    rpc.line("{\"jsonrpc\":\"2.0\",\"method\":\"no/such/notification\"}");
    assert!(rpc.call("ping", &json!({}))["result"].is_object());
}

#[test]
fn a_line_is_read_up_to_its_cap_and_no_byte_further() {
    let (_world, host) = World::serving();
    let line = |length: usize| {
        let (head, tail) = (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\",\"params\":{\"a\":\"",
            "\"}}",
        );
        let fill = "x".repeat(length - head.len() - tail.len());
        format!("{head}{fill}{tail}")
    };
    let mut rpc = Rpc::initialized(host.socket());
    rpc.line(&line(MAX_LINE));
    assert_eq!(
        code(&rpc.answer()),
        (json!(7), -32601, "method-not-found".to_owned())
    );
    rpc.line(&line(MAX_LINE + 1));
    assert_eq!(
        code(&rpc.answer()),
        (Value::Null, -32006, "too-large".to_owned())
    );
    assert_eq!(rpc.answer(), Value::Null, "and the connection is closed");
    assert!(Rpc::initialized(host.socket()).call("host/stats", &json!({}))["result"].is_object());
}

#[test]
fn a_line_without_its_end_is_never_executed() {
    let (world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    rpc.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"host/hold\"}");
    rpc.close_writing();
    assert_eq!(rpc.answer(), Value::Null);
    shows!(world.json(&["fire", "pusher"]), {"$?": 0}, "nobody holds the host");
}

#[test]
fn an_id_is_open_once_and_64_requests_at_a_time() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    let doctor =
        |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"host/doctor\"}}\n");
    rpc.send([doctor(7), doctor(7)].concat().as_bytes());
    let (first, second) = (rpc.answer(), rpc.answer());
    let words = [code(&first).2, code(&second).2];
    assert!(
        words.contains(&"invalid-request".to_owned()) && words.contains(&String::new()),
        "{words:?}"
    );

    let many: String = (0..200).map(doctor).collect();
    rpc.send(many.as_bytes());
    let answers: Vec<Value> = (0..200).map(|_| rpc.answer()).collect();
    let busy: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["error"].is_object())
        .collect();
    for refusal in &busy {
        assert_eq!(
            (code(refusal).1, code(refusal).2.as_str()),
            (-32007, "busy")
        );
    }
    let mut ids: Vec<i64> = answers
        .iter()
        .filter_map(|answer| answer["id"].as_i64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>(), "each is answered once");
}

/// Reports whether an operation is about one thing.
fn of_one(operation: &Operation) -> bool {
    let route = operation.route();
    route.is_some_and(|route| route.contains("{id}")) || *operation == Operation::OutputGet
}

/// Reports whether an operation needs parameters that name an agent, a conversation, a setting or an entry.
fn needs_names(operation: &Operation) -> bool {
    let (subject, verb) = operation.method().split_once('/').expect("two words");
    if subject == "roster" {
        let is_for_daemons = *operation == Operation::RosterCompacted;
        let is_listing = verb.starts_with("recall_") && *operation != Operation::RosterGet;
        return !is_listing && !is_for_daemons && !of_one(operation);
    }
    let subjects = [
        "agent",
        "conversation",
        "cron",
        "mcp",
        "model",
        "notice",
        "provider",
        "skill",
        "subscription",
    ];
    subjects.contains(&subject) && verb != "list" || *operation == Operation::EventPublish
}

#[test]
fn every_operation_is_a_method() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    for operation in Operation::ALL {
        let params = match (of_one(operation), operation.method().starts_with("daemon/")) {
            (true, true) => json!({"id": "pusher"}),
            (true, false) if *operation == Operation::RunAsk => {
                json!({"id": "nobody", "message": "well?"})
            }
            (true, false) => json!({"id": "nobody"}),
            (false, _) if *operation == Operation::RunCall => json!({"action": "list"}),
            // A stream that begins would not end.
            (false, _) if *operation == Operation::EventSubscribe => json!({"after_seq": 1_000}),
            (false, _) => json!({}),
        };
        let answer = rpc.call(operation.method(), &params);
        // The operator is no daemon, and has no context.
        if *operation == Operation::RosterCompacted {
            assert_eq!(code(&answer).1, -32003, "{answer}");
            continue;
        }
        let missing = (params["id"] == "nobody")
            || matches!(operation, Operation::DaemonNext | Operation::EventSubscribe);
        if needs_names(operation) {
            assert_eq!(
                code(&answer),
                (json!(1), -32602, "invalid-params".to_owned()),
                "{}",
                operation.method()
            );
        } else if missing {
            assert_eq!(
                code(&answer),
                (json!(1), -32004, "not-found".to_owned()),
                "{}",
                operation.method()
            );
        } else {
            assert!(
                answer["result"].is_object(),
                "{}: {answer}",
                operation.method()
            );
        }
    }
}

#[test]
fn names_that_reach_out_of_the_home_find_nothing() {
    let (_world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    for name in ["../x", "/etc/passwd", "a\0b", "..", &"n".repeat(10_000)] {
        for operation in Operation::ALL.iter().filter(|operation| of_one(operation)) {
            let answer = rpc.call(operation.method(), &json!({"id": name}));
            let (_, number, _) = code(&answer);
            assert!(
                [-32004, -32602].contains(&number),
                "{} {}: {answer}",
                operation.method(),
                &name[..2]
            );
        }
    }
}

#[test]
fn a_client_that_never_reads_takes_little_memory_and_blocks_no_other() {
    let (_world, host) = World::serving();
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid()));
        let status = status.expect("the host lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let number: u64 = kibibytes
            .and_then(|text| text.parse().ok())
            .expect("a number");
        number / 1024
    };
    let mut other = Rpc::initialized(host.socket());
    let big = json!({"hook_id": 1, "zen": "z".repeat(200_000)});
    let stored = host.hook("ping", "d-1", &big).json();
    let event = stored.text("event_ids.0");
    let long = |id: u32| {
        let params = json!({"id": event});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "event/get", "params": params});
        format!("{line}\n")
    };
    let mut deaf = Rpc::initialized(host.socket());
    let before = resident();
    deaf.send_what_fits((0..20_000).map(long));
    assert!(other.call("host/stats", &json!({}))["result"].is_object());
    let grown = resident().saturating_sub(before);
    assert!(grown <= 8, "it grew by {grown} MiB");
}

#[test]
fn a_live_host_knows_a_path_by_the_name_that_its_configuration_gave_the_repository() {
    let (world, host) = World::serving();
    shows!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 0, "activation.repo": "o/r"});
    // Another work tree of it is the same repository.
    world.git(&["worktree", "add", "--quiet", "--detach", "../beside"]);
    shows!(world.json(&["fire", "pusher", "--repo", "beside"]), {"$?": 0, "activation.repo": "o/r"});
    let (_, listed) = world.json(&["activations", "--repo", "beside"]);
    let n = listed["activations"].as_array().map(Vec::len);
    assert_eq!(n, Some(2), "{listed}");
    host.stop();
}
