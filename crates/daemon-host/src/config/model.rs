//! The configuration as types, with its defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use daemon_event::{DaemonKey, RepoName};
use daemon_provider::Permissions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mcp::Mcp;
use super::provider::Providers;
use super::retention::Retention;
use super::sources::Sources;
use daemon_api::Period;

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The process: where it listens and what it keeps.
    pub host: Host,
    /// The control socket.
    pub uds: Uds,
    /// The watched repositories.
    pub repo: Vec<Repo>,
    /// How schedules are read and what happens to missed ticks.
    pub schedule: Schedule,
    /// What executes runs.
    pub provider: Providers,
    /// MCP servers that policy may grant to runs, by name.
    pub mcp: BTreeMap<String, Mcp>,
    /// What runs may do.
    pub policy: Policy,
    /// How much runs at once, and for how long.
    pub limits: Limits,
    /// What runs may cost.
    pub budget: Budget,
    /// Where events come from.
    pub sources: Sources,
    /// Where outputs go.
    pub surfaces: Surfaces,
    /// How long things are kept.
    pub retain: Retain,
    /// What is logged.
    pub log: Log,
}

impl Config {
    /// Reports whether the provider of any daemon runs a model or a program.
    pub fn has_model(&self) -> bool {
        let policies = self.policy.daemon.values();
        let own = policies.filter_map(|policy| policy.provider.as_ref());
        own.chain([&self.provider.default])
            .any(|name| self.provider.kind_of(name) != "builtin")
    }

    /// Returns the zone of a daemon's schedule: its own, else its repository's, else the general one.
    pub fn zone_of<'a>(&'a self, repo: &RepoName, id: &str, of_repo: Option<&'a str>) -> &'a str {
        // What cannot be an id has no policy of its own.
        let key = id.parse().ok().map(|id| DaemonKey {
            repo: repo.clone(),
            id,
        });
        key.and_then(|key| self.own(&key, |policy| policy.zone.as_deref()))
            .or(of_repo)
            .unwrap_or(&self.schedule.zone)
    }

    /// Returns one setting of a daemon's own policy: of the table that names its repository too, else of the table of its id.
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
        let of_repo = of_repo.and_then(|(_, policy)| setting(policy));
        of_repo.or_else(|| setting(self.policy.daemon.get(daemon.id.as_str())?))
    }
}

/// The process.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// The address of the HTTP listener; port 0 picks one.
    pub listen: String,
    /// The kind of the store; `sqlite` is served.
    pub store: String,
    /// Whether it starts held: everything is recorded, nothing runs.
    pub hold: bool,
    /// How long runs may go on after SIGTERM.
    pub drain: Period,
    /// The file of the bearer token, relative to the home.
    pub token_file: Option<PathBuf>,
    /// How many clients may be connected to the control socket.
    pub clients: u32,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7777".to_owned(),
            store: "sqlite".to_owned(),
            hold: false,
            drain: Period::from_secs(25),
            token_file: None,
            clients: 1024,
        }
    }
}

/// The control socket.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uds {
    /// Its path, relative to the home.
    pub path: PathBuf,
}

impl Default for Uds {
    fn default() -> Self {
        Self {
            path: PathBuf::from("run/daemon.sock"),
        }
    }
}

/// One watched repository.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repo {
    /// The directory of the repository or of its work tree.
    pub path: PathBuf,
    /// Its name; by default `owner/name` of the URL of `origin`, else the folder's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The branch daemon files are read from; by default that of `origin/HEAD`, else `main`, `master`, or HEAD's.
    #[serde(default, rename = "ref")]
    pub branch: Option<String>,
    /// The remote whose branches and tags are watched, fetched at each poll; by default the local ones are.
    #[serde(default)]
    pub remote: Option<String>,
    /// How often its refs are looked at when the file system tells nothing.
    #[serde(default = "default_poll")]
    pub poll: Period,
    /// The zone of its daemons' schedules.
    #[serde(default)]
    pub zone: Option<String>,
}

/// The interval of looking at refs where nothing else is configured.
pub(crate) fn default_poll() -> Period {
    Period::from_secs(30)
}

/// Policies of schedules.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// The IANA name of the zone.
    pub zone: String,
    /// What happens to overdue ticks.
    pub misfire: Misfire,
    /// How old an overdue tick may be.
    pub window: Period,
    /// What happens to a tick whose predecessor is unfinished.
    pub overlap: Overlap,
    /// The span over which starts are spread.
    pub jitter: Period,
}

impl Default for Schedule {
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

/// What happens to overdue ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// The newest runs, the others in the window join it.
    Coalesce,
    /// What is over a minute late is skipped.
    Skip,
    /// All in the window run, oldest first, at most 100.
    CatchUp,
}

/// What happens to a tick whose predecessor is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// One waits, later ones join it.
    BufferOne,
    /// It is skipped.
    Skip,
    /// All wait, at most 100.
    BufferAll,
    /// The unfinished one is cancelled.
    CancelOther,
}

/// What runs may do.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The capability of every daemon without its own.
    pub capability: Capability,
    /// The lowest sandbox level at which a run may start, 0 to 3.
    pub sandbox_min: u8,
    /// Policies of single daemons, by `<id>`, or by `<repository>/<id>`, which goes before the id alone.
    pub daemon: BTreeMap<String, DaemonPolicy>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            capability: Capability::Propose,
            sandbox_min: 1,
            daemon: BTreeMap::new(),
        }
    }
}

/// How far a run's effects reach.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// It changes only its daemon's state.
    Read,
    /// It proposes what a person can ignore, such as a new branch.
    Propose,
    /// It changes what exists.
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

/// The policy of one daemon; what is absent follows the general one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonPolicy {
    /// Its capability.
    pub capability: Option<Capability>,
    /// The lowest sandbox level at which its runs may start, 0 to 3.
    pub sandbox_min: Option<u8>,
    /// Its provider.
    pub provider: Option<String>,
    /// The zone of its schedule.
    pub zone: Option<String>,
    /// What happens to its overdue ticks.
    pub misfire: Option<Misfire>,
    /// How old an overdue tick may be.
    pub window: Option<Period>,
    /// What happens to a tick whose predecessor is unfinished.
    pub overlap: Option<Overlap>,
    /// The span over which starts are spread.
    pub jitter: Option<Period>,
    /// How long the first event of a subject waits for others, at most 5 minutes.
    pub settle: Option<Period>,
    /// The MCP servers whose tools its runs get.
    pub mcp: Option<Vec<String>>,
    /// Whether the daemon is one to come, so that no repository needs to have it.
    pub planned: bool,
}

impl DaemonPolicy {
    /// Divides the key of a policy into the name of a repository, where it has one, and a daemon's id.
    pub fn named(key: &str) -> (Option<&str>, &str) {
        match key.rsplit_once('/') {
            Some((repo, id)) => (Some(repo), id),
            None => (None, key),
        }
    }
}

/// How much runs at once, and for how long.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Activations at once in all.
    pub host: u32,
    /// Activations at once of one daemon.
    pub daemon: u32,
    /// Activations of one daemon about one subject that may begin in an hour; more wait and join.
    pub rate_subject: u32,
    /// Activations of one daemon that may begin in an hour.
    pub rate_daemon: u32,
    /// Activations that may begin in an hour in all.
    pub rate_host: u32,
    /// Dispatched runs at once.
    pub emanations: u32,
    /// How deep a chain of daemons that wake each other may grow.
    pub chain_depth: u32,
    /// The longest run.
    pub wall: Period,
    /// The longest silence of a run.
    pub idle: Period,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            host: 4,
            daemon: 1,
            rate_subject: 6,
            rate_daemon: 60,
            rate_host: 600,
            emanations: 100,
            chain_depth: 3,
            wall: Period::from_secs(30 * 60),
            idle: Period::from_secs(10 * 60),
        }
    }
}

/// What runs may cost.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// US dollars an activation may cost over all its attempts; passed to the provider.
    pub activation_usd: f64,
    /// US dollars that the activations of a day may cost, as far as providers tell; more waits.
    pub day_usd: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            activation_usd: 1.0,
            day_usd: Some(10.0),
        }
    }
}

/// Where outputs go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Surfaces {
    /// Branches.
    pub git: GitSurface,
}

/// Where branches are pushed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitSurface {
    /// `.` for the watched repository itself, or the name of one of its remotes.
    pub remote: String,
}

impl Default for GitSurface {
    fn default() -> Self {
        Self {
            remote: ".".to_owned(),
        }
    }
}

/// How long things are kept.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retain {
    /// Payloads of events.
    pub payloads: Retention,
    /// Records of ticks.
    pub ticks: Retention,
    /// Folders of runs that ended, with their rows.
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

/// What is logged.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// A level, or levels of single targets with commas between them, such as `info,daemon_host=debug`.
    pub level: String,
    /// How lines look.
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

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
