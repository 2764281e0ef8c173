//! The host's connection to one server of a run, and the tools of this server that the run gets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use daemon_mcp::{Effect, ToolClient, ToolDescription};
use daemon_provider::redact::Redactor;
use daemon_provider::{GrantedTool, NetworkUse, Permissions, RunEvent};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::GrantedServer;
use super::run_servers::{Origin, Redactors, Terms};
use super::start::connect;

/// The most tools of one server; each adds its schema to every request to the model.
const MOST_TOOLS: usize = 128;
/// The longest tool name that every model API accepts.
const MAX_NAME: usize = 64;
/// The longest name that a tool may have by the protocol.
const MAX_OWN_NAME: usize = 128;
/// The characters of a description that a model receives.
const MOST_DESCRIPTION: usize = 4_000;
/// The largest schema that a model receives, in bytes.
const MOST_SCHEMA: usize = 32 << 10;
/// The most tool names in one note.
const MOST_NAMED: usize = 20;
/// The time for the last uses of the network to be reported after a server has ended.
const LAST_USES: Duration = Duration::from_secs(2);

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
    /// Reports what the server uses of the network, until it has ended.
    reporting: Mutex<JoinSet<()>>,
}

impl Link {
    /// Starts a server and lists its tools.
    pub(super) async fn begin(
        server: &GrantedServer,
        terms: &Terms,
        redactors: &Redactors,
        events: &mpsc::Sender<RunEvent>,
    ) -> Self {
        let mut reporting = JoinSet::new();
        let mut report = |uses| drop(reporting.spawn(report(uses, events.clone())));
        match connect(server, terms, &mut report).await {
            Ok(client) => Self {
                reporting: Mutex::new(reporting),
                ..Self::of(server, client, &terms.origin, &redactors.results)
            },
            Err(problem) => {
                let problem = redactors.problems.text(&problem).into_owned();
                tracing::warn!(
                    run = terms.run,
                    server = server.registration.name,
                    problem,
                    "a server of a run cannot be used"
                );
                Self {
                    reporting: Mutex::new(reporting),
                    ..Self::none(server, problem)
                }
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
            reporting: Mutex::default(),
        }
    }

    fn of(
        server: &GrantedServer,
        client: ToolClient,
        origin: &Origin,
        redactor: &Redactor,
    ) -> Self {
        let name = server.registration.name.clone();
        let naming = match origin {
            Origin::Granted { permissions, .. } => Naming::Prefixed(&name, *permissions),
            Origin::Registered(_) => Naming::Own,
        };
        let offer = offer(naming, client.tools(), redactor);
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
            reporting: Mutex::default(),
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
        let mut reporting = {
            let mut held = self
                .reporting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *held)
        };
        // What is still open after that is not reported: dropping the set aborts its tasks.
        let reported = async { while reporting.join_next().await.is_some() {} };
        tokio::time::timeout(LAST_USES, reported)
            .await
            .unwrap_or(());
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Result<Arc<ToolClient>, String>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on what a server uses of the network.
async fn report(mut uses: mpsc::Receiver<NetworkUse>, events: mpsc::Sender<RunEvent>) {
    while let Some(used) = uses.recv().await {
        // The receiver is gone once the run has ended; the rest is read, since a program waits until its refusals are reported.
        events.send(RunEvent::Network(used)).await.unwrap_or(());
    }
}

/// How the run calls the tools of a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Naming<'s> {
    /// With the name of the server as a prefix, as far as the run may use them with these permissions.
    Prefixed(&'s str, Permissions),
    /// By the names that the server gives them: the agent adds a prefix itself.
    Own,
}

impl Naming<'_> {
    /// Returns the name by which the run calls a tool; `None` if it cannot be called by it.
    fn name(self, tool: &str) -> Option<String> {
        match self {
            Naming::Prefixed(server, _) => {
                let name = format!("{server}__{tool}");
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                let is_usable = name.len() <= MAX_NAME && tool.chars().all(is_plain);
                is_usable.then_some(name)
            }
            // The agent replaces what its model does not accept.
            Naming::Own => {
                let is_usable =
                    tool.len() <= MAX_OWN_NAME && tool.chars().all(|c| c.is_ascii_graphic());
                is_usable.then(|| tool.to_owned())
            }
        }
    }

    /// Reports whether a tool may change more than the run may.
    fn forbids(self, tool: &ToolDescription) -> bool {
        match self {
            // An unmarked tool may change something. The mark is only a claim of the server, which the documentation says.
            Naming::Prefixed(_, permissions) => {
                permissions == Permissions::Read && tool.effect != Effect::Reads
            }
            // The sandbox of the run limits what the server changes.
            Naming::Own => false,
        }
    }
}

/// The tools of a server, divided by whether the run may use them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Offer {
    pub(super) tools: Vec<GrantedTool>,
    pub(super) own_names: BTreeMap<String, String>,
    /// Tools that are not marked as read-only, if the run may only read.
    changing: Vec<String>,
    /// Tools with names that model APIs reject, and those above [`MOST_TOOLS`].
    unusable: Vec<String>,
}

pub(super) fn offer(naming: Naming<'_>, tools: &[ToolDescription], redactor: &Redactor) -> Offer {
    let mut acc = Offer::default();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools {
        *counts.entry(&tool.name).or_default() += 1;
    }
    for tool in tools {
        let name = naming.name(&tool.name).filter(|name| {
            !tool.name.is_empty()
                // A tool name goes to the model unredacted, so that one with a secret is not offered.
                && redactor.text(name) == *name
                // A call names its tool only by its name, so that of two tools with one name neither is offered.
                && counts.get(tool.name.as_str()) == Some(&1)
                && acc.tools.len() < MOST_TOOLS
        });
        let Some(name) = name else {
            acc.unusable.push(shown(&tool.name));
            continue;
        };
        if naming.forbids(tool) {
            acc.changing.push(shown(&tool.name));
            continue;
        }
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
            let offer = offer(Naming::Prefixed("tickets", permissions), &tools, &redactor);
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
        let offer = offer(
            Naming::Prefixed("s", Permissions::Write),
            &tools,
            &Redactor::default(),
        );
        assert_eq!((offer.tools.len(), offer.unusable.len()), (128, 72));
        assert_eq!(
            Value::Object(offer.tools[0].schema.clone()),
            json!({"type": "object"})
        );
    }
}
