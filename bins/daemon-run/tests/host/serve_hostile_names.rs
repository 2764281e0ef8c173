//! Hostile names in every method of the protocol.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::conversing::{api, world};
use crate::rpc::Rpc;

/// Returns parameters of a method that would be valid but for their names, and the names among them. A method that is not here
/// has to be added: every new one is tried.
fn names_of(method: &str) -> (Value, &'static [&'static str]) {
    let (subject, verb) = method.split_once('/').unwrap_or((method, ""));
    match (subject, verb) {
        ("initialize" | "ping" | "host" | "output" | "tick", _)
        | ("run", "call" | "list")
        | ("daemon", "explain" | "list")
        | ("event", "list" | "publish" | "subscribe")
        | ("activation" | "agent" | "provider" | "mcp" | "cron" | "subscription", "list")
        // A model may have any name, which is compared with those of the configuration.
        | ("model", _) => (json!({}), &[]),
        ("daemon" | "activation" | "run" | "event", _) | ("cron" | "subscription", "delete") => {
            (json!({}), &["id"])
        }
        ("conversation", "list") | ("skill", "list") => (json!({}), &["agent"]),
        // A sender may have any name without control characters, of up to 256 bytes.
        ("conversation", "send" | "stream") => (json!({"sender": "t", "content": "x"}), &["agent"]),
        ("conversation", "reply_to_ask") => (
            json!({"sender": "t", "ask_id": "a", "content": "x"}),
            &["agent"],
        ),
        ("conversation", _) => (json!({"sender": "t"}), &["agent"]),
        ("agent", "create") => (json!({"definition": {}, "prompt": "x"}), &["name"]),
        ("agent", "update") => (json!({"prompt": "x", "rev": "r"}), &["name"]),
        ("agent", "delete") => (json!({"rev": "r"}), &["name"]),
        ("provider", "set") => (
            json!({"name": "p", "kind": "openai", "key_file": "k"}),
            &["name", "key_file"],
        ),
        ("mcp", "set") => (json!({"transport": "stdio", "command": "true"}), &["name"]),
        ("agent" | "skill" | "provider" | "mcp", _) => (json!({}), &["name"]),
        ("cron", "create") => (
            json!({"schedule": "0 0 * * *", "skill": "s", "agent": "scout", "sender": "t"}),
            &["skill", "agent"],
        ),
        ("notice", "remind") => (
            json!({"text": "x", "in_seconds": 9, "sender": "t"}),
            &["agent"],
        ),
        ("notice", "dismiss") => (json!({}), &["channel"]),
        ("notice", _) => (json!({}), &[]),
        ("subscription", "create") => (json!({"source": "s"}), &["target_agent"]),
        ("roster", verb) => roster_names_of(verb),
        _ => panic!("say which parameters of `{method}` are names"),
    }
}

/// The same for the tools of the roster.
fn roster_names_of(tool: &str) -> (Value, &'static [&'static str]) {
    match tool {
        "recall_daemon" | "daemon_request_compaction" => (json!({}), &["id"]),
        "daemon_poke" => (json!({"line": "x"}), &["id"]),
        "daemon_go"
        | "daemon_hold"
        | "daemon_request_reset"
        | "daemon_request_winddown"
        | "daemon_cancel_winddown"
        | "daemon_cancel"
        | "daemon_retire" => (json!({"reason": "x"}), &["id"]),
        "signal_claim" | "signal_cancel" => (json!({}), &["signal"]),
        "signal_complete" => (json!({"token": "x"}), &["signal"]),
        "signal_fail" => (json!({"token": "x", "error": "x"}), &["signal"]),
        "spawn_confirm" => (json!({"packet_sha256": "0".repeat(64)}), &["plan"]),
        "daemon_successor_ready"
        | "daemon_start_reset"
        | "daemon_retire_predecessor"
        | "daemon_cancel_reset"
        | "daemon_reset_handoff" => (json!({}), &["reset"]),
        "daemon_authorize" => (json!({}), &["action"]),
        // Projects, roles and kinds of signals are words of the callers, which are compared with those of rows.
        "signal_enqueue"
        | "daemon_checkin"
        | "daemon_subordinates_ready"
        | "recall_roster"
        | "recall_signals"
        | "recall_compaction"
        | "recall_reset"
        | "recall_audit"
        | "recall_charters"
        | "spawn_plan"
        | "interject"
        | "daemon_compaction_done"
        | "daemon_winddown_ready"
        | "daemon_report_blocked" => (json!({}), &[]),
        _ => panic!("say which parameters of `roster/{tool}` are names"),
    }
}

/// Returns every file below a directory with its length, but for those that a host writes all the time.
fn files(root: &Path) -> Vec<(String, u64)> {
    let mut acc = Vec::new();
    for entry in fs::read_dir(root).expect("a directory").flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("metadata"));
        let name = path.display().to_string();
        let is_written = ["state.db", "/run/", "/logs/"]
            .iter()
            .any(|part| name.contains(part));
        match metadata.is_dir() {
            true => acc.extend(files(&path)),
            false if is_written => {}
            false => acc.push((name, metadata.len())),
        }
    }
    acc.sort();
    acc
}

#[test]
fn hostile_names_are_refused_by_every_method_and_touch_nothing() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let before = files(&world.home);
    let schema = daemon_api::control::protocol_schema();
    let methods = schema["methods"].as_object().expect("methods");
    let mut n_tried = 0;
    for method in methods.keys() {
        let (valid, names) = names_of(method);
        for name in names {
            for hostile in ["../x", "/etc/passwd", "a\u{0}b", &"n".repeat(10_000)] {
                let mut params = valid.clone();
                params[*name] = json!(hostile);
                let answer = rpc.call(method, &params);
                let code = answer["error"]["data"]["code"].as_str().unwrap_or_default();
                // An id is no path and is compared with those of rows, so that any may be asked for.
                let is_refused = code == "invalid-params" || *name == "id" && code == "not-found";
                assert!(is_refused, "{method} {name} {hostile:.20}: {answer}");
                n_tried += 1;
            }
        }
    }
    assert!(n_tried > 100, "{n_tried}");
    assert_eq!(files(&world.home), before);
}
