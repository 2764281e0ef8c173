//! The real host: its home, its repositories and its process.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixtures;
use crate::repositories::{SEARCH, find_git, write};

/// A provider that succeeds at once.
const AGENT: &str = "#!/bin/sh\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";
// Longer than `host.drain`, within which a host stops its runs.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
// More activations per hour than any measurement starts, so that no rate limit is measured.
const RATE: u32 = 1_000_000;

/// A temporary home and repositories with one hundred daemons each, copies of `fixtures/daemons`.
pub(crate) struct BenchHome {
    scratch: TempDir,
}

impl BenchHome {
    /// Creates a home without repositories, whose one provider is a script.
    pub(crate) fn bare(agent: &str) -> Result<Self> {
        let world = Self {
            scratch: tempfile::tempdir()?,
        };
        world.furnish(agent, String::new())?;
        Ok(world)
    }

    /// Creates a home with one repository, `bench/one`, with one daemon file, whose one provider is a script.
    ///
    /// `more` is appended to the configuration.
    pub(crate) fn of_one(file: &str, agent: &str, more: &str) -> Result<Self> {
        let world = Self {
            scratch: tempfile::tempdir()?,
        };
        let path = world.path("repository");
        let daemon = ("one".to_owned(), file.as_bytes().to_vec());
        write(&find_git()?, &path, [daemon])?;
        let config = format!("[[repo]]\npath = {path:?}\nname = \"bench/one\"\n\n{more}\n");
        world.furnish(agent, config)?;
        Ok(world)
    }

    /// Creates a home that watches the bare repository at [`BenchHome::path`]`("repository")`, `bench/one`, which is made by `make`.
    pub(crate) fn of_bare(
        agent: &str,
        more: &str,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let world = Self {
            scratch: tempfile::tempdir()?,
        };
        let path = world.path("repository");
        make(&path)?;
        let config = format!("[[repo]]\npath = {path:?}\nname = \"bench/one\"\n\n{more}\n");
        world.furnish(agent, config)?;
        Ok(world)
    }

    /// Creates a home whose daemons all have the same schedule.
    pub(crate) fn new(n_repositories: usize, schedule: &str) -> Result<Self> {
        let world = Self {
            scratch: tempfile::tempdir()?,
        };
        let git = find_git()?;
        let files = fixtures::daemon_files()?;
        let mut config = String::new();
        for repository in 0..n_repositories {
            let path = world.path(&format!("repository-{repository:03}"));
            let mut daemons = Vec::with_capacity(100);
            for (n, file) in files.iter().cycle().take(100).enumerate() {
                let id = format!("daemon-{repository:03}-{n:03}");
                let text = fixtures::with_id(std::str::from_utf8(file)?, &id)?;
                daemons.push((id, fixtures::with_schedule(&text, schedule)?.into_bytes()));
            }
            write(&git, &path, daemons)?;
            write!(
                config,
                "[[repo]]\npath = {path:?}\nname = \"bench/r{repository:03}\"\n\n"
            )?;
        }
        world.furnish(AGENT, config)?;
        Ok(world)
    }

    /// Writes the configuration and the script of the provider.
    fn furnish(&self, agent: &str, mut config: String) -> Result<()> {
        let script = self.path("agent.sh");
        fs::write(&script, agent)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        write!(
            config,
            "[limits]\nrate_subject = {RATE}\nrate_daemon = {RATE}\nrate_host = {RATE}\n\n\
             [provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {script:?}\n"
        )?;
        fs::create_dir(self.home())?;
        fs::create_dir(self.working_directory())?;
        fs::write(self.home().join("config.toml"), config)?;
        Ok(())
    }

    /// Returns a path in the temporary directory, outside of the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Returns the working directory of commands, which is not a repository.
    fn working_directory(&self) -> PathBuf {
        self.path("desk")
    }

    /// Returns the home.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the directory of run folders.
    pub(crate) fn runs(&self) -> PathBuf {
        self.home().join("daemons")
    }

    /// Creates a home without a host that has the same run folders, and returns it.
    pub(crate) fn unserved(&self) -> Result<PathBuf> {
        let home = self.path("unserved");
        fs::create_dir(&home)?;
        fs::copy(self.home().join("config.toml"), home.join("config.toml"))?;
        std::os::unix::fs::symlink(self.runs(), home.join("daemons"))?;
        Ok(home)
    }

    /// Dispatches one run for each task, and returns their ids.
    pub(crate) fn emanate(&self, tasks: &[&str]) -> Result<Vec<String>> {
        let tasks: Vec<Value> = tasks.iter().map(|task| json!({"task": task})).collect();
        let call = self.path("call.json");
        fs::write(&call, json!({"tasks": tasks}).to_string())?;
        let call = call.to_str().context("a scratch path is text")?;
        let reply = self.ask(&self.home(), &["emanate", "--call", call])?;
        let ids = reply["run_ids"].as_array().context("a batch has ids")?;
        let ids = ids.iter().filter_map(|id| Some(id.as_str()?.to_owned()));
        Ok(ids.collect())
    }

    /// Runs a command on the host's home, and returns its object.
    pub(crate) fn call(&self, arguments: &[&str]) -> Result<Value> {
        self.ask(&self.home(), arguments)
    }

    /// Runs a command on a home, and returns its object.
    pub(crate) fn ask(&self, home: &Path, arguments: &[&str]) -> Result<Value> {
        ask(home, &self.working_directory(), arguments)
    }

    /// Returns the path of the store.
    pub(crate) fn store_file(&self) -> PathBuf {
        self.home().join("state.db")
    }

    /// Opens the store for reading.
    pub(crate) fn store(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let store = Connection::open_with_flags(self.store_file(), flags)?;
        store.busy_timeout(STOP_TIMEOUT)?;
        Ok(store)
    }

    /// Copies the store of a host that has ended.
    pub(crate) fn keep_store(&self) -> Result<()> {
        let store = Connection::open(self.store_file())?;
        // A copy without its log would be refused as damaged, so the log is merged into the file first.
        store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        store.close().map_err(|(_, error)| error)?;
        fs::copy(self.store_file(), self.path("kept.db"))?;
        Ok(())
    }

    /// Restores the copy of the store, and sets the cursor of all schedules back to an instant.
    pub(crate) fn restore_store(&self, cursor: jiff::Timestamp) -> Result<()> {
        for name in ["state.db-wal", "state.db-shm"] {
            match fs::remove_file(self.home().join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => bail!(error),
                Err(_) | Ok(()) => {}
            }
        }
        fs::copy(self.path("kept.db"), self.store_file())?;
        let store = Connection::open(self.store_file())?;
        let cursor = cursor.as_microsecond();
        store.execute(
            "UPDATE coverage SET cursor = ?1 WHERE is_open = 1",
            [cursor],
        )?;
        Ok(())
    }

    /// Starts a host and waits until it is ready.
    pub(crate) fn serve(&self) -> Result<BenchHost> {
        let program = program()?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.path("serve.log"))?;
        let began = Instant::now();
        let mut child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--json", "--home"])
            .arg(self.home())
            .env_clear()
            .env("PATH", SEARCH)
            .current_dir(self.scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("failed to start `{}`", program.display()))?;
        let stdout = child.stdout.take().expect("it is piped");
        let mut host = BenchHost {
            child,
            stdout: BufReader::new(stdout),
            took: Duration::ZERO,
            ready: Value::Null,
        };
        let mut line = String::new();
        host.stdout.read_line(&mut line)?;
        host.took = began.elapsed();
        ensure!(
            line.contains("\"ready\":true"),
            "the host did not become ready: {line}{}",
            tail(&self.path("serve.log"))
        );
        host.ready = serde_json::from_str(&line).context("the ready line is JSON")?;
        Ok(host)
    }
}

/// Returns the last part of a log, for an error message.
fn tail(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Returns the path of `daemon-run`, which cargo builds into the folder of this program.
/// Runs a command on a home, and returns its object.
pub(crate) fn ask(home: &Path, directory: &Path, arguments: &[&str]) -> Result<Value> {
    let output = Command::new(program()?)
        .args(arguments)
        .args(["--json", "--home"])
        .arg(home)
        .env_clear()
        .env("PATH", SEARCH)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        output.status.success(),
        "`{}` ended with {}: {}{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("a reply is JSON")
}

fn program() -> Result<PathBuf> {
    let path = std::env::current_exe()?
        .with_file_name(format!("daemon-run{}", std::env::consts::EXE_SUFFIX));
    ensure!(
        path.is_file(),
        "`{}` is not built; build it with the same profile",
        path.display()
    );
    Ok(path)
}

/// A running host, killed on drop.
pub(crate) struct BenchHost {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The time from the start of the process to its ready line.
    pub(crate) took: Duration,
    /// The object in its ready line.
    ready: Value,
}

impl BenchHost {
    /// Returns the address of its HTTP listener.
    pub(crate) fn address(&self) -> Result<&str> {
        let url = self.ready["http"].as_str().context("a host listens")?;
        url.strip_prefix("http://").context("a host serves HTTP")
    }

    /// Returns the path of the link that logs a browser in, with its code.
    pub(crate) fn login(&self) -> Result<&str> {
        let url = self.ready["login_url"]
            .as_str()
            .context("a host has a link")?;
        let path = url
            .strip_prefix("http://")
            .and_then(|rest| rest.find('/').map(|at| &rest[at..]));
        path.context("a link has a path")
    }

    /// Reads the resource usage of the process from `/proc`.
    pub(crate) fn usage(&self) -> Result<ProcessUsage> {
        let of = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.child.id()));
        ProcessUsage::read(&of("stat")?, &of("status")?)
            .context("`/proc` has no usage of the process")
    }

    /// Sends SIGTERM and waits for the exit.
    pub(crate) fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id())?;
        let pid = rustix::process::Pid::from_raw(pid).context("a process has a number")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the host ended with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("the host did not stop");
    }
}

impl Drop for BenchHost {
    fn drop(&mut self) {
        // `kill` fails if the process has ended, which is the goal.
        self.child.kill().unwrap_or_default();
        self.child.wait().expect("a child can be waited for");
    }
}

/// The resource usage of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessUsage {
    /// The processor time, including that of children that have ended.
    pub(crate) time: Duration,
    /// The resident memory.
    pub(crate) resident_kib: u64,
    /// The highest resident memory since its start.
    pub(crate) peak_kib: u64,
}

impl ProcessUsage {
    fn read(stat: &str, status: &str) -> Option<Self> {
        // The name of the process may contain spaces, so fields are counted from its closing parenthesis: the third is next.
        let (_, fields) = stat.rsplit_once(')')?;
        let ticks = fields.split_whitespace().skip(11).take(4);
        let ticks: Vec<u64> = ticks.map_while(|text| text.parse().ok()).collect();
        let ticks: u64 = (ticks.len() == 4).then(|| ticks.iter().sum())?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            time: Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second()),
            resident_kib: kib("VmRSS:")?,
            peak_kib: kib("VmHWM:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_of_a_process_is_read_after_its_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 9 0 0 0 100 50 30 20 20 0 1 0 5 1 1";
        let status = "Name:\ta) b\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(
            ProcessUsage::read(stat, status),
            Some(ProcessUsage {
                time: Duration::from_secs(200)
                    / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap(),
                resident_kib: 1024,
                peak_kib: 2048,
            })
        );
        assert_eq!(ProcessUsage::read("", status), None);
    }
}
