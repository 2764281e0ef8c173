//! Starting a program for a run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use daemon_process::{
    ChildLimits, Enclosure, Launch, Sandbox, SupervisedChild, Supervisor, resolve_program,
};
use daemon_provider::{ProviderError, ProviderErrorKind, RunRequest};

use crate::grants::{Guarded, grants};

/// Where programs are looked up unless the configuration says otherwise.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How a provider's program is run, whatever the provider makes of it.
#[derive(Debug, Clone)]
pub struct ProgramConfig {
    /// The provider's name.
    pub provider: String,
    /// The program: an absolute path, or a name to look up in [`ProgramConfig::search`].
    pub path: PathBuf,
    /// Its arguments; they hold neither prompt nor secret.
    pub args: Vec<String>,
    /// Where programs are looked up, in the form of `PATH`.
    pub search: OsString,
    /// Directories beside the worktree from which no program is taken, such as the watched repositories.
    pub untrusted: Vec<PathBuf>,
    /// What no run may read: a program is not started where what it needs of its installation holds some of it.
    pub guarded: Vec<Guarded>,
    /// How much it may take.
    pub limits: ChildLimits,
    /// What it may touch.
    pub enclosure: Enclosure,
}

/// What one run of a program receives beside the contract.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) args: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
}

impl ProgramConfig {
    /// Runs this program without arguments, looked up in `/usr/local/bin:/usr/bin:/bin`, with default limits.
    pub fn new(provider: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            provider: provider.into(),
            path: path.into(),
            args: Vec::new(),
            search: OsString::from(SEARCH),
            untrusted: Vec::new(),
            guarded: Vec::new(),
            limits: ChildLimits::default(),
            enclosure: Enclosure::Contained,
        }
    }

    /// Finds the program, as [`Provider::start`](daemon_provider::Provider::start) does.
    ///
    /// # Errors
    /// There is none, it is not executable, or it lies where no program is taken from.
    pub fn resolve(&self) -> Result<PathBuf, ProviderError> {
        self.resolve_outside(&[])
    }

    /// Checks that what the program's runs could read of its installation holds nothing guarded; at a level where every file can
    /// be read, or where there is no program, there is nothing to check.
    ///
    /// # Errors
    /// Names the directory, and what it holds.
    pub fn check_grants(&self) -> Result<(), ProviderError> {
        match self.resolve() {
            Ok(program) if self.enclosure != Enclosure::Contained => {
                self.granted(&program, &self.search).map(drop)
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn granted(&self, program: &Path, search: &OsStr) -> Result<Vec<PathBuf>, ProviderError> {
        let granted = grants(program, search, &self.guarded);
        granted.map_err(|error| self.cannot_run().caused_by(error))
    }

    /// Finds the program outside of the worktrees and of what is not trusted.
    pub(crate) fn resolve_outside(&self, worktrees: &[&Path]) -> Result<PathBuf, ProviderError> {
        let untrusted = self.untrusted.iter().map(PathBuf::as_path);
        let forbidden: Vec<&Path> = untrusted.chain(worktrees.iter().copied()).collect();
        resolve_program(&self.path, &self.search, &forbidden)
            .map_err(|error| self.cannot_run().caused_by(error))
    }

    /// Starts the program, and returns it with its arguments.
    pub(crate) async fn start(
        &self,
        supervisor: &Supervisor,
        request: &RunRequest,
        given: Given,
    ) -> Result<(SupervisedChild, Vec<String>), ProviderError> {
        let program = self.resolve_outside(&[&request.worktree])?;
        let mut env = request.child_environment();
        env.retain(|(name, _)| given.environment.iter().all(|(own, _)| own != name));
        env.extend(given.environment);
        let launch = Launch {
            args: given.args.into_iter().map(OsString::from).collect(),
            env,
            cwd: request.worktree.clone(),
            stdin: given.stdin,
            marker: request.run_id.to_string(),
            limits: self.limits,
            disk: request.own_directories(),
            sandbox: self.sandbox(&program, request)?,
            program,
        };
        let argv = argv(&launch);
        let supervisor = supervisor.clone();
        let spawned = tokio::task::spawn_blocking(move || supervisor.spawn(launch)).await;
        let child = spawned
            .map_err(|error| {
                let message = "starting the process was interrupted";
                self.error(ProviderErrorKind::Lost, message)
                    .caused_by(error)
            })?
            .map_err(|error| self.cannot_run().caused_by(error))?;
        Ok((child, argv))
    }

    pub(crate) fn error(
        &self,
        kind: ProviderErrorKind,
        message: impl Into<String>,
    ) -> ProviderError {
        ProviderError::new(&self.provider, kind, message)
    }

    fn cannot_run(&self) -> ProviderError {
        let message = format!("cannot run `{}`", self.path.display());
        self.error(ProviderErrorKind::Spawn, message)
    }

    /// Returns what the program may touch: what any child of the run may, what it is installed with, and what was written for
    /// it to read in private.
    fn sandbox(&self, program: &Path, request: &RunRequest) -> Result<Sandbox, ProviderError> {
        if self.enclosure == Enclosure::Contained {
            return Ok(Sandbox::Contained);
        }
        let search = request.environment.get(OsStr::new("PATH"));
        let search = search.map_or(OsStr::new(SEARCH), OsString::as_os_str);
        let (mut readable, writable) = request.child_paths();
        readable.extend(self.granted(program, search)?);
        // There only where something secret was written for the program to read.
        readable.extend(request.private.clone().filter(|path| path.exists()));
        Ok(self.enclosure.around(readable, writable))
    }
}

fn argv(launch: &Launch) -> Vec<String> {
    let args = launch.args.iter().map(OsString::as_os_str);
    std::iter::once(launch.program.as_os_str())
        .chain(args)
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}
