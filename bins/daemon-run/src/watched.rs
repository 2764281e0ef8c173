//! Opening the watched repositories: all at once, each on a thread of its own, since git may hang in any of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use daemon_event::RepoName;
use daemon_host::config::{Config, Fault, Repo};
use daemon_host::driver::repos::Watched;
use daemon_host::driver::{Naming, Unopened};
use daemon_host::ops::{OpError, OpErrorKind, chain};
use daemon_host::serve::Compose as _;
use daemon_repo::{Git, GitError, Repository};
use tokio_util::sync::CancellationToken;

use crate::compose::Composer;

/// A repository that git is opening.
struct Opening {
    path: PathBuf,
    opened: Receiver<Result<Repository, GitError>>,
    answered: CancellationToken,
}

impl Opening {
    /// Begins to open a repository.
    fn begin(git: &Git, path: PathBuf) -> Result<Self, OpError> {
        let (sender, opened) = sync_channel(1);
        let answered = CancellationToken::new();
        let (git, on_thread, done) = (git.clone(), path.clone(), answered.clone());
        let open = move || {
            // Without a receiver the time is over, and what waits for the answer composes the parts again.
            sender
                .send(Repository::open(&git, &on_thread))
                .unwrap_or_default();
            done.cancel();
        };
        let thread = std::thread::Builder::new().name("open repository".to_owned());
        thread.spawn(open).map_err(|error| {
            let message = format!("no thread can be started: {error}");
            OpError::new(OpErrorKind::Unavailable, "no-thread", message)
        })?;
        Ok(Self {
            path,
            opened,
            answered,
        })
    }

    /// Waits for the repository; `None` where git has not answered by `until`.
    fn wait(&self, until: Instant) -> Result<Option<Repository>, OpError> {
        let left = until.saturating_duration_since(Instant::now());
        let failed = |error: &dyn std::error::Error| {
            let message = format!("`{}`: {}", self.path.display(), chain(error));
            OpError::new(OpErrorKind::NotFound, "repository", message)
        };
        match self.opened.recv_timeout(left) {
            Ok(Ok(repository)) => Ok(Some(repository)),
            Ok(Err(error)) => Err(failed(&error)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(error @ RecvTimeoutError::Disconnected) => Err(failed(&error)),
        }
    }
}

impl Composer {
    /// Opens the repositories of a configuration, as far as git answers by `until`.
    ///
    /// # Errors
    /// If one cannot be opened, or its settings make no sense.
    pub(crate) fn watched(
        &self,
        git: &Git,
        config: &Config,
        until: Instant,
    ) -> Result<(Vec<Arc<Watched>>, Vec<Unopened>), OpError> {
        let open = |repo: &Repo| Opening::begin(git, self.directory.join(&repo.path));
        let openings: Vec<Opening> = config.repo.iter().map(open).collect::<Result<_, _>>()?;
        let mut watched: Vec<Arc<Watched>> = Vec::new();
        let mut unopened = Vec::new();
        for (index, (repo, opening)) in config.repo.iter().zip(openings).enumerate() {
            let index = index.to_string();
            let wrong = |key: &str, message: String| {
                self.refuse(&[Fault::of_value(&["repo", &index, key], message)])
            };
            let name = repo.name.as_deref().map(str::parse::<RepoName>).transpose();
            let name = name.map_err(|error| wrong("name", format!("repo.name: {error}")))?;
            let remote = repo.remote.as_deref().map(str::parse).transpose();
            let remote = remote.map_err(|error: daemon_repo::InvalidName| {
                wrong("remote", format!("repo.remote: {error}"))
            })?;
            let Some(opened) = opening.wait(until)? else {
                unopened.push(late(name, opening));
                continue;
            };
            let opened = match name {
                None => opened,
                Some(name) => opened.named(name),
            };
            refuse_twin(&watched, opened.name())?;
            watched.push(Arc::new(Watched {
                name: opened.name().clone(),
                repository: opened,
                branch: repo.branch.clone(),
                remote,
                zone: repo.zone.clone(),
                poll: repo.poll.unsigned().max(Duration::from_millis(100)),
            }));
        }
        Ok((watched, unopened))
    }
}

/// Describes a repository that git has not opened in time.
fn late(name: Option<RepoName>, opening: Opening) -> Unopened {
    let (name, naming) = match name {
        Some(name) => (name, Naming::Configured),
        None => (folder(&opening.path), Naming::Guessed),
    };
    Unopened {
        name,
        naming,
        answered: opening.answered,
    }
}

/// Names a repository by its folder.
fn folder(path: &Path) -> RepoName {
    let folder = path.file_name().and_then(|name| name.to_str());
    folder
        .and_then(|folder| folder.parse().ok())
        .unwrap_or_else(|| {
            "repository"
                .parse()
                .expect("a plain word is a repository name")
        })
}

/// Refuses a second repository of one name.
fn refuse_twin(watched: &[Arc<Watched>], name: &RepoName) -> Result<(), OpError> {
    let mut others = watched.iter();
    match others.find(|other| other.name.folded() == name.folded()) {
        None => Ok(()),
        Some(twin) => {
            let message = format!("two watched repositories are named `{}`", twin.name);
            let error = OpError::new(OpErrorKind::Config, "repository-name", message);
            Err(error.with_help("set [[repo]] name"))
        }
    }
}
