//! Starts the program of a run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use daemon_egress::{EgressList, NetworkUse, RunEgress};
use daemon_process::{
    ChildLimits, Enclosure, Launch, OverlayMount, Sandbox, SupervisedChild, Supervisor,
    UpperDirectory, VisibleUser, resolve_program,
};
use daemon_provider::{Companion, Permissions, ProviderError, ProviderErrorKind, RunRequest};

use tokio::sync::mpsc;

use crate::grants::{Guarded, GuardedPathError, check_readable, grants};

/// The default search path.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The executable of a provider and the conditions under which it runs.
#[derive(Debug, Clone)]
pub struct ProgramConfig {
    /// The name of the provider, as policies and run folders spell it.
    pub provider: String,
    /// An absolute path, or a name to look up in [`ProgramConfig::search`].
    pub path: PathBuf,
    /// Arguments of every run; they contain neither prompt nor secret.
    pub args: Vec<String>,
    /// The search path, in the format of `PATH`.
    pub search: OsString,
    /// Directories, in addition to the worktree, from which no program is taken; the host sets the watched repositories.
    pub untrusted: Vec<PathBuf>,
    /// Paths that no run may read; a program whose installation contains one of them is not started.
    pub guarded: Vec<Guarded>,
    /// Files and directories that its runs may read in addition to the program's installation.
    pub readable: Vec<PathBuf>,
    /// Limits on memory, processes, file sizes and disk use of one run.
    pub limits: ChildLimits,
    /// The sandbox of the program.
    pub enclosure: Enclosure,
    /// The hosts that the program may reach where it has a network of its own, which [`Network::Loopback`](daemon_process::Network)
    /// gives it.
    pub egress: EgressList,
}

/// A program of a run.
pub(crate) struct StartedProgram {
    pub(crate) child: SupervisedChild,
    pub(crate) argv: Vec<String>,
    /// What it uses of the network; `None` without a list of hosts.
    pub(crate) network: Option<mpsc::Receiver<NetworkUse>>,
}

/// Input of one run that depends on the provider.
#[derive(Debug, Default)]
pub(crate) struct LaunchInput {
    pub(crate) args: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
    /// What the program may read and change in addition to the paths of the run.
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) identity: VisibleUser,
}

impl ProgramConfig {
    /// Makes the configuration of a program without arguments, looked up in `/usr/local/bin:/usr/bin:/bin`, with default limits.
    pub fn new(provider: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            provider: provider.into(),
            path: path.into(),
            args: Vec::new(),
            search: OsString::from(SEARCH),
            untrusted: Vec::new(),
            guarded: Vec::new(),
            readable: Vec::new(),
            limits: ChildLimits::default(),
            enclosure: Enclosure::Contained,
            egress: EgressList::nothing(),
        }
    }

    /// Finds the program, as [`Provider::start`](daemon_provider::Provider::start) does.
    ///
    /// # Errors
    /// Fails if it does not exist, is not executable, or is inside [`ProgramConfig::untrusted`].
    pub fn resolve(&self) -> Result<PathBuf, ProviderError> {
        self.resolve_outside(&[])
    }

    /// Checks that what the program's runs could read of its installation holds nothing guarded; at a level where every file can
    /// be read, or where there is no program, there is nothing to check.
    ///
    /// # Errors
    /// Names the directory, and what it holds.
    pub fn check_grants(&self) -> Result<(), ProviderError> {
        if self.enclosure == Enclosure::Contained {
            return Ok(());
        }
        check_readable(&self.readable, &self.guarded).map_err(|error| self.refuse(error))?;
        match self.resolve() {
            Ok(program) => self.granted(&program, &self.search).map(drop),
            Err(_) => Ok(()),
        }
    }

    fn refuse(&self, error: GuardedPathError) -> ProviderError {
        self.cannot_run().caused_by(error)
    }

    fn granted(&self, program: &Path, search: &OsStr) -> Result<Vec<PathBuf>, ProviderError> {
        let granted = grants(program, search, &self.guarded);
        let mut granted = granted.map_err(|error| self.refuse(error))?;
        granted.extend(self.readable.iter().cloned());
        Ok(granted)
    }

    /// Finds the program outside of these worktrees and [`ProgramConfig::untrusted`].
    pub(crate) fn resolve_outside(&self, worktrees: &[&Path]) -> Result<PathBuf, ProviderError> {
        let untrusted = self.untrusted.iter().map(PathBuf::as_path);
        let forbidden: Vec<&Path> = untrusted.chain(worktrees.iter().copied()).collect();
        resolve_program(&self.path, &self.search, &forbidden)
            .map_err(|error| self.cannot_run().caused_by(error))
    }

    /// Starts the program.
    pub(crate) async fn start(
        &self,
        supervisor: &Supervisor,
        request: &RunRequest,
        input: LaunchInput,
    ) -> Result<StartedProgram, ProviderError> {
        let program = self.resolve_outside(&request.worktree_layers())?;
        let (launch, network) = self.launch(program, request, input)?;
        let argv = argv(&launch);
        let supervisor = supervisor.clone();
        // Spawning waits for the supervisor's thread and for the program's `exec`, which would block the runtime.
        let spawned = tokio::task::spawn_blocking(move || supervisor.spawn(launch)).await;
        let child = spawned
            .map_err(|error| {
                let message = "starting the process was interrupted";
                self.error(ProviderErrorKind::Lost, message)
                    .caused_by(error)
            })?
            .map_err(|error| self.cannot_run().caused_by(error))?;
        Ok(StartedProgram {
            child,
            argv,
            network,
        })
    }

    /// Returns how another program of a run is started.
    pub(crate) fn companion(
        &self,
        supervisor: &Supervisor,
        request: &RunRequest,
        program: &Path,
    ) -> Result<Companion, ProviderError> {
        let input = LaunchInput::default();
        // Two processes must not mount one upper layer, so that it works outside of the tree.
        let request = RunRequest {
            overlay: None,
            ..request.clone()
        };
        let launched = self.launch(program.to_owned(), &request, input);
        let (launch, network) = launched.map_err(|error| ProviderError {
            message: format!("cannot run `{}`", program.display()),
            ..error
        })?;
        Ok(Companion {
            supervisor: supervisor.clone(),
            launch,
            network,
        })
    }

    /// Returns how a program is started, and the receiver of what it uses of the network.
    fn launch(
        &self,
        program: PathBuf,
        request: &RunRequest,
        input: LaunchInput,
    ) -> Result<(Launch, Option<mpsc::Receiver<NetworkUse>>), ProviderError> {
        let mut env = request.child_environment();
        // Removed first: `execve` accepts a name twice, and which of the two a program reads is up to its C library.
        env.retain(|(name, _)| input.environment.iter().all(|(own, _)| own != name));
        env.extend(input.environment.iter().cloned());
        let egress = RunEgress::new(self.enclosure, &self.egress);
        egress.extend(&mut env);
        let mut sandbox = self.sandbox(&program, request, &input)?;
        egress.restrict(&mut sandbox);
        let launch = Launch {
            args: input.args.into_iter().map(OsString::from).collect(),
            env,
            cwd: request.worktree.clone(),
            stdin: input.stdin,
            marker: request.run_id.to_string(),
            limits: self.limits,
            disk: request.own_directories(),
            sandbox,
            ports: egress.ports,
            program,
        };
        Ok((launch, egress.uses))
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

    /// Returns the sandbox of a program: the paths of every child of the run, and its installation. Of the run's private directory it
    /// contains only what the request or the input lists: servers of the run have their homes there.
    fn sandbox(
        &self,
        program: &Path,
        request: &RunRequest,
        input: &LaunchInput,
    ) -> Result<Sandbox, ProviderError> {
        if self.enclosure == Enclosure::Contained {
            return Ok(Sandbox::Contained);
        }
        let search = request.environment.get(OsStr::new("PATH"));
        let search = search.map_or(OsStr::new(SEARCH), OsString::as_os_str);
        let (mut readable, mut writable) = request.child_paths();
        readable.extend(self.granted(program, search)?);
        readable.extend(input.readable.iter().cloned());
        writable.extend(input.writable.iter().cloned());
        let mut sandbox = self.enclosure.around(readable, writable);
        if let Sandbox::Isolated {
            identity, overlays, ..
        } = &mut sandbox
        {
            *identity = input.identity;
            overlays.extend(overlay(request));
        }
        Ok(sandbox)
    }
}

/// Returns the overlay of the worktree, if it is one. What may only be read has no layer for changes.
fn overlay(request: &RunRequest) -> Option<OverlayMount> {
    let layers = request.overlay.as_ref()?;
    let mut lower = layers.lower.clone();
    let upper = match request.permissions {
        Permissions::Read => {
            lower.insert(0, layers.upper.clone());
            None
        }
        _ => Some(UpperDirectory {
            directory: layers.upper.clone(),
            work: layers.work.clone(),
        }),
    };
    Some(OverlayMount {
        lower,
        upper,
        target: request.worktree.clone(),
    })
}

fn argv(launch: &Launch) -> Vec<String> {
    let args = launch.args.iter().map(OsString::as_os_str);
    std::iter::once(launch.program.as_os_str())
        .chain(args)
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}
