//! A provider that runs any executable.

mod lines;
mod parser;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_process::{SandboxLevel, Supervisor};
use daemon_provider::{
    Companion, FollowUps, Limits, McpUse, Options, Pricing, Provider, ProviderError,
    ProviderErrorKind, Run, RunRequest,
};
use serde::Serialize;

use crate::mcp_file;
use crate::program::{LaunchInput, ProgramConfig};
use crate::run::ProgramRun;
use parser::CommandParser;

pub(crate) use lines::add;

/// Configuration of a [`CommandProvider`].
#[derive(Debug, Clone)]
pub struct CommandConfig {
    /// The executable, its search path and its limits.
    pub program: ProgramConfig,
    /// Arguments that resume a session, with `{session}` as its placeholder; with `None` runs accept no follow-ups.
    pub resume: Option<Vec<String>>,
    /// Format of the program's standard input.
    pub input: InputFormat,
    /// Whether a `result` line is required for success.
    pub result: ResultRule,
}

/// Format of a program's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// The bytes of the prompt.
    Prompt,
    /// A JSON object: `version` 1, `run_id`, `task`, `prompt`, `context`, `worktree`, `limits`.
    Json,
}

/// Whether a program must print a `result` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRule {
    /// Without a `result` line, the text that it printed is the result.
    Optional,
    /// Without a `result` line, the run failed.
    Required,
}

impl CommandConfig {
    /// Makes the configuration of a program that reads the prompt and need not print a `result` line, with the defaults of
    /// [`ProgramConfig::new`].
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            program: ProgramConfig::new(name, program),
            resume: None,
            input: InputFormat::Prompt,
            result: ResultRule::Optional,
        }
    }
}

/// A provider that runs one executable per run.
///
/// Exit code 0 is success, 75 a retryable failure and any other code a final failure. Lines of standard output that are JSON
/// objects with a known `daemon` key are events; all others are text.
#[derive(Debug)]
pub struct CommandProvider {
    supervisor: Supervisor,
    config: CommandConfig,
}

impl CommandProvider {
    /// Makes a provider whose children belong to `supervisor`.
    pub fn new(supervisor: Supervisor, config: CommandConfig) -> Self {
        Self { supervisor, config }
    }

    fn args(&self, request: &RunRequest) -> Result<Vec<String>, ProviderError> {
        let Some(session) = &request.resume else {
            return Ok([self.config.program.args.as_slice(), &request.options].concat());
        };
        let resume = self.config.resume.as_ref().ok_or_else(|| {
            self.config.program.error(
                ProviderErrorKind::Unsupported,
                "no arguments to resume a session",
            )
        })?;
        Ok(resume
            .iter()
            .map(|arg| arg.replace("{session}", session.as_str()))
            .collect())
    }

    /// Writes the file of the run's MCP servers and returns its path; `None` if there are no servers.
    fn servers(&self, request: &RunRequest) -> Result<Option<PathBuf>, ProviderError> {
        if request.mcp.is_empty() {
            return Ok(None);
        }
        let path = mcp_file::write(request).map_err(|error| {
            let message = "the file of its MCP servers cannot be written";
            let program = &self.config.program;
            program
                .error(ProviderErrorKind::Spawn, message)
                .caused_by(error)
        })?;
        Ok(Some(path))
    }

    fn stdin(&self, request: &RunRequest) -> Result<Vec<u8>, ProviderError> {
        match self.config.input {
            InputFormat::Prompt => Ok(request.prompt.clone()),
            InputFormat::Json => {
                let prompt = std::str::from_utf8(&request.prompt).map_err(|error| {
                    let message = "a prompt that is not UTF-8 cannot be JSON";
                    self.config
                        .program
                        .error(ProviderErrorKind::Unsupported, message)
                        .caused_by(error)
                })?;
                let mut text = serde_json::to_vec(&JsonInput::new(request, prompt))
                    .expect("text and numbers are JSON");
                text.push(b'\n');
                Ok(text)
            }
        }
    }
}

#[async_trait]
impl Provider for CommandProvider {
    fn name(&self) -> &str {
        &self.config.program.provider
    }

    fn is_installed(&self) -> bool {
        self.config.program.resolve().is_ok()
    }

    fn pricing(&self) -> Pricing {
        Pricing::Reported
    }

    fn follow_ups(&self) -> FollowUps {
        match self.config.resume {
            Some(_) => FollowUps::Resumes,
            None => FollowUps::None,
        }
    }

    fn options(&self) -> Options {
        Options::Taken { reserved: &[] }
    }

    fn mcp(&self) -> McpUse {
        McpUse::ByFile
    }

    fn companion(&self, request: &RunRequest, program: &Path) -> Result<Companion, ProviderError> {
        self.config
            .program
            .companion(&self.supervisor, request, program)
    }

    fn works_in_overlays(&self) -> bool {
        self.config.program.enclosure.level() == SandboxLevel::Isolated
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let program = &self.config.program;
        // Resolved before the input is made: a missing program is the error to report even if its input is invalid too.
        program.resolve_outside(&request.worktree_layers())?;
        let servers = self.servers(&request)?;
        let variable = servers
            .iter()
            .map(|path| ("DAEMON_MCP".into(), path.into()));
        let input = LaunchInput {
            args: self.args(&request)?,
            environment: variable.collect(),
            readable: servers.clone().into_iter().collect(),
            stdin: self.stdin(&request)?,
            ..LaunchInput::default()
        };
        let budget = request.limits.budget;
        let started = program.start(&self.supervisor, &request, input).await?;
        let parser = CommandParser::new(self.config.result, self.config.resume.is_some());
        Ok(Box::new(ProgramRun::new(started, parser).within(budget)))
    }
}

/// The input of a program that reads [`InputFormat::Json`].
#[derive(Debug, Serialize)]
struct JsonInput<'r> {
    version: u32,
    run_id: String,
    task: &'r str,
    prompt: &'r str,
    context: Option<String>,
    worktree: String,
    limits: JsonLimits,
}

#[derive(Debug, Serialize)]
struct JsonLimits {
    timeout_s: f64,
    idle_timeout_s: Option<f64>,
    max_turns: Option<u32>,
    budget_usd: Option<f64>,
}

impl<'r> JsonInput<'r> {
    fn new(request: &'r RunRequest, prompt: &'r str) -> Self {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        Self {
            version: 1,
            run_id: request.run_id.to_string(),
            task: &request.task,
            prompt,
            context: request.context.as_ref().map(path),
            worktree: path(&request.worktree),
            limits: JsonLimits::new(&request.limits),
        }
    }
}

impl JsonLimits {
    fn new(limits: &Limits) -> Self {
        Self {
            timeout_s: limits.wall.as_secs_f64(),
            idle_timeout_s: limits.idle.map(|idle| idle.as_secs_f64()),
            max_turns: limits.max_turns,
            budget_usd: limits.budget.map(|budget| budget.0 as f64 / 1e6),
        }
    }
}
