//! The types of the configuration and their defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use daemon_agent::ConversationBounds;
use daemon_api::Period;
use daemon_event::{DaemonKey, RepoName};
use daemon_provider::Permissions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::{
    ConversationConfig, Conversing, EventsConfig, MemoryConfig, ModelConfig, ToolsConfig,
};
use super::limits::LimitsConfig;
use super::mcp::Mcp;
use super::provider::Providers;
use super::retention::Retention;
use super::roster::RosterConfig;
use super::sources::{SecretPlaces, Sources};
use super::surfaces::Surfaces;
use super::telemetry::Telemetry;
use super::tokens::TokenConfig;
use super::transports::{Tcp, Uds};

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The host process: its listener, its store and its stop.
    pub host: Host,
    /// The control socket.
    pub uds: Uds,
    /// The control protocol over TCP.
    pub tcp: Tcp,
    /// The watched repositories.
    pub repo: Vec<Repo>,
    /// The zone of schedules, and the treatment of missed and overlapping ticks.
    pub schedule: ScheduleConfig,
    /// The providers that carry out runs.
    pub provider: Providers,
    /// MCP servers that policies can grant to runs, by name.
    pub mcp: BTreeMap<String, Mcp>,
    /// The permissions of runs.
    pub policy: Policy,
    /// The limits of the number, rate and duration of runs.
    pub limits: LimitsConfig,
    /// The limits of the cost of runs.
    pub budget: BudgetConfig,
    /// The model of agents.
    pub model: ModelConfig,
    /// The memories of agents.
    pub memory: MemoryConfig,
    /// Conversations with agents.
    pub conversation: ConversationConfig,
    /// The event bus of agents.
    pub events: EventsConfig,
    /// The roster.
    pub roster: RosterConfig,
    /// What clients with a token may use of this machine.
    pub tools: ToolsConfig,
    /// The services that send webhooks.
    pub sources: Sources,
    /// The destinations of outputs.
    pub surfaces: Surfaces,
    /// How long records are kept.
    pub retain: Retain,
    /// The log of the host.
    pub log: Log,
    /// What the host reports to collectors.
    pub telemetry: Telemetry,
    /// Further tokens of HTTP and of the control protocol.
    pub token: Vec<TokenConfig>,
}

impl Config {
    /// Reports whether the provider of any daemon runs a model or a program.
    pub fn has_model(&self) -> bool {
        let policies = self.policy.daemon.values();
        let own = policies.filter_map(|policy| policy.provider.as_ref());
        own.chain([&self.provider.default])
            .any(|name| self.provider.kind_of(name) != "builtin")
    }

    /// Returns the provider, or the model of one, that answers for agents that name none.
    pub fn active_model(&self) -> &str {
        let active = self.model.active.as_deref();
        active.unwrap_or(&self.provider.default)
    }

    /// Returns the zone of a daemon's schedule: its own, else its repository's, else the general one.
    pub fn zone_of<'a>(&'a self, repo: &RepoName, id: &str, of_repo: Option<&'a str>) -> &'a str {
        // A string that is not an id has no policy of its own.
        let key = id.parse().ok().map(|id| DaemonKey {
            repo: repo.clone(),
            id,
        });
        key.and_then(|key| self.own(&key, |policy| policy.zone.as_deref()))
            .or(of_repo)
            .unwrap_or(&self.schedule.zone)
    }

    /// Returns the bounds of conversations.
    pub fn conversation_bounds(&self) -> ConversationBounds {
        self.conversing().bounds()
    }

    pub(super) fn conversing(&self) -> Conversing<'_> {
        Conversing {
            conversation: &self.conversation,
            events: &self.events,
            memory: &self.memory,
            tools: &self.tools,
        }
    }

    /// Returns one setting of a daemon's own policy: from the table with its repository and id, else from the table of its id.
    pub fn own<'a, T>(
        &'a self,
        daemon: &DaemonKey,
        setting: impl Fn(&'a DaemonPolicy) -> Option<T>,
    ) -> Option<T> {
        let repo = daemon.repo.folded();
        let of_repo = self.policy.daemon.iter().find(|(key, _)| {
            let (named, id) = DaemonPolicy::named(key);
            id == daemon.id.as_str() && named.is_some_and(|named| named.to_lowercase() == repo)
        });
        // Per setting, not per table: a table for one repository contains only what differs there.
        let of_repo = of_repo.and_then(|(_, policy)| setting(policy));
        of_repo.or_else(|| setting(self.policy.daemon.get(daemon.id.as_str())?))
    }
}

/// The host process.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// The address of the HTTP listener; port 0 picks one.
    pub listen: String,
    /// The name of this host in a store that hosts share; by default the name of the machine and the path of the home.
    pub name: Option<String>,
    /// The store: `sqlite`, a file in the home, or `postgres://USER@HOST/DATABASE`, which hosts share.
    pub store: String,
    /// The file of the password of the database, relative to the home.
    pub store_password_file: Option<PathBuf>,
    /// The environment variable that contains the password of the database; `store_password_file` takes precedence.
    pub store_password_env: Option<String>,
    /// The file of the certificates that the certificate of the database's server is checked with, relative to the home; it is required
    /// where the address says `sslmode=require`.
    pub store_authorities: Option<PathBuf>,
    /// Whether the host starts held: events and ticks are recorded, but nothing starts.
    pub hold: bool,
    /// How long runs may continue after SIGTERM.
    pub drain: Period,
    /// The file of the bearer token, relative to the home; by default `token`.
    pub token_file: Option<PathBuf>,
    /// The maximum number of clients of the control protocol.
    pub clients: u32,
    /// The maximum number of requests of all these clients that are open at the same time.
    pub dispatches: u32,
    /// The number of threads that work for clients and runs; by default one for each core, and at most 4.
    pub workers: Option<u32>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7777".to_owned(),
            name: None,
            store: "sqlite".to_owned(),
            store_password_file: None,
            store_password_env: None,
            store_authorities: None,
            hold: false,
            drain: Period::from_secs(25),
            token_file: None,
            clients: 1024,
            dispatches: 256,
            workers: None,
        }
    }
}

impl Host {
    /// Returns the file and the variable of the password of the database.
    pub fn store_password(&self) -> SecretPlaces<'_> {
        SecretPlaces {
            file: self.store_password_file.as_deref(),
            env: self.store_password_env.as_deref(),
        }
    }
}

/// One watched repository.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repo {
    /// The directory of the repository or of its work tree.
    pub path: PathBuf,
    /// The name of the repository; by default `owner/name` of the URL of `origin`, else the name of the directory.
    #[serde(default)]
    pub name: Option<String>,
    /// The branch with the daemon files; by default that of `origin/HEAD`, else `main`, `master`, or that of HEAD.
    #[serde(default, rename = "ref")]
    pub branch: Option<String>,
    /// The remote whose branches and tags are watched; it is fetched at each poll. By default the local ones are watched.
    #[serde(default)]
    pub remote: Option<String>,
    /// The interval at which the refs are read, in addition to notifications of the file system.
    #[serde(default = "default_poll")]
    pub poll: Period,
    /// The IANA zone of the schedules of its daemons.
    #[serde(default)]
    pub zone: Option<String>,
}

/// The default interval at which refs are read.
pub(crate) fn default_poll() -> Period {
    Period::from_secs(30)
}

/// The treatment of schedules.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Schedule")]
pub struct ScheduleConfig {
    /// The IANA name of the zone.
    pub zone: String,
    /// The treatment of overdue ticks.
    pub misfire: Misfire,
    /// The maximum age of an overdue tick that still runs.
    pub window: Period,
    /// The treatment of a tick while an earlier one is unfinished.
    pub overlap: Overlap,
    /// The maximum delay by which starts are spread.
    pub jitter: Period,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            zone: "UTC".to_owned(),
            misfire: Misfire::Coalesce,
            window: Period::from_secs(24 * 3600),
            overlap: Overlap::BufferOne,
            jitter: Period::from_secs(0),
        }
    }
}

/// The treatment of overdue ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// The newest tick runs; the others in the window join it.
    Coalesce,
    /// Ticks that are more than a minute late are skipped.
    Skip,
    /// All ticks in the window run, the oldest first, at most 100.
    CatchUp,
}

/// The treatment of a tick while an earlier one is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// One tick waits; later ones join it.
    BufferOne,
    /// The tick is skipped.
    Skip,
    /// All ticks wait, at most 100.
    BufferAll,
    /// The unfinished activation is cancelled.
    CancelOther,
}

/// The permissions of runs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The capability of every daemon without one of its own.
    pub capability: Capability,
    /// The lowest sandbox level at which a run that starts programs may start, 0 to 3. A run gets the highest level that this
    /// machine supports.
    pub sandbox_min: u8,
    /// The instructions of the repository, `AGENTS.md` or else `CLAUDE.md`, that runs of daemons receive.
    pub repo_instructions: RepoInstructions,
    /// Policies of single daemons, by `<id>` or by `<repository>/<id>`; the latter takes precedence.
    pub daemon: BTreeMap<String, DaemonPolicy>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            capability: Capability::Propose,
            sandbox_min: 2,
            repo_instructions: RepoInstructions::DefaultBranch,
            daemon: BTreeMap::new(),
        }
    }
}

/// The instructions of the repository that runs of daemons receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepoInstructions {
    /// Those at the root of the default branch, after the daemon file, which takes precedence.
    DefaultBranch,
    /// None.
    Off,
}

/// The reach of a run's effects.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// A run changes only its daemon's state.
    Read,
    /// A run makes proposals that a person can ignore, such as a new branch.
    Propose,
    /// A run changes existing things.
    Write,
}

impl Capability {
    /// Returns the permissions of a run with this capability.
    pub fn permissions(self) -> Permissions {
        match self {
            Self::Read => Permissions::Read,
            Self::Propose => Permissions::Propose,
            Self::Write => Permissions::Write,
        }
    }

    /// Returns the word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Propose => "propose",
            Self::Write => "write",
        }
    }
}

/// The policy of one daemon; missing settings follow the general policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonPolicy {
    /// The capability of its runs.
    pub capability: Option<Capability>,
    /// The lowest sandbox level at which its runs may start, 0 to 3.
    pub sandbox_min: Option<u8>,
    /// The name of its provider.
    pub provider: Option<String>,
    /// The IANA zone of its schedule.
    pub zone: Option<String>,
    /// The treatment of its overdue ticks.
    pub misfire: Option<Misfire>,
    /// The maximum age of an overdue tick that still runs.
    pub window: Option<Period>,
    /// The treatment of a tick while an earlier one is unfinished.
    pub overlap: Option<Overlap>,
    /// The maximum delay by which starts are spread.
    pub jitter: Option<Period>,
    /// How long the first event of a subject waits for further events, at most 5 minutes.
    pub settle: Option<Period>,
    /// The MCP servers whose tools its runs get.
    pub mcp: Option<Vec<String>>,
    /// The most that one of its activations may cost, in US dollars; by default `budget.activation_usd`.
    pub activation_usd: Option<f64>,
    /// What its outputs may be about, in addition to what woke it and to its own outputs: `github:owner/name`,
    /// `linear:ENG-*`, `slack:C024BE91L`; and names that they may mention, such as `@octocat`.
    pub targets: Option<Vec<String>>,
    /// Whether its changes are added to one branch, `daemon/<id>/rolling`, and its one pull request, by default false.
    pub rolling: Option<bool>,
    /// Whether the daemon does not exist yet, so that no repository needs to have it.
    pub planned: bool,
}

impl DaemonPolicy {
    /// Splits the key of a policy into the name of a repository, if it has one, and a daemon's id.
    pub fn named(key: &str) -> (Option<&str>, &str) {
        // The name of a repository contains `/`, an id does not.
        match key.rsplit_once('/') {
            Some((repo, id)) => (Some(repo), id),
            None => (None, key),
        }
    }
}

/// The limits of the cost of runs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Budget")]
pub struct BudgetConfig {
    /// The maximum cost of an activation with all its attempts, in US dollars; it is passed to the provider.
    pub activation_usd: f64,
    /// The maximum cost of the activations of a day, in US dollars, as far as providers report it; further activations wait.
    pub day_usd: Option<f64>,
}

impl Default for BudgetConfig {
    fn default() -> Self {
        Self {
            activation_usd: 1.0,
            day_usd: Some(10.0),
        }
    }
}

/// How long records are kept.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retain {
    /// How long the payloads of events are kept.
    pub payloads: Retention,
    /// How long the records of ticks are kept.
    pub ticks: Retention,
    /// How long the folders and rows of ended runs are kept.
    pub runs: Retention,
}

impl Default for Retain {
    fn default() -> Self {
        Self {
            payloads: Retention::For(Period::from_secs(14 * 86_400)),
            ticks: Retention::For(Period::from_secs(400 * 86_400)),
            runs: Retention::Forever,
        }
    }
}

/// The log of the host.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// A level, or a list with levels of single targets, such as `info,daemon_host=debug`.
    pub level: String,
    /// The format of the lines.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}
