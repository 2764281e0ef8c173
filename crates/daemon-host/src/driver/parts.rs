//! The parts that the binary composes for the driver: linter, planner, providers, surfaces and repositories.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_agent::AgentHooks;
use daemon_engine::{Reconciler, Surface};
use daemon_event::RepoName;
use daemon_provider::Provider;
use daemon_repo::Discovery;
use daemon_runner::planner::OutputPlanner;
use daemon_runner::policy::{ReachedSandbox, RunPolicy};
use daemon_runner::settings::Sandboxes;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::repos::Watched;
use crate::config::Config;

/// The result of checking a daemon file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its purpose, as far as it could be read.
    pub purpose: String,
    /// Its `watch` conditions.
    pub watch: Vec<String>,
    /// Its schedule, where it is valid.
    pub schedule: Option<String>,
    /// The diagnostics, as the JSON array that the linter prints.
    pub diagnostics: Value,
    /// Whether it is valid, so that it may wake.
    pub is_registrable: bool,
}

/// Checks the daemon files of a repository; the binary provides the linter.
pub trait Checker: Send + Sync {
    /// Checks every daemon of a discovery, in its order; `zone_of` returns the zone of a daemon's schedule.
    fn check(&self, discovery: &Discovery, zone_of: &dyn Fn(&str) -> String) -> Vec<Checked>;
}

/// A configured repository that git refused, or has not opened in time; in the latter case the opening continues.
#[derive(Clone, Debug)]
pub struct Unopened {
    /// Its configured name, else the name of its folder, which may differ from the name that git will give.
    pub name: RepoName,
    /// The origin of `name`.
    pub naming: Naming,
    /// Why it is not open.
    pub why: NotOpen,
}

/// Why a repository is not open.
#[derive(Clone, Debug)]
pub enum NotOpen {
    /// Git has not responded. The token is cancelled when it has; composing the parts again may succeed then.
    Waiting(CancellationToken),
    /// Git refused it, for this reason.
    Refused(String),
}

/// Where the name of an unopened repository comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The configuration.
    Configured,
    /// Its folder, until git responds.
    Guessed,
}

/// The parts that the binary composes from a configuration.
#[derive(Clone)]
pub struct Parts {
    /// Checks daemon files.
    pub checker: Arc<dyn Checker>,
    /// The planner of outputs.
    pub planner: Arc<dyn OutputPlanner>,
    /// Providers by name.
    pub providers: BTreeMap<String, Arc<dyn Provider>>,
    /// Providers by the names of the home's presets.
    pub presets: BTreeMap<String, Arc<dyn Provider>>,
    /// Surfaces by name.
    pub surfaces: BTreeMap<String, Arc<dyn Surface>>,
    /// Fetches facts that neither payloads nor local git contain.
    pub facts: Arc<dyn daemon_engine::Facts>,
    /// Compare services with what their webhooks brought.
    pub reconcilers: Vec<Arc<dyn Reconciler>>,
    /// The repositories.
    pub repos: Vec<Arc<Watched>>,
    /// The configured repositories that are not among `repos` yet.
    pub unopened: Vec<Unopened>,
    /// The MCP servers that policy may grant.
    pub servers: daemon_runner::servers::Servers,
    /// The hooks of the turns of agents.
    pub hooks: AgentHooks,
    /// The path of this program, which runs start as `mcp --run SOCKET` for the host's tools; `None` if no run gets them.
    pub program: Option<std::path::PathBuf>,
    /// The sandboxes of the children of each provider.
    pub sandboxes: Sandboxes,
}

impl Parts {
    /// Names the configured repositories, opened or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = &RepoName> {
        let unopened = self.unopened.iter().map(|repo| &repo.name);
        self.repos.iter().map(|repo| &repo.name).chain(unopened)
    }

    /// Reports whether the name is that of the folder of a repository that git has not opened yet.
    pub(crate) fn is_guessed(&self, repo: &RepoName) -> bool {
        let mut unopened = self.unopened.iter();
        unopened.any(|one| one.naming == Naming::Guessed && one.name == *repo)
    }

    /// Returns the sandbox that the runs of a policy get.
    pub fn sandbox_of(&self, policy: &RunPolicy) -> &ReachedSandbox {
        self.sandboxes.of(&policy.provider)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("repos", &self.repos)
            .field("sandboxes", &self.sandboxes)
            .finish_non_exhaustive()
    }
}

/// A configuration with its parts; a reload replaces both.
#[derive(Debug)]
pub struct Runtime {
    /// The configuration.
    pub config: Arc<Config>,
    /// The parts.
    pub parts: Parts,
    /// The number of this configuration: 1 for the first, one more for each that replaces it.
    pub generation: u64,
}
