//! The command lines of coding agents as providers.

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

use crate::program::{Given, ProgramConfig};
use crate::run::ProgramRun;

/// A coding agent whose command line is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Anthropic's `claude`.
    Claude,
    /// OpenAI's `codex`.
    Codex,
    /// `opencode`.
    Opencode,
}

/// What an agent may do by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentPermissions {
    /// What the run may do, and nothing that it would have to ask a person for.
    OfRun,
    /// Whatever it wants: its own checks are switched off.
    Bypass,
}

/// How an agent is run.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Its program.
    pub program: ProgramConfig,
    /// The agent.
    pub agent: Agent,
    /// The model, as the agent names it; its own default without one.
    pub model: Option<String>,
    /// What it may do by itself.
    pub permissions: AgentPermissions,
    /// The home directory whose login of the agent is used; without one it has only what its environment holds.
    pub login: Option<PathBuf>,
    /// A program that, started with `mcp --through`, serves the tools of the MCP server whose address and headers are in
    /// `DAEMON_MCP_URL` and `DAEMON_MCP_HEADERS`; for an agent that takes addresses as arguments only.
    pub bridge: Option<PathBuf>,
}

/// A command of an agent that asks for help, and the flags of what it helps with that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Help {
    /// The arguments that ask.
    pub arguments: &'static [&'static str],
    /// The flags that the answer lists.
    pub flags: &'static [&'static str],
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Opencode];

    /// Returns the agent's name, which is that of its program.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }

    /// Returns the line of versions that its flags and its lines were tried with.
    pub fn tried(self) -> &'static str {
        match self {
            Self::Claude => "2.1",
            Self::Codex => "0.169",
            Self::Opencode => "1.18",
        }
    }

    /// Returns each command that asks for help, and the flags that must be in its answer.
    pub fn helps(self) -> &'static [Help] {
        match self {
            Self::Claude => &claude::HELPS,
            Self::Codex => &codex::HELPS,
            Self::Opencode => &opencode::HELPS,
        }
    }

    /// Returns where a repository may hold settings, hooks or MCP servers for the agent, none of which is used.
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

    /// Returns the first of an operator's own arguments by which the agent would get other permissions than those of its runs,
    /// which [`AgentConfig::permissions`] alone decides.
    pub fn widened_by(self, args: &[String]) -> Option<&str> {
        bypass::find(self, args)
    }

    /// Returns the flags that a caller may not add where the host names this model.
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
    /// Runs an agent as [`ProgramConfig::new`] says, with its own default model and the permissions of the run.
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

    /// Returns the variable that names the directory of the agent's login, and that directory, where its login is used.
    pub fn login_state(&self) -> Option<(&'static str, PathBuf)> {
        let home = self.login.as_deref()?;
        Some(match self.agent {
            Agent::Claude => ("CLAUDE_CONFIG_DIR", home.join(".claude")),
            Agent::Codex => ("CODEX_HOME", home.join(".codex")),
            Agent::Opencode => ("XDG_DATA_HOME", home.join(".local/share")),
        })
    }

    fn permissions_of(&self, asked: Permissions) -> Permissions {
        match self.permissions {
            AgentPermissions::OfRun => asked,
            AgentPermissions::Bypass => Permissions::Bypass,
        }
    }
}

/// A provider that runs a coding agent without a person beside it.
///
/// The prompt goes to its standard input, and its answer is what it prints as JSON lines. An agent may do what the run may
/// do; it is never asked for more, and its own switch to allow everything is used only under [`AgentPermissions::Bypass`].
/// What a repository holds configures nothing.
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

    fn given(&self, request: &RunRequest) -> Result<Given, ProviderError> {
        let config = &self.config;
        let mounted =
            mount::mount(config.agent, request, config.bridge.as_deref()).map_err(|error| {
                let message = "the run's MCP servers cannot be used";
                config
                    .program
                    .error(ProviderErrorKind::Spawn, message)
                    .caused_by(error)
            })?;
        let mut more = config.program.args.clone();
        if request.resume.is_none() {
            more.extend(request.options.iter().cloned());
        }
        let asked = Asked {
            mounted: &mounted.args,
            permissions: config.permissions_of(request.permissions),
            model: config.model.as_deref(),
            more: &more,
            scripts: scripts(request),
            request,
        };
        let args = match config.agent {
            Agent::Claude => claude::args(&asked),
            Agent::Codex => Ok(codex::args(&asked)),
            Agent::Opencode => Ok(opencode::args(&asked)),
        };
        let args = args.map_err(|error| {
            let message = "no session id could be drawn";
            config
                .program
                .error(ProviderErrorKind::Lost, message)
                .caused_by(error)
        })?;
        let mut environment = match config.agent {
            Agent::Opencode => opencode::environment(&asked),
            Agent::Claude | Agent::Codex => Vec::new(),
        };
        environment.extend(mounted.environment);
        let login = config.login_state();
        environment.extend(login.map(|(name, state)| (name.into(), state.into())));
        Ok(Given {
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

    fn permissions(&self, asked: Permissions) -> Permissions {
        self.config.permissions_of(asked)
    }

    fn enforced(&self, limits: &Limits) -> Limits {
        Limits {
            max_turns: None,
            // `--max-budget-usd` holds from the start; `opencode` tells its price while it works, `codex` never does.
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
        let given = self.given(&request)?;
        let ignored = self.config.agent.settings().iter().copied();
        // What is there is told, a dangling link too; nothing of it is read.
        let ignored = ignored.filter(|path| request.worktree.join(path).symlink_metadata().is_ok());
        let ignored: Vec<&str> = ignored.collect();
        let budget = request.limits.budget;
        let (child, argv) = program.start(&self.supervisor, &request, given).await?;
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

/// What the arguments of one run are made from.
struct Asked<'r> {
    permissions: Permissions,
    model: Option<&'r str>,
    more: &'r [String],
    /// Arguments that tell of the run's MCP servers.
    mounted: &'r [String],
    /// Support scripts that may be run.
    scripts: Vec<String>,
    request: &'r RunRequest,
}

impl Asked<'_> {
    /// Returns the name under which the agent lists the session: the run's handle.
    fn title(&self) -> String {
        self.request.run_id.handle().to_string()
    }
}

/// Returns the support scripts of a run, as text.
fn scripts(request: &RunRequest) -> Vec<String> {
    let scripts = request.support_scripts().into_iter();
    scripts
        .filter_map(|path| path.into_os_string().into_string().ok())
        .collect()
}
