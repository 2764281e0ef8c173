//! `lsp`: an editor sends messages through the pipes of the program.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

const DAEMON: &str = "---\nid: tidy\npurpose: Keeps issues tidy.\nschedule: \"30 14 * * 1-5\"\nroutines:\n  - label the issue\n\
                      deny:\n  - close issues\nowner: me\n---\n## Limits\n- Ten.\n";

/// Frames messages as the protocol does.
fn framed(messages: &[Value]) -> String {
    let messages = messages.iter().map(|message| {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    });
    messages.collect()
}

/// Returns the messages of an output.
fn messages(mut output: &str) -> Vec<Value> {
    let mut acc = Vec::new();
    while let Some((head, rest)) = output.split_once("\r\n\r\n") {
        let length = head.strip_prefix("Content-Length: ").expect("a length");
        let (text, rest) = rest.split_at(length.parse().expect("a number"));
        acc.push(serde_json::from_str(text).expect("JSON"));
        output = rest;
    }
    assert_eq!(output, "", "nothing else is printed");
    acc
}

#[test]
fn an_editor_sees_problems_and_the_next_times_in_the_configured_zone_and_nothing_is_written() {
    let world = World::of_daemon(DAEMON);
    fs::create_dir_all(world.home()).expect("the home");
    let config = "[schedule]\nzone = \"Asia/Tokyo\"\n";
    fs::write(world.home().join("config.toml"), config).expect("the configuration");
    let before = world.tree();
    let file = world.repository().join(".agents/daemons/tidy/DAEMON.md");
    let uri = format!("file://{}", file.display());
    let item = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": DAEMON});
    let at = json!({"line": 3, "character": 14});
    let ran = world.run_with_input(
        &["lsp"],
        &framed(&[
            json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}}),
            json!({"method": "initialized", "params": {}}),
            json!({"method": "textDocument/didOpen", "params": {"textDocument": item}}),
            json!({"id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": uri}, "position": at}}),
            json!({"id": 3, "method": "shutdown"}),
            json!({"method": "exit"}),
        ]),
    );
    assert_eq!((ran.code, &*ran.notes), (0, ""));
    let told = messages(&ran.output);
    assert_eq!(told[0]["result"]["serverInfo"]["name"], "daemon-lsp");
    assert_eq!(
        told[0]["result"]["capabilities"]["positionEncoding"],
        "utf-16"
    );
    let found = &told[1]["params"]["diagnostics"];
    assert_eq!(found[0]["code"], "D100");
    assert_eq!(
        found[0]["range"]["start"],
        json!({"line": 8, "character": 0})
    );
    let shown = told[2]["result"]["contents"]["value"].as_str();
    let shown = shown.expect("a text");
    assert!(
        shown.starts_with("at 14:30 on Monday through Friday"),
        "{shown}"
    );
    assert!(shown.contains("next in `Asia/Tokyo`:"), "{shown}");
    assert_eq!(told[3]["result"], Value::Null);
    assert_eq!(world.tree(), before);
}

#[test]
fn an_editor_that_goes_away_ends_the_program_with_a_failure() {
    let world = World::of_daemon(DAEMON);
    let hello = json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}});
    let ready = json!({"method": "initialized", "params": {}});
    let ran = world.run_with_input(&["lsp", "--stdio"], &framed(&[hello, ready]));
    assert_eq!(ran.code, 1);
    assert!(
        ran.notes.contains("the editor has closed the connection"),
        "{}",
        ran.notes
    );
}
