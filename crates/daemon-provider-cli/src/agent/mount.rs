//! The MCP servers of a run, in each agent's own configuration and with no secret among its arguments.
//!
//! Every user of the machine can read the arguments of a process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use daemon_provider::RunRequest;
use daemon_provider::inputs::{McpRegistration, McpServer};
use serde_json::{Map, Value, json};

use super::Agent;
use crate::mcp_file;

/// Arguments of a bridge: an MCP server over standard input and output that forwards to one over HTTP.
const BRIDGE_ARGS: [&str; 2] = ["mcp", "--through"];
/// The variable with the address of the server behind a bridge.
const BRIDGE_URL: &str = "DAEMON_MCP_URL";
/// The variable with the headers for that server, as a JSON object.
const BRIDGE_HEADERS: &str = "DAEMON_MCP_HEADERS";

/// Additional arguments and environment variables of an agent.
#[derive(Debug, Default)]
pub(super) struct Mounted {
    pub(super) args: Vec<String>,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// Why servers could not be configured.
#[derive(Debug, thiserror::Error)]
pub(super) enum MountError {
    /// The run has no private directory, or it cannot be written.
    #[error("the configuration of its MCP servers cannot be written")]
    Write(#[source] io::Error),
    /// An address with a secret would have to be an argument, and no bridge is configured.
    #[error(
        "the address of the MCP server `{0}` holds a secret, and codex takes addresses as arguments only"
    )]
    SecretAddress(String),
}

/// Configures the servers of a run. `bridge` connects to servers whose address must not be an argument.
pub(super) fn mount(
    agent: Agent,
    request: &RunRequest,
    bridge: Option<&Path>,
) -> Result<Mounted, MountError> {
    if request.mcp.is_empty() {
        return Ok(Mounted::default());
    }
    match agent {
        Agent::Claude => claude(request),
        Agent::Codex => codex(request, bridge),
        Agent::Opencode => Ok(opencode(request)),
    }
}

fn claude(request: &RunRequest) -> Result<Mounted, MountError> {
    let path = mcp_file::write(request).map_err(MountError::Write)?;
    Ok(Mounted {
        args: vec![
            "--mcp-config".to_owned(),
            path.to_string_lossy().into_owned(),
        ],
        environment: Vec::new(),
    })
}

fn codex(request: &RunRequest, bridge: Option<&Path>) -> Result<Mounted, MountError> {
    let mut mounted = Mounted::default();
    let mut variables = Variables::new(request);
    for registration in &request.mcp {
        let mut set = |key: &str, value: &Value| {
            let value = toml(value);
            let argument = format!("mcp_servers.{}.{key}={value}", registration.name);
            mounted.args.extend(["-c".to_owned(), argument]);
        };
        match &registration.server {
            McpServer::Stdio { command, args, env } => {
                let hidden = registration.secret_args();
                if hidden.is_empty() && variables.take(env) {
                    set("command", &json!(command));
                    set("args", &json!(args));
                    set("env_vars", &json!(env.keys().collect::<Vec<_>>()));
                } else {
                    by_shell(variables.script(command, args, env, &hidden), &mut set);
                }
            }
            McpServer::Http { url, headers } if registration.has_secret_address() => {
                let bridge = bridge.and_then(Path::to_str);
                let bridge =
                    bridge.ok_or_else(|| MountError::SecretAddress(registration.name.clone()))?;
                let headers = json!(headers).to_string();
                let env = [(BRIDGE_URL, url.clone()), (BRIDGE_HEADERS, headers)];
                let env = env.map(|(name, value)| (name.to_owned(), value)).into();
                let args = BRIDGE_ARGS.map(str::to_owned);
                by_shell(variables.script(bridge, &args, &env, &[]), &mut set);
            }
            McpServer::Http { url, headers } => {
                set("url", &json!(url));
                let names = headers
                    .iter()
                    .map(|(name, value)| (name.clone(), Value::from(variables.add(value))));
                set("env_http_headers", &Value::Object(names.collect()));
            }
        }
        // `codex` asks a person before it calls a tool that is not marked harmless. No person watches a run, so it would refuse
        // every call. Registering the server for the run was the decision.
        set("default_tools_approval_mode", &json!("approve"));
    }
    mounted.args.extend(variables.kept_from_shell());
    mounted.environment = variables.taken.into_iter().collect();
    Ok(mounted)
}

/// Configures a server that a shell starts with this script and these variables.
fn by_shell((script, names): (String, Vec<String>), set: &mut dyn FnMut(&str, &Value)) {
    set("command", &json!("/bin/sh"));
    set("args", &json!(["-c", script]));
    set("env_vars", &json!(names));
}

/// Environment variables through which an agent passes secrets to its servers.
struct Variables<'r> {
    request: &'r RunRequest,
    taken: BTreeMap<OsString, OsString>,
}

impl<'r> Variables<'r> {
    fn new(request: &'r RunRequest) -> Self {
        Self {
            request,
            taken: BTreeMap::new(),
        }
    }

    /// Returns the arguments that hide the servers' variables from the shell in which the model's commands run.
    fn kept_from_shell(&self) -> Vec<String> {
        if self.taken.is_empty() {
            return Vec::new();
        }
        let names = self.taken.keys().filter_map(|name| name.to_str());
        let names = toml(&json!(names.collect::<Vec<_>>()));
        let argument = format!("shell_environment_policy.exclude={names}");
        vec!["-c".to_owned(), argument]
    }

    /// Adds variables under their own names and returns `true`; adds none if the agent reads one of them or another server needs
    /// another value for it.
    fn take(&mut self, env: &BTreeMap<String, String>) -> bool {
        let fits = |(name, value): (&String, &String)| match self.taken.get(OsStr::new(name)) {
            Some(known) => known.as_os_str() == OsStr::new(value),
            None => !self.means_something(name),
        };
        // All or none: a server started without the shell gets every variable by its own name.
        let is_free = env.iter().all(fits);
        if is_free {
            let pairs = env.iter().map(|(name, value)| (name.into(), value.into()));
            self.taken.extend(pairs);
        }
        is_free
    }

    /// Reports whether the agent itself would read a variable.
    fn means_something(&self, name: &str) -> bool {
        let own = [
            "PATH", "HOME", "PWD", "LANG", "TMPDIR", "SHELL", "USER", "TERM",
        ];
        let prefixes = [
            "CODEX_", "OPENAI_", "DAEMON_", "LD_", "RUST_", "XDG_", "SSL_", "LC_",
        ];
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        is_proxy
            || own.contains(&name)
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
            || self.request.environment.contains_key(OsStr::new(name))
    }

    /// Adds a value under a generated name, and returns the name.
    fn add(&mut self, value: &str) -> String {
        let name = format!("DAEMON_MCP_{}", self.taken.len());
        self.taken.insert(name.clone().into(), value.into());
        name
    }

    /// Returns a shell script that starts a server with its secrets read from variables, and the names of the variables.
    fn script(
        &mut self,
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        hidden: &[usize],
    ) -> (String, Vec<String>) {
        let mut names = Vec::new();
        let mut hide = |value: &str| {
            let name = self.add(value);
            let reference = format!("\"${name}\"");
            names.push(name);
            reference
        };
        let mut script = String::new();
        for (name, value) in env {
            script.extend(["export ", name, "=", &hide(value), "; "]);
        }
        // `exec` replaces the shell, so that a signal from the agent reaches the server itself.
        script.extend(["exec ", &shell_quoted(command)]);
        for (index, argument) in args.iter().enumerate() {
            script.push(' ');
            let word = if hidden.contains(&index) {
                hide(argument)
            } else {
                shell_quoted(argument)
            };
            script.push_str(&word);
        }
        (script, names)
    }
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

fn opencode(request: &RunRequest) -> Mounted {
    const NAME: &str = "OPENCODE_CONFIG_CONTENT";
    let servers = request.mcp.iter().map(|registration| {
        let server = match &registration.server {
            McpServer::Stdio { command, args, env } => {
                let command: Vec<&String> = std::iter::once(command).chain(args).collect();
                json!({"type": "local", "command": command, "environment": env, "enabled": true})
            }
            McpServer::Http { url, headers } => {
                json!({"type": "remote", "url": url, "headers": headers, "enabled": true})
            }
        };
        (registration.name.clone(), server)
    });
    let servers: Map<String, Value> = servers.collect();
    // The variable holds the whole configuration, so what the operator set in it is kept and only `mcp` is replaced.
    let given = request.environment.get(OsStr::new(NAME));
    let given = given.and_then(|text| serde_json::from_str(text.to_str()?).ok());
    let mut config: Map<String, Value> = given.unwrap_or_default();
    config.insert("mcp".to_owned(), Value::Object(servers));
    let config = Value::Object(config).to_string();
    Mounted {
        args: Vec::new(),
        environment: vec![(NAME.into(), config.into())],
    }
}

/// Returns the names of a run's servers.
pub(super) fn names(request: &RunRequest) -> impl Iterator<Item = &str> {
    let names = request.mcp.iter();
    names.map(|registration: &McpRegistration| registration.name.as_str())
}

#[cfg(test)]
mod tests;
