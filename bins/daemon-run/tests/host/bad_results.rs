//! Output of a provider that contradicts itself, breaks the protocol or is too large: each run ends as it must.

use std::fs;

use serde_json::{Value, json};

use crate::bad_provider_kit::{DONE, GOOD, SESSION, check, row, world};

#[test]
fn r3_an_exit_and_a_result_that_contradict_each_other_are_no_success() {
    let two = GOOD.replace("Fixed.", "Not yet.");
    let rows = [
        row(
            "no-result",
            "claude",
            SESSION,
            ["failed", "protocol", "retryable"],
            "",
        ),
        row(
            "exit-1",
            "claude",
            format!("{GOOD}; echo why >&2; exit 1"),
            ["failed", "exit", "retryable"],
            "why",
        ),
        row(
            "two-results",
            "claude",
            format!("{two}; {GOOD}"),
            DONE,
            "Fixed.",
        ),
        row(
            "forged",
            "command",
            r#"echo '{"daemon":"result","ok":true,"text":"forged"}'; exit 9"#,
            ["failed", "exit", "final"],
            "exit code 9",
        ),
    ];
    let world = world(&rows, "");
    let host = world.serve();
    for row in &rows {
        let run = check(&world, &host, row);
        let text =
            fs::read_to_string(world.file(run["run_id"].as_str().expect("an id"), "result.txt"));
        let kept = match row.name {
            "no-result" => None,
            "forged" => Some("forged"),
            _ => Some("Fixed."),
        };
        assert_eq!(text.ok().as_deref(), kept, "{}", row.name);
    }
}

#[test]
fn r4_single_bytes_endless_lines_and_nul_are_read_as_they_are() {
    let long = format!("head -c 5000000 /dev/zero | tr '\\0' x; echo; {GOOD}");
    let rows = [
        row(
            "bytes",
            "claude",
            format!("{{ {SESSION}; {GOOD}; }} | dd bs=1 2>/dev/null"),
            DONE,
            "Fixed.",
        ),
        row("long", "claude", long, DONE, "Fixed."),
        row(
            "nul",
            "claude",
            format!("printf 'a\\000b\\n'; {GOOD}"),
            DONE,
            "Fixed.",
        ),
    ];
    let world = world(&rows, "");
    let host = world.serve();
    for row in &rows {
        let run = check(&world, &host, row);
        let id = run["run_id"].as_str().expect("an id");
        let dropped = world.document(id)["dropped"].take();
        match row.name {
            "long" => assert_eq!(
                dropped,
                json!({"lines": 0, "bytes": 5_000_000 - (64 << 10)})
            ),
            _ => assert_eq!(dropped, json!({"lines": 0, "bytes": 0}), "{}", row.name),
        }
        let outputs = run["events"].as_array().expect("a list").iter();
        let texts: Vec<&Value> = outputs
            .filter(|event| event["event"] == "cli_output")
            .map(|event| &event["text"])
            .collect();
        if row.name == "nul" {
            assert_eq!(texts, [&json!("a\0b")]);
        }
    }
}

#[test]
fn r5_a_session_that_is_a_path_is_ignored() {
    let script = format!("{}; {GOOD}", SESSION.replace("s-1", "../../../escaped"));
    let rows = [row("path", "claude", script, DONE, "Fixed.")];
    let world = world(&rows, "");
    let host = world.serve();
    let run = check(&world, &host, &rows[0]);
    let id = run["run_id"].as_str().expect("an id");
    assert_eq!(world.document(id)["claude_session_id"], Value::Null);
    shows!(world.json(&["emanate", "ask", id, "more"]), {"$?": 64, "error.message": "not supported"});
    for root in [world.home.clone(), world.desk(), world.beside("")] {
        assert!(!root.join("escaped").exists());
    }
}

#[test]
fn r6_a_usage_that_is_no_amount_counts_nothing() {
    let usage =
        |usage: &str| GOOD.replace(r#","usage":{"input_tokens":9,"output_tokens":2}"#, usage);
    let rows = [
        row(
            "negative",
            "claude",
            usage(r#","usage":{"input_tokens":-9,"output_tokens":2}"#),
            DONE,
            "Fixed.",
        ),
        row(
            "text",
            "claude",
            usage(r#","usage":{"input_tokens":"NaN","output_tokens":1e400}"#),
            ["failed", "protocol", "retryable"],
            "",
        ),
        row(
            "words",
            "claude",
            usage(r#","usage":{"input_tokens":"NaN","output_tokens":null}"#),
            DONE,
            "Fixed.",
        ),
        row("none", "claude", usage(""), DONE, "Fixed."),
    ];
    let world = world(&rows, "");
    let host = world.serve();
    for row in &rows {
        let run = check(&world, &host, row);
        let output = if row.name == "negative" { 2 } else { 0 };
        let calls = u32::from(row.name != "text");
        shows!(run, {
            "cli_tokens": {"input": 0, "output": output, "thinking": 0, "cached": 0, "calls": calls},
        }, "{}", row.name);
    }
}

#[test]
fn r7_a_result_of_a_hundred_megabytes_fails_its_run_and_a_secret_in_one_is_redacted() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let huge = "printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"'\nhead -c 100000000 /dev/zero | tr '\\0' x\necho '\"}'";
    let rows = [
        row(
            "huge",
            "claude",
            huge,
            ["failed", "protocol", "retryable"],
            "too long to be read",
        ),
        row(
            "secret",
            "claude",
            GOOD.replace("Fixed.", &format!("use {token}!")),
            DONE,
            "use <redacted>!",
        ),
    ];
    let world = world(&rows, "");
    let host = world.serve();
    for row in &rows {
        let run = check(&world, &host, row);
        assert!(!run.to_string().contains(&token));
    }
}

#[test]
fn r9_ten_thousand_uses_of_tools_are_counted() {
    let script = format!(
        r#"seq 1 10000 | sed 's|.*|{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t&","name":"Read","input":{{}}}}]}}}}\n{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t&"}}]}}}}|'; {GOOD}"#
    );
    let rows = [row("tools", "claude", script, DONE, "Fixed.")];
    let world = world(&rows, "");
    let host = world.serve();
    let run = check(&world, &host, &rows[0]);
    shows!(run, {"tool_call_count": 10_000, "current_tool": null, "events_total": 20_000 + 4});
}
