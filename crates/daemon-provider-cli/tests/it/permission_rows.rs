//! Inputs that switch an agent's own checks off, and inputs that must not.

use std::fs;

use daemon_fakes::Transcript;
use daemon_provider::{Permissions, Provider as _, inputs};
use daemon_provider_cli::{Agent, AgentConfig, AgentPermissions, AgentProvider};
use serde_json::json;

use crate::kit::{Bench, story};

/// Words that each switch a check off in at least one agent.
const SWITCHES: [&str; 8] = [
    "dangerously",
    "bypass",
    "yolo",
    "--auto",
    "full-auto",
    "danger-full-access",
    "approve",
    "\"*\":\"allow\"",
];

/// The setting that lets codex use one server's tools without asking a person.
const USE: &str = "default_tools_approval_mode=\"approve\"";

/// One of each setting of a configuration, a request or a repository, except the permission itself.
#[derive(Clone, Copy, Debug)]
struct Said {
    permissions: Permissions,
    is_resumed: bool,
    has_servers: bool,
    has_login: bool,
    has_repository_settings: bool,
}

fn everything() -> Vec<Said> {
    let levels = [Permissions::Read, Permissions::Propose, Permissions::Write];
    let said = levels.into_iter().flat_map(|permissions| {
        (0..16).map(move |bits: u8| Said {
            permissions,
            is_resumed: bits & 1 != 0,
            has_servers: bits & 2 != 0,
            has_login: bits & 4 != 0,
            has_repository_settings: bits & 8 != 0,
        })
    });
    said.collect()
}

/// Starts an agent and returns its arguments and variables.
async fn given(agent: Agent, said: Said, permissions: AgentPermissions) -> (Vec<String>, String) {
    let bench = Bench::new();
    let bin = bench.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let recorded = Transcript {
        kept_in: Some(bench.path("")),
        ..Transcript::new("")
    };
    recorded.install(&bin.join(agent.as_str())).unwrap();
    let mut config = AgentConfig::new(agent.as_str(), agent);
    config.program.search = format!("{}:/usr/bin:/bin", bin.display()).into();
    config.permissions = permissions;
    config.login = said.has_login.then(|| bench.path("home"));
    let mut request = bench.request();
    request.permissions = said.permissions;
    request.resume = said.is_resumed.then(|| "s-1".parse().unwrap());
    if said.has_servers {
        request.mcp = inputs::mcp(&[json!({"name": "docs", "command": "docs"})]).unwrap();
        request.private = Some(bench.path("private"));
        fs::create_dir_all(bench.path("private")).unwrap();
    }
    if said.has_repository_settings {
        for path in agent.settings() {
            let path = bench.path("worktree").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(
                path,
                r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#,
            )
            .unwrap();
        }
    }
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(request).await.unwrap()).await;
    let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    // This setting allows the tools of a server that the run was given, and of no other; it is no bypass switch.
    let own = format!("mcp_servers.docs.{USE}");
    let args = read("args");
    let args = args.lines().filter(|arg| *arg != own);
    (args.map(str::to_owned).collect(), read("env"))
}

#[tokio::test]
async fn only_its_own_key_puts_a_bypass_switch_into_a_command_line() {
    for agent in Agent::ALL {
        for said in everything() {
            let (args, env) = given(agent, said, AgentPermissions::OfRun).await;
            for switch in SWITCHES {
                let is_there = args.iter().any(|arg| arg.contains(switch)) || env.contains(switch);
                assert!(!is_there, "{agent:?} {said:?}: {switch} in {args:?} {env}");
            }
        }
    }
}

#[tokio::test]
async fn with_its_key_an_agent_receives_exactly_the_bypass_switch_and_no_restriction() {
    for permissions in [Permissions::Read, Permissions::Write] {
        let said = Said {
            permissions,
            is_resumed: false,
            has_servers: false,
            has_login: false,
            has_repository_settings: true,
        };
        let rows = [
            (
                Agent::Claude,
                "--print --output-format stream-json --verbose --name NAME --session-id UUID --setting-sources user \
                 --strict-mcp-config --dangerously-skip-permissions",
            ),
            (
                Agent::Codex,
                "exec --json --color never --skip-git-repo-check --ignore-rules \
                 --dangerously-bypass-approvals-and-sandbox -",
            ),
            (
                Agent::Opencode,
                "run --format json --pure --title NAME --auto",
            ),
        ];
        for (agent, row) in rows {
            let (mut args, env) = given(agent, said, AgentPermissions::Bypass).await;
            for (flag, shown) in [
                ("--name", "NAME"),
                ("--title", "NAME"),
                ("--session-id", "UUID"),
            ] {
                if let Some(at) = args.iter().position(|arg| arg == flag) {
                    args[at + 1] = shown.to_owned();
                }
            }
            assert_eq!(args.join(" "), row);
            assert!(!env.contains("OPENCODE_PERMISSION"), "{env}");
        }
    }
}
