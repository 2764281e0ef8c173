//! `claude`: its command line and the meaning of its lines.

use std::fs;

use daemon_fakes::recorded;
use daemon_provider::{
    ErrorClass, FailureKind, MicroUsd, Permissions, RunEvent, ToolStatus, Usage,
};
use daemon_provider_cli::Agent;

use crate::kit::done;
use crate::stand_in::{failed, given, play, resume, script, session, tool, tool_end, usage, words};

pub(crate) const CLAUDE_INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
const CLAUDE_READS: &str = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}]}}"#;
const CLAUDE_HAS_READ: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
pub(crate) const CLAUDE_SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Fixed.","total_cost_usd":0.25,"usage":{"input_tokens":9,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":2},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"rm"}}]}"#;
const CLAUDE_SPURIOUS: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"","usage":{"input_tokens":9}}"#;

#[tokio::test]
async fn claude_reports_its_session_its_tools_its_usage_and_its_result() {
    let lines = [
        CLAUDE_INIT,
        CLAUDE_READS,
        CLAUDE_HAS_READ,
        CLAUDE_SUCCESS,
        CLAUDE_SPURIOUS,
    ];
    let story = play(Agent::Claude, &lines.join("\n"), 0).await;
    assert_eq!(
        story.events,
        [
            session("s1"),
            tool("t1", "Read", r#"{"file_path":"a"}"#),
            tool_end("t1", "Read", ToolStatus::Ok),
            RunEvent::Denied {
                name: "Bash".to_owned(),
                detail: r#"{"command":"rm"}"#.to_owned()
            },
            RunEvent::Usage {
                usage: Usage {
                    cost: Some(MicroUsd(250_000)),
                    ..usage(9, 7, 2)
                },
                raw: words(CLAUDE_SUCCESS, "/usage")
            },
        ]
    );
    assert_eq!(story.stdout, ["Reading."]);
    assert_eq!(story.end, done("Fixed."));
}

#[tokio::test]
async fn claude_fails_by_its_result_by_its_silence_and_by_its_exit() {
    let error = r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#;
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":3}"#;
    let helper = CLAUDE_SUCCESS.replace(
        "\"type\":\"result\"",
        "\"type\":\"result\",\"parent_tool_use_id\":\"t9\"",
    );
    let low = "Credit balance is too low";
    let credit = failed(FailureKind::Provider, ErrorClass::Final, low, low);
    let silence = "claude ended without a result: a word of complaint";
    let unfinished = failed(FailureKind::Protocol, ErrorClass::Retryable, silence, "");
    let limit = failed(FailureKind::Limit, ErrorClass::Final, "error max turns", "");
    let complaint = "a word of complaint";
    let exited = failed(
        FailureKind::Exit,
        ErrorClass::Retryable,
        complaint,
        "Fixed.",
    );
    let table = [
        (error.to_owned(), 0, credit.clone()),
        (error.to_owned(), 1, credit.clone()),
        (turns.to_owned(), 0, limit),
        (CLAUDE_INIT.to_owned(), 0, unfinished.clone()),
        (helper, 0, unfinished),
        (CLAUDE_SUCCESS.to_owned(), 9, exited),
        (
            format!("{CLAUDE_SUCCESS}\n{CLAUDE_READS}\n{error}"),
            0,
            credit,
        ),
    ];
    for (transcript, exit, end) in table {
        let story = play(Agent::Claude, &transcript, exit).await;
        assert_eq!(story.end, end, "{transcript}");
        let counts = |event: &RunEvent| matches!(event, RunEvent::Usage { .. });
        assert!(!story.events.iter().any(counts), "{transcript}");
    }
}

#[tokio::test]
async fn claude_is_read_as_it_was_recorded() {
    let story = play(Agent::Claude, recorded::CLAUDE, 0).await;
    assert_eq!(
        story.events,
        [
            session("4f93439c-8d80-40e0-bafa-7e3a05fad610"),
            tool("t0", "Read", r#"{"file_path":"/srv/lamp/NOTE.md"}"#),
            tool("t1", "Bash", r#"{"command":"id"}"#),
            tool_end("t1", "Bash", ToolStatus::Error),
            tool_end("t0", "Read", ToolStatus::Ok),
            RunEvent::Usage {
                usage: Usage {
                    cost: Some(MicroUsd(382)),
                    ..usage(18, 14, 10)
                },
                raw: words(recorded::CLAUDE, "/usage")
            },
        ]
    );
    assert_eq!(story.stdout, ["Looking.", "Fixed."]);
    assert_eq!(story.end, done("Fixed."));
    let story = play(Agent::Claude, recorded::CLAUDE_REFUSED, 1).await;
    let message = "API Error: 400 the model is gone";
    assert_eq!(story.stdout, [message]);
    assert_eq!(
        story.end,
        failed(FailureKind::Provider, ErrorClass::Final, message, message)
    );
}

#[tokio::test]
async fn claude_is_given_what_the_run_may_do() {
    let (args, env, stdin) = given(Agent::Claude, |config, request, bench| {
        config.model = Some("sonnet".to_owned());
        request.limits.budget = Some(MicroUsd(1_500_000));
        request.context = Some(bench.path("context"));
        script(&bench.path("context/support/scripts/fix.sh"));
        script(&bench.path("context/support/scripts/a b),Bash(*.sh"));
        fs::write(bench.path("context/support/notes.md"), "").unwrap();
    })
    .await;
    assert_eq!(stdin, b"-- do it\n");
    let loads_none = "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1".to_owned();
    assert!(env.contains(&loads_none), "{env:?}");
    let id = args.iter().position(|arg| arg == "--session-id").unwrap() + 1;
    assert_eq!(
        (args[id].len(), args[id].as_bytes()[14]),
        (36, b'4'),
        "{args:?}"
    );
    let name = args.iter().position(|arg| arg == "--name").unwrap() + 1;
    assert!(args[name].starts_with("em-"), "{args:?}");
    let others: Vec<&str> = args
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != id && *at != name)
        .map(|(_, arg)| arg.as_str())
        .collect();
    assert_eq!(
        others.join(" "),
        "--print --output-format stream-json --verbose --name --session-id --setting-sources user \
         --strict-mcp-config --max-budget-usd 1.50 --model sonnet --permission-mode dontAsk \
         --tools Read,Glob,Grep,Edit,Write,Bash \
         --allowedTools Read,Glob,Grep,Edit,Write,Bash(/context/support/scripts/fix.sh:*) \
         --add-dir /context"
    );
    let (args, ..) = given(Agent::Claude, |_, request, _| {
        request.permissions = Permissions::Read;
        request.resume = resume("s1");
        request.allowed = ["mcp__daemon", "Bash(make:*)", "Read"]
            .map(str::to_owned)
            .into();
    })
    .await;
    assert_eq!(
        args.join(" "),
        "--resume s1 --print --output-format stream-json --verbose --setting-sources user \
         --strict-mcp-config --permission-mode dontAsk --tools Read,Glob,Grep,Bash \
         --allowedTools Read,Glob,Grep,mcp__daemon,Bash(make:*)"
    );
}
