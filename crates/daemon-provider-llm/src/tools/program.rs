//! The groups `script` and `bash`: supervised programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_process::{
    ChildEvent, ChildLimits, Enclosure, ExitStatus, Launch, SpawnError, SupervisedChild, Supervisor,
};
use daemon_provider::{Permissions, RunRequest};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{read, spec};
use crate::toolbox::{ToolError, ToolOutput, ToolSource, ToolSpec};

/// How long a support script may take.
const SCRIPT_TIME: Duration = Duration::from_secs(120);
/// How long a command of a shell may take.
const SHELL_TIME: Duration = Duration::from_secs(30);
/// How much of what a program prints the model is shown.
const MOST_OUTPUT: usize = 64 << 10;

/// Starts the programs of one run, and ends them with it.
#[derive(Debug)]
pub(crate) struct Programs {
    supervisor: Supervisor,
    launch: Launch,
    run: String,
    n_started: AtomicU32,
    /// Children whose call was given up; they are being stopped.
    left: Mutex<Vec<SupervisedChild>>,
    /// Starts whose call was given up before the child was there.
    starting: Mutex<Vec<JoinHandle<Spawned>>>,
}

type Spawned = Result<SupervisedChild, SpawnError>;

/// A start that goes to those that were left when its call is given up.
struct Starting<'p> {
    programs: &'p Programs,
    handle: Option<JoinHandle<Spawned>>,
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let mut starting = self.programs.starting.lock().expect("no holder panics");
            starting.push(handle);
        }
    }
}

/// A child that goes to those that were left when its call is given up.
struct Attended<'p> {
    programs: &'p Programs,
    child: Option<SupervisedChild>,
}

impl Drop for Attended<'_> {
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
    pub(crate) fn new(
        supervisor: Supervisor,
        request: &RunRequest,
        limits: ChildLimits,
        enclosure: Enclosure,
    ) -> Self {
        let (readable, writable) = request.child_paths();
        let sandbox = enclosure.around(readable, writable);
        Self {
            supervisor,
            launch: Launch {
                program: PathBuf::new(),
                args: Vec::new(),
                env: request.child_environment(),
                cwd: request.worktree.clone(),
                stdin: Vec::new(),
                marker: String::new(),
                limits,
                disk: request.own_directories(),
                sandbox,
            },
            run: request.run_id.to_string(),
            n_started: AtomicU32::new(0),
            left: Mutex::new(Vec::new()),
            starting: Mutex::new(Vec::new()),
        }
    }

    /// Returns what every child of the run is started from.
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Runs a program to its end, or to the end of its time.
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
            // A marker of its own: the end of this one is not the end of what else the run has started.
            marker: format!("{}/script-{n}", self.run),
            ..self.launch.clone()
        };
        let supervisor = self.supervisor.clone();
        let handle = tokio::task::spawn_blocking(move || supervisor.spawn(launch));
        let mut starting = Starting {
            programs: self,
            handle: Some(handle),
        };
        let handle = starting.handle.as_mut().expect("it is there until here");
        let spawned = handle.await;
        starting.handle = None;
        let child = spawned
            .map_err(|error| ToolError::new(format!("the program could not be started: {error}")))?
            .map_err(|error| ToolError::new(format!("{error}: {}", error.source)))?;
        let attended = Attended {
            programs: self,
            child: Some(child),
        };
        follow(attended, time).await
    }

    /// Waits until everything that was left has died.
    async fn close(&self) {
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

/// Collects what a program prints until it has ended.
async fn follow(mut attended: Attended<'_>, time: Duration) -> Result<ToolOutput, ToolError> {
    let child = attended
        .child
        .as_mut()
        .expect("it is attended until it is dropped");
    let mut output = String::new();
    let mut n_dropped = 0_u64;
    let late = tokio::time::sleep(time);
    tokio::pin!(late);
    let mut is_late = false;
    let status = loop {
        let event = tokio::select! {
            event = child.next() => event,
            () = late.as_mut(), if !is_late => {
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
    attended.child = None;
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

/// The daemon's support scripts.
#[derive(Debug)]
pub(crate) struct ScriptTools {
    programs: Arc<Programs>,
    /// Each script by its path from the support tree.
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
    /// Offers the scripts of a run; none where there are none, or where the run may only read: a script can write.
    pub(crate) fn new(programs: Arc<Programs>, request: &RunRequest) -> Option<Self> {
        let support = request.context.as_ref()?.join("support");
        let found = request.support_scripts().into_iter();
        let scripts: Vec<(String, PathBuf)> = found
            .filter_map(|path| {
                let name = path.strip_prefix(&support).ok()?.to_str()?.to_owned();
                Some((name, path))
            })
            .collect();
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

/// A shell.
#[derive(Debug)]
pub(crate) struct ShellTools(pub(crate) Arc<Programs>);

#[derive(Debug, Deserialize)]
struct Bash {
    command: String,
}

#[async_trait]
impl ToolSource for ShellTools {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![spec(
            "bash",
            "Runs a command of the shell in the worktree, confined to it, for up to 30 s; answers what it printed.",
            &["command"],
            json!({"command": {"type": "string", "minLength": 1, "maxLength": 32768}}),
        )]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Bash { command } = read(arguments)?;
        let args = ["-c".to_owned(), command];
        self.0
            .run(Path::new("/bin/sh"), &args, "", SHELL_TIME)
            .await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
