//! Broken and overlong lines among those of an agent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_provider::{ErrorClass, Failure, FailureKind, Outcome, Provider as _, RunEvent};
use daemon_provider_cli::{Agent, AgentConfig, AgentProvider};

use crate::kit::{Bench, Story, done, story};

/// Lines of one successful run; the last one is its result.
const GOOD: [(Agent, &str); 3] = [
    (
        Agent::Claude,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"Fixed."}"#,
    ),
    (
        Agent::Codex,
        r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Fixed."}}
{"type":"turn.completed","usage":{}}"#,
    ),
    (
        Agent::Opencode,
        r#"{"type":"text","part":{"messageID":"m","text":"Fixed."}}
{"type":"step_finish","part":{"id":"p","reason":"stop"}}"#,
    ),
];
/// A line of five million characters with this beginning.
const LONG: u64 = 5_000_000;
const KEPT: u64 = 64 << 10;

fn long(begin: &str) -> String {
    let n = LONG - begin.len() as u64;
    format!("printf '%s' '{begin}'; head -c {n} /dev/zero | tr '\\0' x; echo\n")
}

async fn play(agent: Agent, script: &str) -> Story {
    let bench = Bench::new();
    let mut config = AgentConfig::new(agent.as_str(), agent);
    config.program.path = bench.path("agent");
    fs::write(
        &config.program.path,
        format!("#!/bin/sh\ncat > /dev/null\n{script}"),
    )
    .unwrap();
    fs::set_permissions(&config.program.path, fs::Permissions::from_mode(0o755)).unwrap();
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(bench.request()).await.unwrap()).await
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_output_and_the_result_behind_them_counts() {
    for (agent, good) in GOOD {
        let script = format!(
            "echo 'Welcome!'; echo '[1,2]'; printf '\\377\\376\\n'\n{}{}cat <<'EOF'\n{good}\nEOF\n",
            long("x"),
            long(r#"{"type":"user","message":{"content":""#),
        );
        let story = play(agent, &script).await;
        let lengths: Vec<usize> = story.stdout.iter().map(String::len).collect();
        let kept = usize::try_from(KEPT).unwrap();
        assert_eq!(lengths[..5], [8, 5, 8, kept, kept], "{agent:?}");
        assert_eq!(
            story.stdout[..3],
            ["Welcome!", "[1,2]", r"\xff\xfe"],
            "{agent:?}"
        );
        let dropped = RunEvent::Dropped {
            lines: 0,
            bytes: LONG - KEPT,
        };
        let lost = story.events.iter().filter(|event| **event == dropped);
        assert_eq!(lost.count(), 2, "{agent:?}");
        assert_eq!(story.end, done("Fixed."), "{agent:?}");
    }
}

#[tokio::test]
async fn a_line_that_is_lost_behind_the_result_may_have_said_otherwise() {
    for (agent, good) in GOOD {
        let script = format!("cat <<'EOF'\n{good}\nEOF\n{}", long(r#"{"type":"result""#));
        let Some((outcome, text)) = play(agent, &script).await.end else {
            panic!("it ends")
        };
        let failure = Failure {
            kind: FailureKind::Protocol,
            class: ErrorClass::Retryable,
            message: "an event of the program was too long to be read".to_owned(),
        };
        assert_eq!(
            (outcome, text.as_str()),
            (Outcome::Failed(failure), "Fixed."),
            "{agent:?}"
        );
    }
}
