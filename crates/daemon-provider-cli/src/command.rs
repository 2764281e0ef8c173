//! Any executable as a provider.

mod ending;
mod lines;
mod run;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_process::{ChildLimits, Launch, Sandbox, Supervisor, resolve_program};
use daemon_provider::{
    Limits, Permissions, Provider, ProviderError, ProviderErrorKind, Run, RunRequest,
};
use serde::Serialize;

use crate::environment::environment;
use run::CommandRun;

/// How a program is run.
#[derive(Debug, Clone)]
pub struct CommandConfig {
    /// The provider's name.
    pub name: String,
    /// The program: an absolute path, or a name to look up in [`CommandConfig::search`].
    pub program: PathBuf,
    /// Its arguments; they hold neither prompt nor secret.
    pub args: Vec<String>,
    /// Its arguments when a session is resumed, in which `{session}` stands for the session; without them it takes no
    /// follow-ups.
    pub resume: Option<Vec<String>>,
    /// What it reads.
    pub input: InputFormat,
    /// Whether it must tell its result.
    pub result: ResultRule,
    /// Where programs are looked up, in the form of `PATH`.
    pub search: OsString,
    /// Directories beside the worktree from which no program is taken, such as the watched repositories.
    pub untrusted: Vec<PathBuf>,
    /// How much it may take.
    pub limits: ChildLimits,
    /// What it may touch.
    pub confinement: Confinement,
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// The prompt.
    Prompt,
    /// A JSON object: `version` 1, `run_id`, `task`, `prompt`, `context`, `worktree`, `limits`.
    Json,
}

/// Whether a program must tell its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRule {
    /// Without a `result` line, its text is the result.
    Optional,
    /// Without a `result` line, it failed.
    Required,
}

/// What a program may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// Sandbox level 1: whatever its user may.
    Contained,
    /// Sandbox level 2: its worktree (for reading only in a run that may only read), its home, its outputs, the temporary
    /// directory its environment names, its context, and these paths for reading.
    Confined {
        /// What else it may read.
        readable: Vec<PathBuf>,
    },
}

impl CommandConfig {
    /// Runs this program without arguments, looked up in `/usr/local/bin:/usr/bin:/bin`, with default limits.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            resume: None,
            input: InputFormat::Prompt,
            result: ResultRule::Optional,
            search: OsString::from("/usr/local/bin:/usr/bin:/bin"),
            untrusted: Vec::new(),
            limits: ChildLimits::default(),
            confinement: Confinement::Contained,
        }
    }

    /// Finds the program, as [`Provider::start`] does.
    ///
    /// # Errors
    /// There is none, it is not executable, or it lies where no program is taken from.
    pub fn resolve(&self) -> Result<PathBuf, ProviderError> {
        self.resolve_outside(&[])
    }

    fn resolve_outside(&self, worktrees: &[&Path]) -> Result<PathBuf, ProviderError> {
        let untrusted = self.untrusted.iter().map(PathBuf::as_path);
        let forbidden: Vec<&Path> = untrusted.chain(worktrees.iter().copied()).collect();
        resolve_program(&self.program, OsStr::new(&self.search), &forbidden).map_err(|error| {
            let message = format!("cannot run `{}`", self.program.display());
            self.error(ProviderErrorKind::Spawn, message)
                .caused_by(error)
        })
    }

    fn error(&self, kind: ProviderErrorKind, message: impl Into<String>) -> ProviderError {
        ProviderError::new(&self.name, kind, message)
    }
}

/// A provider that runs one executable per run.
///
/// Exit code 0 is a good end, 75 a failure that may be tried again, any other a final one. Lines of standard output that
/// are JSON objects with a known `daemon` key are events; all others are text.
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

    fn launch(&self, request: &RunRequest) -> Result<Launch, ProviderError> {
        let config = &self.config;
        let program = config.resolve_outside(&[&request.worktree])?;
        Ok(Launch {
            args: self
                .args(request)?
                .into_iter()
                .map(OsString::from)
                .collect(),
            env: environment(request),
            cwd: request.worktree.clone(),
            stdin: self.stdin(request)?,
            marker: request.run_id.to_string(),
            limits: config.limits,
            sandbox: self.sandbox(&program, request),
            program,
        })
    }

    fn args(&self, request: &RunRequest) -> Result<Vec<String>, ProviderError> {
        let Some(session) = &request.resume else {
            return Ok(self.config.args.clone());
        };
        let resume = self.config.resume.as_ref().ok_or_else(|| {
            self.config.error(
                ProviderErrorKind::Unsupported,
                "no arguments to resume a session",
            )
        })?;
        Ok(resume
            .iter()
            .map(|arg| arg.replace("{session}", session.as_str()))
            .collect())
    }

    fn stdin(&self, request: &RunRequest) -> Result<Vec<u8>, ProviderError> {
        match self.config.input {
            InputFormat::Prompt => Ok(request.prompt.clone()),
            InputFormat::Json => {
                let prompt = std::str::from_utf8(&request.prompt).map_err(|error| {
                    let message = "a prompt that is not UTF-8 cannot be JSON";
                    self.config
                        .error(ProviderErrorKind::Unsupported, message)
                        .caused_by(error)
                })?;
                let mut text = serde_json::to_vec(&Input::new(request, prompt))
                    .expect("text and numbers are JSON");
                text.push(b'\n');
                Ok(text)
            }
        }
    }

    fn sandbox(&self, program: &Path, request: &RunRequest) -> Sandbox {
        let Confinement::Confined { readable } = &self.config.confinement else {
            return Sandbox::Contained;
        };
        let mut readable = readable.clone();
        readable.extend(program.parent().map(Path::to_owned));
        readable.extend(request.context.clone());
        let mut writable = vec![request.home.clone()];
        writable.extend(request.outputs.clone());
        writable.extend(
            request
                .environment
                .get(OsStr::new("TMPDIR"))
                .map(PathBuf::from),
        );
        let worktree = request.worktree.clone();
        if request.permissions == Permissions::Read {
            readable.push(worktree);
        } else {
            writable.push(worktree);
        }
        Sandbox::Confined { readable, writable }
    }
}

#[async_trait]
impl Provider for CommandProvider {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let launch = self.launch(&request)?;
        let argv = argv(&launch);
        let supervisor = self.supervisor.clone();
        let spawned = tokio::task::spawn_blocking(move || supervisor.spawn(launch)).await;
        let child = spawned
            .map_err(|error| {
                let message = "starting the process was interrupted";
                self.config
                    .error(ProviderErrorKind::Lost, message)
                    .caused_by(error)
            })?
            .map_err(|error| {
                let message = format!("cannot run `{}`", self.config.program.display());
                self.config
                    .error(ProviderErrorKind::Spawn, message)
                    .caused_by(error)
            })?;
        let can_resume = self.config.resume.is_some();
        Ok(Box::new(CommandRun::new(
            child,
            argv,
            self.config.result,
            can_resume,
        )))
    }
}

fn argv(launch: &Launch) -> Vec<String> {
    let args = launch.args.iter().map(OsString::as_os_str);
    std::iter::once(launch.program.as_os_str())
        .chain(args)
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}

/// The JSON form of what a program reads.
#[derive(Debug, Serialize)]
struct Input<'r> {
    version: u32,
    run_id: &'r str,
    task: &'r str,
    prompt: &'r str,
    context: Option<String>,
    worktree: String,
    limits: InputLimits,
}

#[derive(Debug, Serialize)]
struct InputLimits {
    timeout_s: f64,
    idle_timeout_s: Option<f64>,
    max_turns: Option<u32>,
    budget_usd: Option<f64>,
}

impl<'r> Input<'r> {
    fn new(request: &'r RunRequest, prompt: &'r str) -> Self {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        Self {
            version: 1,
            run_id: request.run_id.as_str(),
            task: &request.task,
            prompt,
            context: request.context.as_ref().map(path),
            worktree: path(&request.worktree),
            limits: InputLimits::new(&request.limits),
        }
    }
}

impl InputLimits {
    fn new(limits: &Limits) -> Self {
        Self {
            timeout_s: limits.wall.as_secs_f64(),
            idle_timeout_s: limits.idle.map(|idle| idle.as_secs_f64()),
            max_turns: limits.max_turns,
            budget_usd: limits.budget.map(|budget| budget.0 as f64 / 1e6),
        }
    }
}
