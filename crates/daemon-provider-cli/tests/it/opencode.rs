//! `opencode`: its command line and the meaning of its lines.

use daemon_fakes::recorded;
use daemon_provider::{
    ErrorClass, FailureKind, MicroUsd, Permissions, RunEvent, ToolStatus, Usage,
};
use daemon_provider_cli::Agent;

use crate::kit::done;
use crate::stand_in::{failed, given, play, resume, script, session, tool, tool_end, words};

pub(crate) fn opencode(kind: &str, part: &str) -> String {
    format!(r#"{{"type":"{kind}","timestamp":1,"sessionID":"ses_1","part":{part}}}"#)
}

#[tokio::test]
async fn opencode_answers_with_its_last_message_and_counts_each_part_once() {
    let finish = |id: &str, reason: &str| {
        let tokens = r#"{"input":5,"output":2,"reasoning":1,"cache":{"read":3,"write":1}}"#;
        opencode(
            "step_finish",
            &format!(r#"{{"id":"{id}","reason":"{reason}","cost":0.5,"tokens":{tokens}}}"#),
        )
    };
    let lines = [
        opencode("step_start", "{}"),
        opencode("text", r#"{"id":"p1","messageID":"m1","text":"Looking."}"#),
        opencode(
            "tool_use",
            r#"{"tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"}}}"#,
        ),
        finish("p2", "tool-calls"),
        opencode("step_start", "{}").replace("ses_1", "ses_2"),
        opencode("text", r#"{"id":"p3","messageID":"m2","text":"Fixed."}"#),
        opencode(
            "text",
            r#"{"id":"p4","messageID":"m2","text":"All of it."}"#,
        ),
        finish("p5", "stop"),
        finish("p5", "stop"),
    ];
    let story = play(Agent::Opencode, &lines.join("\n"), 0).await;
    assert_eq!(
        story.events,
        [
            session("ses_1"),
            tool("c1", "bash", r#"{"command":"ls"}"#),
            tool_end("c1", "bash", ToolStatus::Ok),
            RunEvent::Usage {
                usage: Usage {
                    input: 10,
                    output: 4,
                    thinking: 2,
                    cached: 8,
                    cost: Some(MicroUsd(1_000_000)),
                },
                raw: words(
                    &[finish("p2", ""), finish("p5", "")].join("\n"),
                    "/part/tokens"
                )
            },
        ]
    );
    assert_eq!(story.stdout, ["Looking.", "Fixed.", "All of it."]);
    assert_eq!(story.end, done("Fixed.\nAll of it."));
}

#[tokio::test]
async fn opencode_fails_by_an_error_and_in_the_middle() {
    let error = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"quota"}}}"#;
    let owed = |message: &str, text: &str| {
        failed(
            FailureKind::Protocol,
            ErrorClass::Retryable,
            &format!("{message}: a word of complaint"),
            text,
        )
    };
    let says = opencode("text", r#"{"id":"p1","messageID":"m1","text":"Half."}"#);
    let stop = opencode("step_finish", r#"{"id":"p2","reason":"stop"}"#);
    let length = opencode("step_finish", r#"{"id":"p2","reason":"length"}"#);
    let table = [
        (
            format!("{says}\n{stop}\n{error}"),
            failed(FailureKind::Provider, ErrorClass::Final, "quota", "Half."),
        ),
        (
            opencode("step_start", "{}"),
            owed("opencode ended before its step was finished", ""),
        ),
        (
            format!("{says}\n{length}"),
            owed("opencode ended in the middle: length", "Half."),
        ),
        (stop, owed("opencode ended without any text", "")),
    ];
    for (transcript, end) in table {
        let story = play(Agent::Opencode, &transcript, 0).await;
        assert_eq!(story.end, end, "{transcript}");
    }
}

#[tokio::test]
async fn opencode_is_read_as_it_was_recorded() {
    let story = play(Agent::Opencode, recorded::OPENCODE, 0).await;
    assert_eq!(
        story.events,
        [
            session("ses_dfe06971effeMol3BPYwDfazOY"),
            tool("c2", "bash", r#"{"command":"id","description":"x"}"#),
            tool_end("c2", "bash", ToolStatus::Error),
            tool("c1", "read", r#"{"filePath":"/srv/lamp/NOTE.md"}"#),
            tool_end("c1", "read", ToolStatus::Ok),
            RunEvent::Usage {
                usage: Usage {
                    input: 12,
                    output: 8,
                    thinking: 2,
                    cached: 8,
                    cost: Some(MicroUsd(0)),
                },
                raw: words(recorded::OPENCODE, "/part/tokens")
            },
        ]
    );
    assert_eq!(story.stdout, ["Looking.", "Fixed."]);
    assert_eq!(story.end, done("Fixed."));
    let story = play(Agent::Opencode, recorded::OPENCODE_REFUSED, 1).await;
    assert_eq!(
        story.end,
        failed(
            FailureKind::Provider,
            ErrorClass::Final,
            "the model is gone",
            ""
        )
    );
    let passing =
        recorded::OPENCODE_REFUSED.replace(r#""isRetryable":false"#, r#""isRetryable":true"#);
    assert_eq!(
        play(Agent::Opencode, &passing, 1).await.end,
        failed(
            FailureKind::Provider,
            ErrorClass::Retryable,
            "the model is gone",
            ""
        )
    );
}

#[tokio::test]
async fn opencode_is_given_what_the_run_may_do() {
    let (args, env, stdin) = given(Agent::Opencode, |_, request, bench| {
        request.permissions = Permissions::Propose;
        request.resume = resume("ses_1");
        request.context = Some(bench.path("context"));
        script(&bench.path("context/support/fix.sh"));
    })
    .await;
    assert_eq!(args.join(" "), "run --session ses_1 --format json --pure");
    assert_eq!(stdin, b"-- do it\n");
    let rules = r#"{"*":"deny","bash":{"*":"deny","/context/support/fix.sh":"allow","/context/support/fix.sh *":"allow"},"edit":"allow","external_directory":{"*":"deny","/context/**":"allow"},"glob":"allow","grep":"allow","list":"allow","read":"allow"}"#;
    let permission = env
        .iter()
        .find_map(|line| line.strip_prefix("OPENCODE_PERMISSION="));
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(permission.map(parsed), Some(parsed(rules)));
    for expected in [
        "OPENCODE_DISABLE_PROJECT_CONFIG=1".to_owned(),
        "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT=1".to_owned(),
        "OPENCODE_DISABLE_AUTOUPDATE=1".to_owned(),
    ] {
        assert!(env.contains(&expected), "{expected}\n{env:?}");
    }
}
