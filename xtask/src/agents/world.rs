//! The surroundings of a driven agent: a repository with two daemons, a home, and a host.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::agent::DrivenAgent;
use super::play::{KEEP, WORK};

/// How long each wait may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Writes the file of a daemon with one routine.
fn daemon(id: &str, routine: &str) -> String {
    format!(
        "---\nid: {id}\npurpose: Keeps notes in order.\nwatch:\n  - when a commit is pushed to main\nroutines:\n  - {routine}\n\
         deny:\n  - Delete files.\n---\n\n# Policy\n\nBe brief.\n\n# Limits\n\nOne note.\n\n# Output format\n\nA branch.\n"
    )
}

/// A directory with everything that one agent needs.
pub(crate) struct AgentSetup {
    binary: PathBuf,
    root: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl AgentSetup {
    /// Creates the directory `root` with two daemons. `sections` configures the providers, which see `environment`.
    pub(crate) fn new(
        agent: &DrivenAgent,
        binary: &Path,
        root: &Path,
        mut environment: Vec<(&'static str, String)>,
        sections: &str,
    ) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(root)?;
        }
        for name in ["home", "cwd", "user", "desk"] {
            fs::create_dir_all(root.join(name))?;
        }
        let root = root.canonicalize()?;
        let path = std::env::var("PATH").context("`PATH` is not set")?;
        environment.push(("PATH", path));
        environment.push(("IS_SANDBOX", "1".to_owned()));
        environment.push(("HOME", root.join("user").display().to_string()));
        let world = Self {
            binary: binary.to_owned(),
            root,
            environment,
        };
        let routines = [
            ("noter", "Write one line to NOTE.md.".to_owned()),
            ("worker", format!("{WORK}, and commit the note.")),
            ("keeper", format!("{KEEP} of what was seen, and note it.")),
        ];
        for (id, routine) in routines {
            let folder = world.path("repo/.agents/daemons").join(id);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("DAEMON.md"), daemon(id, &routine))?;
        }
        fs::write(world.path("repo/check.sh"), "echo checked\n")?;
        // Dispatched runs work in a repository of their own: agents search upwards for one, and would find this workspace.
        world.git(&["init", "--quiet", "../cwd"])?;
        world.git(&["init", "--quiet", "--initial-branch=main"])?;
        world.git(&["add", "--all"])?;
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        world.git(&[&who[..], &["commit", "--quiet", "--message", "begin"]].concat())?;
        let repo = world.path("repo").display().to_string();
        // Agents report no cost for the fake model, so that each run counts the whole budget of an activation.
        let config = format!(
            "[[repo]]\npath = {repo:?}\nname = \"o/r\"\n\n[host]\nlisten = \"127.0.0.1:0\"\n\n[budget]\nday_usd = 1000.0\n\n[provider]\ndefault = {:?}\n\n{sections}",
            agent.name
        );
        fs::write(world.path("home/config.toml"), config)?;
        Ok(world)
    }

    /// Returns a path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Runs git in the repository.
    pub(crate) fn git(&self, args: &[&str]) -> Result<String> {
        let output = self
            .cleared("git")
            .args(args)
            .current_dir(self.path("repo"))
            .output()?;
        ensure!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    fn cleared(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            // An agent must not find keys or settings of the user in its environment.
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null());
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.cleared(&self.binary);
        command
            .arg("--home")
            .arg(self.path("home"))
            .args(args)
            .arg("--json")
            .current_dir(self.path("cwd"));
        command
    }

    /// Runs `daemon-run --json` and returns its object.
    pub(crate) fn json(&self, args: &[&str]) -> Result<Value> {
        let output = self.command(args).output()?;
        let shown = || {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let stdout = String::from_utf8_lossy(&output.stdout);
            format!("daemon-run {args:?}: {stdout}{stderr}")
        };
        serde_json::from_slice(&output.stdout).with_context(shown)
    }

    /// Returns the `daemon.json` of a run's folder.
    pub(crate) fn document(&self, folder: &Value) -> Result<Value> {
        let folder = folder.as_str().context("no folder")?;
        let text = fs::read_to_string(format!("{folder}/daemon.json"))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the events of a run, one per line.
    pub(crate) fn events(&self, folder: &Value) -> Result<String> {
        let folder = folder.as_str().context("no folder")?;
        Ok(fs::read_to_string(format!("{folder}/logs/events.jsonl"))?)
    }

    /// Returns the status of each tool call of a run.
    pub(crate) fn tool_results(&self, folder: &Value) -> Result<Vec<String>> {
        let mut acc = Vec::new();
        for line in self.events(folder)?.lines() {
            let event: Value = serde_json::from_str(line)?;
            if event["event"] == "tool_result" {
                acc.push(event["status"].as_str().unwrap_or_default().to_owned());
            }
        }
        Ok(acc)
    }

    /// Returns the first branch of a daemon.
    pub(crate) fn branch(&self, daemon: &str) -> Result<String> {
        let pattern = format!("refs/heads/daemon/{daemon}");
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", &pattern])?;
        let mut branches = branches.lines().map(str::to_owned);
        branches
            .next()
            .with_context(|| format!("{daemon} has no branch"))
    }

    /// Starts the host, and waits until it is ready.
    pub(crate) fn serve(&self) -> Result<ServedHost> {
        let log = fs::File::create(self.path("serve.log"))?;
        let mut child = self
            .command(&["serve"])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let stdout = child.stdout.take().context("standard output was piped")?;
        let host = ServedHost { child };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(
            line.contains("\"ready\":true"),
            "the host is not ready: {line}"
        );
        Ok(host)
    }
}

/// A host that is stopped on drop.
pub(crate) struct ServedHost {
    child: Child,
}

impl Drop for ServedHost {
    fn drop(&mut self) {
        // SIGTERM first, so that the host stops its runs.
        let stopped = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            self.child.kill().unwrap_or_default();
        }
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// Polls until `ask` returns a value.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = ask()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("timed out waiting until {what}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the ids of the processes whose environment has the marker of a run or of one of its follow-ups.
pub(crate) fn processes_of(run: &str) -> Vec<String> {
    let marker = format!("DAEMON_RUN_ID={run}");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable.starts_with(marker.as_bytes()))
        })
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}
