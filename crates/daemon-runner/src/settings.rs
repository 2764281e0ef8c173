//! The settings of a host that runs use, replaced as a whole by a reload.

use std::collections::BTreeMap;
use std::ffi::OsString;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_engine::Facts;
use daemon_engine::proposal::ServedSurfaces;
use daemon_event::{DaemonKey, RepoName};
use daemon_process::ProgramError;
use daemon_provider::tool_access::ToolAccess;
use daemon_provider::{MicroUsd, Provider};
use daemon_records::environment;
use daemon_repo::{FetchSource, Git, GitError, Instructions, ObjectId, Remote, Repository};

use crate::planner::OutputPlanner;
use crate::policy::{ReachedSandbox, RunPolicy};
use crate::servers::Servers;
use crate::trees::TreeLimits;

/// The source of the policies of runs: the host's configuration.
pub trait Policies: Send + Sync {
    /// Returns the policy of a daemon's runs, or without a daemon that of one-off runs. A named provider replaces the
    /// configured one.
    fn policy(&self, daemon: Option<&DaemonKey>, provider: Option<&str>) -> RunPolicy;
}

/// A provider with the settings of its section.
#[derive(Clone)]
pub struct ConfiguredProvider {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// The environment variables that its programs inherit from the host, in addition to `PATH` and `LANG`.
    pub variables: Vec<String>,
    /// Whether its runs get a shell as a tool.
    pub has_bash: bool,
    /// Whether its runs may reach hosts, from which a tool can fetch text.
    pub has_web: bool,
}

/// A watched repository, as runs use it.
#[derive(Clone, Debug)]
pub struct RunRepository {
    /// The name.
    pub name: RepoName,
    /// The repository.
    pub repository: Repository,
    /// Where commits are fetched from that it does not have.
    pub source: FetchSource,
    /// Where the branches of daemons go.
    pub delivery: Remote,
    /// The instructions of its default branch.
    pub instructions: KnownInstructions,
}

/// The instructions of a repository at the commit for which they were read last.
///
/// Most runs start at the same tip as the run before, and reading takes two processes.
#[derive(Clone, Debug, Default)]
pub struct KnownInstructions(Arc<Mutex<Option<(ObjectId, Instructions)>>>);

impl KnownInstructions {
    /// Returns the instructions of a commit; reads them if the commit is another one than the last.
    ///
    /// # Errors
    /// git failed.
    pub(crate) fn at(
        &self,
        repository: &Repository,
        commit: &ObjectId,
    ) -> Result<Instructions, GitError> {
        let known = self.0.lock().expect("no holder panics").clone();
        if let Some((_, instructions)) = known.filter(|(at, _)| at == commit) {
            return Ok(instructions);
        }
        let read = repository.instructions(commit)?;
        *self.0.lock().expect("no holder panics") = Some((commit.clone(), read.clone()));
        Ok(read)
    }
}

/// The sandboxes of the runs of each provider.
#[derive(Clone, Debug)]
pub struct Sandboxes {
    usual: ReachedSandbox,
    own: BTreeMap<String, ReachedSandbox>,
    overlays: Overlays,
}

/// Whether work trees can be overlays on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlays {
    /// An isolated child can mount them in the home.
    Mounted,
    /// They are not used, for this reason.
    Unused(String),
}

impl Sandboxes {
    /// Makes the sandboxes of providers by their names, and that of every other provider.
    pub fn new(
        usual: ReachedSandbox,
        own: BTreeMap<String, ReachedSandbox>,
        overlays: Overlays,
    ) -> Self {
        Self {
            usual,
            own,
            overlays,
        }
    }

    /// Returns whether work trees can be overlays.
    pub fn overlays(&self) -> &Overlays {
        &self.overlays
    }

    /// Returns the sandbox of providers without settings of their own.
    pub fn usual(&self) -> &ReachedSandbox {
        &self.usual
    }

    /// Returns the sandbox of a provider's runs.
    pub fn of(&self, provider: &str) -> &ReachedSandbox {
        self.own.get(provider).unwrap_or(&self.usual)
    }
}

/// The bounds of the whole host.
#[derive(Clone, Copy, Debug)]
pub struct HostBounds {
    /// The budget of the day.
    pub day: DayBounds,
    /// How many one-off runs may be under way.
    pub emanations: u32,
    /// How long runs may continue after the host began to stop.
    pub drain: Duration,
    /// How many checked-out trees are kept between runs.
    pub trees: TreeLimits,
}

/// What runs may cost within 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayBounds {
    /// The limit; `None` is without one.
    pub limit: Option<MicroUsd>,
    /// What the limit must leave so that a run may start: the budget of an activation.
    pub start: MicroUsd,
}

/// The settings of a host that runs use.
pub struct RunSettings {
    /// The policies of runs.
    pub policies: Arc<dyn Policies>,
    /// The providers, by name.
    pub providers: BTreeMap<String, ConfiguredProvider>,
    /// The provider, or the model of one, that answers for agents that name none; `None` for the usual provider.
    pub active_model: Option<String>,
    /// The model providers of the home's presets, by preset.
    pub presets: BTreeMap<String, Arc<dyn Provider>>,
    /// The repositories that git has opened.
    pub repositories: Vec<RunRepository>,
    /// Whether a configured repository is not open yet: a name that is unknown now may become known.
    pub has_unopened: bool,
    /// The MCP servers that a policy can grant.
    pub servers: Servers,
    /// The surfaces that outputs can go to.
    pub surfaces: ServedSurfaces,
    /// Fetches what payloads do not contain.
    pub facts: Arc<dyn Facts>,
    /// What plans the outputs of a run.
    pub planner: Arc<dyn OutputPlanner>,
    /// What serves the tools of a run to its program; `None` where no host listens.
    pub tools: Option<Arc<dyn ToolAccess>>,
    /// What the agents of standing daemons may do without asking.
    pub standing_allowlist: Vec<String>,
    /// The sandboxes of runs.
    pub sandboxes: Sandboxes,
    /// The bounds of the whole host.
    pub bounds: HostBounds,
}

impl std::fmt::Debug for RunSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSettings")
            .field("repositories", &self.repositories)
            .field("sandboxes", &self.sandboxes)
            .finish_non_exhaustive()
    }
}

impl RunSettings {
    /// Returns the sandbox of the runs of a policy.
    pub fn sandbox_of(&self, policy: &RunPolicy) -> &ReachedSandbox {
        self.sandboxes.of(&policy.provider)
    }

    /// Returns a repository by its name; the letter case is ignored, as GitHub ignores it.
    pub(crate) fn repository(&self, name: &RepoName) -> Option<&RunRepository> {
        let folded = name.folded();
        let mut repositories = self.repositories.iter();
        repositories.find(|repository| repository.name.folded() == folded)
    }

    /// Returns the groups of tools that only some providers serve, each with the name of a provider.
    pub(crate) fn further_groups(&self) -> Vec<(String, &'static str)> {
        let named = self.providers.iter();
        let groups = named.flat_map(|(name, configured)| {
            let bash = configured.has_bash.then_some("bash");
            let web = configured.has_web.then_some("web");
            bash.into_iter()
                .chain(web)
                .map(|group| (name.clone(), group))
        });
        groups.collect()
    }

    /// Returns the environment of a provider's programs: [`usual_environment`] and the variables its section names.
    pub(crate) fn environment(&self, provider: &str) -> BTreeMap<OsString, OsString> {
        let configured = self.providers.get(provider).into_iter();
        let named = configured
            .flat_map(|configured| &configured.variables)
            .filter_map(|name| Some((name.into(), environment::variable(name)?)));
        let variables = usual_environment().into_iter().chain(named);
        if daemon_records::failpoint::is_planted("inherit-environment") {
            return environment::all().chain(variables).collect();
        }
        variables.collect()
    }
}

/// Returns the variables that every program gets: `PATH` and `LANG`, those of the host or usual ones.
pub fn usual_environment() -> [(OsString, OsString); 2] {
    let usual = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
    ];
    usual.map(|(name, usual)| {
        let value = environment::variable(name).unwrap_or_else(|| usual.into());
        (OsString::from(name), value)
    })
}

/// Finds git on the search path that every program gets.
///
/// # Errors
/// No directory of it contains git.
pub(crate) fn git() -> Result<Git, ProgramError> {
    let [(_, path), _] = usual_environment();
    Git::find(&path)
}
