//! What coding agents are started with and what their lines mean: a stand-in plays transcripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_fakes::Transcript;
use daemon_provider::{
    Asked, Class, Failure, FailureKind, FollowUps, MicroUsd, Options, Outcome, Permissions,
    Provider as _, RunEvent, SessionId, ToolStatus, Usage,
};
use daemon_provider_cli::{Agent, AgentConfig, AgentPermissions, AgentProvider};

use crate::kit::{Bench, Story, story};

/// Makes an agent that keeps its arguments, environment and input, prints a transcript and exits.
fn agent(bench: &Bench, agent: Agent, transcript: &str, exit: i32) -> AgentConfig {
    let bin = bench.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let recorded = Transcript {
        complaints: "a word of complaint\n".to_owned(),
        exit,
        kept_in: Some(bench.path("")),
        ..Transcript::new(transcript)
    };
    recorded.install(&bin.join(agent.as_str())).unwrap();
    let mut config = AgentConfig::new(agent.as_str(), agent);
    config.program.search = format!("{}:/usr/bin:/bin", bin.display()).into();
    config
}

async fn play(kind: Agent, transcript: &str, exit: i32) -> Story {
    let bench = Bench::new();
    let config = agent(&bench, kind, transcript, exit);
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(bench.request()).await.unwrap()).await
}

fn failed(kind: FailureKind, class: Class, message: &str, text: &str) -> Option<(Outcome, String)> {
    let failure = Failure {
        kind,
        class,
        message: message.to_owned(),
    };
    Some((Outcome::Failed(failure), text.to_owned()))
}

fn done(text: &str) -> Option<(Outcome, String)> {
    Some((Outcome::Done, text.to_owned()))
}

fn session(id: &str) -> RunEvent {
    RunEvent::Session(id.parse().unwrap())
}

fn tool(id: &str, name: &str, args: &str) -> RunEvent {
    RunEvent::ToolStart {
        id: id.to_owned(),
        name: name.to_owned(),
        args: args.to_owned(),
    }
}

fn tool_end(id: &str, name: &str, status: ToolStatus) -> RunEvent {
    RunEvent::ToolEnd {
        id: id.to_owned(),
        name: name.to_owned(),
        status,
    }
}

fn usage(input: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        thinking: 0,
        cached,
        cost: None,
    }
}

const CLAUDE_INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
const CLAUDE_READS: &str = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}]}}"#;
const CLAUDE_HAS_READ: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
const CLAUDE_SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Fixed.","total_cost_usd":0.25,"usage":{"input_tokens":9,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":2},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"rm"}}]}"#;
const CLAUDE_SPURIOUS: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"","usage":{"input_tokens":9}}"#;

#[tokio::test]
async fn claude_tells_its_session_its_tools_its_usage_and_its_result() {
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
            RunEvent::Usage(Usage {
                cost: Some(MicroUsd(250_000)),
                ..usage(9, 7, 2)
            }),
        ]
    );
    assert_eq!(story.stdout, ["Reading."]);
    assert_eq!(story.end, done("Fixed."));
}

#[tokio::test]
async fn claude_fails_by_its_word_by_its_silence_and_by_its_exit() {
    let error = r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#;
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":3}"#;
    let helper = CLAUDE_SUCCESS.replace(
        "\"type\":\"result\"",
        "\"type\":\"result\",\"parent_tool_use_id\":\"t9\"",
    );
    let low = "Credit balance is too low";
    let table = [
        (
            error.to_owned(),
            0,
            failed(FailureKind::Provider, Class::Final, low, low),
        ),
        (
            error.to_owned(),
            1,
            failed(FailureKind::Provider, Class::Final, low, low),
        ),
        (
            turns.to_owned(),
            0,
            failed(FailureKind::Limit, Class::Final, "error max turns", ""),
        ),
        (
            CLAUDE_INIT.to_owned(),
            0,
            failed(
                FailureKind::Protocol,
                Class::Retryable,
                "claude ended without a result: a word of complaint",
                "",
            ),
        ),
        (
            helper,
            0,
            failed(
                FailureKind::Protocol,
                Class::Retryable,
                "claude ended without a result: a word of complaint",
                "",
            ),
        ),
        (
            CLAUDE_SUCCESS.to_owned(),
            9,
            failed(
                FailureKind::Exit,
                Class::Retryable,
                "exit code 9: a word of complaint",
                "Fixed.",
            ),
        ),
        (
            format!("{CLAUDE_SUCCESS}\n{CLAUDE_READS}\n{error}"),
            0,
            failed(FailureKind::Provider, Class::Final, low, low),
        ),
    ];
    for (transcript, exit, end) in table {
        let story = play(Agent::Claude, &transcript, exit).await;
        assert_eq!(story.end, end, "{transcript}");
        let counts = |event: &RunEvent| matches!(event, RunEvent::Usage(_));
        assert!(!story.events.iter().any(counts), "{transcript}");
    }
}

const CODEX_THREAD: &str = r#"{"type":"thread.started","thread_id":"t-1"}"#;
const CODEX_COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":25,"output_tokens":7}}"#;

fn codex_says(text: &str) -> String {
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
            RunEvent::Usage(usage(75, 25, 7)),
        ]
    );
    assert_eq!(story.stdout, ["Fixed.", "Reconnecting 2/5", "Twice."]);
    assert_eq!(story.end, done("Fixed.\nTwice."));
}

#[tokio::test]
async fn codex_without_a_completed_turn_has_failed_whatever_it_said() {
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
            Class::Retryable,
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
            Class::Retryable,
            "unexpected status 429 Too Many Requests",
            "Half."
        )
    );
}

fn opencode(kind: &str, part: &str) -> String {
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
            RunEvent::Usage(Usage {
                input: 10,
                output: 4,
                thinking: 2,
                cached: 8,
                cost: Some(MicroUsd(1_000_000)),
            }),
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
            Class::Retryable,
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
            failed(FailureKind::Provider, Class::Final, "quota", "Half."),
        ),
        (
            opencode("step_start", "{}"),
            owed("opencode ended before its step was finished", ""),
        ),
        (
            format!("{says}\n{length}"),
            owed("opencode ended in the middle: length", "Half."),
        ),
        (stop, owed("opencode ended without a text", "")),
    ];
    for (transcript, end) in table {
        let story = play(Agent::Opencode, &transcript, 0).await;
        assert_eq!(story.end, end, "{transcript}");
    }
}

#[tokio::test]
async fn strange_lines_are_output_and_the_run_survives_them() {
    let strange = "banner\n[1,2]\n\"text\"\n{\"type\":\"future\"}\n{\"type\":7}\n{";
    for (kind, end) in [
        (Agent::Claude, CLAUDE_SUCCESS.to_owned()),
        (
            Agent::Codex,
            format!("{}\n{CODEX_COMPLETED}", codex_says("Fixed.")),
        ),
        (
            Agent::Opencode,
            format!(
                "{}\n{}",
                opencode("text", r#"{"id":"p1","messageID":"m1","text":"Fixed."}"#),
                opencode("step_finish", r#"{"id":"p2","reason":"stop"}"#)
            ),
        ),
    ] {
        let story = play(kind, &format!("{strange}\n{end}\n"), 0).await;
        assert_eq!(
            story.stdout[..6],
            strange.lines().collect::<Vec<_>>()[..],
            "{kind:?}"
        );
        assert_eq!(story.end, done("Fixed."), "{kind:?}");
    }
}

/// Returns what an agent was given: its arguments, its environment, its input.
async fn given(
    kind: Agent,
    change: impl FnOnce(&mut AgentConfig, &mut daemon_provider::RunRequest, &Bench),
) -> (Vec<String>, Vec<String>, Vec<u8>) {
    let bench = Bench::new();
    let mut config = agent(&bench, kind, "", 0);
    let mut request = bench.request();
    request.prompt = b"-- do it\n".to_vec();
    change(&mut config, &mut request, &bench);
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(request).await.unwrap()).await;
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    let lines = |name: &str| -> Vec<String> {
        let place = bench.path("").display().to_string();
        let text = String::from_utf8(read(name)).unwrap();
        text.lines().map(|line| line.replace(&place, "/")).collect()
    };
    (lines("args"), lines("env"), read("stdin"))
}

fn script(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn resume(id: &str) -> Option<SessionId> {
    Some(id.parse().unwrap())
}

#[tokio::test]
async fn claude_is_given_what_the_run_may_do() {
    let (args, _, stdin) = given(Agent::Claude, |config, request, bench| {
        config.model = Some("sonnet".to_owned());
        request.limits.budget = Some(MicroUsd(1_500_000));
        request.context = Some(bench.path("context"));
        script(&bench.path("context/support/scripts/fix.sh"));
        script(&bench.path("context/support/scripts/a b),Bash(*.sh"));
        fs::write(bench.path("context/support/notes.md"), "").unwrap();
    })
    .await;
    assert_eq!(stdin, b"-- do it\n");
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
    })
    .await;
    assert_eq!(
        args.join(" "),
        "--resume s1 --print --output-format stream-json --verbose --setting-sources user \
         --strict-mcp-config --permission-mode dontAsk --tools Read,Glob,Grep \
         --allowedTools Read,Glob,Grep"
    );
}

#[tokio::test]
async fn codex_is_given_what_the_run_may_do() {
    let table = [
        (
            Permissions::Read,
            None,
            "exec --json --color never --skip-git-repo-check --ignore-rules --sandbox read-only \
             -c approval_policy=\"never\" -",
        ),
        (
            Permissions::Write,
            None,
            "exec --json --color never --skip-git-repo-check --ignore-rules \
             --sandbox workspace-write -c approval_policy=\"never\" -",
        ),
        (
            Permissions::Propose,
            resume("t-1"),
            "exec resume t-1 --json --skip-git-repo-check --ignore-rules \
             -c sandbox_mode=\"workspace-write\" -c approval_policy=\"never\" -",
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
        "OPENCODE_DISABLE_AUTOUPDATE=1".to_owned(),
    ] {
        assert!(env.contains(&expected), "{expected}\n{env:?}");
    }
}

#[tokio::test]
async fn nothing_but_the_configuration_switches_an_agents_own_checks_off() {
    let switches = [
        (Agent::Claude, "--dangerously-skip-permissions"),
        (Agent::Codex, "--dangerously-bypass-approvals-and-sandbox"),
        (Agent::Opencode, "--auto"),
    ];
    for (kind, switch) in switches {
        for permissions in [Permissions::Read, Permissions::Propose, Permissions::Write] {
            let (args, ..) = given(kind, |_, request, _| request.permissions = permissions).await;
            assert!(!args.iter().any(|arg| arg == switch), "{args:?}");
        }
        let (args, env, _) = given(kind, |config, _, _| {
            config.permissions = AgentPermissions::Bypass;
        })
        .await;
        assert!(args.iter().any(|arg| arg == switch), "{args:?}");
        let restrictions = ["--permission-mode", "--sandbox", "--tools"];
        assert!(
            !args.iter().any(|arg| restrictions.contains(&arg.as_str())),
            "{args:?}"
        );
        assert!(
            !env.iter()
                .any(|line| line.starts_with("OPENCODE_PERMISSION")),
            "{env:?}"
        );
    }
}

#[tokio::test]
async fn a_login_is_handed_over_only_where_it_is_configured() {
    for (kind, variable) in [
        (Agent::Claude, "CLAUDE_CONFIG_DIR=/srv/me/.claude"),
        (Agent::Codex, "CODEX_HOME=/srv/me/.codex"),
        (Agent::Opencode, "XDG_DATA_HOME=/srv/me/.local/share"),
    ] {
        let (name, _) = variable.split_once('=').unwrap();
        let (_, env, _) = given(kind, |_, _, _| {}).await;
        assert!(!env.iter().any(|line| line.starts_with(name)), "{env:?}");
        let (_, env, _) = given(kind, |config, _, _| config.login = Some("/srv/me".into())).await;
        assert!(env.iter().any(|line| line == variable), "{env:?}");
    }
}

#[tokio::test]
async fn a_missing_agent_is_named_and_a_session_can_be_asked_again() {
    let bench = Bench::new();
    let mut config = AgentConfig::new("claude", Agent::Claude);
    config.program.search = bench.path("nowhere").into();
    let provider = AgentProvider::new(bench.supervisor(), config);
    let error = provider.start(bench.request()).await.err().unwrap();
    assert!(error.to_string().contains("`claude`"), "{error}");

    let config = agent(&bench, Agent::Claude, CLAUDE_INIT, 0);
    let provider = AgentProvider::new(bench.supervisor(), config);
    let mut run = provider.start(bench.request()).await.unwrap();
    assert_eq!(run.ask("more").await.unwrap(), Asked::Unsupported);
    while let Some(event) = run.next().await.unwrap() {
        if event == session("s1") {
            assert_eq!(
                run.ask("more").await.unwrap(),
                Asked::Resume("s1".parse().unwrap())
            );
        }
    }
}

#[tokio::test]
async fn a_callers_options_stand_among_the_arguments_but_not_when_a_session_is_resumed() {
    let options = ["--effort=high".to_owned(), "--betas=x".to_owned()];
    for kind in Agent::ALL {
        for (session, times) in [(None, 1), (resume("s-1"), 0)] {
            let bench = Bench::new();
            let config = agent(&bench, kind, "", 0);
            let provider = AgentProvider::new(bench.supervisor(), config);
            let mut request = bench.request();
            request.options = options.to_vec();
            request.resume = session;
            story(&mut *provider.start(request).await.unwrap()).await;
            let args = fs::read_to_string(bench.path("args")).unwrap();
            assert_eq!(
                args.matches("--effort=high\n--betas=x\n").count(),
                times,
                "{args}"
            );
            // What reads the prompt from standard input stays last.
            assert_eq!(kind == Agent::Codex, args.ends_with("-\n"), "{args}");
        }
    }
}

#[test]
fn what_an_agent_is_given_and_what_widens_its_reach_is_reserved() {
    let supervisor = daemon_process::Supervisor::start().unwrap();
    for (kind, wide) in [
        (Agent::Claude, "--settings"),
        (Agent::Codex, "--full-auto"),
        (Agent::Opencode, "--no-pure"),
    ] {
        let provider = AgentProvider::new(supervisor.clone(), AgentConfig::new("agent", kind));
        assert_eq!(provider.follow_ups(), FollowUps::Resumes);
        let Options::Taken { reserved } = provider.options() else {
            panic!("an agent takes options");
        };
        for flag in kind.flags().1.iter().chain([&wide]) {
            assert!(reserved.contains(flag), "{kind:?} {flag}");
        }
    }
}
