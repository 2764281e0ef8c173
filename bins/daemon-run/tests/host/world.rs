//! A repository with daemons, a home, and hosts that serve them.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use crate::http::{self, Answer};

/// How long anything may take before a test gives up; far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The secret that webhooks are signed with.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// A provider that notes that it ran.
pub(crate) const NOTE: &str = "cat > /dev/null\necho note >> NOTE.md\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}'\n";

/// Asks until there is an answer.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

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
    /// As whom the binary runs, where that is not the user of the tests.
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

    /// Makes a world with one daemon that wakes on every push to `main`.
    pub(crate) fn pushed() -> Self {
        Self::new(&[("pusher", &watch(&["when a commit is pushed to main"]))])
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
        let mut command = cleared("git");
        command
            .current_dir(&self.repo)
            .args(args)
            .env("HOME", self.scratch.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Ann")
                .env(format!("GIT_{role}_EMAIL"), "ann@example.com");
        }
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("git speaks UTF-8")
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
        fs::write(&new, format!("#!/bin/sh\n{body}")).expect("a script");
        fs::set_permissions(&new, Permissions::from_mode(0o755)).expect("its mode");
        fs::rename(new, self.program()).expect("its place");
    }

    /// Returns a path beside the repository and the home.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes the configuration, with more behind it.
    pub(crate) fn configure(&self, more: &str) {
        let text = format!(
            "[[repo]]\npath = {:?}\nname = \"o/r\"\n\n[provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {:?}\n\n\
             [sources.github]\nsecret_file = \"hook-secret\"\n\n{more}",
            self.repo.display().to_string(),
            self.program().display().to_string(),
        );
        self.write_config(&text);
    }

    /// Writes the whole configuration.
    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.home.join("config.toml"), text).expect("the configuration");
    }

    /// Gives everything to another user, as whom the binary runs from here on; only root can.
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
        Running { child: Some(child) }
    }

    /// Starts a host on a free port and waits until it is ready.
    pub(crate) fn serve(&self) -> Host {
        self.serve_with(&[], &[])
    }

    /// Starts a host with more flags and variables.
    pub(crate) fn serve_with(&self, args: &[&str], env: &[(&str, &str)]) -> Host {
        match Host::start(self, args, env) {
            Ok(host) => host,
            Err(status) => panic!(
                "the host ended with {status} before it was ready: {}",
                self.log()
            ),
        }
    }

    /// Starts a host, and does not wait until it is ready.
    pub(crate) fn starting(&self, args: &[&str], env: &[(&str, &str)]) -> Starting {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.beside("serve.log"))
            .expect("a log");
        let child = self
            .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(args)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        Starting { child: Some(child) }
    }

    /// Returns the address that the log of a host names before it is ready.
    pub(crate) fn listening(&self) -> String {
        eventually("the listener is there", || {
            let log = self.log();
            let (_, rest) = log.rsplit_once("listening on http://")?;
            Some(rest.split_whitespace().next()?.to_owned())
        })
    }

    /// Checks that a host refuses the configuration with a code, and returns the message.
    #[track_caller]
    pub(crate) fn refusal(&self, code: &str) -> String {
        let (exit, answer) = self.json(&["serve", "--listen", "127.0.0.1:0"]);
        let found = (exit, answer["error"]["code"].as_str());
        assert_eq!(found, (78, Some(code)), "{answer}");
        let message = answer["error"]["message"].as_str();
        message.expect("a message").to_owned()
    }

    /// Starts a host that is to refuse, and returns its exit code and what it said.
    pub(crate) fn refused(&self, env: &[(&str, &str)]) -> (Option<i32>, String) {
        match Host::launch(self, &[], env) {
            Ok(_) => (Some(0), "it became ready".to_owned()),
            Err((status, line)) => (status.code(), line),
        }
    }

    /// Starts a host that is to die at a place before it is ready, and returns how it ended.
    #[cfg(feature = "internal-testing")]
    pub(crate) fn killed_at(&self, place: &str) -> (Option<i32>, String) {
        match Host::start(self, &[], &[("DAEMON_FAILPOINT", place)]) {
            Ok(_) => (Some(0), "it became ready".to_owned()),
            Err(status) => (status.code(), status.to_string()),
        }
    }

    /// Starts a host that is to die at a place by itself, ready or not, and returns how it ended.
    #[cfg(feature = "internal-testing")]
    pub(crate) fn dies_at(&self, place: &str) -> Option<i32> {
        match Host::start(self, &[], &[("DAEMON_FAILPOINT", place)]) {
            Ok(mut host) => host.wait().0,
            Err(status) => status.code(),
        }
    }

    /// Makes the ticks of all schedules unrecorded since an instant, while no host serves.
    pub(crate) fn rewind(&self, cursor: Timestamp) {
        let store = rusqlite::Connection::open(self.home.join("state.db")).expect("the store");
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
        let store = rusqlite::Connection::open(self.home.join("state.db")).expect("the store");
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

/// A command under way, killed where a test leaves it.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
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

/// Kills a child and collects it.
pub(crate) fn end(child: &mut Child) {
    // A child that has ended cannot be killed, which is as good.
    child.kill().unwrap_or_default();
    child.wait().expect("a child can be waited for");
}

/// A host that is not ready yet; killed where a test leaves it.
pub(crate) struct Starting {
    child: Option<Child>,
}

impl Starting {
    fn into_child(mut self) -> Child {
        self.child.take().expect("it is taken once")
    }

    /// Asks it to stop, and returns its exit code and how long it took to end.
    pub(crate) fn stop(mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let child = self.child.as_mut().expect("it is taken once");
        let pid = i32::try_from(child.id()).expect("a process id fits");
        let pid = rustix::process::Pid::from_raw(pid).expect("it is not zero");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
        let status = eventually("the host has ended", || {
            child.try_wait().expect("it can be waited for")
        });
        (status.code(), begun.elapsed())
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            end(child);
        }
    }
}

/// A host that serves; killed where a test leaves it.
pub(crate) struct Host {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The first line it printed, as it stands.
    pub(crate) line: String,
    /// The same, read.
    pub(crate) ready: Value,
    token: String,
}

impl Host {
    fn start(world: &World, args: &[&str], env: &[(&str, &str)]) -> Result<Self, ExitStatus> {
        Self::launch(world, args, env).map_err(|(status, _)| status)
    }

    /// Starts a host, or returns how it ended and the first line it printed.
    fn launch(
        world: &World,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self, (ExitStatus, String)> {
        Self::wait_for(world, world.starting(args, env))
    }

    /// Waits until a host that is starting is ready, or returns how it ended and the first line it printed.
    pub(crate) fn wait_for(
        world: &World,
        starting: Starting,
    ) -> Result<Self, (ExitStatus, String)> {
        let mut child = starting.into_child();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("its output is text");
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        if ready["ready"] != true {
            return Err((child.wait().expect("it can be waited for"), line));
        }
        let token = fs::read_to_string(world.home.join("token")).expect("the token is made");
        Ok(Self {
            child,
            stdout,
            line,
            ready,
            token: token.trim().to_owned(),
        })
    }

    /// Returns its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the address of its HTTP door.
    pub(crate) fn address(&self) -> &str {
        let url = self.ready["http"].as_str().expect("the URL is text");
        url.strip_prefix("http://").expect("it is a URL")
    }

    /// Returns the path of its control socket.
    pub(crate) fn socket(&self) -> &Path {
        Path::new(self.ready["socket"].as_str().expect("the socket is text"))
    }

    /// Returns the bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Asks for a page without the token.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::ask(self.address(), method, path, headers, b"")
    }

    /// Asks with the bearer token.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let text = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let headers = [("Authorization", bearer.as_str())];
        http::ask(self.address(), method, path, &headers, text.as_bytes())
    }

    /// Reads an object of the API.
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", &format!("/api/v1/{path}"), &Value::Null);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Reads all pages of a listing.
    pub(crate) fn list(&self, plural: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let mut page = self.get(&format!("{plural}?limit=500{after}"));
            let Value::Array(rows) = page[plural].take() else {
                panic!("`{plural}` is a list")
            };
            all.extend(rows);
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }

    /// Sends a signed webhook.
    pub(crate) fn hook(&self, kind: &str, delivery: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.hook_bytes(kind, delivery, body.as_bytes())
    }

    /// Sends a signed webhook whose body may be anything.
    pub(crate) fn hook_bytes(&self, kind: &str, delivery: &str, body: &[u8]) -> Answer {
        let signature = http::signature(SECRET, body);
        let headers = http::github(kind, delivery, &signature);
        http::ask(self.address(), "POST", "/webhooks/github", &headers, body)
    }

    /// Waits until every stored event was matched and every activation has ended, and returns the activations.
    ///
    /// As long as one after the other ends, the wait goes on.
    pub(crate) fn settled(&self, at_least: usize) -> Vec<Value> {
        let (mut deadline, mut n_ended) = (Instant::now() + PATIENCE, 0);
        loop {
            let is_matched = self.get("stats")["unmatched"] == 0;
            let activations = self.list("activations");
            let open: Vec<&Value> = activations.iter().filter(|one| !has_ended(one)).collect();
            if is_matched && open.is_empty() && activations.len() >= at_least {
                return activations;
            }
            if activations.len() - open.len() > n_ended {
                n_ended = activations.len() - open.len();
                deadline = Instant::now() + PATIENCE;
            }
            let n = activations.len();
            assert!(
                Instant::now() < deadline,
                "{n_ended} of {n} activations have ended, {at_least} are due, these have not: {open:#?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until an activation is in a state, and returns it.
    pub(crate) fn activation_in(&self, state: &str) -> Value {
        eventually(&format!("an activation is {state}"), || {
            let all = self.list("activations");
            all.into_iter().find(|one| one["state"] == state)
        })
    }

    /// Waits until the registry is what the given commit holds.
    pub(crate) fn registered(&self, commit: &str) {
        eventually("the commit is registered", || {
            let doctor = self.get("doctor");
            let checks = doctor["checks"].as_array()?;
            let wanted = format!("read at {commit}");
            checks
                .iter()
                .any(|check| check["detail"] == wanted.as_str())
                .then_some(())
        });
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id fits");
        let pid = rustix::process::Pid::from_raw(pid).expect("it is not zero");
        rustix::process::kill_process(pid, signal).expect("the host lives");
    }

    /// Kills it without a warning.
    pub(crate) fn kill(mut self) {
        end(&mut self.child);
    }

    /// Tells it to stop, and returns how it ended and what it printed after its first line.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        self.signal(rustix::process::Signal::TERM);
        self.wait()
    }

    /// Waits for its end, and returns how it ended and what it printed after its first line.
    pub(crate) fn wait(&mut self) -> (Option<i32>, String) {
        let status = eventually("the host has ended", || {
            self.child.try_wait().expect("it can be waited for")
        });
        let mut rest = String::new();
        self.stdout
            .read_to_string(&mut rest)
            .expect("its output is text");
        (status.code(), rest)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Reports whether nothing happens to an activation any more.
fn has_ended(activation: &Value) -> bool {
    ["succeeded", "failed", "dead", "cancelled"]
        .iter()
        .any(|state| activation["state"] == *state)
}

/// Returns the processes that carry a text in their environment.
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
