//! Coding agents (`claude`, `codex`, `opencode`) as providers.

mod bypass;
mod claude;
mod codex;
mod mount;
mod opencode;
mod values;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_process::{SandboxLevel, Supervisor, VisibleUser};
use daemon_provider::{
    Companion, FollowUps, Limits, McpUse, Options, Permissions, Pricing, Provider, ProviderError,
    ProviderErrorKind, Run, RunRequest,
};

use crate::program::{LaunchInput, ProgramConfig};
use crate::run::ProgramRun;

/// A supported coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Anthropic's `claude`.
    Claude,
    /// OpenAI's `codex`.
    Codex,
    /// `opencode`.
    Opencode,
}

/// Permissions of an agent, as the configuration of the host sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentPermissions {
    /// Those of the run; a request that needs a person's approval is denied.
    OfRun,
    /// All: the agent's own permission checks are switched off also where no sandbox replaces them.
    Bypass,
}

/// Configuration of an [`AgentProvider`].
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// The executable, its search path and its limits.
    pub program: ProgramConfig,
    /// The agent, which decides the command line and the parser of the output.
    pub agent: Agent,
    /// The model, spelled as the agent spells it; `None` uses the agent's default.
    pub model: Option<String>,
    /// Whether runs keep their own permissions or bypass the agent's checks.
    pub permissions: AgentPermissions,
    /// The home directory whose login of the agent is used; with `None` the agent finds credentials only in its environment.
    pub login: Option<PathBuf>,
}

/// A help command of an agent, and the flags that its output must list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Help {
    /// Arguments that print the help, such as `exec --help`.
    pub arguments: &'static [&'static str],
    /// Flags of that command which this crate uses.
    pub flags: &'static [&'static str],
}

impl Agent {
    /// All supported agents.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Opencode];

    /// Returns the agent's name, which is that of its program.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }

    /// Returns the version series that the flags and the output format were tested with.
    pub fn tried(self) -> &'static str {
        match self {
            Self::Claude => "2.1",
            Self::Codex => "0.169",
            Self::Opencode => "1.18",
        }
    }

    /// Returns the agent's help commands with the flags that each must list.
    pub fn helps(self) -> &'static [Help] {
        match self {
            Self::Claude => &claude::HELPS,
            Self::Codex => &codex::HELPS,
            Self::Opencode => &opencode::HELPS,
        }
    }

    /// Returns the paths at which a repository may hold settings, hooks or MCP servers for the agent; runs use none of them.
    pub fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                ".claude/settings.json",
                ".claude/settings.local.json",
                ".mcp.json",
            ],
            Self::Codex => &[".codex"],
            Self::Opencode => &["opencode.json", "opencode.jsonc", ".opencode"],
        }
    }

    /// Returns the destinations that the agent needs for a model, as entries of an egress list: its model's API, and the hosts
    /// where it refreshes its login. A model of `opencode` begins with the name of its vendor; other vendors have to be listed by the operator.
    pub fn destinations(self, model: Option<&str>) -> Vec<String> {
        let hosts = match self {
            Self::Claude => claude::HOSTS.to_vec(),
            Self::Codex => codex::HOSTS.to_vec(),
            Self::Opencode => opencode::hosts(model),
        };
        hosts.iter().map(|host| format!("{host}:443")).collect()
    }

    /// Returns the first argument of an operator that would change the permissions of runs.
    ///
    /// [`AgentConfig::permissions`] is the only setting that may change them.
    pub fn widened_by(self, args: &[String]) -> Option<&str> {
        bypass::find(self, args)
    }

    /// Returns the flags that a caller may not add; `--model` is among them only if the host sets a model.
    fn reserved(self, model: Option<&str>) -> &'static [&'static str] {
        let all: &[&str] = match self {
            Self::Claude => &claude::RESERVED,
            Self::Codex => &codex::RESERVED,
            Self::Opencode => &opencode::RESERVED,
        };
        match (model, all.split_last()) {
            (None, Some((&"--model", others))) => others,
            _ => all,
        }
    }
}

impl AgentConfig {
    /// Makes the configuration of an agent with its default model, the permissions of each run, and the defaults of
    /// [`ProgramConfig::new`].
    pub fn new(name: impl Into<String>, agent: Agent) -> Self {
        Self {
            program: ProgramConfig::new(name, agent.as_str()),
            agent,
            model: None,
            permissions: AgentPermissions::OfRun,
            login: None,
        }
    }

    /// Returns the variable that names the agent's login directory, and that directory; `None` without [`AgentConfig::login`].
    pub fn login_state(&self) -> Option<(&'static str, PathBuf)> {
        let home = self.login.as_deref()?;
        Some(match self.agent {
            Agent::Claude => ("CLAUDE_CONFIG_DIR", home.join(".claude")),
            Agent::Codex => ("CODEX_HOME", home.join(".codex")),
            Agent::Opencode => ("XDG_DATA_HOME", home.join(".local/share")),
        })
    }

    /// Reports whether the sandbox enforces what a run may do, so that the agent's own checks are off.
    pub fn is_confined(&self) -> bool {
        self.program.enclosure.level() >= SandboxLevel::Confined
    }

    fn permissions_of(&self, requested: Permissions) -> Permissions {
        match self.permissions {
            AgentPermissions::Bypass if !self.is_confined() => Permissions::Bypass,
            AgentPermissions::OfRun | AgentPermissions::Bypass => requested,
        }
    }

    fn own_checks(&self, requested: Permissions) -> OwnChecks {
        let level = self.program.enclosure.level();
        // Claude refuses its bypass flag as root, and only a user namespace can show it another user.
        let refuses = self.agent == Agent::Claude && rustix::process::geteuid().is_root();
        match self.permissions_of(requested) {
            permissions if level == SandboxLevel::Confined && refuses => {
                OwnChecks::AllowAll(permissions)
            }
            Permissions::Bypass => OwnChecks::Off,
            _ if self.is_confined() => OwnChecks::Off,
            permissions => OwnChecks::Enforce(permissions),
        }
    }

    /// Returns the directory with the agent's login, which it also changes, in the sandbox of its runs.
    fn login_directory(&self) -> Option<PathBuf> {
        let (_, directory) = self.login_state()?;
        Some(match self.agent {
            Agent::Claude | Agent::Codex => directory,
            // Its variable names the directory of all programs.
            Agent::Opencode => directory.join("opencode"),
        })
    }
}

/// A provider that runs a coding agent unattended.
///
/// The agent reads the prompt from its standard input and prints JSON lines. At sandbox level 2 and above the sandbox enforces the
/// permissions of the run, and the agent's own checks are off: they would only forbid a shell and `git`, which the sandbox makes
/// safe. At level 1 the agent's checks enforce the permissions; they are off only under [`AgentPermissions::Bypass`]. Settings in a
/// repository are ignored.
#[derive(Debug)]
pub struct AgentProvider {
    supervisor: Supervisor,
    config: AgentConfig,
}

impl AgentProvider {
    /// Makes a provider whose children belong to `supervisor`.
    pub fn new(supervisor: Supervisor, config: AgentConfig) -> Self {
        Self { supervisor, config }
    }

    fn child_input(&self, request: &RunRequest) -> Result<LaunchInput, ProviderError> {
        let config = &self.config;
        let mounted = mount::mount(config.agent, request).map_err(|error| {
            let message = "the run's MCP servers cannot be used";
            config
                .program
                .error(ProviderErrorKind::Spawn, message)
                .caused_by(error)
        })?;
        // Options of the caller are passed only at the start: the commands that resume a session accept fewer flags.
        let mut more = config.program.args.clone();
        if request.resume.is_none() {
            more.extend(request.options.iter().cloned());
        }
        let invocation = Invocation {
            mounted: &mounted.args,
            checks: config.own_checks(request.permissions),
            model: config.model.as_deref(),
            more: &more,
            scripts: scripts(request),
            request,
        };
        let args = match config.agent {
            Agent::Claude => claude::args(&invocation),
            Agent::Codex => Ok(codex::args(&invocation)),
            Agent::Opencode => Ok(opencode::args(&invocation)),
        };
        let args = args.map_err(|error| {
            let message = "no session id could be drawn";
            config
                .program
                .error(ProviderErrorKind::Lost, message)
                .caused_by(error)
        })?;
        let mut environment = match config.agent {
            Agent::Opencode => opencode::environment(&invocation),
            Agent::Claude => claude::environment(),
            Agent::Codex => Vec::new(),
        };
        environment.extend(mounted.environment);
        let login = config.login_state();
        environment.extend(login.map(|(name, state)| (name.into(), state.into())));
        Ok(LaunchInput {
            args,
            environment,
            stdin: request.prompt.clone(),
            readable: mounted.readable,
            writable: config.login_directory().into_iter().collect(),
            // Claude refuses its bypass flag as root.
            identity: match config.agent {
                Agent::Claude => VisibleUser::Ordinary,
                Agent::Codex | Agent::Opencode => VisibleUser::Same,
            },
        })
    }
}

#[async_trait]
impl Provider for AgentProvider {
    fn name(&self) -> &str {
        &self.config.program.provider
    }

    fn is_installed(&self) -> bool {
        self.config.program.resolve().is_ok()
    }

    fn model(&self) -> Option<&str> {
        self.config.model.as_deref()
    }

    fn permissions(&self, requested: Permissions) -> Permissions {
        self.config.permissions_of(requested)
    }

    fn works_in_overlays(&self) -> bool {
        self.config.program.enclosure.level() == SandboxLevel::Isolated
    }

    fn enforced(&self, limits: &Limits) -> Limits {
        Limits {
            max_turns: None,
            // `claude` enforces `--max-budget-usd` from the start. `opencode` prints its cost while it works, so its budget is
            // reported with the first price. `codex` prints no cost, and a limit that nothing enforces is not shown.
            budget: limits.budget.filter(|_| self.config.agent == Agent::Claude),
            ..*limits
        }
    }

    fn pricing(&self) -> Pricing {
        Pricing::Assumed
    }

    fn follow_ups(&self) -> FollowUps {
        FollowUps::Resumes
    }

    fn options(&self) -> Options {
        Options::Taken {
            reserved: self.config.agent.reserved(self.config.model.as_deref()),
        }
    }

    fn mcp(&self) -> McpUse {
        McpUse::ByProgram
    }

    fn companion(&self, request: &RunRequest, program: &Path) -> Result<Companion, ProviderError> {
        self.config
            .program
            .companion(&self.supervisor, request, program)
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let program = &self.config.program;
        program.resolve_outside(&request.worktree_layers())?;
        let input = self.child_input(&request)?;
        let ignored = self.config.agent.settings().iter().copied();
        // A dangling link is reported too, hence `symlink_metadata`: an author who left one expects it to count.
        let ignored = ignored.filter(|path| request.worktree_has(Path::new(path)));
        let ignored: Vec<&str> = ignored.collect();
        let budget = request.limits.budget;
        let started = program.start(&self.supervisor, &request, input).await?;
        Ok(match self.config.agent {
            Agent::Claude => {
                let run = ProgramRun::new(started, claude::Claude::default());
                Box::new(run.ignoring(ignored))
            }
            Agent::Codex => {
                let run = ProgramRun::new(started, codex::Codex::default());
                Box::new(run.ignoring(ignored))
            }
            Agent::Opencode => {
                let run = ProgramRun::new(started, opencode::Opencode::default());
                Box::new(run.within(budget).ignoring(ignored))
            }
        })
    }
}

/// How the own permission checks of an agent are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnChecks {
    /// They enforce the permissions of the run, because no sandbox does.
    Enforce(Permissions),
    /// They allow everything within the permissions of the run: the agent refuses to switch them off.
    AllowAll(Permissions),
    /// They are off.
    Off,
}

/// Inputs of one command line.
struct Invocation<'r> {
    checks: OwnChecks,
    model: Option<&'r str>,
    more: &'r [String],
    /// Arguments that configure the run's MCP servers.
    mounted: &'r [String],
    /// Paths of the support scripts that the run may execute.
    scripts: Vec<String>,
    request: &'r RunRequest,
}

impl Invocation<'_> {
    /// Returns the run's handle, under which the agent lists the session.
    fn title(&self) -> String {
        self.request.run_id.handle().to_string()
    }
}

/// Returns the paths of a run's support scripts that are UTF-8.
fn scripts(request: &RunRequest) -> Vec<String> {
    // Each agent takes its permissions as text; a path that cannot be written there could not be allowed.
    let scripts = request.support_scripts().into_iter();
    scripts
        .filter_map(|path| path.into_os_string().into_string().ok())
        .collect()
}
