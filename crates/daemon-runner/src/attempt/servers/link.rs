//! The host's connection to one server of a run, and the tools of this server that the run gets.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use daemon_mcp::{Effect, Endpoint, Program, ToolClient, ToolDescription};
use daemon_process::{ChildLimits, Launch, Sandbox};
use daemon_provider::Permissions;
use daemon_provider::inputs::McpServer;
use daemon_provider::redact::Redactor;
use daemon_provider::{GrantedTool, RunEvent};
use daemon_records::error::chain;
use serde_json::{Map, Value, json};

use super::Terms;
use crate::servers::GrantedServer;

/// The most tools of one server; each adds its schema to every request to the model.
const MOST_TOOLS: usize = 128;
/// The longest tool name that every model API accepts.
const MAX_NAME: usize = 64;
/// The characters of a description that a model receives.
const MOST_DESCRIPTION: usize = 4_000;
/// The largest schema that a model receives, in bytes.
const MOST_SCHEMA: usize = 32 << 10;
/// The most tool names in one note.
const MOST_NAMED: usize = 20;

/// One server of a run.
pub(super) struct Link {
    pub(super) name: String,
    /// The tools that the run may use, with the server's name as a prefix.
    pub(super) tools: Vec<GrantedTool>,
    /// Events about the start of the server, for the record of the run.
    pub(super) notes: Vec<RunEvent>,
    own_names: BTreeMap<String, String>,
    /// The client until the server is closed; otherwise why it cannot be used.
    client: Mutex<Result<Arc<ToolClient>, String>>,
}

impl Link {
    /// Starts a server and lists its tools.
    pub(super) async fn begin(server: &GrantedServer, terms: &Terms, redactor: &Redactor) -> Self {
        match connect(server, terms).await {
            Ok(client) => Self::of(server, client, terms.permissions, redactor),
            Err(problem) => {
                let problem = redactor.text(&problem).into_owned();
                tracing::warn!(
                    run = terms.run,
                    server = server.registration.name,
                    problem,
                    "a granted server cannot be used"
                );
                Self::none(server, problem)
            }
        }
    }

    /// Makes the link of a server that cannot be used.
    pub(super) fn none(server: &GrantedServer, problem: String) -> Self {
        let name = server.registration.name.clone();
        let problem = format!("the server `{name}` cannot be used: {problem}");
        Self {
            notes: vec![RunEvent::Limit {
                name: format!("mcp.{name}"),
                detail: problem.clone(),
            }],
            name,
            tools: Vec::new(),
            own_names: BTreeMap::new(),
            client: Mutex::new(Err(problem)),
        }
    }

    fn of(
        server: &GrantedServer,
        client: ToolClient,
        permissions: Permissions,
        redactor: &Redactor,
    ) -> Self {
        let name = server.registration.name.clone();
        let offer = offer(&name, client.tools(), permissions, redactor);
        let note = |refused: &[String]| {
            let shown: Vec<&str> = refused
                .iter()
                .take(MOST_NAMED)
                .map(String::as_str)
                .collect();
            redactor
                .text(&format!(
                    "{} not offered: {}",
                    refused.len(),
                    shown.join(", ")
                ))
                .into_owned()
        };
        let mut notes = Vec::new();
        if !offer.changing.is_empty() {
            let detail = format!(
                "tools that are not marked as reading, under the capability `read`: {}",
                note(&offer.changing)
            );
            notes.push(RunEvent::Denied {
                name: format!("mcp.{name}"),
                detail,
            });
        }
        if !offer.unusable.is_empty() {
            let detail = format!(
                "tools with names that are too long, twice there or of other characters, or too many: {}",
                note(&offer.unusable)
            );
            notes.push(RunEvent::Limit {
                name: format!("mcp.{name}"),
                detail,
            });
        }
        Self {
            name,
            tools: offer.tools,
            notes,
            own_names: offer.own_names,
            client: Mutex::new(Ok(Arc::new(client))),
        }
    }

    /// Returns the client, or why the server cannot be used.
    pub(super) fn client(&self) -> Result<Arc<ToolClient>, String> {
        self.held().clone()
    }

    /// Returns the server's own name for a tool that the run is offered.
    pub(super) fn own_name(&self, name: &str) -> Option<&str> {
        self.own_names.get(name).map(String::as_str)
    }

    /// Closes the connection and waits for the end of the server's process.
    pub(super) async fn close(&self) {
        let closed = Err(format!("the server `{}` is closed", self.name));
        let client = std::mem::replace(&mut *self.held(), closed);
        if let Some(client) = client.ok().and_then(Arc::into_inner) {
            client.close().await;
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Result<Arc<ToolClient>, String>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tools of a server, divided by whether the run may use them.
#[derive(Debug, Default, PartialEq)]
struct Offer {
    tools: Vec<GrantedTool>,
    own_names: BTreeMap<String, String>,
    /// Tools that are not marked as read-only, if the run may only read.
    changing: Vec<String>,
    /// Tools with names that model APIs reject, and those above [`MOST_TOOLS`].
    unusable: Vec<String>,
}

fn offer(
    server: &str,
    tools: &[ToolDescription],
    permissions: Permissions,
    redactor: &Redactor,
) -> Offer {
    let mut acc = Offer::default();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools {
        *counts.entry(&tool.name).or_default() += 1;
    }
    for tool in tools {
        let name = format!("{server}__{}", tool.name);
        // A call names its tool only by its name, so that of two tools with one name neither is offered.
        let is_usable = name.len() <= MAX_NAME
            && tool
                .name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            && !tool.name.is_empty()
            // A tool name goes to the model unredacted, so that one with a secret is not offered.
            && redactor.text(&name) == name
            && counts.get(tool.name.as_str()) == Some(&1)
            && acc.tools.len() < MOST_TOOLS;
        if !is_usable {
            acc.unusable.push(shown(&tool.name));
        // An unmarked tool may change something. The mark is only a claim of the server, which the documentation says.
        } else if permissions == Permissions::Read && tool.effect != Effect::Reads {
            acc.changing.push(shown(&tool.name));
        } else {
            acc.own_names.insert(name.clone(), tool.name.clone());
            acc.tools.push(GrantedTool {
                name,
                description: redactor
                    .text(&tool.description)
                    .chars()
                    .take(MOST_DESCRIPTION)
                    .collect(),
                schema: schema(tool, redactor),
                is_read_only: tool.effect == Effect::Reads,
            });
        }
    }
    acc
}

fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

/// Returns the schema of a tool. One that is too large is replaced by any object; the server checks the arguments anyway.
fn schema(tool: &ToolDescription, redactor: &Redactor) -> Map<String, Value> {
    let schema = redactor.json(&Value::Object(tool.input_schema.clone()));
    let any = json!({"type": "object"});
    let fits = schema.to_string().len() <= MOST_SCHEMA;
    match if fits { schema } else { any } {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

async fn connect(server: &GrantedServer, terms: &Terms) -> Result<ToolClient, String> {
    let timeouts = terms.timeouts;
    let connected = match &server.registration.server {
        McpServer::Http { url, headers } => {
            let endpoint = Endpoint {
                url: url.clone(),
                headers: headers.clone(),
            };
            ToolClient::connect(&endpoint, timeouts.begin).await
        }
        McpServer::Stdio { command, args, env } => {
            let program = Program {
                command: command.clone(),
                args: args.clone(),
                env: env.clone(),
            };
            let supervisor = terms
                .servers
                .supervisor
                .as_ref()
                .ok_or("this host starts no programs")?;
            let launch = launch(&server.registration.name, &program, terms)?;
            ToolClient::start(supervisor, launch, timeouts.begin).await
        }
    };
    let client = connected.map_err(|error| chain(&error))?;
    Ok(client.with_timeout(timeouts.call))
}

/// Returns how a server is started: in a directory of its own, which is outside of every run and repository.
fn launch(name: &str, program: &Program, terms: &Terms) -> Result<Launch, String> {
    let directory = terms.directory.join(name);
    // A checkout could configure the server, so that it never starts there.
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory);
    made.map_err(|error| format!("its directory `{}`: {error}", directory.display()))?;
    let mut env = terms.environment.clone();
    env.push(("HOME".into(), directory.clone().into()));
    let base = Launch {
        program: program.command.clone().into(),
        args: Vec::new(),
        env,
        disk: vec![directory.clone()],
        cwd: directory,
        stdin: Vec::new(),
        marker: terms.run.clone(),
        limits: ChildLimits::default(),
        sandbox: Sandbox::Contained,
        ports: None,
    };
    let untrusted: Vec<&Path> = terms
        .servers
        .untrusted
        .iter()
        .map(std::path::PathBuf::as_path)
        .collect();
    // With a marker of its own, the end of the server does not end the other processes of the run.
    let marker = format!("{}/mcp-{name}", terms.run);
    program
        .launch(&base, marker, &untrusted)
        .map_err(|error| chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_offered_what_it_may_use_and_a_model_can_name() {
        let tool = |name: &str, effect| {
            ToolDescription::new(name, "About k-0123456.", json!({"type": "object"}), effect)
        };
        let long = "x".repeat(60);
        let tools = [
            tool("find", Effect::Reads),
            tool("close", Effect::Changes),
            tool("a.b", Effect::Reads),
            tool("twice", Effect::Reads),
            tool("twice", Effect::Reads),
            tool(&long, Effect::Reads),
        ];
        let redactor = Redactor::of(["k-0123456".to_owned()]);
        let seen = |permissions| {
            let offer = offer("tickets", &tools, permissions, &redactor);
            let names: Vec<String> = offer.tools.iter().map(|tool| tool.name.clone()).collect();
            assert_eq!(offer.tools[0].description, "About <redacted>.");
            (names, offer.changing, offer.unusable)
        };
        let unusable: Vec<String> = ["a.b", "twice", "twice", &long].map(str::to_owned).into();
        assert_eq!(
            seen(Permissions::Read),
            (
                vec!["tickets__find".to_owned()],
                vec!["close".to_owned()],
                unusable.clone()
            )
        );
        assert_eq!(
            seen(Permissions::Propose),
            (
                vec!["tickets__find".to_owned(), "tickets__close".to_owned()],
                Vec::new(),
                unusable
            )
        );
    }

    #[test]
    fn a_server_with_too_many_tools_offers_the_first() {
        let tools: Vec<ToolDescription> = (0..200)
            .map(|n| {
                ToolDescription::new(
                    &format!("t{n}"),
                    "",
                    json!({"type": "object", "title": "x".repeat(40 << 10)}),
                    Effect::Reads,
                )
            })
            .collect();
        let offer = offer("s", &tools, Permissions::Write, &Redactor::default());
        assert_eq!((offer.tools.len(), offer.unusable.len()), (128, 72));
        assert_eq!(
            Value::Object(offer.tools[0].schema.clone()),
            json!({"type": "object"})
        );
    }
}
