//! Hosts of a world: how they start, what they answer and how they end.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::waiting::{eventually, eventually_within};
use super::{SECRET, World, cleared, end, send};
use crate::http::{self, Answer};

/// What was being sent as its host was killed counts as absent after 80 seconds.
const SENDING: Duration = Duration::from_secs(120);

impl World {
    /// Starts a host on a free port and waits until it is ready.
    pub(crate) fn serve(&self) -> Host {
        self.serve_with(&[], &[])
    }

    /// Starts a host with more flags and variables.
    pub(crate) fn serve_with(&self, args: &[&str], env: &[(&str, &str)]) -> Host {
        match Host::launch(self, args, env) {
            Ok(host) => host,
            Err((status, line)) => panic!(
                "the host ended with {status} before it was ready: {line}{}",
                self.log()
            ),
        }
    }

    /// Starts a host, and does not wait until it is ready.
    pub(crate) fn starting(&self, args: &[&str], env: &[(&str, &str)]) -> Starting {
        let child = self
            .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(args)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(self.serve_log())
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

    /// Starts a host whose system calls of the given names are written to a file, with those of its children.
    pub(crate) fn serve_traced(&self, file: &Path, trace: &[&str], env: &[(&str, &str)]) -> Host {
        let serve = self.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut command = cleared("strace");
        // As a grandchild, so that the host itself is the child.
        command.args(["-D", "-f", "-y", "-s", "4096"]);
        command
            .args(trace)
            .arg("-o")
            .arg(file)
            .arg(serve.get_program());
        command.args(serve.get_args()).envs(env.iter().copied());
        command.current_dir(serve.get_current_dir().expect("it is set"));
        command.stdout(Stdio::piped()).stderr(self.serve_log());
        let child = command.spawn().expect("strace starts");
        let traced = Starting { child: Some(child) };
        Host::wait_for(self, traced).unwrap_or_else(|(status, line)| {
            panic!(
                "the host ended with {status} before it was ready: {line}{}",
                self.log()
            )
        })
    }

    fn serve_log(&self) -> File {
        let mut options = File::options();
        options.create(true).append(true);
        options.open(self.beside("serve.log")).expect("a log")
    }

    /// Returns the address over TCP that the log of a host names.
    pub(crate) fn tcp_address(&self) -> String {
        let log = self.log();
        let (_, rest) = log.rsplit_once("tcp://").expect("the log names it");
        rest.split_whitespace()
            .next()
            .expect("an address")
            .to_owned()
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
    /// The first line it printed, verbatim.
    pub(crate) line: String,
    /// The same, read.
    pub(crate) ready: Value,
    token: String,
}

impl Host {
    #[cfg(feature = "internal-testing")]
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

    /// Returns the address of its HTTP listener.
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

    /// Posts a body without the token.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        http::ask(self.address(), "POST", path, headers, body.as_bytes())
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
    /// Each activation that ends begins the wait again.
    pub(crate) fn settled(&self, at_least: usize) -> Vec<Value> {
        let mut n_ended = 0;
        loop {
            let round = eventually_within(SENDING, "an activation ends, or all have", || {
                let is_matched = self.get("stats")["unmatched"] == 0;
                let activations = self.list("activations");
                let open: Vec<&Value> = activations.iter().filter(|one| !has_ended(one)).collect();
                if is_matched && open.is_empty() && activations.len() >= at_least {
                    return Ok(Round::Settled(activations));
                }
                match activations.len() - open.len() {
                    n if n > n_ended => Ok(Round::Ended(n)),
                    n => Err(format!(
                        "{n} of {} activations have ended, {at_least} are due, these have not: {open:#?}",
                        activations.len()
                    )),
                }
            });
            match round {
                Round::Settled(activations) => return activations,
                Round::Ended(n) => n_ended = n,
            }
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
        send(&self.child, signal);
    }

    /// Waits for its end, and reports whether it came within a limit.
    pub(crate) fn dies_within(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        eventually("the host dies, or does not", || {
            let ended = self.child.try_wait().expect("it can be waited for");
            let is_over = began.elapsed() >= limit;
            (ended.is_some() || is_over).then_some(ended.is_some())
        })
    }

    /// Kills it without a warning.
    pub(crate) fn kill(mut self) {
        end(&mut self.child);
    }

    /// Asks it to stop, and returns how it ended and what it printed after its first line.
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

/// What a wait for the end of all activations comes to.
enum Round {
    /// All have ended.
    Settled(Vec<Value>),
    /// More have ended than before: this many.
    Ended(usize),
}

/// Reports whether nothing happens to an activation any more.
fn has_ended(activation: &Value) -> bool {
    ["succeeded", "failed", "dead", "cancelled"]
        .iter()
        .any(|state| activation["state"] == *state)
}
