//! MCP servers that a caller registers for one run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use daemon_spec::quoted;
use serde_json::{Map, Value};

use super::{Fault, scalar, url};
use crate::redact::{REDACTED, Redactor, arguments, is_secret_name, secret_arguments};

/// The most servers that one task may register.
pub const MAX_MCP: usize = 16;
/// The longest name of a server, in bytes.
const MAX_NAME: usize = 64;

/// An MCP server that one run may use.
///
/// Its values may be secrets, so it implements neither `Display` nor `Serialize`; [`render_mcp`] formats it without them.
#[derive(Clone, PartialEq, Eq)]
pub struct McpRegistration {
    /// The name: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// The transport and its parameters.
    pub server: McpServer,
}

/// The transport of an MCP server.
#[derive(Clone, PartialEq, Eq)]
pub enum McpServer {
    /// A child process with the protocol on standard input and output.
    Stdio {
        /// The program, as a name or a path.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// Variables that are added to the environment; values may be secrets.
        env: BTreeMap<String, String>,
    },
    /// A server on HTTP.
    Http {
        /// The URL; its user and query may be secrets.
        url: String,
        /// Headers of every request; values may be secrets.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A derived `Debug` would print the secrets in logs and test failures.
        f.write_str(&rendered(self))
    }
}

impl McpRegistration {
    /// Returns the values that must not be stored, logged or published.
    pub fn secrets(&self) -> Vec<String> {
        match &self.server {
            McpServer::Stdio { args, env, .. } => {
                let texts: Vec<&str> = args.iter().map(String::as_str).collect();
                let arguments = secret_arguments(&texts).into_iter().map(|(_, text)| text);
                env.values().cloned().chain(arguments).collect()
            }
            McpServer::Http { url, headers } => {
                let mut acc = url::secrets(url);
                acc.extend(headers.values().cloned());
                acc
            }
        }
    }

    /// Returns the values that results of the server's tools must not contain either: of the environment and the headers only those
    /// whose names are those of secrets, since others, such as a directory, are part of ordinary results.
    pub fn named_secrets(&self) -> Vec<String> {
        let mut named = self.clone();
        match &mut named.server {
            McpServer::Stdio { env: values, .. }
            | McpServer::Http {
                headers: values, ..
            } => values.retain(|name, _| is_secret_name(name)),
        }
        named.secrets()
    }

    /// Returns the indexes of the arguments that contain a secret of any field.
    pub fn secret_args(&self) -> Vec<usize> {
        let McpServer::Stdio { args, .. } = &self.server else {
            return Vec::new();
        };
        let texts: Vec<&str> = args.iter().map(String::as_str).collect();
        let own: BTreeSet<usize> = secret_arguments(&texts)
            .into_iter()
            .map(|(index, _)| index)
            .collect();
        let redactor = Redactor::of(self.secrets());
        let is_secret = |index: &usize| {
            let text = texts.get(*index).copied().unwrap_or_default();
            own.contains(index) || redactor.text(text) != text
        };
        (0..texts.len()).filter(is_secret).collect()
    }

    /// Returns whether the URL contains a secret.
    pub fn has_secret_address(&self) -> bool {
        match &self.server {
            McpServer::Stdio { .. } => false,
            McpServer::Http { url, .. } => {
                !url::secrets(url).is_empty() || Redactor::of(self.secrets()).text(url) != *url
            }
        }
    }
}

/// Parses the MCP servers of one task.
///
/// # Errors
/// Returns a fault for each invalid registration: the first one in it.
pub fn mcp(values: &[Value]) -> Result<Vec<McpRegistration>, Vec<Fault>> {
    // All faults are collected, so that a caller repairs them in one go.
    let mut names = BTreeSet::new();
    let (mut servers, mut faults) = (Vec::new(), Vec::new());
    if values.len() > MAX_MCP {
        faults.push(Fault::new("mcp", format!("more than {MAX_MCP}")));
    }
    for (index, value) in values.iter().enumerate() {
        let read = registration(value).and_then(|server| {
            let is_new = names.insert(server.name.to_ascii_lowercase());
            is_new.then_some(server).ok_or("duplicate name".to_owned())
        });
        match read {
            Ok(server) => servers.push(server),
            Err(problem) => faults.push(Fault::new(format!("mcp[{index}]"), problem)),
        }
    }
    if faults.is_empty() {
        Ok(servers)
    } else {
        Err(faults)
    }
}

fn registration(value: &Value) -> Result<McpRegistration, String> {
    let Value::Object(members) = value else {
        return Err(mistyped("registration"));
    };
    let name = text(members, "name")?.ok_or("name missing")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(mistyped("name"));
    }
    let (field, transport) = match (text(members, "transport")?, text(members, "type")?) {
        (Some(transport), _) => ("transport", transport),
        (None, Some(transport)) => ("type", transport),
        (None, None) => ("transport", "stdio"),
    };
    let server = match transport {
        "stdio" => McpServer::Stdio {
            command: text(members, "command")?
                .ok_or("command missing")?
                .to_owned(),
            args: arguments_of(members)?,
            env: pairs(members, "env", is_variable)?,
        },
        "http" => McpServer::Http {
            url: address(members)?,
            headers: pairs(members, "headers", is_header)?,
        },
        _ => return Err(mistyped(field)),
    };
    Ok(McpRegistration {
        name: name.to_owned(),
        server,
    })
}

fn mistyped(field: &str) -> String {
    format!("{field} has the wrong type")
}

/// Removes a string member; a blank string counts as missing.
fn text<'v>(members: &'v Map<String, Value>, field: &str) -> Result<Option<&'v str>, String> {
    match members.get(field) {
        None | Some(Value::Null) => Ok(None),
        // A command line and an environment cannot contain a NUL byte.
        Some(Value::String(text)) if text.contains('\0') => Err(mistyped(field)),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.trim().is_empty())),
        Some(_) => Err(mistyped(field)),
    }
}

fn address(members: &Map<String, Value>) -> Result<String, String> {
    let url = text(members, "url")?.ok_or("url missing")?.trim();
    let has_host = ["http://", "https://"]
        .iter()
        .filter_map(|scheme| url.strip_prefix(scheme))
        .any(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']));
    if !has_host || url.contains(char::is_whitespace) {
        return Err(mistyped("url"));
    }
    Ok(url.to_owned())
}

fn arguments_of(members: &Map<String, Value>) -> Result<Vec<String>, String> {
    let values = match members.get("args") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(mistyped("args")),
    };
    let texts = values.iter().map(|value| {
        let text = value.as_str().filter(|text| !text.contains('\0'));
        text.map(str::to_owned).ok_or_else(|| mistyped("args"))
    });
    texts.collect()
}

fn pairs(
    members: &Map<String, Value>,
    field: &str,
    is_pair: fn(&str, &str) -> bool,
) -> Result<BTreeMap<String, String>, String> {
    let values = match members.get(field) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values,
        Some(_) => return Err(mistyped(field)),
    };
    let pairs = values.iter().map(|(name, value)| {
        let value = value.as_str().filter(|value| is_pair(name, value));
        let pair = value.map(|value| (name.clone(), value.to_owned()));
        pair.ok_or_else(|| mistyped(field))
    });
    pairs.collect()
}

fn is_variable(name: &str, value: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') && !value.contains('\0')
}

fn is_header(name: &str, value: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && name.chars().all(is_token)
        // A line break in a value would add a header.
        && !value.contains(|c: char| c.is_control() && c != '\t')
}

/// Formats the registrations as YAML for a prompt, without their secrets.
pub fn render_mcp(servers: &[McpRegistration]) -> String {
    servers.iter().map(rendered).collect()
}

fn rendered(registration: &McpRegistration) -> String {
    let mut acc = String::new();
    let name = scalar(&registration.name);
    match &registration.server {
        McpServer::Stdio { command, args, env } => {
            put(
                &mut acc,
                format_args!(
                    "- name: {name}\n  transport: stdio\n  command: {}\n",
                    scalar(command)
                ),
            );
            let texts: Vec<&str> = args.iter().map(String::as_str).collect();
            if !texts.is_empty() {
                let shown: Vec<String> =
                    arguments(&texts).iter().map(|text| quoted(text)).collect();
                put(&mut acc, format_args!("  args: [{}]\n", shown.join(", ")));
            }
            put_names(&mut acc, "env", env);
        }
        McpServer::Http { url, headers } => {
            let url = quoted(&url::redacted(url));
            put(
                &mut acc,
                format_args!("- name: {name}\n  transport: http\n  url: {url}\n"),
            );
            put_names(&mut acc, "headers", headers);
        }
    }
    // A secret of one field may also occur in another.
    Redactor::of(registration.secrets()).text(&acc).into_owned()
}

fn put_names(acc: &mut String, field: &str, values: &BTreeMap<String, String>) {
    if values.is_empty() {
        return;
    }
    put(acc, format_args!("  {field}:\n"));
    for name in values.keys() {
        put(
            acc,
            format_args!("    {}: {}\n", scalar(name), quoted(REDACTED)),
        );
    }
}

fn put(acc: &mut String, text: fmt::Arguments<'_>) {
    acc.write_fmt(text)
        .expect("writing to a string cannot fail");
}
