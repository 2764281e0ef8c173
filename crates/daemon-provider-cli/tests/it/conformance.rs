//! The suite every provider passes.

use async_trait::async_trait;
use daemon_provider::conformance::{Behaviour, Fixture, check};
use daemon_provider::{Provider, RunRequest};
use daemon_provider_cli::{Agent, AgentConfig, AgentProvider, CommandConfig};

use crate::kit::Bench;

#[async_trait]
impl Fixture for Bench {
    async fn prepare(&self, behaviour: Behaviour) -> Option<(Box<dyn Provider>, RunRequest)> {
        let usage = r#"echo '{"daemon":"usage","input":1}'"#;
        let config = match behaviour {
            Behaviour::Done => self.config(&format!("echo working; {usage}; echo fixed")),
            Behaviour::Fails => self.config(&format!("{usage}; echo quota >&2; exit 4")),
            Behaviour::Hangs => self.config(&format!("{usage}; echo here; exec sleep 1000")),
            Behaviour::CannotStart => CommandConfig::new("command", "/nonexistent/program"),
            _ => return None,
        };
        Some((Box::new(self.provider(config)), self.request()))
    }
}

#[tokio::test]
async fn a_command_passes() {
    check(&Bench::new()).await;
}

/// A bench whose program is a stand-in for an agent.
struct AgentBench {
    bench: Bench,
    agent: Agent,
}

impl AgentBench {
    /// Lines that end a run well, and the lines before them.
    fn transcript(&self) -> [&'static str; 2] {
        match self.agent {
            Agent::Claude => [
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"fixed"}]}}"#,
                r#"{"type":"result","subtype":"success","is_error":false,"result":"fixed","usage":{"input_tokens":1}}"#,
            ],
            Agent::Codex => [
                r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"fixed"}}"#,
                r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#,
            ],
            Agent::Opencode => [
                r#"{"type":"text","part":{"id":"1","messageID":"1","text":"fixed"}}"#,
                r#"{"type":"step_finish","part":{"id":"2","reason":"stop","tokens":{"input":1}}}"#,
            ],
        }
    }
}

#[async_trait]
impl Fixture for AgentBench {
    async fn prepare(&self, behaviour: Behaviour) -> Option<(Box<dyn Provider>, RunRequest)> {
        let [work, end] = self.transcript();
        let script = match behaviour {
            Behaviour::Done => format!("echo '{work}'; echo '{end}'"),
            Behaviour::Fails => format!("echo '{work}'; echo quota >&2; exit 4"),
            Behaviour::Hangs => format!("echo '{work}'; exec sleep 1000"),
            Behaviour::CannotStart => String::new(),
            _ => return None,
        };
        let mut config = AgentConfig::new("agent", self.agent);
        config.program.path = self.bench.path("agent");
        if behaviour == Behaviour::CannotStart {
            config.program.path = "/nonexistent/program".into();
        } else {
            std::fs::write(&config.program.path, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&config.program.path, mode).unwrap();
        }
        let provider = AgentProvider::new(self.bench.supervisor(), config);
        Some((Box::new(provider), self.bench.request()))
    }
}

#[tokio::test]
async fn every_agent_passes() {
    for agent in Agent::ALL {
        let bench = Bench::new();
        check(&AgentBench { bench, agent }).await;
    }
}
