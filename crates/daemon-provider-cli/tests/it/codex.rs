//! `codex`: its command line and the meaning of its lines.

use daemon_fakes::recorded;
use daemon_provider::{ErrorClass, FailureKind, Permissions, RunEvent, ToolStatus};
use daemon_provider_cli::Agent;

use crate::kit::done;
use crate::stand_in::{failed, given, play, resume, session, tool, tool_end, usage, words};

const CODEX_THREAD: &str = r#"{"type":"thread.started","thread_id":"t-1"}"#;
pub(crate) const CODEX_COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":25,"output_tokens":7}}"#;

pub(crate) fn codex_says(text: &str) -> String {
    format!(
        r#"{{"type":"item.completed","item":{{"id":"i2","type":"agent_message","text":"{text}"}}}}"#
    )
}

#[tokio::test]
async fn codex_joins_its_messages_and_counts_its_usage_once() {
    let lines = [
        CODEX_THREAD.to_owned(),
        r#"{"type":"turn.started"}"#.to_owned(),
        r#"{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","status":"in_progress"}}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","exit_code":1,"status":"failed"}}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"i3","type":"mcp_tool_call","server":"linear","tool":"get","arguments":{"id":1},"status":"completed"}}"#.to_owned(),
        codex_says("Fixed."),
        r#"{"type":"error","message":"Reconnecting 2/5"}"#.to_owned(),
        codex_says("Twice."),
        CODEX_COMPLETED.to_owned(),
        CODEX_COMPLETED.replace("100", "999"),
    ];
    let story = play(Agent::Codex, &lines.join("\n"), 0).await;
    assert_eq!(
        story.events,
        [
            session("t-1"),
            tool("i1", "command_execution", "\"ls\""),
            tool_end("i1", "command_execution", ToolStatus::Error),
            tool("i3", "linear.get", r#"{"id":1}"#),
            tool_end("i3", "linear.get", ToolStatus::Ok),
            RunEvent::Usage {
                usage: usage(75, 25, 7),
                raw: words(CODEX_COMPLETED, "/usage")
            },
        ]
    );
    assert_eq!(story.stdout, ["Fixed.", "Reconnecting 2/5", "Twice."]);
    assert_eq!(story.end, done("Fixed.\nTwice."));
}

#[tokio::test]
async fn codex_without_a_completed_turn_has_failed_despite_its_messages() {
    let cut = play(
        Agent::Codex,
        &format!("{CODEX_THREAD}\n{}", codex_says("Fixed.")),
        0,
    )
    .await;
    assert_eq!(
        cut.end,
        failed(
            FailureKind::Protocol,
            ErrorClass::Retryable,
            "codex ended before its turn was completed: a word of complaint",
            "Fixed."
        )
    );
    let turn =
        r#"{"type":"turn.failed","error":{"message":"unexpected status 429 Too Many Requests"}}"#;
    let told = play(Agent::Codex, &format!("{}\n{turn}", codex_says("Half.")), 1).await;
    assert_eq!(
        told.end,
        failed(
            FailureKind::Provider,
            ErrorClass::Retryable,
            "unexpected status 429 Too Many Requests",
            "Half."
        )
    );
}

#[tokio::test]
async fn codex_is_read_as_it_was_recorded() {
    let story = play(Agent::Codex, recorded::CODEX, 0).await;
    assert_eq!(
        story.events,
        [
            session("01a201ee-3c81-7c41-8d57-f84d61b7c494"),
            tool(
                "item_2",
                "command_execution",
                "\"/bin/bash -lc 'cat NOTE.md'\""
            ),
            tool_end("item_2", "command_execution", ToolStatus::Ok),
            RunEvent::Usage {
                usage: usage(60, 40, 14),
                raw: words(recorded::CODEX, "/usage")
            },
        ]
    );
    assert_eq!(story.stdout[1..], ["Looking.", "Fixed."]);
    assert_eq!(story.end, done("Looking.\nFixed."));
    let story = play(Agent::Codex, recorded::CODEX_REFUSED, 1).await;
    assert_eq!(story.stdout.len(), 7, "{:?}", story.stdout);
    let message =
        "unexpected status 401 Unauthorized: no such key, url: http://127.0.0.1:38479/v1/responses";
    assert_eq!(
        story.end,
        failed(FailureKind::Provider, ErrorClass::Final, message, "")
    );
}

#[tokio::test]
async fn codex_is_given_what_the_run_may_do() {
    let table = [
        (
            Permissions::Read,
            None,
            "exec --json --color never --skip-git-repo-check --ignore-rules \
             --sandbox read-only -c approval_policy=\"never\" -c project_doc_max_bytes=0 -",
        ),
        (
            Permissions::Write,
            None,
            "exec --json --color never --skip-git-repo-check --ignore-rules \
             --sandbox workspace-write -c approval_policy=\"never\" -c project_doc_max_bytes=0 -",
        ),
        (
            Permissions::Propose,
            resume("t-1"),
            "exec resume t-1 --json --skip-git-repo-check --ignore-rules \
             -c sandbox_mode=\"workspace-write\" -c approval_policy=\"never\" -c project_doc_max_bytes=0 -",
        ),
    ];
    for (permissions, session, expected) in table {
        let (args, _, stdin) = given(Agent::Codex, |_, request, _| {
            request.permissions = permissions;
            request.resume = session;
        })
        .await;
        assert_eq!(args.join(" "), expected);
        assert_eq!(stdin, b"-- do it\n");
    }
}

#[tokio::test]
async fn no_argument_of_the_operator_makes_codex_load_instructions() {
    let (args, _, _) = given(Agent::Codex, |config, _, _| {
        config.program.args = ["-c", "project_doc_max_bytes=9000"]
            .map(str::to_owned)
            .into();
    })
    .await;
    // `codex` uses the last of several values.
    let [.., value, end] = &args[..] else {
        panic!("{args:?}");
    };
    assert_eq!([value.as_str(), end], ["project_doc_max_bytes=0", "-"]);
}
