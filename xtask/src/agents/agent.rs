//! The agents: where they come from, how they are pointed at the model API, and how they use a tool.

use daemon_fakes::{Message, ModelApi, Received, Reply};
use serde_json::{Value, json};

/// An agent that is driven.
pub(crate) struct Agent {
    /// Its name, which is that of its program.
    pub(crate) name: &'static str,
    /// Its package.
    pub(crate) package: &'static str,
    /// The version that is installed.
    pub(crate) version: &'static str,
    /// The script of the package that fetches its program, where it has one.
    pub(crate) installer: Option<&'static str>,
}

/// Every agent.
pub(crate) const ALL: [Agent; 3] = [
    Agent {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.197",
        installer: Some("install.cjs"),
    },
    Agent {
        name: "codex",
        package: "@openai/codex",
        version: "0.169.0",
        installer: None,
    },
    Agent {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        installer: Some("postinstall.mjs"),
    },
];

/// Returns the version of a named agent.
pub(crate) fn version(name: &str) -> &'static str {
    let found = ALL.iter().find(|agent| agent.name == name);
    found.map_or("", |agent| agent.version)
}

/// The word of a task that is never answered.
pub(crate) const HOLD: &str = "HOLD-STILL";
/// The word of a message that is answered without a tool.
pub(crate) const AGAIN: &str = "SAY-IT-AGAIN";
/// What the model says when its tool has worked.
pub(crate) const NOTED: &str = "Noted in NOTE.md.";
/// What the model says to a follow-up.
pub(crate) const SAID_AGAIN: &str = "As I said: noted.";

impl Agent {
    /// Returns the variables that `daemon-run` is given for it.
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

    /// Writes the provider's section of the configuration.
    pub(crate) fn section(&self, program: &str, api: &ModelApi) -> String {
        let name = self.name;
        let environment = self.environment(api);
        let names: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
        let mut text = format!("[provider.{name}]\ncommand = {program:?}\nenv = {names:?}\n");
        match name {
            "codex" => {
                let provider = format!(
                    "model_providers.loopback={{name=\"loopback\",base_url=\"{}\",wire_api=\"responses\",env_key=\"LOOPBACK_KEY\"}}",
                    api.base_url().trim_end_matches('/')
                );
                let args = ["-c", "model_provider=\"loopback\"", "-c", &provider];
                text.push_str(&format_line("args", &args));
                text.push_str("model = \"some-model\"\n");
            }
            "opencode" => text.push_str("model = \"loopback/some-model\"\n"),
            _ => {}
        }
        text
    }

    /// Decides what the model answers to this agent.
    pub(crate) fn reply(&self, received: &Received) -> Reply {
        let tools = received.tools();
        if tools.is_empty() {
            // A title, or another question beside the work.
            return Reply::text("A note");
        }
        let body = received.body.to_string();
        if body.contains(HOLD) {
            return Reply::Silence(Message::text("I think"));
        }
        if body.contains(AGAIN) {
            return Reply::text(SAID_AGAIN);
        }
        if received.tool_results().is_empty() {
            return match call(&tools) {
                Some((name, arguments)) => Reply::call(name, arguments),
                None => Reply::text(format!("none of these tools is known: {tools:?}")),
            };
        }
        Reply::text(NOTED)
    }
}

fn format_line(key: &str, values: &[&str]) -> String {
    format!("{key} = {values:?}\n")
}

/// Chooses the tool that writes a file.
fn call(tools: &[String]) -> Option<(&'static str, Value)> {
    let command = "echo note > NOTE.md";
    let known = [
        (
            "Write",
            json!({"file_path": "NOTE.md", "content": "note\n"}),
        ),
        ("write", json!({"filePath": "NOTE.md", "content": "note\n"})),
        ("exec_command", json!({"cmd": command})),
        ("shell_command", json!({"command": command})),
        ("shell", json!({"command": ["/bin/sh", "-c", command]})),
    ];
    known
        .into_iter()
        .find(|(name, _)| tools.iter().any(|tool| tool == name))
}

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
