//! Behaviour that all coding agents share.

use std::fs;

use daemon_provider::{Asked, FollowUps, Options, Permissions, Provider as _};
use daemon_provider_cli::{Agent, AgentConfig, AgentPermissions, AgentProvider};

use crate::claude::{CLAUDE_INIT, CLAUDE_SUCCESS};
use crate::codex::{CODEX_COMPLETED, codex_says};
use crate::kit::{Bench, done, story};
use crate::opencode::opencode;
use crate::stand_in::{agent, given, play, resume, session};

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

#[tokio::test]
async fn only_the_configuration_switches_an_agents_own_checks_off() {
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
async fn a_login_is_passed_only_if_it_is_configured() {
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
async fn a_callers_options_are_passed_but_not_when_a_session_is_resumed() {
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
        let mut config = AgentConfig::new("agent", kind);
        config.model = Some("a model".to_owned());
        let provider = AgentProvider::new(supervisor.clone(), config);
        assert_eq!(provider.follow_ups(), FollowUps::Resumes);
        let Options::Taken { reserved } = provider.options() else {
            panic!("an agent takes options");
        };
        let used = kind.helps().iter().flat_map(|help| help.flags);
        for flag in used.chain([&wide]) {
            assert!(reserved.contains(flag), "{kind:?} {flag}");
        }
    }
}

#[test]
fn a_caller_chooses_the_model_where_the_host_names_none() {
    let supervisor = daemon_process::Supervisor::start().unwrap();
    for kind in Agent::ALL {
        let reserves = |model: Option<&str>| {
            let mut config = AgentConfig::new(kind.as_str(), kind);
            config.model = model.map(str::to_owned);
            let provider = AgentProvider::new(supervisor.clone(), config);
            let Options::Taken { reserved } = provider.options() else {
                panic!("an agent takes options");
            };
            reserved.contains(&"--model")
        };
        assert!(!reserves(None), "{kind:?}");
        assert!(reserves(Some("sonnet")), "{kind:?}");
    }
}
