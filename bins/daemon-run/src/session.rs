//! How a command reaches operations: through a live host's socket, else on the home's store.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_event::{ActivationId, RepoName};
use daemon_host::control::{CallError, Client, ErrorBody};
use daemon_host::home::{Home, HomeError, Ownership};
use daemon_host::ops::{Live, OpError, OpErrorKind, Operation, Operations};
use daemon_registry::SharedRegistry;
use daemon_store::Rates;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::alone::unregistered;
use crate::compose::{Composer, Overrides, is_absent, open_store};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::place::Place;
use daemon_host::serve::Compose as _;

/// The code of the failure that there is neither a host nor a store.
const NO_HOME: &str = "no-home";

/// Whether a command changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// It looks.
    Look,
    /// It changes; without a host, it must own the home meanwhile.
    Change,
}

/// A way to operations.
pub(crate) enum Session {
    /// A host is live.
    Live(Box<Client>),
    /// None is; the store is open.
    Store {
        /// The operations.
        operations: Operations,
        /// Ownership of the home, where something is changed.
        _owner: Option<Ownership>,
    },
}

impl Session {
    /// Finds the host, or opens the store.
    pub(crate) async fn open(place: &Place, intent: Intent) -> Result<Self, Failure> {
        if let Some(client) = live(place).await? {
            return Ok(Self::Live(Box::new(client)));
        }
        let root = place.home()?;
        let Some(home) = Home::existing(root) else {
            let message = format!(
                "there is no store in `{}`, and no host is running for it",
                root.display()
            );
            let failure = Failure::new(Exit::Unavailable, NO_HOME, message);
            return Err(failure.help("start one with `daemon-run serve --repo .`, or wake a daemon with `daemon-run fire ID`"));
        };
        let owner = match intent {
            Intent::Look => None,
            Intent::Change => Some(own(&home)?),
        };
        let composer = Composer::new(place, Overrides::default());
        let config = composer.load()?;
        let store = open_store(&home, &config.host.store)?;
        let rows = store.daemons().await.map_err(OpError::from)?;
        let offline = Arc::new(Offline::new(home));
        let operations = Operations::new(store, SharedRegistry::of(rows), offline);
        Ok(Self::Store {
            operations,
            _owner: owner,
        })
    }

    /// Finds the host, or opens the store; without either, reads the default branch of the enclosing repository into memory and
    /// names the daemons that are in the working tree only.
    pub(crate) async fn of_daemons(place: &Place, out: Out) -> Result<Self, Failure> {
        match Self::open(place, Intent::Look).await {
            Err(failure) if failure.code == NO_HOME => {
                let read = Box::pin(unregistered(place, out)).await?;
                let operations = read.ok_or(failure)?;
                Ok(Self::Store {
                    operations,
                    _owner: None,
                })
            }
            opened => opened,
        }
    }

    /// Performs one operation, by the host or over the store.
    pub(crate) async fn call(
        &mut self,
        operation: Operation,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        match self {
            Self::Live(client) => client.call(operation, params).await.map_err(call_failure),
            Self::Store { operations, .. } => Ok(operations.call(operation, params).await?),
        }
    }
}

/// Connects to the home's host, if there is one.
///
/// A configuration that was spoilt while a host serves on with the old one hides where that host listens; it is then
/// looked for where hosts listen by default.
pub(crate) async fn live(place: &Place) -> Result<Option<Client>, Failure> {
    let composer = Composer::new(place, Overrides::default());
    let home = place.home()?;
    match composer.load() {
        Ok(config) => connect(&home.join(config.uds.path)).await,
        Err(spoilt) => {
            let usual = daemon_host::config::Config::default().uds.path;
            match connect(&home.join(usual)).await? {
                Some(client) => Ok(Some(client)),
                None => Err(spoilt.into()),
            }
        }
    }
}

async fn connect(socket: &std::path::Path) -> Result<Option<Client>, Failure> {
    match Client::connect(socket).await {
        Ok(client) => Ok(Some(client)),
        Err(CallError::Unreachable(error))
            if is_absent(&error) || error.kind() == std::io::ErrorKind::ConnectionRefused =>
        {
            Ok(None)
        }
        Err(error) => Err(call_failure(error)),
    }
}

/// Makes parameters of one text.
pub(crate) fn parameter(name: &str, value: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(name.to_owned(), json!(value));
    map
}

/// Becomes the owner of a home.
pub(crate) fn own(home: &Home) -> Result<Ownership, Failure> {
    home.own().map_err(home_failure)
}

/// Refuses a home that somebody owns, without touching one that nobody does.
pub(crate) fn refuse_owned(root: &std::path::Path) -> Result<(), Failure> {
    let Some(home) = Home::existing(root) else {
        return Ok(());
    };
    match home.owner().map_err(home_failure)? {
        None => Ok(()),
        Some(pid) => Err(home_failure(HomeError::Owned {
            home: root.to_owned(),
            pid,
        })),
    }
}

/// Says why a home cannot be used.
pub(crate) fn home_failure(error: HomeError) -> Failure {
    let message = daemon_host::ops::chain(&error);
    match error {
        HomeError::Owned { .. } => Failure::new(Exit::TryLater, "home-owned", message)
            .help("stop that process, or use another --home"),
        HomeError::Io { .. } => Failure::new(Exit::CannotWrite, "home", message),
        _ => Failure::new(Exit::Config, "home", message),
    }
}

/// Says why a call to a live host failed.
pub(crate) fn call_failure(error: CallError) -> Failure {
    match error {
        CallError::Refused(body) => refused(body),
        other => Failure::new(
            Exit::Unavailable,
            "host-unreachable",
            daemon_host::ops::chain(&other),
        ),
    }
}

fn refused(body: ErrorBody) -> Failure {
    let reason = body.data.reason.unwrap_or_else(|| body.data.code.clone());
    let exit = match (body.data.code.as_str(), reason.as_str()) {
        (_, "not-supported" | "reclaimed") => Exit::Usage,
        (_, "invalid-daemon" | "invalid-event") => Exit::Invalid,
        ("invalid-params" | "invalid-request" | "method-not-found", _) => Exit::Usage,
        ("not-found", _) => Exit::NoInput,
        ("conflict" | "busy" | "shutting-down", _) => Exit::TryLater,
        (_, "folder") => Exit::CannotWrite,
        ("forbidden" | "unauthorized", _) => Exit::Refused,
        ("config-invalid", _) => Exit::Config,
        ("storage-failed", _) => Exit::Unavailable,
        _ => Exit::Internal,
    };
    Failure {
        exit,
        code: reason,
        message: body.message,
        help: body.data.help,
    }
}

/// What can be done without a host.
pub(crate) struct Offline {
    home: Home,
}

impl Offline {
    /// Works in a home.
    pub(crate) fn new(home: Home) -> Self {
        Self { home }
    }
}

#[async_trait]
impl Live for Offline {
    fn now(&self) -> Timestamp {
        daemon_host::random::now()
    }

    fn unread(&self) -> Vec<(RepoName, String)> {
        Vec::new()
    }

    fn pause(&self) -> Option<String> {
        let space = daemon_host::disk::Space::of(self.home.root());
        space.pause().map(|why| format!("disk: {why}"))
    }

    fn rates(&self) -> Rates {
        // Nothing begins without a host, so that no rate holds anything back.
        Rates::default()
    }

    fn nudge(&self) {}

    fn accepted(&self, _: &[daemon_store::Accepted]) {}

    fn stop_run(&self, _: &ActivationId) {}

    async fn reload(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn doctor(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn stats(&self) -> Result<Value, OpError> {
        Err(no_host())
    }

    async fn run_call(&self, _: Map<String, Value>) -> Result<Map<String, Value>, OpError> {
        Err(no_host())
    }

    fn runs(&self) -> std::path::PathBuf {
        self.home.runs()
    }
}

/// Says that only a live host can do it, in the words of the tools.
pub(crate) fn no_host_runs() -> Failure {
    let words = "No host is running for this home";
    Failure::new(Exit::Unavailable, "no-host", words).help("start one with `daemon-run serve`")
}

/// Says that only a live host can do it.
pub(crate) fn no_host() -> OpError {
    OpError::new(
        OpErrorKind::Unavailable,
        "no-host",
        "no host is running for this home",
    )
    .with_help("daemon-run serve")
}
