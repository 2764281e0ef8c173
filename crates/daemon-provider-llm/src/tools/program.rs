//! The groups `script` and `bash`: supervised programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_egress::{NetworkUse, RunEgress};
use daemon_process::{ChildEvent, ExitStatus, Launch, SpawnError, SupervisedChild, Supervisor};
use daemon_provider::{Permissions, RunRequest};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{read, spec};
use crate::config::LlmConfig;
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};

/// Time limit of a support script.
const SCRIPT_TIME: Duration = Duration::from_secs(120);
/// The most bytes of a program's output that the model receives.
const MOST_OUTPUT: usize = 64 << 10;

/// Starts the programs of one run, and stops them with it.
#[derive(Debug)]
pub(crate) struct Programs {
    supervisor: Supervisor,
    launch: Launch,
    run: String,
    n_started: AtomicU32,
    /// Children of dropped calls; they are being stopped.
    left: Mutex<Vec<SupervisedChild>>,
    /// Spawns of calls that were dropped before the child existed.
    starting: Mutex<Vec<JoinHandle<SpawnResult>>>,
}

type SpawnResult = Result<SupervisedChild, SpawnError>;

/// A spawn in progress. Dropping it hands it to [`Programs::close`], because a blocking task cannot be cancelled and the child
/// would otherwise run on by itself.
struct PendingSpawn<'p> {
    programs: &'p Programs,
    handle: Option<JoinHandle<SpawnResult>>,
}

impl Drop for PendingSpawn<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let mut starting = self.programs.starting.lock().expect("no holder panics");
            starting.push(handle);
        }
    }
}

/// A running child. Dropping it stops it and hands it to [`Programs::close`], which waits for its end.
struct OwnedChild<'p> {
    programs: &'p Programs,
    child: Option<SupervisedChild>,
}

impl Drop for OwnedChild<'_> {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.stop();
            self.programs
                .left
                .lock()
                .expect("no holder panics")
                .push(child);
        }
    }
}

impl Programs {
    /// Returns what starts the programs of a run, and what they use of the network, without a list of hosts `None`.
    pub(crate) fn new(
        supervisor: Supervisor,
        request: &RunRequest,
        config: &LlmConfig,
    ) -> (Self, Option<mpsc::Receiver<NetworkUse>>) {
        let (mut readable, writable) = request.child_paths();
        readable.extend(config.readable.iter().cloned());
        let mut sandbox = config.enclosure.around(readable, writable);
        let egress = RunEgress::new(config.enclosure, &config.egress);
        egress.restrict(&mut sandbox);
        let mut env = request.child_environment();
        egress.extend(&mut env);
        let programs = Self {
            supervisor,
            launch: Launch {
                program: PathBuf::new(),
                args: Vec::new(),
                env,
                cwd: request.worktree.clone(),
                stdin: Vec::new(),
                marker: String::new(),
                limits: config.limits,
                disk: request.own_directories(),
                sandbox,
                ports: egress.ports,
            },
            run: request.run_id.to_string(),
            n_started: AtomicU32::new(0),
            left: Mutex::new(Vec::new()),
            starting: Mutex::new(Vec::new()),
        };
        (programs, egress.uses)
    }

    /// Returns the settings that every child of the run shares.
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Runs a program until it exits or its time limit is reached.
    async fn run(
        &self,
        program: &Path,
        args: &[String],
        stdin: &str,
        time: Duration,
    ) -> Result<ToolOutput, ToolError> {
        let n = self.n_started.fetch_add(1, Ordering::Relaxed);
        let launch = Launch {
            program: program.to_owned(),
            args: args.iter().map(Into::into).collect(),
            stdin: stdin.as_bytes().to_owned(),
            // A marker per program: the supervisor ends all processes with the marker of a child that exited, and other
            // programs of the run have to continue.
            marker: format!("{}/script-{n}", self.run),
            ..self.launch.clone()
        };
        let supervisor = self.supervisor.clone();
        let handle = tokio::task::spawn_blocking(move || supervisor.spawn(launch));
        let mut pending = PendingSpawn {
            programs: self,
            handle: Some(handle),
        };
        // Awaited by reference: if this call is dropped here, `Drop` still owns the handle.
        let handle = pending.handle.as_mut().expect("the handle is taken below");
        let spawned = handle.await;
        pending.handle = None;
        let child = spawned
            .map_err(|error| ToolError::new(format!("the program could not be started: {error}")))?
            .map_err(|error| ToolError::new(format!("{error}: {}", error.source)))?;
        let running = OwnedChild {
            programs: self,
            child: Some(child),
        };
        follow(running, time).await
    }

    /// Waits until all children of dropped calls have exited.
    async fn close(&self) {
        // Spawns first: each may still add a child to `left`.
        let starting = std::mem::take(&mut *self.starting.lock().expect("no holder panics"));
        for handle in starting {
            if let Ok(Ok(child)) = handle.await {
                child.stop();
                self.left.lock().expect("no holder panics").push(child);
            }
        }
        loop {
            let Some(mut child) = self.left.lock().expect("no holder panics").pop() else {
                return;
            };
            while let Some(event) = child.next().await {
                if matches!(event, ChildEvent::Exited { .. }) {
                    break;
                }
            }
        }
    }
}

/// Collects the output of a program until it exits.
async fn follow(mut running: OwnedChild<'_>, time: Duration) -> Result<ToolOutput, ToolError> {
    let child = running
        .child
        .as_mut()
        .expect("the child is taken below or in `drop`");
    let mut output = String::new();
    let mut n_dropped = 0_u64;
    let late = tokio::time::sleep(time);
    tokio::pin!(late);
    let mut is_late = false;
    let status = loop {
        let event = tokio::select! {
            event = child.next() => event,
            () = late.as_mut(), if !is_late => {
                // The loop continues until the exit, so that no process outlives the call.
                is_late = true;
                child.stop();
                continue;
            }
        };
        match event {
            Some(ChildEvent::Line { line, .. }) => {
                n_dropped += line.dropped;
                if output.len() + line.text.len() > MOST_OUTPUT {
                    n_dropped += line.text.len() as u64 + 1;
                } else {
                    output.push_str(&line.text);
                    output.push('\n');
                }
            }
            Some(ChildEvent::Exited { status, .. }) => break Some(status),
            Some(_) => {}
            None => break None,
        }
    };
    running.child = None;
    if n_dropped > 0 {
        writeln!(output, "...[truncated: {n_dropped} bytes more]")
            .expect("writing to a string cannot fail");
    }
    match status {
        _ if is_late => Err(ToolError::new(format!(
            "stopped after {} s\n{output}",
            time.as_secs()
        ))),
        Some(ExitStatus::Code(0)) => Ok(output),
        Some(status) => Err(ToolError::new(format!("{status}\n{output}"))),
        None => Err(ToolError::new("the program was lost")),
    }
}

/// The tool that runs the daemon's support scripts.
#[derive(Debug)]
pub(crate) struct ScriptTools {
    programs: Arc<Programs>,
    /// Scripts by their path below the support tree.
    scripts: Vec<(String, PathBuf)>,
}

#[derive(Debug, Deserialize)]
struct RunScript {
    script: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    stdin: String,
}

impl ScriptTools {
    /// Makes the tool; `None` if there are no scripts or the run may only read.
    pub(crate) fn new(programs: Arc<Programs>, request: &RunRequest) -> Option<Self> {
        let support = request.context.as_ref()?.join("support");
        let found = request.support_scripts().into_iter();
        let scripts: Vec<(String, PathBuf)> = found
            .filter_map(|path| {
                let name = path.strip_prefix(&support).ok()?.to_str()?.to_owned();
                Some((name, path))
            })
            .collect();
        // A script can write, so a run that may only read gets none.
        let may_run = request.permissions >= Permissions::Propose && !scripts.is_empty();
        may_run.then_some(Self { programs, scripts })
    }
}

#[async_trait]
impl ToolSource for ScriptTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let names: Vec<&str> = self.scripts.iter().map(|(name, _)| name.as_str()).collect();
        vec![spec(
            "run_script",
            "Runs one of the daemon's support scripts in the worktree, for up to 120 s; answers what it printed.",
            &["script"],
            json!({"script": {"type": "string", "enum": names}, "stdin": {"type": "string"},
                "args": {"type": "array", "items": {"type": "string"}, "maxItems": 64}}),
        )]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let RunScript {
            script,
            args,
            stdin,
        } = read(arguments)?;
        let (_, path) = self
            .scripts
            .iter()
            .find(|(name, _)| *name == script)
            .ok_or_else(|| ToolError::new(format!("there is no script `{script}`")))?;
        self.programs.run(path, &args, &stdin, SCRIPT_TIME).await
    }

    async fn close(&self) {
        self.programs.close().await;
    }
}

/// The tool that runs shell commands.
#[derive(Debug)]
pub(crate) struct ShellTools {
    pub(crate) programs: Arc<Programs>,
    /// The time limit of a command.
    pub(crate) time: Duration,
}

#[derive(Debug, Deserialize)]
struct Bash {
    command: String,
}

#[async_trait]
impl ToolSource for ShellTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let seconds = self.time.as_secs();
        vec![spec(
            "bash",
            &format!(
                "Runs a command of the shell in the worktree, confined to it, for up to {seconds} s; answers what it printed."
            ),
            &["command"],
            json!({"command": {"type": "string", "minLength": 1, "maxLength": 32768}}),
        )]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Bash { command } = read(arguments)?;
        let args = ["-c".to_owned(), command];
        let shell = Path::new("/bin/sh");
        self.programs.run(shell, &args, "", self.time).await
    }

    async fn close(&self) {
        self.programs.close().await;
    }
}
