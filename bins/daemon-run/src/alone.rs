//! A host's parts without its loops, for a command that does by itself what a host would do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_host::config::Config;
use daemon_host::driver::{Inner, Runtime};
use daemon_host::home::{Home, Ownership};
use daemon_host::ops::Operations;
use daemon_host::secrets::HostSecrets;
use daemon_host::serve::{Compose as _, OpenFailure, begin_epoch};
use daemon_store::Store;

use crate::compose::{Composer, open_store};
use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::session::{Offline, home_failure, own};

/// How long git may take to open a repository: longer than any of its commands may take.
const GIT: Duration = Duration::from_secs(300);

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
        let inner = Inner::new(home, Arc::clone(&store), epoch, runtime, secrets);
        let operations = Operations::new(Arc::clone(&store), inner.registry().clone(), live);
        Ok(Self {
            inner,
            operations,
            store,
            _owner: owner,
        })
    }
}
