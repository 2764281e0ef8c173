//! Coding agents (`claude`, `codex`, `opencode`) as providers.

mod bypass;
mod claude;
mod codex;
mod mount;
mod opencode;
mod values;

use std::path::PathBuf;

use async_trait::async_trait;
use daemon_process::Supervisor;
use daemon_provider::{
    FollowUps, Limits, McpUse, Options, Permissions, Provider, ProviderError, ProviderErrorKind,
    Run, RunRequest,
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
    /// All: the agent's own permission checks are switched off.
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
    /// A program that, started with `mcp --through`, serves the tools of the MCP server whose address and headers are in
    /// `DAEMON_MCP_URL` and `DAEMON_MCP_HEADERS`; needed for an agent that accepts addresses only as arguments.
    pub bridge: Option<PathBuf>,
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
            bridge: None,
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

    fn permissions_of(&self, requested: Permissions) -> Permissions {
        match self.permissions {
            AgentPermissions::OfRun => requested,
            AgentPermissions::Bypass => Permissions::Bypass,
        }
    }
}

/// A provider that runs a coding agent unattended.
///
/// The agent reads the prompt from its standard input and prints JSON lines. Its permissions are those of the run; the agent's
/// own bypass switch is passed only under [`AgentPermissions::Bypass`]. Settings in a repository are ignored.
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
        let mounted =
            mount::mount(config.agent, request, config.bridge.as_deref()).map_err(|error| {
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
            permissions: config.permissions_of(request.permissions),
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
            Agent::Claude | Agent::Codex => Vec::new(),
        };
        environment.extend(mounted.environment);
        let login = config.login_state();
        environment.extend(login.map(|(name, state)| (name.into(), state.into())));
        Ok(LaunchInput {
            args,
            environment,
            stdin: request.prompt.clone(),
        })
    }
}

#[async_trait]
impl Provider for AgentProvider {
    fn name(&self) -> &str {
        &self.config.program.provider
    }

    fn model(&self) -> Option<&str> {
        self.config.model.as_deref()
    }

    fn permissions(&self, requested: Permissions) -> Permissions {
        self.config.permissions_of(requested)
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

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let program = &self.config.program;
        program.resolve_outside(&[&request.worktree])?;
        let input = self.child_input(&request)?;
        let ignored = self.config.agent.settings().iter().copied();
        // A dangling link is reported too, hence `symlink_metadata`: an author who left one expects it to count.
        let ignored = ignored.filter(|path| request.worktree.join(path).symlink_metadata().is_ok());
        let ignored: Vec<&str> = ignored.collect();
        let budget = request.limits.budget;
        let (child, argv) = program.start(&self.supervisor, &request, input).await?;
        Ok(match self.config.agent {
            Agent::Claude => {
                let run = ProgramRun::new(child, argv, claude::Claude::default());
                Box::new(run.ignoring(ignored))
            }
            Agent::Codex => {
                let run = ProgramRun::new(child, argv, codex::Codex::default());
                Box::new(run.ignoring(ignored))
            }
            Agent::Opencode => {
                let run = ProgramRun::new(child, argv, opencode::Opencode::default());
                Box::new(run.within(budget).ignoring(ignored))
            }
        })
    }
}

/// Inputs of one command line.
struct Invocation<'r> {
    permissions: Permissions,
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
