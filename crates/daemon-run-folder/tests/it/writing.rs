//! What a writer leaves, and in which order.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_run_folder::{
    ActivationLink, Child, Dropped, Ending, ErrorClass, Exit, Folder, OutputStream, RunError,
    RunState, Speaker, StopReason, Tokens, ToolStatus, Truncation, Writer,
};
use expect_test::expect;

use crate::kit::{Home, at, document, start, text};

const CHILD: Child = Child {
    pid: 4242,
    start: 99,
    pgid: 4242,
};

fn listing(folder: &Folder) -> Vec<String> {
    let mut acc = Vec::new();
    let mut pending = vec![folder.path().to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
            let path = entry.path();
            let name = path
                .strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string();
            acc.push(format!("{mode:o} {name}"));
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
    acc.sort();
    acc
}

#[test]
fn a_run_starts_with_its_files_and_nobody_else_may_read_them() {
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
fn the_document_has_its_keys_in_their_order() {
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
    writer
        .exited(
            Exit {
                code: None,
                signal: Some(15),
            },
            at(61_500),
        )
        .unwrap();
    writer.finish(Ending::Done, at(61_500)).unwrap();
    expect![[r#"
        {
          "data_version": 1,
          "handle": "em-1",
          "run_id": "RUN",
          "group_id": null,
          "parent_addr": "cli:1000",
          "parent_pid": 77,
          "parent_start": "b7c0:42",
          "child": null,
          "activation": {
            "daemon": "link-janitor",
            "activation_id": "01KAF2",
            "attempt": 1,
            "run_lease": 3
          },
          "task": "repair links",
          "tools": [],
          "call_parameters": {},
          "backend": "claude",
          "model": "claude",
          "preset_name": null,
          "preset_provider": null,
          "preset_model": null,
          "max_turns": null,
          "timeout_s": null,
          "idle_timeout_s": null,
          "budget": {},
          "permissions": "propose",
          "sandbox": {
            "level": 1,
            "detail": ""
          },
          "prompt_sha256": "fa60c6ffbee00ebbf152ab95812c80b4ab08bfb1d34399100323e125ffad6922",
          "state": "timeout",
          "started_at": "2026-01-02T03:04:05Z",
          "finished_at": "2026-01-02T03:05:06Z",
          "elapsed_s": 61.5,
          "turn": 0,
          "current_tool": null,
          "tool_call_count": 0,
          "tokens": {
            "input": 0,
            "output": 0,
            "thinking": 0,
            "cached": 0
          },
          "cli_tokens": {
            "input": 0,
            "output": 0,
            "thinking": 0,
            "cached": 0,
            "calls": 0
          },
          "last_output": null,
          "last_output_at": null,
          "dropped": {
            "lines": 0,
            "bytes": 0
          },
          "result_preview": null,
          "result_path": null,
          "error": {
            "type": "timeout",
            "message": "claude CLI terminated by the host (timeout, SIGTERM, code -15): 60 s",
            "class": "retryable"
          },
          "claude_session_id": "s1",
          "backend_options": {},
          "backend_argv": [
            "/usr/bin/claude",
            "--print"
          ],
          "exit": {
            "code": null,
            "signal": 15
          },
          "cli_termination": {
            "reason": "timeout",
            "signal": "SIGTERM",
            "returncode": -15,
            "detail": "60 s",
            "ts": "2026-01-02T03:05:06Z"
          },
          "followups": [],
          "terminal_notified": false,
          "notified_seq": null
        }
    "#]]
    .assert_eq(&home.plain(&folder, &text(folder.path().join("daemon.json"))));
}

#[test]
fn a_good_run_leaves_its_events_in_order() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let tokens = Tokens {
        input: 10,
        output: 2,
        thinking: 0,
        cached: 4,
    };
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
    writer.cli_usage(tokens, Some(0.25), serde_json::json!({"in": 10}));
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
        .provider_ended(&Ending::Done, "Fixed.", at(1500))
        .unwrap();
    writer
        .exited(
            Exit {
                code: Some(0),
                signal: None,
            },
            at(1600),
        )
        .unwrap();
    assert_eq!(
        writer.finish(Ending::Done, at(1700)).unwrap(),
        RunState::Done
    );

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
        (tokens, 1)
    );
    assert_eq!(document.cli_tokens.cost_usd, Some(0.25));
    assert_eq!((document.tool_call_count, document.current_tool), (1, None));
    assert_eq!(document.last_output, Some("x".repeat(1000)));
    assert_eq!(document.result_preview.as_deref(), Some("Fixed."));
    assert_eq!(text(folder.result()), "Fixed.");
}

#[test]
fn the_first_reason_to_stop_stays_and_beats_a_good_end() {
    let home = Home::new();
    let mut writer = home.run(start());
    writer.cli_usage(
        Tokens {
            input: 1,
            ..Tokens::default()
        },
        None,
        serde_json::Value::Null,
    );
    assert_eq!(
        writer.stopping(StopReason::Timeout, None, at(100)).unwrap(),
        StopReason::Timeout
    );
    let stored = document(writer.folder())
        .cli_termination
        .map(|stop| stop.reason);
    assert_eq!(
        stored,
        Some(StopReason::Timeout),
        "durable before anything is signalled"
    );
    assert_eq!(
        writer.stopping(StopReason::Reclaim, None, at(200)).unwrap(),
        StopReason::Timeout
    );
    writer
        .provider_ended(&Ending::Done, "done", at(300))
        .unwrap();
    writer
        .exited(
            Exit {
                code: Some(0),
                signal: None,
            },
            at(400),
        )
        .unwrap();
    assert_eq!(
        writer.finish(Ending::Done, at(500)).unwrap(),
        RunState::Timeout
    );
    let document = document(writer.folder());
    assert_eq!(
        document.cli_tokens.calls, 0,
        "usage counts after success only"
    );
    assert_eq!(document.result_preview, None);
    let log = text(writer.folder().events());
    assert!(
        !log.contains("daemon_done") && !log.contains("cli_usage"),
        "{log}"
    );
}

#[test]
fn each_reason_leads_to_its_state() {
    use ErrorClass::{Final, Retryable};
    let table = [
        (
            StopReason::Timeout,
            RunState::Timeout,
            Some(("timeout", Retryable)),
        ),
        (
            StopReason::Idle,
            RunState::Timeout,
            Some(("idle", Retryable)),
        ),
        (
            StopReason::Reclaim,
            RunState::Cancelled,
            Some(("reclaim", Final)),
        ),
        (
            StopReason::AgentStop,
            RunState::Cancelled,
            Some(("agent_stop", Retryable)),
        ),
        (
            StopReason::LostLease,
            RunState::Cancelled,
            Some(("lost_lease", Final)),
        ),
        (
            StopReason::Budget,
            RunState::Failed,
            Some(("budget", Final)),
        ),
        (
            StopReason::Resource,
            RunState::Failed,
            Some(("resource", Final)),
        ),
        (StopReason::Grace, RunState::Done, None),
    ];
    let home = Home::new();
    for (reason, state, error) in table {
        let mut writer = home.run(start());
        writer.stopping(reason, None, at(1)).unwrap();
        assert_eq!(writer.finish(Ending::Done, at(2)).unwrap(), state);
        let stored = document(writer.folder()).error;
        assert_eq!(
            stored.as_ref().map(|error| (&*error.kind, error.class)),
            error
        );
    }
}

#[test]
fn a_reason_to_stop_a_run_replaces_that_its_process_stayed() {
    let home = Home::new();
    let mut writer = home.run(start());
    let mut stop = |reason| writer.stopping(reason, None, at(1)).unwrap();
    let stored = [
        StopReason::Grace,
        StopReason::Reclaim,
        StopReason::Grace,
        StopReason::Timeout,
    ]
    .map(&mut stop);
    assert_eq!(
        stored,
        [
            StopReason::Grace,
            StopReason::Reclaim,
            StopReason::Reclaim,
            StopReason::Reclaim
        ]
    );
    assert_eq!(
        writer.finish(Ending::Done, at(2)).unwrap(),
        RunState::Cancelled
    );
}

#[test]
fn a_run_without_a_folder_ends_in_its_document_alone() {
    let home = Home::new();
    let mut writer = home.run(start());
    fs::remove_dir_all(writer.folder().path()).unwrap();
    writer.finish(Ending::Done, at(1)).unwrap_err();
    assert_eq!(writer.document().state, RunState::Running);
    writer.finish_unrecorded(Ending::Stopped(StopReason::Reclaim), at(2));
    let document = writer.document();
    let error = document
        .error
        .as_ref()
        .map(|error| (&*error.kind, error.class));
    assert_eq!(
        (document.state, error, document.finished_at.is_some()),
        (
            RunState::Cancelled,
            Some(("reclaim", ErrorClass::Final)),
            true
        )
    );
    assert!(!writer.folder().path().exists());
}

#[test]
fn a_run_ends_once() {
    let home = Home::new();
    let mut writer = home.run(start());
    let error = RunError {
        kind: "exit".to_owned(),
        message: "exit code 1".to_owned(),
        class: ErrorClass::Retryable,
    };
    assert_eq!(
        writer.finish(Ending::Failed(error), at(10)).unwrap(),
        RunState::Failed
    );
    let before = text(writer.folder().path().join("daemon.json"));
    let refused = writer.finish(Ending::Done, at(20)).unwrap_err();
    assert_eq!(refused.to_string(), "the run has ended as failed");
    assert_eq!(text(writer.folder().path().join("daemon.json")), before);
}

#[test]
fn a_failed_terminal_write_can_be_repeated() {
    let home = Home::new();
    let mut writer = home.run(start());
    let path = writer.folder().path().join("daemon.json");
    fs::remove_file(&path).unwrap();
    // A directory in its place cannot be replaced by a file.
    fs::create_dir(&path).unwrap();
    let error = writer.finish(Ending::Done, at(10)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot write `{}`", path.display())
    );
    assert_eq!(writer.document().state, RunState::Running);
    fs::remove_dir(&path).unwrap();
    assert_eq!(writer.finish(Ending::Done, at(20)).unwrap(), RunState::Done);
    assert_eq!(
        text(writer.folder().events())
            .matches("daemon_done")
            .count(),
        1
    );
    let temporary = listing(writer.folder())
        .into_iter()
        .filter(|name| name.starts_with("600") && name.contains("tmp"));
    assert_eq!(temporary.collect::<Vec<_>>(), Vec::<String>::new());
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
fn progress_is_written_four_times_a_second_and_by_the_next_tick() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let seen = |line: &str, now| {
        writer
            .output(OutputStream::Stdout, line, Truncation::Whole, at(now))
            .unwrap();
        document(&folder).last_output
    };
    let lines = [("a", 100), ("b", 250), ("c", 499), ("d", 500)].map(|(line, now)| (line, now));
    let mut seen = seen;
    let found = lines.map(|(line, now)| seen(line, now));
    let b = Some("b".to_owned());
    assert_eq!(found, [None, b.clone(), b, Some("d".to_owned())]);
    let milliseconds = |writer: &Writer, now| writer.next_tick(at(now)).as_millis();
    assert_eq!(milliseconds(&writer, 500), 5000, "all is on the disk");
    writer
        .output(OutputStream::Stdout, "e", Truncation::Whole, at(501))
        .unwrap();
    assert_eq!(
        (milliseconds(&writer, 510), milliseconds(&writer, 900)),
        (240, 0)
    );
    writer.tick(at(5000)).unwrap();
    assert_eq!(document(&folder).last_output.as_deref(), Some("e"));
    assert_eq!(folder.last_heartbeat(), Some(at(5000)));
    assert_eq!(milliseconds(&writer, 5000), 5000);
}

#[test]
fn a_document_that_cannot_be_written_is_not_tried_without_a_pause() {
    let home = Home::new();
    let mut writer = home.run(start());
    let path = writer.folder().document();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    writer.tool_start("Read", "{}", at(1000)).unwrap_err();
    assert_eq!(writer.next_tick(at(1000)).as_millis(), 250);
    writer.tick(at(1250)).unwrap_err();
    assert_eq!(writer.next_tick(at(1250)).as_millis(), 250);
    fs::remove_dir(&path).unwrap();
    writer.tick(at(1500)).unwrap();
    let current = document(writer.folder()).current_tool;
    assert_eq!(current.as_deref(), Some("Read"));
}

#[test]
fn a_flood_of_output_stays_bounded_and_keeps_its_beginning_and_end() {
    let home = Home::new();
    let mut writer = home.run(start());
    let line = "0123456789abcdef".repeat(200);
    for n in 0..8000 {
        let line = format!("{n} {line}");
        writer
            .output(OutputStream::Stdout, &line, Truncation::Whole, at(1))
            .unwrap();
    }
    writer.provider_ended(&Ending::Done, "ok", at(2)).unwrap();
    let logs = writer.folder().path().join("logs");
    let size = |name: &str| fs::metadata(logs.join(name)).unwrap().len() >> 20;
    assert_eq!(
        (
            size("events.jsonl"),
            size("output.1.jsonl"),
            size("output.2.jsonl")
        ),
        (8, 1, 4)
    );
    let kept: usize = ["events.jsonl", "output.1.jsonl", "output.2.jsonl"]
        .map(|name| text(logs.join(name)).matches("cli_output").count())
        .iter()
        .sum();
    assert!(text(logs.join("events.jsonl")).contains("\"text\":\"0 0123"));
    assert!(text(logs.join("output.1.jsonl")).contains("\"text\":\"7999 0123"));
    assert_eq!(writer.document().dropped.lines, 8000 - kept as u64);
    assert!(writer.document().dropped.bytes > 8 << 20);
}

#[test]
fn what_the_capture_dropped_is_counted() {
    let home = Home::new();
    let mut writer = home.run(start());
    writer
        .dropped(
            Dropped {
                lines: 1,
                bytes: 10,
            },
            at(1),
        )
        .unwrap();
    writer
        .dropped(Dropped { lines: 0, bytes: 5 }, at(300))
        .unwrap();
    assert_eq!(
        document(writer.folder()).dropped,
        Dropped {
            lines: 1,
            bytes: 15
        }
    );
}

#[test]
fn a_model_leaves_its_transcript_and_its_calls() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let tokens = Tokens {
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
        .model_call(Tokens::default(), "m", "https://x.y", at(30))
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
fn secrets_leave_with_the_end_of_the_run() {
    let home = Home::new();
    let mut writer = home.run(start());
    fs::create_dir(writer.folder().private()).unwrap();
    fs::write(writer.folder().private().join("mcp.json"), "secret").unwrap();
    writer.finish(Ending::Done, at(10)).unwrap();
    assert!(!writer.folder().private().exists());
}
