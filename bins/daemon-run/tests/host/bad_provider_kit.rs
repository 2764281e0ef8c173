//! Providers that are scripts, each with the end that its run must have.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::world::{Host, World, executable, no_process_of};

pub(crate) const SESSION: &str = r#"echo '{"type":"system","subtype":"init","session_id":"s-1"}'"#;
pub(crate) const GOOD: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"Fixed.","usage":{"input_tokens":9,"output_tokens":2}}'"#;

/// One provider and how its run must end.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) script: String,
    /// State, kind and class of the error.
    pub(crate) end: [&'static str; 3],
    /// A part of the error's message, or the whole preview of the result.
    pub(crate) told: &'static str,
}

pub(crate) fn row(
    name: &'static str,
    kind: &'static str,
    script: impl Into<String>,
    end: [&'static str; 3],
    told: &'static str,
) -> Row {
    Row {
        name,
        kind,
        script: format!("cat > /dev/null\n{}\n", script.into()),
        end,
        told,
    }
}

pub(crate) const DONE: [&str; 3] = ["done", "", ""];

/// A world in which each row is a provider of its own, and `sh` is the one that must not be disturbed.
pub(crate) fn world(rows: &[Row], more: &str) -> World {
    let world = World::pushed();
    let mut config = String::new();
    for row in rows {
        let path = world.beside(&format!("{}.sh", row.name));
        executable(&path, &format!("#!/bin/sh\n{}", row.script));
        let (name, kind, path) = (row.name, row.kind, path.display().to_string());
        writeln!(
            config,
            "[provider.{name}]\nkind = {kind:?}\ncommand = {path:?}"
        )
        .expect("writing to a string cannot fail");
    }
    world.configure(&format!("{config}{more}"));
    world.unconfined();
    world
}

/// Dispatches one run of a provider and returns it as it ended.
pub(crate) fn run_of(world: &World, provider: &str, timeout: u64) -> Value {
    let call = json!({"action": "emanate", "backend": provider, "timeout": timeout, "tasks": [{"task": "x"}]});
    let reply = shown!(world.tool(&call), {"$?": 0}, "{provider}");
    world.announced(reply["run_ids"][0].as_str().expect("an id"))
}

/// Demands that the host answers, and that another provider and another daemon do their work.
pub(crate) fn unaffected(world: &World, host: &Host, name: &str) {
    assert_eq!(host.open("GET", "/readyz", &[]).status, 200, "{name}");
    let other = run_of(world, "sh", 3_600);
    shows!(other, {"status": "done", "result_preview": "noted"}, "{name}");
}

pub(crate) fn check(world: &World, host: &Host, row: &Row) -> Value {
    let timeout = if row.end[0] == "timeout" { 5 } else { 3_600 };
    let run = run_of(world, row.name, timeout);
    let error = &run["error"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let end = [
        text(&run["status"]),
        text(&error["type"]),
        text(&error["class"]),
    ];
    assert_eq!(end, row.end, "{}: {run}", row.name);
    if row.end == DONE {
        assert_eq!(run["result_preview"], row.told, "{}: {run}", row.name);
    } else {
        let message = text(&error["message"]);
        assert!(message.contains(row.told), "{}: {message}", row.name);
    }
    let id = text(&run["run_id"]);
    no_process_of(&id);
    unaffected(world, host, row.name);
    run
}
