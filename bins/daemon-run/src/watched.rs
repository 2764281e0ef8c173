//! Opens the watched repositories concurrently, each on its own thread, since git may hang in any of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use daemon_event::RepoName;
use daemon_host::config::{Config, ConfigFault, Repo};
use daemon_host::driver::repos::Watched;
use daemon_host::driver::{Naming, NotOpen, Unopened};
use daemon_host::serve::{Compose as _, OpenFailure};
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_repo::{FetchSource, Git, GitError, RemoteName, Repository, encode};
use tokio_util::sync::CancellationToken;

use crate::compose::Composer;
use crate::services::GitServer;

/// Git, and what it authenticates with at a server.
pub(crate) struct GitAccess {
    pub(crate) git: Git,
    pub(crate) server: Option<GitServer>,
}

/// A repository that git is still opening.
pub(crate) struct PendingRepository {
    opened: Receiver<Result<Repository, GitError>>,
    answered: CancellationToken,
}

/// The path and the configured name of a repository.
type Key = (PathBuf, Option<RepoName>);

/// The repositories that git had not opened by the deadline. Their threads continue, so that a later call gets the result.
pub(crate) type LateRepositories = BTreeMap<Key, PendingRepository>;

/// The result of opening a repository.
enum Opening {
    Opened(Repository),
    Refused(OpError),
    /// Git has not finished; the token is cancelled when it has.
    Late(CancellationToken),
}

impl PendingRepository {
    /// Starts a thread that opens a repository.
    fn begin(git: &Git, path: &Path) -> Result<Self, OpError> {
        // Room for the one result, so that the thread ends also if no caller waits for it any more.
        let (sender, opened) = sync_channel(1);
        let answered = CancellationToken::new();
        let (git, path, done) = (git.clone(), path.to_owned(), answered.clone());
        let open = move || {
            // The send fails if the repository has been removed from the configuration.
            sender
                .send(Repository::open(&git, &path))
                .unwrap_or_default();
            done.cancel();
        };
        let thread = std::thread::Builder::new().name("open repository".to_owned());
        thread.spawn(open).map_err(|error| {
            let message = format!("no thread can be started: {error}");
            OpError::new(OpErrorKind::Unavailable, "no-thread", message)
        })?;
        Ok(Self { opened, answered })
    }

    /// Waits for the result until an instant.
    fn wait(&self, path: &Path, until: Instant) -> Opening {
        let left = until.saturating_duration_since(Instant::now());
        let refused = |error: &dyn std::error::Error| {
            let message = format!("`{}`: {}", path.display(), chain(error));
            Opening::Refused(OpError::new(OpErrorKind::NotFound, "repository", message))
        };
        match self.opened.recv_timeout(left) {
            Ok(Ok(repository)) => Opening::Opened(repository),
            Ok(Err(error)) => refused(&error),
            Err(RecvTimeoutError::Timeout) => Opening::Late(self.answered.clone()),
            Err(error @ RecvTimeoutError::Disconnected) => refused(&error),
        }
    }
}

/// One configured repository.
struct Entry<'a> {
    repo: &'a Repo,
    key: Key,
    remote: Option<RemoteName>,
}

impl Entry<'_> {
    /// Describes the repository as one that is not open.
    fn unopened(&self, why: NotOpen) -> Unopened {
        let (path, name) = &self.key;
        let (name, naming) = match name {
            Some(name) => (name.clone(), Naming::Configured),
            None => (folder(path), Naming::Guessed),
        };
        Unopened { name, naming, why }
    }

    /// Combines the opened repository with its configuration.
    fn watched(self, opened: Repository, home: &Path, server: Option<&GitServer>) -> Watched {
        // `name` in the configuration may be any name; that of the remote's URL has an owner.
        let on_remote = opened.name().clone();
        let opened = match self.key {
            (_, None) => opened,
            (_, Some(name)) => opened.named(name),
        };
        let names = [opened.name(), &on_remote].into_iter();
        let token = server.and_then(|server| { names }.find_map(|name| server.token(name)));
        let store = format!("objects/{}.git", encode(&opened.name().folded()));
        Watched {
            name: opened.name().clone(),
            repository: opened.with_store(&home.join(store)).with_token(token),
            branch: self.repo.branch.clone(),
            source: FetchSource::new(self.remote.clone()),
            remote: self.remote,
            zone: self.repo.zone.clone(),
            // An interval of zero would poll without a pause.
            poll: self.repo.poll.unsigned().max(Duration::from_millis(100)),
        }
    }
}

impl Composer {
    /// Opens the repositories of a configuration; those that git has not opened by `until` are returned as unopened.
    ///
    /// # Errors
    /// The settings of a repository are invalid, two have the same name, or git cannot open one and `failure` is `Refuse`.
    pub(crate) fn watched(
        &self,
        access: &GitAccess,
        config: &Config,
        until: Instant,
        failure: OpenFailure,
    ) -> Result<(Vec<Arc<Watched>>, Vec<Unopened>), OpError> {
        let entries = config.repo.iter().enumerate();
        let entries = entries.map(|(index, repo)| self.entry(index, repo));
        let entries: Vec<Entry<'_>> = entries.collect::<Result<_, _>>()?;
        let answers = self.open(&access.git, &entries, until)?;
        let mut watched: Vec<Arc<Watched>> = Vec::new();
        let mut unopened = Vec::new();
        let home = self.directory.join(self.home());
        for (entry, answer) in entries.into_iter().zip(answers) {
            match answer {
                Opening::Opened(repository) => {
                    let uncommitted = self.overrides.uncommitted.clone();
                    let repository = repository.with_uncommitted(uncommitted);
                    let repo = entry.watched(repository, &home, access.server.as_ref());
                    refuse_twin(&watched, &repo.name)?;
                    watched.push(Arc::new(repo));
                }
                Opening::Late(answered) => {
                    unopened.push(entry.unopened(NotOpen::Waiting(answered)));
                }
                Opening::Refused(error) => match failure {
                    OpenFailure::Refuse => return Err(error),
                    OpenFailure::Note => {
                        unopened.push(entry.unopened(NotOpen::Refused(error.message)));
                    }
                },
            }
        }
        Ok((watched, unopened))
    }

    /// Checks the settings of one repository.
    fn entry<'a>(&self, index: usize, repo: &'a Repo) -> Result<Entry<'a>, OpError> {
        let index = index.to_string();
        let wrong = |key: &str, message: String| {
            self.refuse(&[ConfigFault::of_value(&["repo", &index, key], message)])
        };
        let name = repo.name.as_deref().map(str::parse::<RepoName>).transpose();
        let name = name.map_err(|error| wrong("name", format!("repo.name: {error}")))?;
        let remote = repo.remote.as_deref().map(str::parse).transpose();
        let remote = remote.map_err(|error: daemon_repo::InvalidName| {
            wrong("remote", format!("repo.remote: {error}"))
        })?;
        let key = (self.directory.join(&repo.path), name);
        Ok(Entry { repo, key, remote })
    }

    /// Opens repositories, and keeps those that are not open by `until` for the next call.
    fn open(
        &self,
        git: &Git,
        entries: &[Entry<'_>],
        until: Instant,
    ) -> Result<Vec<Opening>, OpError> {
        let mut late = self.late.lock().expect("no holder panics");
        let mut known = std::mem::take(&mut *late);
        let begin = |entry: &Entry<'_>| match known.remove(&entry.key) {
            Some(pending) => Ok(pending),
            None => PendingRepository::begin(git, &entry.key.0),
        };
        // All threads are started before the first wait, so that one slow repository does not delay the others.
        let pending: Vec<_> = entries.iter().map(begin).collect::<Result<_, _>>()?;
        let wait = |(entry, pending): (&Entry<'_>, PendingRepository)| {
            let answer = pending.wait(&entry.key.0, until);
            if let Opening::Late(_) = answer {
                late.insert(entry.key.clone(), pending);
            }
            answer
        };
        Ok(entries.iter().zip(pending).map(wait).collect())
    }
}

/// Guesses the name of a repository from its folder.
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

/// Fails if a repository of this name is watched already; names are compared without case.
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
