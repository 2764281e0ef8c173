//! Composes the host from its configuration: the only module that names adapters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use daemon_agent::{AgentHooks, Hook, Memories, MemoryHook, Skills, SkillsHook};
use daemon_api::http::McpCaller;
use daemon_api::ops::Operations;
use daemon_engine::Surface;
use daemon_host::config::{self, Config, ConfigError, ConfigFault, Period, Problem};
use daemon_host::driver::repos::Watched;
use daemon_host::driver::{Checked, Checker, Parts};
use daemon_host::home::Home;
use daemon_host::serve::{Compose, OpenFailure};
use daemon_mcp::ToolServer;
use daemon_process::Supervisor;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_repo::{Discovery, Git, Remote, Repository, UncommittedDirectory};
use daemon_runner::secrets::HostSecrets;
use daemon_runner::settings::{KnownInstructions, RunRepository};
use daemon_store::Store;
use daemon_store::agent_memory::AgentMemory;
use daemon_store_sqlite::SqliteMemory;
use daemon_surface::{GitBranch, GithubSurface, LinearSurface, ServiceApi, SlackSurface};
use tokio::runtime::Handle;

use crate::names;
use crate::place::Place;
use crate::planner::SurfacePlanner;
use crate::sandboxes::sandboxes;
use crate::services::{GitServer, SurfaceApis, reconcilers, services, surface_apis};
use crate::watched::{GitAccess, LateRepositories};

/// How long git may take to open the repositories of a command without a host; longer than the limit of any git command.
const OPENING: Duration = Duration::from_secs(300);

/// Flags that override the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// `--repo`.
    pub(crate) repos: Vec<PathBuf>,
    /// `--listen`.
    pub(crate) listen: Option<String>,
    /// `--store`.
    pub(crate) store: Option<String>,
    /// `--hold`.
    pub(crate) hold: bool,
    /// `--working-tree`: what the one repository has in addition to the commit of HEAD.
    pub(crate) uncommitted: Option<UncommittedDirectory>,
}

/// Reads the configuration and composes the parts of a host from it.
pub(crate) struct Composer {
    config: Option<PathBuf>,
    /// Whether the configuration that was read last came from the file, not from defaults.
    is_from_file: AtomicBool,
    /// Whether a configuration from the file has been in force. From then on a missing file is an error: it may be in the
    /// middle of being replaced, and defaults would drop every repository.
    was_from_file: AtomicBool,
    /// The repositories that git had not opened by the deadline.
    pub(crate) late: Mutex<LateRepositories>,
    pub(crate) directory: PathBuf,
    pub(crate) path: std::ffi::OsString,
    store: Option<String>,
    pub(crate) overrides: Overrides,
    pub(crate) supervisor: Mutex<Option<Supervisor>>,
    /// The secrets of the host, to which tokens of surfaces are added when they are issued.
    secrets: HostSecrets,
    /// Made once, so that each file has one owner across reloads.
    memories: OnceLock<Arc<Memories>>,
    place: Place,
}

impl Composer {
    /// Returns the composer of a home; flags and environment override its configuration.
    pub(crate) fn new(place: &Place, overrides: Overrides) -> Self {
        Self {
            config: place.home.as_ref().map(|home| home.join("config.toml")),
            is_from_file: AtomicBool::new(false),
            was_from_file: AtomicBool::new(false),
            late: Mutex::default(),
            directory: place.directory.clone(),
            path: place.path.clone(),
            store: place.store.clone(),
            overrides,
            supervisor: Mutex::new(None),
            secrets: HostSecrets::default(),
            memories: OnceLock::new(),
            place: place.clone(),
        }
    }

    /// Sets the secrets of the host, which its logs and records are kept free of.
    pub(crate) fn with_secrets(self, secrets: HostSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// Returns the secrets of the host.
    pub(crate) fn secrets(&self) -> HostSecrets {
        self.secrets.clone()
    }

    /// Returns the directory that paths of the configuration are relative to.
    pub(crate) fn home(&self) -> &Path {
        let home = self.config.as_deref().and_then(Path::parent);
        home.unwrap_or(&self.directory)
    }

    /// Returns the path and the content of the configuration file; `None` if it does not exist.
    fn text(&self) -> Result<(&Path, Option<String>), OpError> {
        let Some(path) = self.config.as_deref() else {
            return Ok((Path::new("config.toml"), None));
        };
        // Reading through a dangling link fails with `NotFound`, too, but is not a missing configuration.
        let has_no_entry = || {
            path.symlink_metadata()
                .is_err_and(|error| is_absent(&error))
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((path, Some(text))),
            Err(error) if is_absent(&error) && has_no_entry() => Ok((path, None)),
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    /// Reports whether two paths name one directory.
    fn is_same(&self, one: &Path, other: &Path) -> bool {
        let resolve = |path: &Path| self.directory.join(path).canonicalize().ok();
        resolve(one).is_some_and(|one| Some(one) == resolve(other))
    }

    /// Combines the hooks of the turns of agents.
    fn hooks(&self) -> Result<AgentHooks, OpError> {
        let home = Home::named(self.home());
        let memories = self.memories.get_or_init(|| {
            let of_file = |path| Arc::new(SqliteMemory::new(path)) as Arc<dyn AgentMemory>;
            Arc::new(Memories::new(home.memory(), of_file))
        });
        let memory = MemoryHook::new(Arc::clone(memories));
        let skills = SkillsHook::new(Skills::new(home.skills()));
        AgentHooks::new([Arc::new(memory) as Arc<dyn Hook>, Arc::new(skills)])
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))
    }

    /// Finds git on the search path.
    pub(crate) fn git(&self) -> Result<Git, OpError> {
        Git::find(&self.path).map_err(|error| {
            OpError::new(OpErrorKind::Unavailable, "no-git", chain(&error)).with_help("install git")
        })
    }
}

impl Compose for Composer {
    fn tool_server(&self, operations: &Operations, caller: &McpCaller) -> ToolServer {
        crate::mcp::over_http::server(operations, caller, &self.place)
    }

    fn load(&self) -> Result<Config, OpError> {
        let (path, text) = self.text()?;
        let lost = match text.as_deref().map(str::trim_ascii) {
            None => Some("does not exist any more"),
            Some("") => Some("is empty"),
            Some(_) => None,
        };
        if let Some(how) = lost.filter(|_| self.was_from_file.load(Ordering::Relaxed)) {
            return Err(vanished(path, how));
        }
        let read = config::parse_with(&text.unwrap_or_default(), names::faults);
        let mut config = read.map_err(|error| invalid(path, &error))?;
        self.is_from_file.store(lost.is_none(), Ordering::Relaxed);
        // A repository of `--repo` may be configured, too; its settings apply then.
        for path in &self.overrides.repos {
            if config
                .repo
                .iter()
                .any(|known| self.is_same(&known.path, path))
            {
                continue;
            }
            config.repo.push(config::Repo {
                path: self.directory.join(path),
                name: None,
                branch: None,
                remote: None,
                poll: Period::from_secs(30),
                zone: None,
            });
        }
        if let Some(listen) = &self.overrides.listen {
            config.host.listen.clone_from(listen);
        }
        if let Some(store) = self.overrides.store.as_ref().or(self.store.as_ref()) {
            config.host.store.clone_from(store);
        }
        // The flag can hold a host, but its absence does not release one that the configuration holds.
        config.host.hold |= self.overrides.hold;
        Ok(config)
    }

    fn check(&self, text: &str) -> Result<(), OpError> {
        let path = self.config.as_deref().unwrap_or(Path::new("config.toml"));
        let read = config::parse_with(text, names::faults);
        read.map(drop).map_err(|error| invalid(path, &error))
    }

    fn open_store(&self, home: &Home, config: &Config) -> Result<Arc<dyn Store>, OpError> {
        // On a thread for blocking calls, which does not keep the runtime from driving the connection.
        Handle::current().block_on(daemon_home_store::open(home, &config.host))
    }

    fn note_in_force(&self) {
        let is_from_file = self.is_from_file.load(Ordering::Relaxed);
        // Never cleared: a later configuration from defaults must not make a missing file acceptable again.
        self.was_from_file.fetch_or(is_from_file, Ordering::Relaxed);
    }

    fn parts(
        &self,
        config: &Config,
        until: Instant,
        failure: OpenFailure,
    ) -> Result<Parts, OpError> {
        let git = self.git()?;
        let apis = surface_apis(self.home(), config, &self.secrets)?;
        let facts = services(self.home(), config, &apis)?;
        let server = GitServer::of(config, &apis, &facts);
        let git = GitAccess { git, server };
        let (repos, unopened) = self.watched(&git, config, until, failure)?;
        self.check_system(config)?;
        let reconcilers = reconcilers(config, (&facts, &apis), &repos);
        let github = self.github(&repos, apis.github.clone());
        let surfaces = self.surfaces(config, &repos, (apis, github.clone()))?;
        Ok(Parts {
            // `current_exe` fails if this program was replaced while it runs; runs then have no tools of the host.
            program: std::env::current_exe().ok(),
            checker: Arc::new(LintChecker),
            planner: Arc::new(SurfacePlanner {
                github,
                protected: config.surfaces.git.branches(),
            }),
            providers: self.providers(config)?,
            presets: self.presets(config)?,
            surfaces,
            facts: Arc::new(facts),
            reconcilers,
            servers: self.servers(config)?,
            hooks: self.hooks()?,
            repos,
            unopened,
            sandboxes: sandboxes(self.home(), config),
        })
    }

    fn refuse(&self, faults: &[ConfigFault]) -> OpError {
        match self.text() {
            Ok((path, text)) => invalid(path, &config::locate(&text.unwrap_or_default(), faults)),
            Err(error) => error,
        }
    }
}

/// Reports whether an error means that a path, or a directory above it, does not exist.
pub(crate) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns the error for a configuration file that cannot be read.
fn unreadable(path: &Path, error: &std::io::Error) -> OpError {
    let refuse = |message| OpError::new(OpErrorKind::Config, "config-unreadable", message);
    let shown = path.display();
    match path.read_link() {
        Ok(target) if is_absent(error) => refuse(format!(
            "`{shown}` is a link to `{}`, which does not exist",
            target.display()
        ))
        .with_help("restore the target, or remove the link to use the defaults"),
        Ok(_) | Err(_) => refuse(format!("cannot read `{shown}`: {error}")),
    }
}

/// Returns the error for a reload while the configuration file is missing or empty.
fn vanished(path: &Path, how: &str) -> OpError {
    let message = format!(
        "`{}` {how}, but the host was started with it",
        path.display()
    );
    OpError::new(OpErrorKind::Config, "config-invalid", message)
        .with_help("restore the file and reload; to use the defaults, restart the host")
}

/// Returns the error for an invalid configuration, with one line for each problem.
fn invalid(path: &Path, error: &ConfigError) -> OpError {
    let problems = error.problems.iter().map(|problem| {
        let Problem {
            line,
            column,
            message,
        } = problem;
        format!("{}:{line}:{column}: {message}", path.display())
    });
    let message = problems.collect::<Vec<_>>().join("\n");
    let refused = OpError::new(OpErrorKind::Config, "config-invalid", message)
        .with_help("`daemon-run schema config` lists every key and its type");
    match error.problems.first() {
        Some(first) => {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            refused.at(number(first.line), number(first.column))
        }
        None => refused,
    }
}

impl Composer {
    /// Returns the surfaces by name: git, and the services that are configured.
    fn surfaces(
        &self,
        config: &Config,
        repos: &[Arc<Watched>],
        (apis, github): (SurfaceApis, Option<Arc<GithubSurface>>),
    ) -> Result<BTreeMap<String, Arc<dyn Surface>>, OpError> {
        let branches = GitBranch::new(self.places(config, repos)?);
        let mut acc: Vec<Arc<dyn Surface>> = vec![Arc::new(branches)];
        acc.extend(github.map(|surface| surface as Arc<dyn Surface>));
        let linear = apis.linear.map(LinearSurface::new);
        acc.extend(linear.map(|surface| Arc::new(surface) as Arc<dyn Surface>));
        let slack = apis.slack.map(SlackSurface::new);
        acc.extend(slack.map(|surface| Arc::new(surface) as Arc<dyn Surface>));
        let named = acc
            .into_iter()
            .map(|surface| (surface.name().to_owned(), surface));
        Ok(named.collect())
    }

    fn github(
        &self,
        repos: &[Arc<Watched>],
        api: Option<ServiceApi>,
    ) -> Option<Arc<GithubSurface>> {
        // A repository whose name has no owner is not on GitHub.
        let on_github = repos
            .iter()
            .filter_map(|repo| repo.name.as_str().parse().ok());
        api.map(|api| Arc::new(GithubSurface::new(api, on_github.collect())))
    }

    /// Returns the watched repositories and what knows the state of their pull requests, for a command without a host.
    pub(crate) fn branches(
        &self,
        config: &Config,
    ) -> Result<(Vec<RunRepository>, SurfacePlanner), OpError> {
        let apis = surface_apis(self.home(), config, &self.secrets)?;
        let facts = services(self.home(), config, &apis)?;
        let server = GitServer::of(config, &apis, &facts);
        let access = GitAccess {
            git: self.git()?,
            server,
        };
        let until = Instant::now() + OPENING;
        let (repos, _) = self.watched(&access, config, until, OpenFailure::Refuse)?;
        let places = self.places(config, &repos)?.into_iter();
        let repositories = places
            .zip(&repos)
            .map(|((repository, delivery), repo)| RunRepository {
                name: repo.name.clone(),
                repository,
                source: repo.source.clone(),
                delivery,
                instructions: KnownInstructions::default(),
            });
        let github = self.github(&repos, apis.github.clone());
        let protected = config.surfaces.git.branches();
        let planner = SurfacePlanner { github, protected };
        Ok((repositories.collect(), planner))
    }

    fn places(
        &self,
        config: &Config,
        repos: &[Arc<Watched>],
    ) -> Result<Vec<(Repository, Remote)>, OpError> {
        let remote: Remote = config.surfaces.git.remote.parse().map_err(|error| {
            let message = format!("surfaces.git.remote: {error}");
            self.refuse(&[ConfigFault::of_value(
                &["surfaces", "git", "remote"],
                message,
            )])
        })?;
        Ok(repos
            .iter()
            .map(|repo| (repo.repository.clone(), remote.clone()))
            .collect())
    }
}

/// Checks daemon files with the rules of the linter.
pub(crate) struct LintChecker;

impl Checker for LintChecker {
    fn check(&self, discovery: &Discovery, zone_of: &dyn Fn(&str) -> String) -> Vec<Checked> {
        crate::check::check(discovery, zone_of)
    }
}
