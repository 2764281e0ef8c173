//! Registrations of MCP servers for one run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use daemon_spec::quoted;
use serde_json::{Map, Value};

use super::{Fault, scalar, url};
use crate::redact::{REDACTED, Redactor, arguments, secret_arguments};

/// The most servers of one task.
pub const MAX_MCP: usize = 16;
/// The longest name of a server.
const MAX_NAME: usize = 64;

/// An MCP server that one run may use.
///
/// Its values may be secrets, so that it is neither printed nor serialised as it is: [`render_mcp`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct McpRegistration {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// How it is reached.
    pub server: McpServer,
}

/// How an MCP server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpServer {
    /// As a child process that is talked to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment.
        env: BTreeMap<String, String>,
    },
    /// Over HTTP.
    Http {
        /// Its address.
        url: String,
        /// What every request carries.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rendered(self))
    }
}

impl McpRegistration {
    /// Returns the values that must not be kept or told.
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

    /// Returns the indexes of the arguments that hold a secret, of whichever field.
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

    /// Reports whether its address holds a secret.
    pub fn has_secret_address(&self) -> bool {
        match &self.server {
            McpServer::Stdio { .. } => false,
            McpServer::Http { url, .. } => {
                !url::secrets(url).is_empty() || Redactor::of(self.secrets()).text(url) != *url
            }
        }
    }
}

/// Reads the registrations of one task.
///
/// # Errors
/// Every registration that is none, with the first thing that is wrong with it.
pub fn mcp(values: &[Value]) -> Result<Vec<McpRegistration>, Vec<Fault>> {
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

/// Takes a text; one that is blank is not there.
fn text<'v>(members: &'v Map<String, Value>, field: &str) -> Result<Option<&'v str>, String> {
    match members.get(field) {
        None | Some(Value::Null) => Ok(None),
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
        && !value.contains(|c: char| c.is_control() && c != '\t')
}

/// Writes the registrations as YAML, for the run to read, without their secrets.
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
    // A secret that is given in one field may stand in another too.
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
