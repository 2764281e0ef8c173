//! A repository with daemons, a home, and hosts that serve them.

mod host;
#[path = "../kit/waiting.rs"]
mod waiting;

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use host::Host;
pub(crate) use waiting::{eventually, eventually_within};

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// An ordinary user, also if root runs the tests.
pub(crate) const NOBODY: u32 = 65534;
/// The secret that webhooks are signed with.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// A provider that notes that it ran.
pub(crate) const NOTE: &str = "cat > /dev/null\necho note >> NOTE.md\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}'\n";

/// Writes a daemon file that the linter has nothing to say against.
pub(crate) fn daemon_file(id: &str, wakes: &str) -> String {
    format!(
        "---\nid: {id}\npurpose: Keeps notes in order.\n{wakes}\nroutines:\n  - Append one line to NOTE.md.\ndeny:\n  - \
         Delete files.\n---\n\n# Policy\n\nBe brief.\n\n# Limits\n\nOne note.\n\n# Output format\n\nA branch.\n"
    )
}

/// Writes the `watch` list of a daemon file.
pub(crate) fn watch(conditions: &[&str]) -> String {
    conditions
        .iter()
        .fold("watch:".to_owned(), |mut text, condition| {
            write!(text, "\n  - {condition}").expect("writing to a string cannot fail");
            text
        })
}

/// A repository named `o/r`, a home that watches it, and a script that is its provider.
pub(crate) struct World {
    scratch: TempDir,
    pub(crate) repo: PathBuf,
    pub(crate) home: PathBuf,
    /// The user id of the binary, if it is not that of the tests.
    user: Option<u32>,
}

impl World {
    /// Makes a world with one commit that holds the given daemons: each an id and what wakes it.
    pub(crate) fn new(daemons: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let root = scratch.path().canonicalize().expect("it exists");
        let world = Self {
            repo: root.join("repo"),
            home: root.join("home"),
            user: None,
            scratch,
        };
        for directory in [&world.repo, &world.home] {
            fs::create_dir(directory).expect("a directory");
        }
        fs::write(world.home.join("hook-secret"), SECRET).expect("the secret");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        for (id, wakes) in daemons {
            world.write_daemon(id, &daemon_file(id, wakes));
        }
        world.write("docs/a.md", "one\n");
        world.commit("begin");
        world.script(NOTE);
        world.configure("");
        world
    }

    /// Makes another home that watches the same repository.
    pub(crate) fn other_home(&self) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let root = scratch.path().canonicalize().expect("it exists");
        let other = Self {
            repo: self.repo.clone(),
            home: root.join("home"),
            user: None,
            scratch,
        };
        fs::create_dir(&other.home).expect("a directory");
        fs::write(other.home.join("hook-secret"), SECRET).expect("the secret");
        other.script(NOTE);
        other.configure("");
        other
    }

    /// Makes a world with one daemon that wakes on every push to `main`.
    pub(crate) fn pushed() -> Self {
        Self::new(&[("pusher", &watch(&["when a commit is pushed to main"]))])
    }

    /// Makes the same world, and a host that serves it.
    pub(crate) fn serving() -> (Self, Host) {
        let world = Self::pushed();
        let host = world.serve();
        (world, host)
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Writes a daemon file.
    pub(crate) fn write_daemon(&self, id: &str, text: &str) {
        self.write(&format!(".agents/daemons/{id}/DAEMON.md"), text);
    }

    /// Commits everything and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs git in the repository.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.repo, args)
    }

    /// Returns the branches that daemons made.
    pub(crate) fn branches(&self) -> Vec<String> {
        self.git(&["for-each-ref", "--format=%(refname)", "refs/heads/daemon"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Returns the program that runs daemons.
    fn program(&self) -> PathBuf {
        self.scratch.path().join("agent.sh")
    }

    /// Makes the provider do what a shell script says.
    pub(crate) fn script(&self, body: &str) {
        let new = self.scratch.path().join("agent.new");
        executable(&new, &format!("#!/bin/sh\n{body}"));
        fs::rename(new, self.program()).expect("its place");
    }

    /// Returns a path in the directory of the repository and the home.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes the configuration, with more behind it.
    pub(crate) fn configure(&self, more: &str) {
        self.watch_with(&format!(
            "[provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {:?}\n\n\
             [sources.github]\nsecret_file = \"hook-secret\"\n\n{more}",
            self.program().display().to_string(),
        ));
    }

    /// Makes a world whose default provider is a stand-in for `claude`: a script, with more of its configuration.
    pub(crate) fn of_claude(script: &str, more: &str) -> Self {
        let world = Self::pushed();
        world.script(script);
        world.watch_with(&format!(
            "[provider]\ndefault = \"claude\"\n\n[provider.claude]\ncommand = {:?}\n{more}\n",
            world.program().display().to_string(),
        ));
        world
    }

    /// Writes a configuration that watches the repository as `o/r`, with the rest of it.
    pub(crate) fn watch_with(&self, rest: &str) {
        let path = self.repo.display().to_string();
        let repo = format!("[[repo]]\npath = {path:?}\nname = \"o/r\"\n\n");
        self.write_config(&(repo + rest));
    }

    /// Writes the whole configuration.
    pub(crate) fn write_config(&self, text: &str) {
        let is_open = daemon_process::probe().level < daemon_process::SandboxLevel::Confined
            && !text.contains("sandbox_min");
        // Where no sandbox can be had, runs have to be permitted without one.
        let permitted = match text.split_once("[policy]\n") {
            Some((before, after)) if is_open => {
                format!("{before}[policy]\nsandbox_min = 1\n{after}")
            }
            None if is_open => format!("{text}\n[policy]\nsandbox_min = 1\n"),
            _ => text.to_owned(),
        };
        fs::write(self.home.join("config.toml"), permitted).expect("the configuration");
    }

    /// Lets runs reach everything that the host's user reaches, as a person may configure it: for scripts that work with files of
    /// the test. Call it after the last change of the configuration.
    pub(crate) fn unconfined(&self) {
        self.at_level(1);
    }

    /// Makes runs get a sandbox level and no higher one. Call it after the last change of the configuration.
    pub(crate) fn at_level(&self, level: u8) {
        let path = self.home.join("config.toml");
        let text = fs::read_to_string(&path).expect("the configuration");
        let mut changed = String::new();
        let mut has_policy = false;
        for line in text.lines() {
            let is_provider = line.starts_with("[provider.") && line.matches('.').count() == 1;
            has_policy |= line == "[policy]";
            let more = match line {
                "[policy]" => format!("\nsandbox_min = {level}"),
                _ if is_provider => format!("\nsandbox_max = {level}"),
                _ => String::new(),
            };
            changed.extend([line, &more, "\n"]);
        }
        if !has_policy {
            let number = level.to_string();
            changed.extend(["\n[policy]\nsandbox_min = ", &number, "\n"]);
        }
        self.write_config(&changed);
    }

    /// Changes the owner of everything to another user, which the binary then runs as; only root can.
    pub(crate) fn hand_over(&mut self, user: u32) {
        let mut command = cleared("chown");
        command.args(["-R", &format!("{user}:{user}")]);
        let status = command.arg(self.scratch.path()).status();
        assert!(status.is_ok_and(|status| status.success()), "chown");
        self.user = Some(user);
    }

    /// Prepares a command of the binary in this home.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_daemon-run");
        let mut command = match self.user {
            None => cleared(program),
            Some(user) => {
                let mut command = cleared("setpriv");
                command
                    .args([format!("--reuid={user}"), format!("--regid={user}")])
                    .args(["--clear-groups", program]);
                command
            }
        };
        command
            .current_dir(self.scratch.path())
            .arg("--home")
            .arg(&self.home)
            .args(args);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Runs a command with `--json`, and returns its exit code and its object.
    pub(crate) fn json(&self, args: &[&str]) -> (i32, Value) {
        let output = self.run(&[args, &["--json"]].concat());
        let code = output.status.code().expect("it was not killed");
        match serde_json::from_slice(&output.stdout) {
            Ok(value) => (code, value),
            Err(error) => panic!("{args:?} printed no object ({error}): {output:?}"),
        }
    }

    /// Begins a command whose end is waited for later.
    pub(crate) fn begin(&self, args: &[&str]) -> Running {
        let child = self
            .command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        Running::of(child)
    }

    /// Opens the store of the home.
    pub(crate) fn store(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.home.join("state.db")).expect("the store")
    }

    /// Returns the exit code of `doctor` and its check with a name.
    pub(crate) fn examined(&self, name: &str) -> (i32, Value) {
        let (code, report) = self.json(&["doctor"]);
        (code, check(&report, name))
    }

    /// Makes the ticks of all schedules unrecorded since an instant, while no host serves.
    pub(crate) fn rewind(&self, cursor: Timestamp) {
        let store = self.store();
        let cursor = cursor.as_microsecond();
        store
            .execute(
                "UPDATE coverage SET cursor = ?1 WHERE is_open = 1",
                [cursor],
            )
            .expect("a cursor can be set");
    }

    /// Puts the crashes of hosts far back, while no host serves, so that they make no crash loop.
    pub(crate) fn forget_crashes(&self) {
        let store = self.store();
        store
            .execute("UPDATE host_start SET at = at - 3600000000", [])
            .expect("starts can be moved");
    }

    /// Returns what hosts of this home logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.beside("serve.log")).unwrap_or_default()
    }
}

/// Prepares a program with nothing of this process's environment but the search path.
pub(crate) fn cleared(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Runs git in a repository as Ann, without the configuration of the user or the system.
pub(crate) fn git(repo: &Path, args: &[&str]) -> String {
    let mut command = cleared("git");
    command
        .current_dir(repo)
        .args(args)
        .env("HOME", repo)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Ann")
            .env(format!("GIT_{role}_EMAIL"), "ann@example.com");
    }
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("git prints UTF-8")
}

/// A command under way, killed where a test leaves it.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    /// Takes a command that was started.
    pub(crate) fn of(child: Child) -> Self {
        Self { child: Some(child) }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let child = self.child.as_ref().expect("it was not waited for");
        send(child, signal);
    }

    /// Waits for the end and returns the exit code and the object that was printed.
    pub(crate) fn json(mut self) -> (i32, Value) {
        let child = self.child.take().expect("it is waited for once");
        let output = child.wait_with_output().expect("it ends");
        let value = serde_json::from_slice(&output.stdout);
        let code = output.status.code().expect("it was not killed");
        (code, value.expect("it prints one object"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            end(child);
        }
    }
}

/// Sends a signal to a child.
pub(crate) fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).expect("a process id fits");
    let pid = rustix::process::Pid::from_raw(pid).expect("it is not zero");
    rustix::process::kill_process(pid, signal).expect("the process lives");
}

/// Kills a child and collects it.
pub(crate) fn end(child: &mut Child) {
    // A child that has ended cannot be killed, which is as good.
    child.kill().unwrap_or_default();
    child.wait().expect("a child can be waited for");
}

/// Returns the check of a doctor's report that has a name.
#[track_caller]
pub(crate) fn check(report: &Value, name: &str) -> Value {
    let mut checks = report["checks"].as_array().expect("a list").iter();
    let found = checks.find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no check `{name}` in {report:#}"));
    found.clone()
}

/// Writes a program.
pub(crate) fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its mode");
}

/// Asserts that every process of a run has ended.
#[track_caller]
pub(crate) fn no_process_of(run: &str) {
    let left = processes_with(&format!("DAEMON_RUN_ID={run}"));
    assert!(left.is_empty(), "{run}: {left:?}");
}

/// Returns a file of the folder of a run that was listed or fired.
#[track_caller]
pub(crate) fn kept(run: &Value, file: &str) -> String {
    let folder = run["folder"].as_str().expect("a folder");
    let path = Path::new(folder).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the JSON document of such a run.
#[track_caller]
pub(crate) fn document(run: &Value) -> Value {
    serde_json::from_str(&kept(run, "daemon.json")).expect("it is JSON")
}

/// Reads lines of JSON.
#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("each line is JSON")
}

/// Returns the processes whose environment contains a string.
pub(crate) fn processes_with(needle: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc is there");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            // A process that ended meanwhile, or is a zombie, has none.
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ
                    .windows(needle.len())
                    .any(|window| window == needle.as_bytes())
            })
        })
        .collect()
}
