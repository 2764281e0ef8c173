//! The suite every provider passes.

use async_trait::async_trait;
use daemon_provider::conformance::{Behaviour, Fixture, check};
use daemon_provider::{Provider, RunRequest};
use daemon_provider_cli::CommandConfig;

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
