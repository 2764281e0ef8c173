//! Access to operations: over the socket of a running host, else on the store of the home.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use daemon_agent::{Conversations, Skills};
use daemon_api::control::{CallError, Client, ErrorBody};
use daemon_api::ops::{CharterText, Live, Operation, Operations, Prune, RunReply, SettingsRequest};
use daemon_event::{ActivationId, RepoName};
use daemon_home_store::{existing, open, open_to_read};
use daemon_host::config::nearest;
use daemon_host::home::{Home, HomeError, Ownership};
use daemon_host::serve::Compose as _;
use daemon_records::HeldRoster;
use daemon_records::clock::SystemClock;
use daemon_records::error::{OpError, OpErrorKind, RefusalDetails};
use daemon_registry::SharedRegistry;
use daemon_roster::RosterSettings;
use daemon_runner::pruning::PruneScope;
use daemon_runner::runs::end_orphan;
use daemon_store::{Rates, Store};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::compose::{Composer, Overrides, is_absent};
use crate::failure::{CommandFailure, ExitKind};
use crate::offline::unregistered;
use crate::out::Out;
use crate::place::Place;

/// The code of the failure when there is neither a host nor a store.
pub(crate) const NO_HOME: &str = "no-home";

/// The code of the failure when no daemon has an id.
const UNKNOWN_DAEMON: &str = "unknown-daemon";
/// What to do about failures that have no help of their own, by code.
const NEXT_STEPS: [(&str, &str); 3] = [
    ("unknown-activation", "`daemon-run activations` lists them"),
    ("unknown-event", "`daemon-run events` lists them"),
    ("unknown-run", "`daemon-run runs` lists them"),
];

/// Whether a command changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// It only reads.
    Look,
    /// It writes; without a host, the command owns the home meanwhile.
    Change,
}

/// A connection to a host, or an open store.
pub(crate) enum CommandSession {
    /// A host is running.
    Live(Box<Client>),
    /// No host is running; the store is open.
    Store {
        operations: Operations,
        /// Held until the command ends, if it writes.
        _owner: Option<Ownership>,
    },
}

impl CommandSession {
    /// Connects to the host, or opens the store.
    pub(crate) async fn open(place: &Place, intent: Intent) -> Result<Self, CommandFailure> {
        if let Some(client) = live(place).await? {
            return Ok(Self::Live(Box::new(client)));
        }
        let root = place.home()?;
        let composer = Composer::new(place, Overrides::default());
        let config = composer.load()?;
        let Some(home) = existing(root, &config.host) else {
            let message = format!(
                "there is no store in `{}`, and no host is running for it",
                root.display()
            );
            let failure = CommandFailure::new(ExitKind::Unavailable, NO_HOME, message);
            return Err(failure.help("start one with `daemon-run serve --repo .`, or wake a daemon with `daemon-run fire ID`"));
        };
        let owner = match intent {
            // A reader changes nothing and needs no ownership, so it works next to another process that owns the home.
            Intent::Look => None,
            Intent::Change => Some(own(&home)?),
        };
        let store = match intent {
            Intent::Look => open_to_read(&home, &config.host).await?,
            Intent::Change => open(&home, &config.host).await?,
        };
        let rows = store.daemons().await.map_err(OpError::from)?;
        let offline = Arc::new(Offline::new(home, &store).with_composer(composer));
        let operations = Operations::new(store, SharedRegistry::of(rows), offline);
        Ok(Self::Store {
            operations,
            _owner: owner,
        })
    }

    /// Connects to the host, or opens the store. Without either, reads the default branch of the enclosing repository into
    /// memory and prints a note for daemons that are only in the working tree.
    pub(crate) async fn of_daemons(place: &Place, out: Out) -> Result<Self, CommandFailure> {
        match Self::open(place, Intent::Look).await {
            Err(failure) if failure.code == NO_HOME => {
                let read = Box::pin(unregistered(place, out)).await?;
                Ok(Self::over(&read.ok_or(failure)?))
            }
            opened => opened,
        }
    }

    /// Returns a session over the store of a command that does the work of a host.
    pub(crate) fn over(operations: &Operations) -> Self {
        Self::Store {
            operations: operations.clone(),
            _owner: None,
        }
    }

    /// Performs one operation, by the host or over the store.
    ///
    /// # Errors
    /// The failure of the operation, with a next step if it has none of its own.
    pub(crate) async fn call(
        &mut self,
        operation: Operation,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandFailure> {
        let id = params.get("id").and_then(Value::as_str).map(str::to_owned);
        let failure = match self.perform(operation, params).await {
            Err(failure) if failure.help.is_none() => failure,
            ended => return ended,
        };
        if let (UNKNOWN_DAEMON, Some(id)) = (failure.code.as_str(), id) {
            return Err(failure.help(self.similar_daemon(&id).await));
        }
        let step = NEXT_STEPS.iter().find(|(code, _)| *code == failure.code);
        Err(match step {
            Some((_, step)) => failure.help(*step),
            None => failure,
        })
    }

    async fn perform(
        &mut self,
        operation: Operation,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandFailure> {
        match self {
            Self::Live(client) => client.call(operation, params).await.map_err(call_failure),
            Self::Store { operations, .. } => Ok(operations.call(operation, params).await?),
        }
    }

    /// Returns the help about an id that no daemon has.
    async fn similar_daemon(&mut self, id: &str) -> String {
        let listed = self.perform(Operation::DaemonList, Map::new()).await;
        let listed = listed.unwrap_or_default();
        let rows = listed.get("daemons").and_then(Value::as_array);
        let ids = rows
            .into_iter()
            .flatten()
            .filter_map(|row| row["id"].as_str());
        match nearest(id, ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`daemon-run list` lists the daemons that are registered".to_owned(),
        }
    }
}

/// Connects to the host of the home as its owner, if one is running.
pub(crate) async fn live(place: &Place) -> Result<Option<Client>, CommandFailure> {
    live_as(place, None).await
}

/// Connects to the host of the home with a token, or as its owner, if one is running.
///
/// A host keeps the socket that it started with, also if its configuration has changed: the default path is tried, too.
pub(crate) async fn live_as(
    place: &Place,
    token: Option<&str>,
) -> Result<Option<Client>, CommandFailure> {
    let home = place.home()?;
    let usual = daemon_host::config::Config::default().uds.path;
    let loaded = Composer::new(place, Overrides::default()).load();
    if let Ok(config) = &loaded
        && config.uds.path != usual
        && let Some(client) = connect(&home.join(&config.uds.path), token).await?
    {
        return Ok(Some(client));
    }
    match connect(&home.join(usual), token).await? {
        Some(client) => Ok(Some(client)),
        None => loaded.map(|_| None).map_err(Into::into),
    }
}

async fn connect(
    socket: &std::path::Path,
    token: Option<&str>,
) -> Result<Option<Client>, CommandFailure> {
    use std::io::ErrorKind::{ConnectionRefused, ConnectionReset};

    let connected = match token {
        Some(token) => Client::connect_with_token(socket, token).await,
        None => Client::connect(socket).await,
    };
    match connected {
        Ok(client) => Ok(Some(client)),
        Err(CallError::Unreachable(error))
            // A host that was killed leaves a socket without a listener, and resets what is connecting just then.
            if is_absent(&error) || matches!(error.kind(), ConnectionRefused | ConnectionReset) =>
        {
            Ok(None)
        }
        Err(error) => Err(call_failure(error)),
    }
}

/// Returns parameters with one string.
pub(crate) fn parameter(name: &str, value: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(name.to_owned(), json!(value));
    map
}

/// Reports whether the home has a store.
///
/// # Errors
/// No home is set, or the configuration cannot be used.
pub(crate) fn has_store(place: &Place) -> Result<bool, CommandFailure> {
    let config = Composer::new(place, Overrides::default()).load()?;
    Ok(existing(place.home()?, &config.host).is_some())
}

/// Takes ownership of a home.
pub(crate) fn own(home: &Home) -> Result<Ownership, CommandFailure> {
    home.own().map_err(home_failure)
}

/// Fails if another process owns the home. Does not create the home or its lock.
pub(crate) fn refuse_owned(root: &std::path::Path) -> Result<(), CommandFailure> {
    if !root.is_dir() {
        return Ok(());
    }
    match Home::named(root).owner().map_err(home_failure)? {
        None => Ok(()),
        Some(pid) => Err(home_failure(HomeError::Owned {
            home: root.to_owned(),
            pid,
        })),
    }
}

/// Returns the failure of a home that cannot be used.
pub(crate) fn home_failure(error: HomeError) -> CommandFailure {
    let message = daemon_records::error::chain(&error);
    match error {
        HomeError::Owned { .. } => CommandFailure::new(ExitKind::TryLater, "home-owned", message)
            .help("stop that process, or use another --home"),
        HomeError::Io { .. } => CommandFailure::new(ExitKind::CannotWrite, "home", message),
        HomeError::Foreign { .. } => CommandFailure::new(ExitKind::Config, "home", message)
            .help("name a new or an empty directory, or make an empty `config.toml` in it"),
        _ => CommandFailure::new(ExitKind::Config, "home", message),
    }
}

/// Returns the failure of a call to a running host.
pub(crate) fn call_failure(error: CallError) -> CommandFailure {
    match error {
        CallError::Refused(body) => refused(body),
        other => CommandFailure::new(
            ExitKind::Unavailable,
            "host-unreachable",
            daemon_records::error::chain(&other),
        ),
    }
}

fn refused(body: ErrorBody) -> CommandFailure {
    let reason = body.data.reason.unwrap_or_else(|| body.data.code.clone());
    // Rows that match the reason come first: it is more specific than the code.
    let exit = match (body.data.code.as_str(), reason.as_str()) {
        (_, "not-supported" | "reclaimed") => ExitKind::Usage,
        (_, "invalid-daemon" | "invalid-event") => ExitKind::Invalid,
        ("invalid-params" | "invalid-request" | "method-not-found", _) => ExitKind::Usage,
        ("not-found", _) => ExitKind::NoInput,
        ("conflict" | "busy" | "shutting-down", _) => ExitKind::TryLater,
        (_, "folder") | ("damaged", _) => ExitKind::CannotWrite,
        ("provider-failed" | "killed", _) => ExitKind::Failed,
        ("cancelled", _) => ExitKind::Interrupted,
        ("illegal-transition" | "held" | "fenced" | "not-ready" | "retired", _) => {
            ExitKind::TryLater
        }
        ("forbidden" | "unauthorized", _) => ExitKind::Refused,
        ("config-invalid", _) => ExitKind::Config,
        ("storage-failed", _) => ExitKind::Unavailable,
        _ => ExitKind::Internal,
    };
    CommandFailure {
        exit,
        code: reason,
        message: body.message,
        help: body.data.help,
        refusal: Some(Box::new(RefusalDetails {
            rule: body.data.rule.map(Cow::Owned),
            blockers: body.data.blockers,
        })),
    }
}

/// The part of a host that operations need, for a command without a host.
pub(crate) struct Offline {
    home: Home,
    store: Arc<dyn Store>,
    /// What opens the watched repositories; `None` if the command changes nothing in them.
    composer: Option<Composer>,
}

impl Offline {
    /// Returns the stand-in for a home with its store.
    pub(crate) fn new(home: Home, store: &Arc<dyn Store>) -> Self {
        Self {
            home,
            store: Arc::clone(store),
            composer: None,
        }
    }

    /// Sets what opens the watched repositories.
    fn with_composer(self, composer: Composer) -> Self {
        Self {
            composer: Some(composer),
            ..self
        }
    }
}

#[async_trait]
impl Live for Offline {
    fn now(&self) -> Timestamp {
        daemon_records::clock::now()
    }

    fn unread(&self) -> Vec<(RepoName, String)> {
        Vec::new()
    }

    fn pause(&self) -> Option<String> {
        // `list` and `show` read a repository without a home, so that there is no disk to examine.
        if !self.home.root().exists() {
            return None;
        }
        daemon_host::disk::Space::of(self.home.root()).pause_of_runs(self.home.root())
    }

    fn rates(&self) -> Rates {
        // Without a host nothing starts, so no rate limit delays anything.
        Rates::default()
    }

    async fn is_over_budget(&self) -> Result<bool, OpError> {
        Ok(false)
    }

    // No loop is running that would have to be woken.
    fn nudge(&self) {}

    fn accepted(&self, _: &[daemon_store::Accepted]) {}

    async fn stop_run(&self, activation: &ActivationId) -> Result<(), OpError> {
        // The command owns the home, so that a run that has not ended belongs to a dead host.
        let (runs, now) = (self.runs(), self.now());
        for run in self.store.runs_of(activation).await? {
            if matches!(run.state.as_str(), "running" | "cancelled") {
                end_orphan(&*self.store, &runs, &run, now).await?;
            }
        }
        Ok(())
    }

    async fn reload(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn doctor(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    fn login(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn stats(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn prune(&self, request: Prune) -> Result<Value, OpError> {
        let composer = self.composer.as_ref().ok_or_else(no_host)?;
        let config = composer.load()?;
        let (repositories, planner) = composer.branches(&config)?;
        let scope = PruneScope {
            store: &*self.store,
            repositories: &repositories,
            planner: &planner,
        };
        daemon_host::prune::answer(scope, request).await
    }

    async fn run_call(&self, _: Map<String, Value>) -> Result<RunReply, OpError> {
        Err(no_host())
    }

    fn runs(&self) -> std::path::PathBuf {
        self.home.runs()
    }

    fn directories(&self) -> Vec<std::path::PathBuf> {
        // Commands are the owner's.
        Vec::new()
    }

    async fn settings(&self, _: SettingsRequest) -> Result<Value, OpError> {
        Err(no_host())
    }

    fn skills(&self) -> Skills {
        Skills::new(self.home.skills())
    }

    fn conversations(&self) -> Option<&Arc<Conversations>> {
        None
    }

    async fn charters(&self) -> Result<Vec<CharterText>, OpError> {
        daemon_host::charters::all(&self.home)
    }

    async fn roster(&self) -> Result<Arc<HeldRoster>, OpError> {
        let daemons = self.store.daemons().await?;
        let projects = daemons.iter();
        let settings = RosterSettings {
            projects: projects
                .filter_map(|row| row.key.repo.as_str().parse().ok())
                .collect(),
            ..RosterSettings::default()
        };
        let (store, clock) = (Arc::clone(&self.store), Arc::new(SystemClock));
        Ok(Arc::new(HeldRoster::load(store, clock, settings).await?))
    }
}

/// Returns the failure of an MCP tool that needs a running host.
pub(crate) fn no_host_runs() -> CommandFailure {
    // The tools of one-off runs have fixed messages, and this is one of them.
    let message = "No host is running for this home";
    CommandFailure::new(ExitKind::Unavailable, "no-host", message)
        .help("start one with `daemon-run serve`")
}

/// Returns the error of an operation that needs a running host.
pub(crate) fn no_host() -> OpError {
    OpError::new(
        OpErrorKind::Unavailable,
        "no-host",
        "no host is running for this home",
    )
    .with_help("start one with `daemon-run serve`")
}
