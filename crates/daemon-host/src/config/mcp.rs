//! The configuration of MCP servers that can be granted to runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use daemon_provider::inputs::{MAX_MCP, McpRegistration, McpServer};
use daemon_provider::redact::{Redactor, is_secret_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::{ConfigFault, dotted};
use super::keys::nearest;
use super::model::Config;

/// The name of the host's own server, which is reserved.
const OWN: &str = "daemon";
/// The maximum length of a name, which is part of the tool names for a model.
const MAX_NAME: usize = 24;

/// One MCP server. Only the host connects to it; a run to which it is granted gets its tools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// `stdio` or `http`; by default `http` if an address is given, else `stdio`.
    pub transport: Option<McpTransport>,
    /// For `stdio`: the program.
    pub command: Option<String>,
    /// For `stdio`: the arguments, which must not contain a secret.
    pub args: Vec<String>,
    /// For `stdio`: environment variables that are not secret, with their values.
    pub env: BTreeMap<String, String>,
    /// For `stdio`: environment variables, each with the file that contains its value, relative to the home.
    pub env_file: BTreeMap<String, PathBuf>,
    /// For `stdio`: environment variables, each with the variable of the host that contains its value.
    pub env_env: BTreeMap<String, String>,
    /// For `http`: the address, without user, password or query.
    pub url: Option<String>,
    /// For `http`: the file that contains a secret address.
    pub url_file: Option<PathBuf>,
    /// For `http`: the variable of the host that contains a secret address.
    pub url_env: Option<String>,
    /// For `http`: headers that are not secret, with their values.
    pub headers: BTreeMap<String, String>,
    /// For `http`: headers, each with the file that contains its value, relative to the home.
    pub headers_file: BTreeMap<String, PathBuf>,
    /// For `http`: headers, each with the variable of the host that contains its value.
    pub headers_env: BTreeMap<String, String>,
}

/// The transport of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// The host starts a program for each run.
    Stdio,
    /// The host sends HTTP requests.
    Http,
}

impl Mcp {
    /// Returns the configured transport, or the default.
    pub fn transport(&self) -> McpTransport {
        let has_address = self.url.is_some() || self.url_file.is_some() || self.url_env.is_some();
        self.transport.unwrap_or(if has_address {
            McpTransport::Http
        } else {
            McpTransport::Stdio
        })
    }

    /// Checks the settings without the secrets; an error is a key and a message.
    fn check(&self) -> Result<(), (&'static str, String)> {
        match self.transport() {
            McpTransport::Stdio => self.check_stdio(),
            McpTransport::Http => self.check_http(),
        }
    }

    fn check_stdio(&self) -> Result<(), (&'static str, String)> {
        refuse_of(
            "http",
            &[
                ("url", self.url.is_some()),
                ("url_file", self.url_file.is_some()),
                ("url_env", self.url_env.is_some()),
                ("headers", !self.headers.is_empty()),
                ("headers_file", !self.headers_file.is_empty()),
                ("headers_env", !self.headers_env.is_empty()),
            ],
        )?;
        let Some(command) = self.command.clone().filter(|text| !text.trim().is_empty()) else {
            return Err(("command", "is missing".to_owned()));
        };
        let given = McpRegistration {
            name: OWN.to_owned(),
            server: McpServer::Stdio {
                command,
                args: self.args.clone(),
                env: BTreeMap::new(),
            },
        };
        // Every user of the machine can read the arguments of a process.
        if !given.secret_args().is_empty() {
            let problem = "hold a secret: give it in `env_file` or `env_env`";
            return Err(("args", problem.to_owned()));
        }
        check_pairs("env", &self.env, &self.env_file, &self.env_env)
    }

    fn check_http(&self) -> Result<(), (&'static str, String)> {
        refuse_of(
            "stdio",
            &[
                ("command", self.command.is_some()),
                ("args", !self.args.is_empty()),
                ("env", !self.env.is_empty()),
                ("env_file", !self.env_file.is_empty()),
                ("env_env", !self.env_env.is_empty()),
            ],
        )?;
        let places = [
            self.url.is_some(),
            self.url_file.is_some(),
            self.url_env.is_some(),
        ];
        match places.into_iter().filter(|is_given| *is_given).count() {
            1 => {}
            0 => return Err(("url", "is missing".to_owned())),
            _ => return Err(("url", "is given twice".to_owned())),
        }
        if let Some(url) = &self.url {
            let given = McpRegistration {
                name: OWN.to_owned(),
                server: McpServer::Http {
                    url: url.clone(),
                    headers: BTreeMap::new(),
                },
            };
            if given.has_secret_address() {
                let problem = "holds a secret: give the address in `url_file` or `url_env`";
                return Err(("url", problem.to_owned()));
            }
        }
        check_pairs(
            "headers",
            &self.headers,
            &self.headers_file,
            &self.headers_env,
        )
    }
}

fn refuse_of(transport: &str, keys: &[(&'static str, bool)]) -> Result<(), (&'static str, String)> {
    match keys.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((key, _)) => Err((key, format!("is for the transport `{transport}`"))),
    }
}

/// Checks variables or headers: each name is given once, and no plain value is a secret.
fn check_pairs(
    key: &'static str,
    plain: &BTreeMap<String, String>,
    files: &BTreeMap<String, PathBuf>,
    variables: &BTreeMap<String, String>,
) -> Result<(), (&'static str, String)> {
    let mut seen = BTreeSet::new();
    for name in plain.keys().chain(files.keys()).chain(variables.keys()) {
        if !seen.insert(name.to_ascii_lowercase()) {
            // Header names ignore case, so the comparison does too.
            return Err((key, format!("gives `{name}` twice")));
        }
    }
    let looks_secret = |(name, value): &(&String, &String)| {
        is_secret_name(name) || Redactor::default().text(value) != **value
    };
    match plain.iter().find(looks_secret) {
        None => Ok(()),
        Some((name, _)) => {
            let problem = format!(
                "holds `{name}`, a secret: name a file in `{key}_file` or a variable in `{key}_env`"
            );
            Err((key, problem))
        }
    }
}

/// Finds the errors of the servers and of their grants.
pub(super) fn faults(config: &Config) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    for (name, server) in &config.mcp {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let path = ["mcp", name];
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
            let message =
                format!("`{name}` is not a server's name (a-z, 0-9, `-`, at most {MAX_NAME})");
            faults.push(ConfigFault::of_key(&path, message));
        } else if name == OWN {
            let message =
                format!("`mcp.{OWN}` is the host's own server: give this one another name");
            faults.push(ConfigFault::of_key(&path, message));
        } else if let Err((key, problem)) = server.check() {
            let message = format!("`mcp.{name}.{key}` {problem}");
            faults.push(ConfigFault::of_key(&["mcp", name, key], message));
        }
    }
    for (daemon, policy) in &config.policy.daemon {
        grants(config, daemon, policy.mcp.iter().flatten(), &mut faults);
    }
    faults
}

/// Finds the errors in the list of servers that are granted to one daemon.
fn grants<'a>(
    config: &Config,
    daemon: &str,
    granted: impl Iterator<Item = &'a String>,
    faults: &mut Vec<ConfigFault>,
) {
    let list = ["policy", "daemon", daemon, "mcp"];
    let key = dotted(&list);
    let mut seen = BTreeSet::new();
    for (index, name) in granted.enumerate() {
        if index == MAX_MCP {
            faults.push(ConfigFault::of_key(
                &list,
                format!("`{key}` names more than {MAX_MCP}"),
            ));
        }
        let index = index.to_string();
        let path = ["policy", "daemon", daemon, "mcp", &index];
        if !config.mcp.contains_key(name) {
            let message = format!("`{key}` names `{name}`, and there is no section `[mcp.{name}]`");
            let near = nearest(name, config.mcp.keys().map(String::as_str));
            let message = match near {
                Some(near) => format!("{message}, did you mean `{near}`?"),
                None => message,
            };
            faults.push(ConfigFault::of_value(&path, message));
        } else if !seen.insert(name) {
            faults.push(ConfigFault::of_value(
                &path,
                format!("`{key}` names `{name}` twice"),
            ));
        }
    }
}
