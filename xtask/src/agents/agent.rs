//! The agents: their packages, and how they are configured to use the model API on loopback.

use std::path::Path;

use anyhow::{Result, bail};
use daemon_fakes::ModelApi;
use serde_json::{Value, json};

/// An agent that is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrivenAgent {
    /// The name of the agent and of its program.
    pub(crate) name: &'static str,
    /// The package in the npm registry.
    pub(crate) package: &'static str,
    /// The version to install.
    pub(crate) version: String,
    /// The install script of the package, if it has one. Scripts are not run by npm but by name, one per package.
    pub(crate) installer: Option<&'static str>,
    /// The flag that switches the agent's own permission checks off.
    pub(crate) bypass: &'static str,
}

/// Returns every agent, in the version that `daemon-provider-cli` was written for.
fn all() -> [DrivenAgent; 3] {
    [
        DrivenAgent {
            name: "claude",
            package: "@anthropic-ai/claude-code",
            version: "2.1.197".to_owned(),
            installer: Some("install.cjs"),
            bypass: "--dangerously-skip-permissions",
        },
        DrivenAgent {
            name: "codex",
            package: "@openai/codex",
            version: "0.169.0".to_owned(),
            installer: None,
            bypass: "--dangerously-bypass-approvals-and-sandbox",
        },
        DrivenAgent {
            name: "opencode",
            package: "opencode-ai",
            version: "1.18.33".to_owned(),
            installer: Some("postinstall.mjs"),
            bypass: "--auto",
        },
    ]
}

/// Returns the agents of these names, `NAME` or `NAME@VERSION`; all agents if there are no names.
///
/// # Errors
/// No agent has one of the names.
pub(crate) fn choose(names: &[String]) -> Result<Vec<DrivenAgent>> {
    if names.is_empty() {
        return Ok(all().into());
    }
    let choose = |written: &String| {
        let (name, version) = match written.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (written.as_str(), None),
        };
        let found = all().into_iter().find(|agent| agent.name == name);
        let Some(mut agent) = found else {
            bail!("no agent is named `{name}`; the agents are claude, codex and opencode");
        };
        if let Some(version) = version {
            version.clone_into(&mut agent.version);
        }
        Ok(agent)
    };
    names.iter().map(choose).collect()
}

impl DrivenAgent {
    /// Returns the environment variables with which `daemon-run` starts the agent.
    pub(crate) fn environment(&self, api: &ModelApi) -> Vec<(&'static str, String)> {
        match self.name {
            "claude" => vec![
                ("ANTHROPIC_BASE_URL", format!("http://{}", api.address())),
                ("ANTHROPIC_API_KEY", "sk-ant-loopback".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ],
            "codex" => vec![("LOOPBACK_KEY", "loopback".to_owned())],
            _ => vec![("OPENCODE_CONFIG_CONTENT", opencode_config(api).to_string())],
        }
    }

    /// Returns the sections of the configuration: the provider, and the same provider without its checks and without a sandbox. Its
    /// runs may read the directory `desk`.
    pub(crate) fn sections(
        &self,
        programs: &Path,
        desk: &Path,
        environment: &[(&str, String)],
        api: &ModelApi,
    ) -> String {
        let name = self.name;
        let program = programs.join(name).display().to_string();
        let names: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
        // Claude refuses to run as root without its checks and without a sandbox unless this variable says that it is in one.
        let unchecked = [&names[..], &["IS_SANDBOX"]].concat();
        let (desk, model) = (desk.display().to_string(), api.address().to_string());
        let mut text =
            format!("command = {program:?}\nreadable = [{desk:?}]\negress = [{model:?}]\n");
        match name {
            "codex" => {
                let provider = format!(
                    "model_providers.loopback={{name=\"loopback\",base_url=\"{}\",wire_api=\"responses\",env_key=\"LOOPBACK_KEY\"}}",
                    api.base_url().trim_end_matches('/')
                );
                let args = ["-c", "model_provider=\"loopback\"", "-c", &provider];
                let lines = format!("args = {args:?}\nmodel = \"some-model\"\n");
                text.push_str(&lines);
            }
            "opencode" => text.push_str("model = \"loopback/some-model\"\n"),
            _ => {}
        }
        format!(
            "[provider.{name}]\nenv = {names:?}\n{text}\n\
             [provider.{UNCHECKED}]\nkind = {name:?}\npermissions = \"bypass\"\nsandbox_max = 1\nenv = {unchecked:?}\n{text}"
        )
    }
}

/// The provider that runs an agent without its checks.
pub(crate) const UNCHECKED: &str = "unchecked";

fn opencode_config(api: &ModelApi) -> Value {
    json!({
        "provider": {"loopback": {
            "npm": "@ai-sdk/openai-compatible", "name": "Loopback",
            "options": {"baseURL": api.base_url().trim_end_matches('/'), "apiKey": "loopback"},
            "models": {"some-model": {"name": "Some model", "tool_call": true}},
        }},
        "model": "loopback/some-model", "small_model": "loopback/some-model",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_chosen_by_its_name_and_its_version() {
        let names =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let chosen = choose(&names(&["codex@0.170.1", "claude"])).expect("both exist");
        let shown: Vec<(&str, &str)> = chosen
            .iter()
            .map(|agent| (agent.name, agent.version.as_str()))
            .collect();
        assert_eq!(shown, [("codex", "0.170.1"), ("claude", "2.1.197")]);
        let error = choose(&names(&["copilot"])).expect_err("copilot is not an agent");
        assert_eq!(
            error.to_string(),
            "no agent is named `copilot`; the agents are claude, codex and opencode"
        );
    }
}
