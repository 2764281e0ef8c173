//! The parts of a host without its loops, for a command that does a host's work in its own process.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_api::control::RunTokens;
use daemon_api::ops::Operations;
use daemon_engine::HostEpoch;
use daemon_host::config::Config;
use daemon_host::driver::{ClaimsPause, Host, HostParts, Parts, Runtime};
use daemon_host::home::{Home, Ownership};
use daemon_host::serve::{Compose as _, OpenFailure, begin_epoch};
use daemon_records::clock::{self, SystemClock};
use daemon_records::error::OpError;
use daemon_repo::Repository;
use daemon_runner::secrets::HostSecrets;
use daemon_store::Store;
use daemon_store_sqlite::SqliteStore;

use crate::commands::fire::watch_only;
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::local;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{Offline, home_failure, own};

/// How long git may take to open a repository; longer than the limit of any git command.
const GIT: Duration = Duration::from_secs(300);

/// Registers the daemons of the enclosing repository's default branch in a store in memory, and prints a note for each
/// daemon that is only in the working tree. Returns `None` outside of a repository. Writes nothing.
///
/// # Errors
/// The configuration cannot be used, or the repository has no default branch.
pub(crate) async fn unregistered(
    place: &Place,
    out: Out,
) -> Result<Option<Operations>, CommandFailure> {
    let composer = Composer::new(place, Overrides::default());
    let root = local::root(place, None)?;
    if Repository::enclosing(&composer.git()?, &root).is_err() {
        return Ok(None);
    }
    let home = Home::named(place.home()?);
    let (host, store) = default_branch(&composer, place, &root, home.clone()).await?;
    let live = Arc::new(Offline::new(home, &store));
    let registered = store.daemons().await.map_err(OpError::from)?;
    // A host reads the default branch, so a daemon that is not committed would be missing without an explanation.
    for daemon in local::daemons(&root)? {
        let directory = daemon.source.dir.as_str();
        if !registered
            .iter()
            .any(|row| row.key.id.as_str() == directory)
        {
            out.note(&format!(
                "`{}` is in the working tree only: commit it to the default branch",
                plain(directory)
            ));
        }
    }
    Ok(Some(Operations::new(store, host.registry().clone(), live)))
}

/// Returns whether the default branch of the repository at `root` has a daemon that a host would register. A repository that
/// cannot be read has none.
pub(crate) async fn is_committed(place: &Place, root: &Path, id: &str) -> bool {
    let composer = Composer::new(place, Overrides::default());
    let registered = async {
        let home = Home::named(place.home()?);
        let (_, store) = default_branch(&composer, place, root, home).await?;
        Ok::<_, CommandFailure>(store.daemons().await.map_err(OpError::from)?)
    };
    let registered = registered.await.unwrap_or_default();
    registered.iter().any(|row| row.key.id.as_str() == id)
}

/// Registers the daemons of the default branch of the repository at `root` in a store in memory. Writes nothing.
async fn default_branch(
    composer: &Composer,
    place: &Place,
    root: &Path,
    home: Home,
) -> Result<(Arc<Host>, Arc<dyn Store>), CommandFailure> {
    let mut config = composer.load()?;
    watch_only(&mut config, composer, place, root)?;
    for repo in &mut config.repo {
        // A listing must not wait for a network.
        repo.remote = None;
    }
    let parts = composer.parts(&config, Instant::now() + GIT, OpenFailure::Refuse)?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().map_err(OpError::from)?);
    // Nothing is claimed, so no epoch has to be drawn.
    let host = host(
        (home, &store),
        HostEpoch(0),
        config,
        parts,
        composer.secrets(),
    );
    read_repos(&host).await?;
    Ok((host, store))
}

/// Reads the watched repositories.
///
/// # Errors
/// The first one that cannot be read: a command has no later reading that would succeed.
pub(crate) async fn read_repos(host: &Host) -> Result<(), CommandFailure> {
    host.read_repos().await;
    let mut states = host.repo_states().into_values();
    match states.find_map(|state| state.problem) {
        Some(problem) => Err(CommandFailure::new(
            ExitKind::NoInput,
            "repository",
            problem,
        )),
        None => Ok(()),
    }
}

/// Puts a host together that serves no client and runs no loop.
fn host(
    (home, store): (Home, &Arc<dyn Store>),
    epoch: HostEpoch,
    config: Config,
    parts: Parts,
    secrets: HostSecrets,
) -> Arc<Host> {
    Host::new(HostParts {
        home,
        store: Arc::clone(store),
        epoch,
        runtime: Runtime {
            config: Arc::new(config),
            parts,
            generation: 1,
        },
        secrets,
        clock: Arc::new(SystemClock),
        tokens: RunTokens::default(),
        claims: ClaimsPause::none(),
    })
}

/// A host for the duration of one command. It owns the home, so no other process can change the store meanwhile.
pub(crate) struct OfflineHost {
    pub(crate) host: Arc<Host>,
    pub(crate) operations: Operations,
    /// The store of `host` and `operations`.
    pub(crate) store: Arc<dyn Store>,
    // Declared last, so that it is dropped last: the home stays owned while the store is open.
    _owner: Ownership,
}

impl OfflineHost {
    /// Composes the parts, takes ownership of the home and opens its store.
    pub(crate) async fn begin(
        place: &Place,
        composer: &Composer,
        config: Config,
    ) -> Result<Self, CommandFailure> {
        // Parts first: a configuration that cannot be used must not create the home.
        let parts = composer.parts(&config, Instant::now() + GIT, OpenFailure::Refuse)?;
        if let Some(repo) = parts.unopened.first() {
            let message = format!("git did not open `{}` in time", repo.name);
            return Err(CommandFailure::new(
                ExitKind::NoInput,
                "repository",
                message,
            ));
        }
        let home = Home::open(place.home()?).map_err(home_failure)?;
        let mut owner = own(&home)?;
        let store = daemon_home_store::open(&home, &config.host).await?;
        let epoch = begin_epoch(&*store, &mut owner, clock::now()).await?;
        let live = Arc::new(Offline::new(home.clone(), &store));
        let host = host((home, &store), epoch, config, parts, composer.secrets());
        let operations = Operations::new(Arc::clone(&store), host.registry().clone(), live);
        Ok(Self {
            host,
            operations,
            store,
            _owner: owner,
        })
    }
}
