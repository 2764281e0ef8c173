//! The MCP servers of a run, in each agent's own configuration and with no value of their environment among its arguments.
//!
//! Every user of the machine can read the arguments of a process.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use daemon_provider::RunRequest;
use daemon_provider::inputs::McpRegistration;
use serde_json::{Map, Value, json};

use super::Agent;
use crate::mcp_file::{self, ServerProgram, programs};

/// Additional arguments and environment variables of an agent, and the files that it reads.
#[derive(Debug, Default)]
pub(super) struct Mounted {
    pub(super) args: Vec<String>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) readable: Vec<PathBuf>,
}

/// Configures the servers of a run.
///
/// # Errors
/// If a server is not a program, or the run has no private directory, or it cannot be written.
pub(super) fn mount(agent: Agent, request: &RunRequest) -> io::Result<Mounted> {
    if request.mcp.is_empty() {
        return Ok(Mounted::default());
    }
    match agent {
        Agent::Claude => claude(request),
        Agent::Codex => codex(request),
        Agent::Opencode => opencode(request),
    }
}

fn claude(request: &RunRequest) -> io::Result<Mounted> {
    let path = mcp_file::write(request)?;
    let wait = request.mcp_wait.map(|wait| wait.as_millis().to_string());
    let wait = wait.map(|wait| ("MCP_TOOL_TIMEOUT".into(), wait.into()));
    Ok(Mounted {
        environment: wait.into_iter().collect(),
        args: vec![
            "--mcp-config".to_owned(),
            path.to_string_lossy().into_owned(),
        ],
        readable: vec![path],
    })
}

fn codex(request: &RunRequest) -> io::Result<Mounted> {
    let mut mounted = Mounted::default();
    // `codex` passes its own variables on to a server by name, so that the values for two servers need names of their own.
    let mut taken: Vec<(String, &str)> = Vec::new();
    for server in programs(request)? {
        let before = taken.len();
        let values = server.env.values().enumerate();
        taken.extend(
            values.map(|(n, value)| (format!("DAEMON_MCP_{}", before + n), value.as_str())),
        );
        let names: Vec<&String> = taken[before..].iter().map(|(name, _)| name).collect();
        let settings = [
            ("command", json!("/bin/sh")),
            ("args", json!(["-c", script(&server, &names)])),
            ("env_vars", json!(names)),
            // `codex` asks a person before it calls a tool that is not marked harmless. No person watches a run, so it would refuse
            // every call. Registering the server for the run was the decision.
            ("default_tools_approval_mode", json!("approve")),
        ];
        let wait = request
            .mcp_wait
            .map(|wait| ("tool_timeout_sec", json!(wait.as_secs())));
        for (key, value) in settings.into_iter().chain(wait) {
            let argument = format!("mcp_servers.{}.{key}={}", server.name, toml(&value));
            mounted.args.extend(["-c".to_owned(), argument]);
        }
    }
    // Keeps the variables of the servers from the shell in which the model's commands run.
    let names: Vec<&String> = taken.iter().map(|(name, _)| name).collect();
    let argument = format!("shell_environment_policy.exclude={}", toml(&json!(names)));
    mounted.args.extend(["-c".to_owned(), argument]);
    let taken = taken.into_iter();
    mounted.environment = taken
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    Ok(mounted)
}

/// Returns a shell script that starts a server with its environment taken from variables of these names.
fn script(server: &ServerProgram<'_>, names: &[&String]) -> String {
    let mut script = String::new();
    for (own, name) in server.env.keys().zip(names) {
        script.extend(["export ", own, "=\"$", name, "\"; "]);
    }
    // `exec` replaces the shell, so that a signal from the agent reaches the server itself.
    script.extend(["exec ", &shell_quoted(server.command)]);
    for argument in server.args {
        script.extend([" ", &shell_quoted(argument)]);
    }
    script
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Writes a JSON value as TOML, on one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(toml).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter();
            let members: Vec<String> = members
                .map(|(name, value)| format!("{} = {}", toml(&json!(name)), toml(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        // Every escape of a JSON string is valid in TOML, which additionally requires DEL to be escaped.
        _ => value.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn opencode(request: &RunRequest) -> io::Result<Mounted> {
    const NAME: &str = "OPENCODE_CONFIG_CONTENT";
    let servers = programs(request)?.into_iter().map(|server| {
        let args = server.args.iter().map(String::as_str);
        let command: Vec<&str> = std::iter::once(server.command).chain(args).collect();
        let mut configured = json!({
            "type": "local", "command": command, "environment": server.env, "enabled": true,
        });
        if let Some(wait) = request.mcp_wait {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            configured["timeout"] = json!(wait);
        }
        (server.name.to_owned(), configured)
    });
    let servers: Map<String, Value> = servers.collect();
    // The variable holds the whole configuration, so what the operator set in it is kept and only `mcp` is replaced.
    let given = request.environment.get(OsStr::new(NAME));
    let given = given.and_then(|text| serde_json::from_str(text.to_str()?).ok());
    let mut config: Map<String, Value> = given.unwrap_or_default();
    config.insert("mcp".to_owned(), Value::Object(servers));
    let config = Value::Object(config).to_string();
    Ok(Mounted {
        environment: vec![(NAME.into(), config.into())],
        ..Mounted::default()
    })
}

/// Returns the names of a run's servers.
pub(super) fn names(request: &RunRequest) -> impl Iterator<Item = &str> {
    let names = request.mcp.iter();
    names.map(|registration: &McpRegistration| registration.name.as_str())
}

#[cfg(test)]
mod tests;
