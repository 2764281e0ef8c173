//! A host, a repository and the home of a user, for attempts.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_api::fire::{Fire, FireTrigger, Moment, submit};
use daemon_event::ActivationId;
use daemon_host::driver::run_one;
use daemon_host::home::Home;
use daemon_host::serve::Compose as _;
use daemon_records::clock;
use daemon_records::random;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::OPEN_LEVEL;
use super::calls::{MessageQueue, SharedMemory};
use super::sockets::Sockets;
use super::targets::{ATTEMPTED, Attempted, OtherRun, STAYS, TARGETS, Targets};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::offline::{OfflineHost, read_repos};
use crate::out::put;
use crate::place::Place;
use crate::scratch::Scratch;

const DAEMON: &str = include_str!("watcher.md");
/// The daemon that makes the attempts, and the one that stays.
const NAMES: [&str; 2] = ["probe", "neighbour"];
/// How long a run may take to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval at which the folder of a run is read.
const POLL: Duration = Duration::from_millis(5);

/// What the attempts reach for. It is removed when dropped.
pub(super) struct ProbeWorld {
    // Before the directory that it works in.
    alone: OfflineHost,
    name: String,
    memory: Option<SharedMemory>,
    _queue: Option<MessageQueue>,
    _listeners: [UnixListener; 2],
    scratch: Scratch,
}

impl ProbeWorld {
    pub(super) async fn make(place: &Place, sockets: &Sockets) -> Result<Self, CommandFailure> {
        let scratch = Scratch::new(place, "daemon-probe-", "repo")?;
        scratch.write("repo/README.md", "# Probed\n")?;
        for name in NAMES {
            let path = format!("repo/.agents/daemons/{name}/DAEMON.md");
            scratch.write(&path, &DAEMON.replace("NAME", name))?;
        }
        scratch.commit("Begin")?;
        for path in [
            "repo/.git/worktrees/README",
            "home/objects/r.git/HEAD",
            "home/trees/r/tree",
            "user/.ssh/id_ed25519",
            "targets/note",
        ] {
            scratch.write(path, "kept\n")?;
        }
        scratch.write("home/config.toml", &config(&scratch, sockets)?)?;
        let place = scratch.place(place);
        let overrides = Overrides {
            repos: vec![scratch.repository()],
            ..Overrides::default()
        };
        let composer = Composer::new(&place, overrides);
        let alone = OfflineHost::begin(&place, &composer, composer.load()?).await?;
        read_repos(&alone.host).await?;
        Home::named(&scratch.home())
            .token(Path::new("token"))
            .map_err(crate::session::home_failure)?;
        let name = format!("daemon-probe-{}", random::hex(8));
        let listeners = listeners(&socket(&scratch), &name)
            .map_err(|error| CommandFailure::unwritable(&socket(&scratch), &error))?;
        Ok(Self {
            // Where the kernel has none, the attempts fail without a sandbox too, which the report says.
            memory: SharedMemory::new().ok(),
            _queue: MessageQueue::new(&name).ok(),
            _listeners: listeners,
            alone,
            name,
            scratch,
        })
    }

    /// Makes the attempts at a level.
    pub(super) async fn probe(
        &self,
        level: u8,
        sockets: &Sockets,
    ) -> Result<Vec<Attempted>, CommandFailure> {
        let stop = CancellationToken::new();
        let id = self.fire("neighbour").await?;
        let provider = format!("neighbour-{level}");
        let staying = run_one(&self.alone.host, &id, Some(&provider), stop.cancelled());
        let attempting = async {
            let _stopped = stop.clone().drop_guard();
            let run = self.run_of(&id).await?;
            let targets = self.targets(run, sockets).map_err(unusable)?;
            let text = serde_json::to_string(&targets).map_err(io::Error::from);
            let text = text.map_err(unusable)?;
            self.scratch.write(&format!("targets/{TARGETS}"), &text)?;
            self.attempts(level).await
        };
        let (stayed, attempted) = tokio::join!(staying, attempting);
        stayed?;
        attempted
    }

    /// Stores an activation of a daemon.
    async fn fire(&self, daemon: &str) -> Result<ActivationId, CommandFailure> {
        let host = &self.alone.host;
        let request = Fire {
            daemon: daemon.to_owned(),
            repo: None,
            trigger: FireTrigger::Person(random::hex(8)),
            by: Some("doctor".to_owned()),
        };
        let moment = Moment {
            now: clock::now(),
            pause: host.pause(),
            is_over_budget: host.is_over_budget(),
        };
        let registry = host.registry().get();
        let fired = submit(&*self.alone.store, &registry, &request, moment).await?;
        let none = || CommandFailure::bug("a person's firing made no activation");
        fired.activation.ok_or_else(none)
    }

    /// Waits until the run of an activation stays.
    async fn run_of(&self, id: &ActivationId) -> Result<OtherRun, CommandFailure> {
        let begun = Instant::now();
        loop {
            let (activation, runs, _) = self.alone.operations.activation_whole(id).await?;
            let folder = runs[0]["folder"].as_str().map(PathBuf::from);
            if let Some(run) = folder.and_then(staying) {
                return Ok(run);
            }
            let state = self.alone.operations.activation_state(id).await?;
            if state.is_final() || begun.elapsed() > PATIENCE {
                return Err(failed(&activation, &runs));
            }
            sleep(POLL).await;
        }
    }

    fn targets(&self, run: OtherRun, sockets: &Sockets) -> io::Result<Targets> {
        let repository = self.scratch.repository();
        let [unlisted, listed, datagrams] = sockets.addresses()?;
        Ok(Targets {
            home: self.scratch.home(),
            host: rustix::process::getpid().as_raw_nonzero().get(),
            socket: socket(&self.scratch),
            git: repository.join(".git"),
            repository,
            user: self.scratch.dir().join("user"),
            run,
            name: self.name.clone(),
            memory: self.memory.as_ref().map(|memory| memory.id),
            unlisted,
            listed,
            datagrams,
        })
    }

    /// Runs the attempts to their end, and reads their results.
    async fn attempts(&self, level: u8) -> Result<Vec<Attempted>, CommandFailure> {
        let id = self.fire("probe").await?;
        let provider = format!("probe-{level}");
        run_one(
            &self.alone.host,
            &id,
            Some(&provider),
            std::future::pending(),
        )
        .await?;
        let (activation, runs, _) = self.alone.operations.activation_whole(&id).await?;
        let folder = runs[0]["folder"].as_str().unwrap_or_default();
        let path = Path::new(folder).join("session").join(ATTEMPTED);
        let attempted = fs::read(path).ok();
        attempted
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or_else(|| failed(&activation, &runs))
    }
}

/// Returns a run that stays, once it does.
fn staying(folder: PathBuf) -> Option<OtherRun> {
    let worktree = fs::read_to_string(folder.join("session").join(STAYS)).ok()?;
    let document = fs::read(folder.join("daemon.json")).ok()?;
    let document: Value = serde_json::from_slice(&document).ok()?;
    Some(OtherRun {
        pid: i32::try_from(document["child"]["pid"].as_i64()?).ok()?,
        worktree: worktree.into(),
        folder,
    })
}

fn failed(activation: &Value, runs: &Value) -> CommandFailure {
    let reason = |value: &Value| value.as_str().map(str::to_owned);
    let reason = reason(&runs[0]["error"]["message"]).or_else(|| reason(&activation["reason"]));
    let reason = reason.unwrap_or_else(|| "it left no result".to_owned());
    let message = format!("a run of the probes failed: {reason}");
    CommandFailure::new(ExitKind::Unavailable, "probe", message)
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::unwritable(Path::new(TARGETS), &error)
}

fn socket(scratch: &Scratch) -> PathBuf {
    scratch.home().join("run/daemon.sock")
}

/// Listens at the host's socket and at an abstract name. Connections are complete before they are accepted.
fn listeners(path: &Path, name: &str) -> io::Result<[UnixListener; 2]> {
    let named = UnixAddress::from_abstract_name(name)?;
    Ok([UnixListener::bind(path)?, UnixListener::bind_addr(&named)?])
}

/// Returns a configuration with a pair of providers for each level, all of them this program.
fn config(scratch: &Scratch, sockets: &Sockets) -> Result<String, CommandFailure> {
    let program = std::env::current_exe()
        .map_err(|error| CommandFailure::unreadable(Path::new("this program"), &error))?;
    // A string of JSON is one of TOML.
    let quoted = |path: &Path| Value::from(path.display().to_string());
    let program = quoted(&program);
    let targets = quoted(&scratch.dir().join("targets"));
    let [_, listed, _] = sockets.addresses().map_err(unusable)?;
    // A name that no resolver has, so that only the number of the port is listed.
    let egress = format!("listed.invalid:{}", listed.port());
    let mut text = format!("[policy]\nsandbox_min = {OPEN_LEVEL}\n");
    for level in OPEN_LEVEL..=3 {
        put!(
            text,
            "\n[provider.neighbour-{level}]\ncommand = {program}\nargs = [\"probe-run\"]\nsandbox_max = {level}\n"
        );
        put!(
            text,
            "\n[provider.probe-{level}]\ncommand = {program}\nargs = [\"probe-run\", \"--targets\", {targets}]\n\
             sandbox_max = {level}\nreadable = [{targets}]\negress = [{egress:?}]\n"
        );
    }
    Ok(text)
}
