//! Every row of the logs, byte for byte.

use daemon_run_folder::{
    ChildProcess, ErrorClass, Exit, Failure, FailureKind, Folder, NetworkUse, Outcome,
    OutputStream, RunError, RunState, Speaker, StopReason, TokensRecord, ToolStatus, Truncation,
    Writer,
};
use expect_test::{Expect, expect};
use serde_json::json;

use crate::kit::{Home, at, start, text};

fn check(record: impl FnOnce(&mut Writer), expected: Expect) {
    let home = Home::new();
    let mut writer = home.run(start());
    record(&mut writer);
    let folder = writer.folder().clone();
    expected.assert_eq(&home.plain(&folder, &text(folder.events())));
}

fn failure() -> Failure {
    Failure {
        kind: FailureKind::Exit,
        message: "no such file".to_owned(),
        class: ErrorClass::Retryable,
    }
}

fn unanswered() -> RunError {
    RunError::from(&failure())
}

fn child() -> ChildProcess {
    ChildProcess {
        pid: 9,
        start: 8,
        pgid: 9,
    }
}

fn network() -> [NetworkUse; 2] {
    let used = NetworkUse {
        host: "api.test".to_owned(),
        port: 443,
        allowed: true,
        error: None,
        sent: 5,
        received: 7,
    };
    let refused = NetworkUse {
        host: "169.254.169.254".to_owned(),
        port: 80,
        allowed: false,
        error: Some("not listed".to_owned()),
        sent: 0,
        received: 0,
    };
    [used, refused]
}

#[test]
fn every_event_is_one_line() {
    check(
        |writer| {
            writer.spawned(child(), Vec::new(), at(1)).unwrap();
            writer.session("s1", at(2)).unwrap();
            let whole = Truncation::Whole;
            writer
                .output(OutputStream::Stdout, "a \"b\"\u{1}", whole, at(1234))
                .unwrap();
            writer
                .output(OutputStream::Stderr, "c", whole, at(2000))
                .unwrap();
            writer
                .tool_start("Read", r#"{"path":"a"}"#, at(3000))
                .unwrap();
            writer.tool_end("Read", ToolStatus::Ok, at(3500)).unwrap();
            writer.turn(2, at(4000)).unwrap();
            writer.tool_start("Bash", "{}", at(4000)).unwrap();
            writer
                .tool_end("Bash", ToolStatus::Error, at(4000))
                .unwrap();
            writer.denied("Bash", "rm", at(5000)).unwrap();
            writer.limit("leaked", "7", at(5000)).unwrap();
            for used in network() {
                writer.network(&used, at(5000)).unwrap();
            }
            writer.ask_started(at(6000)).unwrap();
            writer.ask_ended(1, Ok("yes"), at(7000)).unwrap();
            writer.ask_started(at(7000)).unwrap();
            writer
                .ask_ended(2, Err((RunState::Timeout, unanswered())), at(8000))
                .unwrap();
        },
        expect![[r#"
            {"ts":"2026-01-02T03:04:05Z","event":"daemon_start"}
            {"ts":"2026-01-02T03:04:06Z","event":"cli_output","stream":"stdout","text":"a \"b\"\u0001","elapsed_s":1.234}
            {"ts":"2026-01-02T03:04:07Z","event":"cli_output","stream":"stderr","text":"c","elapsed_s":2.0}
            {"ts":"2026-01-02T03:04:08Z","event":"tool_call","name":"Read","args_preview":"{\"path\":\"a\"}","turn":0}
            {"ts":"2026-01-02T03:04:08Z","event":"tool_result","name":"Read","status":"ok","turn":0}
            {"ts":"2026-01-02T03:04:09Z","event":"tool_call","name":"Bash","args_preview":"{}","turn":2}
            {"ts":"2026-01-02T03:04:09Z","event":"tool_result","name":"Bash","status":"error","turn":2}
            {"ts":"2026-01-02T03:04:10Z","event":"permission_denied","name":"Bash","detail":"rm"}
            {"ts":"2026-01-02T03:04:10Z","event":"limit","name":"leaked","detail":"7"}
            {"ts":"2026-01-02T03:04:10Z","event":"network","host":"api.test","port":443,"allowed":true,"bytes":12,"sent":5}
            {"ts":"2026-01-02T03:04:10Z","event":"network","host":"169.254.169.254","port":80,"allowed":false,"bytes":0,"sent":0,"error":"not listed"}
            {"ts":"2026-01-02T03:04:11Z","event":"ask_start","n":1}
            {"ts":"2026-01-02T03:04:12Z","event":"ask_end","n":1,"state":"done"}
            {"ts":"2026-01-02T03:04:12Z","event":"ask_start","n":2}
            {"ts":"2026-01-02T03:04:13Z","event":"ask_end","n":2,"state":"timeout"}
        "#]],
    );
}

#[test]
fn every_end_writes_its_lines_in_order() {
    let used = TokensRecord {
        input: 75,
        output: 7,
        thinking: 1,
        cached: 25,
    };
    check(
        |writer| {
            writer.cli_usage(used, None, json!({"input_tokens": 100}));
            writer.provider_ended(&Outcome::Done, "", at(1000)).unwrap();
            writer.finish(&Outcome::Done, at(1500)).unwrap();
        },
        expect![[r#"
            {"ts":"2026-01-02T03:04:05Z","event":"daemon_start"}
            {"ts":"2026-01-02T03:04:06Z","event":"provider_terminal","outcome":"done","result_sha256":null}
            {"ts":"2026-01-02T03:04:06Z","event":"cli_usage","input":75,"output":7,"cached":25,"thinking":1,"raw":{"input_tokens":100}}
            {"ts":"2026-01-02T03:04:06Z","event":"daemon_done","elapsed_s":1.5,"result_path":null}
        "#]],
    );
    check(
        |writer| {
            let end = Outcome::Failed(failure());
            writer.cli_usage(used, None, json!({}));
            writer.provider_ended(&end, "half", at(1000)).unwrap();
            writer.finish(&end, at(1500)).unwrap();
        },
        expect![[r#"
            {"ts":"2026-01-02T03:04:05Z","event":"daemon_start"}
            {"ts":"2026-01-02T03:04:06Z","event":"provider_terminal","outcome":"failed","result_sha256":"a11ae06469c63740d7b0ecf802f282a0d46e94f31a654dfcd3c0dc6dc277f904"}
            {"ts":"2026-01-02T03:04:06Z","event":"daemon_error","exception":"exit","message":"no such file","elapsed_s":1.5}
        "#]],
    );
    for (reason, line) in [
        (StopReason::Reclaim, "daemon_cancelled"),
        (StopReason::Idle, "daemon_timeout"),
    ] {
        let home = Home::new();
        let mut writer = home.run(start());
        writer.spawned(child(), Vec::new(), at(1)).unwrap();
        writer.stopping(reason, None, at(1000)).unwrap();
        let killed = Exit::Signal(9);
        writer.exited(killed, at(1500)).unwrap();
        writer.finish(&Outcome::Done, at(1500)).unwrap();
        let expected = format!(
            "{{\"ts\":\"2026-01-02T03:04:05Z\",\"event\":\"daemon_start\"}}\n\
             {{\"ts\":\"2026-01-02T03:04:06Z\",\"event\":\"daemon_cli_terminate\",\"reason\":\"{reason}\",\"signal\":\"SIGTERM\",\"returncode\":-9}}\n\
             {{\"ts\":\"2026-01-02T03:04:06Z\",\"event\":\"{line}\",\"elapsed_s\":1.5}}\n"
        );
        assert_eq!(text(writer.folder().events()), expected);
    }
}

/// Returns the last line of the log.
fn last(folder: &Folder) -> serde_json::Map<String, serde_json::Value> {
    folder.last_events(1).unwrap().events.remove(0)
}

#[test]
fn shortened_text_ends_with_a_mark_within_its_limit() {
    const MARK: &str = "...[truncated]";
    let home = Home::new();
    let mut writer = home.run(start());
    let whole = Truncation::Whole;
    let table = [
        ("é".repeat(4000), whole, "é".repeat(4000), None),
        ("é".repeat(4001), whole, "é".repeat(3986) + MARK, Some(true)),
        (
            "short".to_owned(),
            Truncation::Cut,
            format!("short{MARK}"),
            Some(true),
        ),
        (
            "x".repeat(4000),
            Truncation::Cut,
            "x".repeat(3986) + MARK,
            Some(true),
        ),
    ];
    for (line, truncation, kept, truncated) in table {
        writer
            .output(OutputStream::Stdout, &line, truncation, at(1))
            .unwrap();
        let row = last(writer.folder());
        assert_eq!(row["text"], kept);
        assert_eq!(
            row.get("truncated").and_then(serde_json::Value::as_bool),
            truncated
        );
    }
    for (args, kept) in [
        ("a".repeat(500), "a".repeat(500)),
        ("a".repeat(501), "a".repeat(486) + MARK),
    ] {
        writer.tool_start("t", &args, at(2)).unwrap();
        assert_eq!(last(writer.folder())["args_preview"], kept);
    }
    writer
        .output(OutputStream::Stdout, &"é".repeat(1001), whole, at(999))
        .unwrap();
    assert_eq!(writer.document().last_output, Some("é".repeat(1000)));
}

#[test]
fn each_message_of_a_conversation_is_a_row() {
    let home = Home::new();
    let mut writer = home.run(start());
    writer
        .message(Speaker::Task, "repair\nlinks", at(0))
        .unwrap();
    writer.turn(1, at(1000)).unwrap();
    writer
        .message(Speaker::Assistant, "Reading.", at(1000))
        .unwrap();
    writer
        .message(Speaker::ToolResults, "[]", at(2000))
        .unwrap();
    writer.turn(2, at(2000)).unwrap();
    writer.message(Speaker::Followup, "and?", at(3000)).unwrap();
    expect![[r#"
        {"role":"user","kind":"task","text":"repair\nlinks","turn":0,"ts":"2026-01-02T03:04:05Z"}
        {"role":"assistant","text":"Reading.","turn":1,"ts":"2026-01-02T03:04:06Z"}
        {"role":"user","kind":"tool_results","text":"[]","turn":1,"ts":"2026-01-02T03:04:07Z"}
        {"role":"user","kind":"followup","text":"and?","turn":2,"ts":"2026-01-02T03:04:08Z"}
    "#]]
    .assert_eq(&text(
        writer.folder().path().join("history/chat_history.jsonl"),
    ));
}

#[test]
fn both_ledgers_get_a_row_for_each_call_with_usage() {
    let home = Home::new();
    let mut writer = home.run(start());
    let run = writer.folder().path().join("logs/token_ledger.jsonl");
    let whole_home = home
        .daemons()
        .with_file_name("logs")
        .join("token_ledger.jsonl");
    writer
        .model_call(TokensRecord::default(), "m", "e", at(0))
        .unwrap();
    assert!(!run.exists() && !whole_home.exists(), "nothing was used");
    for (n, at_ms) in [(1, 0), (2, 1000)] {
        let used = TokensRecord {
            input: 0,
            output: 0,
            thinking: 0,
            cached: n,
        };
        writer
            .model_call(used, "m", "https://x.y/v1", at(at_ms))
            .unwrap();
    }
    writer.finish(&Outcome::Done, at(3000)).unwrap();
    let rows = text(&run);
    expect![[r#"
        {"source":"daemon","em_id":"em-1","run_id":"RUN","ts":"2026-01-02T03:04:05Z","input":0,"output":0,"thinking":0,"cached":1,"model":"m","endpoint":"https://x.y/v1"}
        {"source":"daemon","em_id":"em-1","run_id":"RUN","ts":"2026-01-02T03:04:06Z","input":0,"output":0,"thinking":0,"cached":2,"model":"m","endpoint":"https://x.y/v1"}
    "#]]
    .assert_eq(&home.plain(writer.folder(), &rows));
    assert_eq!(text(whole_home), rows);
}
