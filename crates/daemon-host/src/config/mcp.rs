//! What the configuration says of MCP servers that runs may be granted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use daemon_provider::inputs::{MAX_MCP, McpRegistration, McpServer};
use daemon_provider::redact::{Redactor, is_secret_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::{Fault, dotted};
use super::keys::nearest;
use super::model::Config;

/// The name of the host's own server, which no other can have.
const OWN: &str = "daemon";
/// The longest name: with a tool's name it is the name of a tool for a model.
const MAX_NAME: usize = 24;

/// One MCP server. The host alone speaks to it; a run that is granted it gets its tools and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// `stdio` (default), or `http`, which is also the default where an address is given.
    pub transport: Option<McpTransport>,
    /// For `stdio`: the program.
    pub command: Option<String>,
    /// For `stdio`: its arguments, which hold no secret.
    pub args: Vec<String>,
    /// For `stdio`: variables that are no secrets, with their values.
    pub env: BTreeMap<String, String>,
    /// For `stdio`: variables, each with the file that holds its value, relative to the home.
    pub env_file: BTreeMap<String, PathBuf>,
    /// For `stdio`: variables, each with the host's variable that holds its value.
    pub env_env: BTreeMap<String, String>,
    /// For `http`: the address, without user, password or query.
    pub url: Option<String>,
    /// For `http`: the file that holds an address that is a secret.
    pub url_file: Option<PathBuf>,
    /// For `http`: the host's variable that holds such an address.
    pub url_env: Option<String>,
    /// For `http`: headers that are no secrets, with their values.
    pub headers: BTreeMap<String, String>,
    /// For `http`: headers, each with the file that holds its value, relative to the home.
    pub headers_file: BTreeMap<String, PathBuf>,
    /// For `http`: headers, each with the host's variable that holds its value.
    pub headers_env: BTreeMap<String, String>,
}

/// How an MCP server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// As a program that the host starts for each run.
    Stdio,
    /// Over HTTP.
    Http,
}

impl Mcp {
    /// Returns how it is reached.
    pub fn transport(&self) -> McpTransport {
        let has_address = self.url.is_some() || self.url_file.is_some() || self.url_env.is_some();
        self.transport.unwrap_or(if has_address {
            McpTransport::Http
        } else {
            McpTransport::Stdio
        })
    }

    /// Checks what can be known without its secrets; an error is a key and what is wrong with it.
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

/// Checks names and values of one kind: each name once, and no secret among the values that stand in the configuration.
fn check_pairs(
    key: &'static str,
    plain: &BTreeMap<String, String>,
    files: &BTreeMap<String, PathBuf>,
    variables: &BTreeMap<String, String>,
) -> Result<(), (&'static str, String)> {
    let mut seen = BTreeSet::new();
    for name in plain.keys().chain(files.keys()).chain(variables.keys()) {
        if !seen.insert(name.to_ascii_lowercase()) {
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

/// Finds what is wrong with the servers and with who is granted them.
pub(super) fn faults(config: &Config) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, server) in &config.mcp {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let path = ["mcp", name];
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
            let message =
                format!("`{name}` is not a server's name (a-z, 0-9, `-`, at most {MAX_NAME})");
            faults.push(Fault::of_key(&path, message));
        } else if name == OWN {
            let message =
                format!("`mcp.{OWN}` is the host's own server: give this one another name");
            faults.push(Fault::of_key(&path, message));
        } else if let Err((key, problem)) = server.check() {
            let message = format!("`mcp.{name}.{key}` {problem}");
            faults.push(Fault::of_key(&["mcp", name, key], message));
        }
    }
    for (daemon, policy) in &config.policy.daemon {
        grants(config, daemon, policy.mcp.iter().flatten(), &mut faults);
    }
    faults
}

/// Finds what is wrong with the servers that one daemon is granted.
fn grants<'a>(
    config: &Config,
    daemon: &str,
    granted: impl Iterator<Item = &'a String>,
    faults: &mut Vec<Fault>,
) {
    let list = ["policy", "daemon", daemon, "mcp"];
    let key = dotted(&list);
    let mut seen = BTreeSet::new();
    for (index, name) in granted.enumerate() {
        if index == MAX_MCP {
            faults.push(Fault::of_key(
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
            faults.push(Fault::of_value(&path, message));
        } else if !seen.insert(name) {
            faults.push(Fault::of_value(
                &path,
                format!("`{key}` names `{name}` twice"),
            ));
        }
    }
}
