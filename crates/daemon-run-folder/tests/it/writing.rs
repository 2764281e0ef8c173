//! What a writer leaves in a run's folder, from its start to its end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_run_folder::{
    ActivationLink, ChildProcess, Exit, Folder, Outcome, OutputStream, RunState, Speaker,
    StopReason, TokensRecord, ToolStatus, Truncation, Writer,
};
use expect_test::{expect, expect_file};

use crate::kit::{Home, at, document, listing, start, text};

const CHILD: ChildProcess = ChildProcess {
    pid: 4242,
    start: 99,
    pgid: 4242,
};

#[test]
fn a_start_creates_private_files() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder();
    let expected = [
        "600 .heartbeat",
        "600 .lock",
        "600 .prompt",
        "600 daemon.json",
        "600 logs/events.jsonl",
        "600 outputs.jsonl",
        "700 history",
        "700 logs",
        "700 session",
        "700 session/tmp",
    ];
    assert_eq!(listing(folder), expected);
    assert_eq!(
        fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777,
        0o700
    );
    assert_eq!(
        text(folder.path().join(".prompt")),
        "Be brief.\nTask: repair links"
    );
    assert_eq!(folder.last_heartbeat(), Some(at(0)));
    assert_eq!(document(folder), *writer.document());
}

#[test]
fn a_failed_start_leaves_no_folder() {
    let home = Home::new();
    let reserved = Folder::reserve(&home.daemons(), "em-1".parse().unwrap(), at(0)).unwrap();
    let path = reserved.folder().path().to_owned();
    fs::write(path.join("logs"), "in the way").unwrap();
    let error = Writer::start(reserved, start(), at(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot create `{}`", path.join("logs").display())
    );
    assert!(!path.exists());
}

#[test]
fn a_stopped_attempt_has_every_key_in_order() {
    let home = Home::new();
    let mut begin = start();
    begin.activation = Some(ActivationLink {
        daemon: "link-janitor".to_owned(),
        activation_id: "01KAF2".to_owned(),
        attempt: 1,
        run_lease: 3,
    });
    let mut writer = home.run(begin);
    let folder = writer.folder().clone();
    writer
        .spawned(
            CHILD,
            vec!["/usr/bin/claude".to_owned(), "--print".to_owned()],
            at(10),
        )
        .unwrap();
    writer.session("s1", at(20)).unwrap();
    writer.session("s2", at(20)).unwrap();
    writer
        .stopping(StopReason::Timeout, Some("60 s"), at(61_000))
        .unwrap();
    writer.exited(Exit::Signal(15), at(61_500)).unwrap();
    writer.finish(&Outcome::Done, at(61_500)).unwrap();
    expect_file!["documents/stopped_attempt.json"]
        .assert_eq(&home.plain(&folder, &text(folder.path().join("daemon.json"))));
}

/// What the program of [`successful_run`] reports that it used.
const USED: TokensRecord = TokensRecord {
    input: 10,
    output: 2,
    thinking: 0,
    cached: 4,
};

/// Records a run with output, a tool call, a refusal and a result.
fn successful_run(writer: &mut Writer) {
    writer.spawned(CHILD, Vec::new(), at(10)).unwrap();
    writer
        .output(
            OutputStream::Stdout,
            "Reading.",
            Truncation::Whole,
            at(1000),
        )
        .unwrap();
    writer
        .output(OutputStream::Stdout, " \t", Truncation::Whole, at(1000))
        .unwrap();
    writer.tool_start("grep", r#"{"q":"é"}"#, at(1100)).unwrap();
    assert_eq!(writer.document().current_tool.as_deref(), Some("grep"));
    writer
        .tool_end("grep", ToolStatus::Error, at(1200))
        .unwrap();
    writer.cli_usage(USED, Some(0.25), serde_json::json!({"in": 10}));
    writer.denied("push", "read only", at(1300)).unwrap();
    writer
        .output(
            OutputStream::Stderr,
            &"x".repeat(4001),
            Truncation::Whole,
            at(1400),
        )
        .unwrap();
    writer
        .provider_ended(&Outcome::Done, "Fixed.", at(1500))
        .unwrap();
    writer.exited(Exit::Code(0), at(1600)).unwrap();
    assert_eq!(
        writer.finish(&Outcome::Done, at(1700)).unwrap(),
        RunState::Done
    );
}

#[test]
fn a_successful_run_logs_its_events_in_order() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    successful_run(&mut writer);

    let log = home
        .plain(&folder, &text(folder.events()))
        .replace(&"x".repeat(3986), "(3986 x)");
    expect![[r#"
        {"ts":"2026-01-02T03:04:05Z","event":"daemon_start"}
        {"ts":"2026-01-02T03:04:06Z","event":"cli_output","stream":"stdout","text":"Reading.","elapsed_s":1.0}
        {"ts":"2026-01-02T03:04:06Z","event":"tool_call","name":"grep","args_preview":"{\"q\":\"é\"}","turn":0}
        {"ts":"2026-01-02T03:04:06Z","event":"tool_result","name":"grep","status":"error","turn":0}
        {"ts":"2026-01-02T03:04:06Z","event":"permission_denied","name":"push","detail":"read only"}
        {"ts":"2026-01-02T03:04:06Z","event":"cli_output","stream":"stderr","text":"(3986 x)...[truncated]","elapsed_s":1.4,"truncated":true}
        {"ts":"2026-01-02T03:04:06Z","event":"provider_terminal","outcome":"done","result_sha256":"13079c2612a9ead4818ab21ef90bf6b7c457916144d8cbaeeff74befa4f4cc8d"}
        {"ts":"2026-01-02T03:04:06Z","event":"cli_usage","input":10,"output":2,"cached":4,"thinking":0,"raw":{"in":10}}
        {"ts":"2026-01-02T03:04:06Z","event":"daemon_done","elapsed_s":1.7,"result_path":"HOME/daemons/RUN/result.txt"}
    "#]]
    .assert_eq(&log);
    let document = document(&folder);
    assert_eq!(
        (document.cli_tokens.tokens, document.cli_tokens.calls),
        (USED, 1)
    );
    assert_eq!(document.cli_tokens.cost_usd, Some(0.25));
    assert_eq!((document.tool_call_count, document.current_tool), (1, None));
    assert_eq!(document.last_output, Some("x".repeat(1000)));
    assert_eq!(document.result_preview.as_deref(), Some("Fixed."));
    assert_eq!(text(folder.result()), "Fixed.");
}

#[test]
fn a_model_run_records_its_transcript_and_its_calls() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let tokens = TokensRecord {
        input: 9,
        output: 2,
        thinking: 1,
        cached: 4,
    };
    writer
        .message(Speaker::Task, "repair links", at(0))
        .unwrap();
    writer.turn(1, at(10)).unwrap();
    writer.message(Speaker::Assistant, "Done.", at(20)).unwrap();
    writer
        .model_call(tokens, "m", "https://x.y", at(30))
        .unwrap();
    writer
        .model_call(TokensRecord::default(), "m", "https://x.y", at(30))
        .unwrap();
    expect![[r#"
        {"role":"user","kind":"task","text":"repair links","turn":0,"ts":"2026-01-02T03:04:05Z"}
        {"role":"assistant","text":"Done.","turn":1,"ts":"2026-01-02T03:04:05Z"}
    "#]]
    .assert_eq(&text(folder.path().join("history/chat_history.jsonl")));
    let ledger = text(folder.path().join("logs/token_ledger.jsonl"));
    expect![[r#"
        {"source":"daemon","em_id":"em-1","run_id":"RUN","ts":"2026-01-02T03:04:05Z","input":9,"output":2,"thinking":1,"cached":4,"model":"m","endpoint":"https://x.y"}
    "#]]
    .assert_eq(&home.plain(&folder, &ledger));
    assert_eq!(
        text(
            home.daemons()
                .with_file_name("logs")
                .join("token_ledger.jsonl")
        ),
        ledger
    );
    assert_eq!(writer.document().tokens, tokens);
}

#[test]
fn the_private_directory_is_removed_at_the_end() {
    let home = Home::new();
    let mut writer = home.run(start());
    fs::create_dir(writer.folder().private()).unwrap();
    fs::write(writer.folder().private().join("mcp.json"), "secret").unwrap();
    writer.finish(&Outcome::Done, at(10)).unwrap();
    assert!(!writer.folder().private().exists());
}
