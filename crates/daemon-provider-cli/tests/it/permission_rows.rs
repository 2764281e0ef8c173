//! Inputs that switch an agent's own checks off, and inputs that must not.

use std::fs;

use daemon_fakes::Transcript;
use daemon_process::{Enclosure, Network, Supervisor, probe};
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
    enclosure: Enclosure,
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
            enclosure: Enclosure::Contained,
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
        // A sandbox lets it write there with any permissions.
        kept_in: Some(bench.path("home")),
        ..Transcript::new("")
    };
    recorded.install(&bin.join(agent.as_str())).unwrap();
    let mut config = AgentConfig::new(agent.as_str(), agent);
    config.program.search = format!("{}:/usr/bin:/bin", bin.display()).into();
    config.permissions = permissions;
    config.program.enclosure = said.enclosure;
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
    let read = |name: &str| fs::read_to_string(bench.path("home").join(name)).unwrap();
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
            enclosure: Enclosure::Contained,
        };
        for (agent, row) in UNCHECKED {
            let (args, env) = given(agent, said, AgentPermissions::Bypass).await;
            assert_eq!(shown(args), row);
            assert!(!env.contains("OPENCODE_PERMISSION"), "{env}");
        }
    }
}

/// Command lines of agents whose own checks are off.
const UNCHECKED: [(Agent, &str); 3] = [
    (
        Agent::Claude,
        "--print --output-format stream-json --verbose --name NAME --session-id UUID --setting-sources user \
         --strict-mcp-config --dangerously-skip-permissions",
    ),
    (
        Agent::Codex,
        "exec --json --color never --skip-git-repo-check --ignore-rules \
         --dangerously-bypass-approvals-and-sandbox -c project_doc_max_bytes=0 -",
    ),
    (
        Agent::Opencode,
        "run --format json --pure --title NAME --auto",
    ),
];

/// Returns a command line without what differs between runs.
fn shown(mut args: Vec<String>) -> String {
    for (flag, shown) in [
        ("--name", "NAME"),
        ("--title", "NAME"),
        ("--session-id", "UUID"),
    ] {
        if let Some(at) = args.iter().position(|arg| arg == flag) {
            args[at + 1] = shown.to_owned();
        }
    }
    args.join(" ")
}

#[tokio::test]
async fn in_a_sandbox_the_agents_own_checks_are_off_and_the_permissions_stay() {
    let report = probe();
    let enclosures = [Enclosure::Confined, Enclosure::Isolated(Network::Shared)];
    let offered = enclosures.map(|enclosure| (enclosure, enclosure.level() <= report.level));
    for (enclosure, is_offered) in offered {
        if !is_offered {
            println!("skipped: {}", report.detail);
            continue;
        }
        let keys = [AgentPermissions::OfRun, AgentPermissions::Bypass];
        let levels = [Permissions::Read, Permissions::Propose, Permissions::Write];
        for (key, permissions) in keys.into_iter().zip(levels) {
            let said = Said {
                permissions,
                is_resumed: false,
                has_servers: false,
                has_login: true,
                has_repository_settings: false,
                enclosure,
            };
            for (agent, row) in UNCHECKED {
                let (args, env) = given(agent, said, key).await;
                let refuses = agent == Agent::Claude && rustix::process::geteuid().is_root();
                if refuses && enclosure == Enclosure::Confined {
                    let shown = shown(args);
                    assert!(!shown.contains("dangerously"), "{shown}");
                    assert!(shown.contains("--permission-mode dontAsk"), "{shown}");
                    let allowed = shown.split("--allowedTools ").nth(1).unwrap();
                    let edits = permissions >= Permissions::Propose;
                    assert_eq!(allowed.contains("Edit,Write"), edits, "{shown}");
                    assert!(allowed.split(',').any(|tool| tool == "Bash"), "{shown}");
                } else {
                    assert_eq!(shown(args), row);
                }
                assert!(!env.contains("OPENCODE_PERMISSION"), "{env}");
                let mut config = AgentConfig::new(agent.as_str(), agent);
                config.program.enclosure = enclosure;
                config.permissions = key;
                let provider = AgentProvider::new(Supervisor::start().unwrap(), config);
                assert_eq!(provider.permissions(permissions), permissions);
            }
        }
    }
}
