//! A host's parts without its loops, for a command that does by itself what a host would do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_engine::HostEpoch;
use daemon_host::clock::SystemClock;
use daemon_host::config::Config;
use daemon_host::driver::{Inner, Runtime};
use daemon_host::home::{Home, Ownership};
use daemon_host::ops::{OpError, Operations};
use daemon_host::secrets::HostSecrets;
use daemon_host::serve::{Compose as _, OpenFailure, begin_epoch};
use daemon_repo::Repository;
use daemon_store::Store;
use daemon_store_sqlite::SqliteStore;

use crate::commands::fire::watch_only;
use crate::compose::{Composer, Overrides, open_store};
use crate::failure::{Exit, Failure};
use crate::local;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{Offline, home_failure, own};

/// How long git may take to open a repository: longer than any of its commands may take.
const GIT: Duration = Duration::from_secs(300);

/// Registers the daemons of the default branch of the enclosing repository in memory, and notes those that are in the
/// working tree only; `None` outside of a repository. Nothing is written.
///
/// # Errors
/// If the configuration cannot be used, or the repository has no such branch.
pub(crate) async fn unregistered(place: &Place, out: Out) -> Result<Option<Operations>, Failure> {
    let composer = Composer::new(place, Overrides::default());
    let root = local::root(place, None)?;
    if Repository::enclosing(&composer.git()?, &root).is_err() {
        return Ok(None);
    }
    let mut config = composer.load()?;
    watch_only(&mut config, &composer, place, &root)?;
    for repo in &mut config.repo {
        // Looking fetches nothing.
        repo.remote = None;
    }
    let parts = composer.parts(&config, Instant::now() + GIT, OpenFailure::Refuse)?;
    let home = Home::named(place.home()?);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().map_err(OpError::from)?);
    let live = Arc::new(Offline::new(home.clone()));
    let runtime = Runtime {
        config: Arc::new(config),
        parts,
        generation: 1,
    };
    let secrets = HostSecrets::default();
    let clock = Arc::new(SystemClock);
    let inner = Inner::new(
        home,
        Arc::clone(&store),
        HostEpoch(0),
        runtime,
        secrets,
        clock,
    );
    inner.read_repos().await.map_err(OpError::from)?;
    let mut states = inner.repo_states().into_values();
    if let Some(problem) = states.find_map(|state| state.problem) {
        return Err(Failure::new(Exit::NoInput, "repository", problem));
    }
    let registered = store.daemons().await.map_err(OpError::from)?;
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
    Ok(Some(Operations::new(store, inner.registry().clone(), live)))
}

/// The owner of a home for as long as one command takes.
pub(crate) struct Alone {
    /// What is driven.
    pub(crate) inner: Arc<Inner>,
    /// What can be asked.
    pub(crate) operations: Operations,
    /// The store of both.
    pub(crate) store: Arc<dyn Store>,
    _owner: Ownership,
}

impl Alone {
    /// Composes the parts, then becomes the home's owner and opens its store.
    pub(crate) async fn begin(
        place: &Place,
        composer: &Composer,
        config: Config,
    ) -> Result<Self, Failure> {
        let parts = composer.parts(&config, Instant::now() + GIT, OpenFailure::Refuse)?;
        if let Some(repo) = parts.unopened.first() {
            let message = format!("git did not open `{}` in time", repo.name);
            return Err(Failure::new(Exit::NoInput, "repository", message));
        }
        let home = Home::open(place.home()?).map_err(home_failure)?;
        let mut owner = own(&home)?;
        let store = open_store(&home, &config.host.store)?;
        let epoch = begin_epoch(&*store, &mut owner).await?;
        let live = Arc::new(Offline::new(home.clone()));
        let runtime = Runtime {
            config: Arc::new(config),
            parts,
            generation: 1,
        };
        let secrets = HostSecrets::default();
        let clock = Arc::new(SystemClock);
        let inner = Inner::new(home, Arc::clone(&store), epoch, runtime, secrets, clock);
        let operations = Operations::new(Arc::clone(&store), inner.registry().clone(), live);
        Ok(Self {
            inner,
            operations,
            store,
            _owner: owner,
        })
    }
}
