//! The operations of a host.
//!
//! The command line, the HTTP routes and the control protocol all call them here, so that they cannot differ.

mod act;
mod agents;
mod conversations;
mod crons;
mod directories;
mod events;
mod explain;
mod headline;
mod list;
mod notices;
mod params;
mod parts;
mod replay;
mod roster;
mod runs;
mod schedule;
mod search;
mod settings;
mod show;
mod skills;
mod table;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use daemon_agent::{Conversations, Skills};
use daemon_event::RepoName;
use daemon_records::HeldRoster;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::{Role, SpawnFacts, WantedSpawn};
use daemon_store::{Rates, Store};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use conversations::turn_members;
pub(crate) use headline::Headlined;
pub(crate) use params::MAX_LIMIT;
pub use params::{Params, parse_instant};
pub use roster::RosterCaller;
pub use runs::RunReply;
pub(crate) use runs::{RunView, log_place};
pub use settings::{ProviderSettings, SecretPlace, ServerSettings, SettingsRequest};
pub use table::{Operation, Scope, UnknownMethod, Verb};

use daemon_registry::SharedRegistry;

/// The warning of a host without a model, for its log and its pages.
pub const NO_MODEL: &str = "no model is configured: `builtin` reports and carries no routine out, and \
    `provider.builtin.repair` only repairs links; write `[provider]` with `default = \"claude\"`, `\"codex\"`, \
    `\"opencode\"` or the name of a section of yours into config.toml of the home";

/// The reason of an activation that a person cancelled.
pub const CANCELLED_BY_PERSON: &str = "cancelled by a person";

/// Which branches of daemons are removed.
#[derive(Clone, Debug)]
pub struct Prune {
    /// Only those of this daemon.
    pub daemon: Option<String>,
    /// Only those delivered before.
    pub before: Option<Timestamp>,
    /// Whether they are only listed.
    pub is_dry: bool,
}

/// The functions that only a running host, or the binary in its place, can provide.
#[async_trait]
pub trait Live: Send + Sync {
    /// Returns the present time.
    fn now(&self) -> Timestamp;

    /// Returns the watched repositories that could not be read yet, each with the reason.
    fn unread(&self) -> Vec<(RepoName, String)>;

    /// Returns the reason if no activation may start at the moment.
    fn pause(&self) -> Option<String>;

    /// Returns the configured rates of activations.
    fn rates(&self) -> Rates;

    /// Reports whether the budget of the day is used up, so that no activation starts.
    ///
    /// # Errors
    /// The store could not be read.
    async fn is_over_budget(&self) -> Result<bool, OpError>;

    /// Notifies the host that an activation may be ready.
    fn nudge(&self);

    /// Notifies the host of stored events, so that they are matched.
    fn accepted(&self, accepted: &[daemon_store::Accepted]);

    /// Ends the run of a cancelled activation with its process tree: one under way is asked to stop, one of a dead host ends at
    /// once.
    ///
    /// # Errors
    /// The end of a run of a dead host could not be stored.
    async fn stop_run(&self, activation: &daemon_event::ActivationId) -> Result<(), OpError>;

    /// Reads the configuration and the repositories again.
    async fn reload(&self) -> Result<Value, OpError>;

    /// Checks the host and its environment.
    async fn doctor(&self) -> Result<Value, OpError>;

    /// Makes a link that logs a browser in once, as `{"login_url"}`.
    ///
    /// # Errors
    /// No host runs.
    fn login(&self) -> Result<Value, OpError>;

    /// Returns counters of the host.
    async fn stats(&self) -> Result<Value, OpError>;

    /// Removes branches of daemons, and returns the object of the operation.
    async fn prune(&self, request: Prune) -> Result<Value, OpError>;

    /// Performs a call of the `daemon` tool.
    async fn run_call(&self, call: Map<String, Value>) -> Result<RunReply, OpError>;

    /// Returns the content of the notice of runs.
    ///
    /// # Errors
    /// No host runs, or the notice cannot be read.
    async fn notices(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    /// Takes the notices of runs out, and returns their number.
    ///
    /// # Errors
    /// No host runs, or the notice cannot be written.
    async fn dismiss_notices(&self) -> Result<usize, OpError> {
        Err(no_host())
    }

    /// Returns the directory of run folders.
    fn runs(&self) -> std::path::PathBuf;

    /// Returns the directories below which clients with a token may name others.
    fn directories(&self) -> Vec<std::path::PathBuf>;

    /// Reads or changes the providers, models and MCP servers of the configuration.
    async fn settings(&self, request: SettingsRequest) -> Result<Value, OpError>;

    /// Returns the skills of the home.
    fn skills(&self) -> Skills;

    /// Returns the agents and their conversations; `None` where no host runs.
    fn conversations(&self) -> Option<&Arc<Conversations>>;

    /// Returns the roster of the home.
    ///
    /// # Errors
    /// The store could not be read.
    async fn roster(&self) -> Result<Arc<HeldRoster>, OpError>;

    /// Finds out what the checks of a spawn need.
    ///
    /// # Errors
    /// No host runs.
    async fn spawn_facts(&self, _wanted: &WantedSpawn) -> Result<SpawnFacts, OpError> {
        Err(no_host())
    }

    /// Returns the charters of the home with the versions that were used.
    ///
    /// # Errors
    /// No host runs, or a charter cannot be read.
    async fn charters(&self) -> Result<Vec<CharterText>, OpError> {
        Err(no_host())
    }
}

/// The text of a charter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharterText {
    /// The role that has it at present; `None` for an earlier version.
    pub role: Option<Role>,
    /// Its SHA-256 in hexadecimal.
    pub version: String,
    /// The template.
    pub body: String,
}

fn no_host() -> OpError {
    let message = "No host is running for this home";
    OpError::new(OpErrorKind::Unavailable, "no-host", message).with_help("daemon-run serve")
}

/// The operations over one store.
#[derive(Clone)]
pub struct Operations {
    store: Arc<dyn Store>,
    registry: SharedRegistry,
    live: Arc<dyn Live>,
    caller: RosterCaller,
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operations").finish_non_exhaustive()
    }
}

impl Operations {
    /// Creates the operations over a store, for the operator.
    pub fn new(store: Arc<dyn Store>, registry: SharedRegistry, live: Arc<dyn Live>) -> Self {
        Self {
            store,
            registry,
            live,
            caller: RosterCaller::Operator,
        }
    }

    /// Performs one operation and returns the members of its result.
    ///
    /// # Errors
    /// If the operation was refused or failed; it then has no effect.
    pub async fn call(
        &self,
        operation: Operation,
        params: impl Into<Params>,
    ) -> Result<Map<String, Value>, OpError> {
        self.check_not_widening(operation).await?;
        let done = self.dispatch(operation, params.into()).await;
        done.map_err(|error| self.explained(error))
    }

    /// Adds to the error for an unknown daemon the repositories that are not read yet and may contain it.
    fn explained(&self, error: OpError) -> OpError {
        let unread = self.live.unread();
        if error.code != "unknown-daemon" || unread.is_empty() {
            return error;
        }
        let named = unread.iter().map(|(repo, why)| format!("`{repo}`: {why}"));
        let named: Vec<String> = named.collect();
        error.with_help(format!(
            "a repository is not read yet: {}",
            named.join("; ")
        ))
    }

    async fn dispatch(
        &self,
        operation: Operation,
        params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        match operation {
            Operation::DaemonList => self.daemon_list(params).await,
            Operation::DaemonGet => self.daemon_get(params).await,
            Operation::DaemonNext => self.daemon_next(params).await,
            Operation::DaemonFire => self.daemon_fire(params).await,
            Operation::DaemonHold => self.daemon_gate(params, daemon_engine::Gate::Held).await,
            Operation::DaemonGo => self.daemon_gate(params, daemon_engine::Gate::Open).await,
            Operation::ActivationList => self.activation_list(params).await,
            Operation::ActivationGet => self.activation_get(params).await,
            Operation::ActivationRetry => self.activation_retry(params).await,
            Operation::ActivationCancel => self.activation_cancel(params).await,
            Operation::RunList => self.run_list(params).await,
            Operation::RunGet => self.run_get(params).await,
            Operation::RunLog => self.run_log(params).await,
            Operation::RunAsk => self.run_ask(params).await,
            Operation::RunCancel => self.run_cancel(params).await,
            Operation::RunCall => self.run_call(params.rest()).await?.at_the_end().await,
            Operation::EventList => self.event_list(params).await,
            Operation::DaemonExplain => self.explain(params).await,
            Operation::EventGet => self.event_get(params).await,
            Operation::EventReplay => self.event_replay(params).await,
            Operation::TickList => self.tick_list(params).await,
            Operation::OutputList => self.output_list(params).await,
            Operation::OutputGet => self.output_get(params).await,
            Operation::OutputPrune => self.output_prune(params).await,
            Operation::ConversationSend | Operation::ConversationStream => self.send(params).await,
            Operation::ConversationReplyToAsk => self.conversation_reply(params).await,
            Operation::ConversationKill => self.conversation_kill(params).await,
            Operation::ConversationCompact => self.conversation_compact(params).await,
            Operation::ConversationHistory => self.conversation_history(params).await,
            Operation::ConversationList => self.conversation_list(params).await,
            Operation::ConversationDelete => self.conversation_delete(params).await,
            operation => self.dispatch_home(operation, params).await,
        }
    }

    /// Performs an operation on the home or on the host itself.
    async fn dispatch_home(
        &self,
        operation: Operation,
        params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        match operation {
            Operation::AgentList => self.agent_list(params).await,
            Operation::AgentGet => self.agent_get(params).await,
            Operation::AgentCreate => self.agent_create(params).await,
            Operation::AgentUpdate => self.agent_update(params).await,
            Operation::AgentDelete => self.agent_delete(params).await,
            Operation::EventPublish => self.event_publish(params).await,
            Operation::EventSubscribe => Err(only_a_stream()),
            Operation::SubscriptionCreate => self.subscription_create(params).await,
            Operation::SubscriptionList => self.subscription_list(params).await,
            Operation::SubscriptionDelete => self.subscription_delete(params).await,
            Operation::ProviderList
            | Operation::ProviderSet
            | Operation::ProviderDelete
            | Operation::ModelList
            | Operation::ModelSetActive
            | Operation::McpList
            | Operation::McpSet
            | Operation::McpDelete
            | Operation::McpRestart => self.settings(operation, params).await,
            Operation::SkillList => self.skill_list(params).await,
            Operation::SkillGet => self.skill_get(params).await,
            Operation::CronCreate => self.cron_create(params).await,
            Operation::CronList => self.cron_list(params).await,
            Operation::CronDelete => self.cron_delete(params).await,
            Operation::NoticeList => self.notice_list(params).await,
            Operation::NoticeRemind => self.notice_remind(params).await,
            Operation::NoticeDismiss => self.notice_dismiss(params).await,
            Operation::HostHold => self.host_gate(params, daemon_engine::Gate::Held).await,
            Operation::HostGo => self.host_gate(params, daemon_engine::Gate::Open).await,
            Operation::HostDoctor => object(params.finish().map(|()| self.live.doctor())?.await?),
            Operation::HostReload => object(params.finish().map(|()| self.live.reload())?.await?),
            Operation::HostLogin => object(params.finish().and_then(|()| self.live.login())?),
            Operation::HostStats => object(params.finish().map(|()| self.live.stats())?.await?),
            operation if operation.roster_tool().is_some() => {
                Box::pin(self.roster(operation, params)).await
            }
            operation => Err(UnknownMethod(operation.method().to_owned()).into()),
        }
    }
}

/// Returns the error of a caller that waits for one result of a stream.
fn only_a_stream() -> OpError {
    let message = "`event/subscribe` is a stream: only the control protocol has it";
    OpError::new(OpErrorKind::Unsupported, "unsupported", message)
}

/// Returns the members of an object.
fn object(value: Value) -> Result<Map<String, Value>, OpError> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(OpError::new(
            OpErrorKind::Internal,
            "internal",
            "an answer is not an object",
        )),
    }
}

/// Serialises a wire object to the members of a result.
fn members(wire: &impl serde::Serialize) -> Result<Map<String, Value>, OpError> {
    object(value(wire)?)
}

/// Serialises a wire object to JSON.
pub(crate) fn value(wire: &impl serde::Serialize) -> Result<Value, OpError> {
    serde_json::to_value(wire)
        .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))
}
