//! All registered daemons.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use daemon_event::{DaemonKey, Event, Need, RepoName, Source};

use crate::registered::Registered;

/// A repository (empty for sources that name none), a source, and a kind of event.
type EventKey = (String, Source, &'static str);

/// Why an id does not name one daemon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindDaemonError {
    /// No registered daemon has the id.
    #[error("no daemon `{id}`")]
    Unknown {
        /// The id that was given.
        id: String,
    },
    /// The repository that was given has no daemon with the id, and another one has.
    #[error("no daemon `{id}` in `{repo}`")]
    Elsewhere {
        /// The id that was given.
        id: String,
        /// The repository that was given.
        repo: RepoName,
        /// A repository that has one.
        other: RepoName,
    },
    /// No registered daemon is of the repository that was given.
    #[error("no daemon of a repository `{repo}` is registered")]
    UnknownRepo {
        /// The repository that was given.
        repo: RepoName,
        /// The repositories that have daemons.
        known: Vec<RepoName>,
    },
    /// Several repositories have a daemon with the id.
    #[error("`{}` and `{}` both have a daemon `{id}`", repos[0], repos[1])]
    Ambiguous {
        /// The id that was given.
        id: String,
        /// The first two of the repositories.
        repos: [RepoName; 2],
    },
}

/// All registered daemons, by repository and id.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    pub(crate) daemons: BTreeMap<DaemonKey, Arc<Registered>>,
    /// The daemons that may need facts a payload does not contain. Most events have no entry, so that matching them costs one
    /// look-up.
    needs: HashMap<EventKey, BTreeMap<DaemonKey, BTreeSet<Need>>>,
}

impl Registry {
    /// Returns all daemons, ordered by repository and id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.daemons.values()
    }

    /// Returns the daemon with a key.
    pub fn find_key(&self, key: &DaemonKey) -> Option<&Arc<Registered>> {
        self.daemons.get(key)
    }

    /// Finds a daemon by its id, and by its repository where two repositories have a daemon with this id.
    ///
    /// The letter case of the repository's name is ignored, as GitHub ignores it.
    ///
    /// # Errors
    /// If no daemon has the id, or more than one.
    pub fn find(
        &self,
        id: &str,
        repo: Option<&RepoName>,
    ) -> Result<&Arc<Registered>, FindDaemonError> {
        let mut found = self.daemons.values().filter(|daemon| {
            daemon.row.key.id.as_str() == id
                && repo.is_none_or(|repo| daemon.row.key.repo.folded() == repo.folded())
        });
        match (found.next(), found.next()) {
            (None, _) => Err(self.missing(id, repo)),
            (Some(daemon), None) => Ok(daemon),
            (Some(one), Some(other)) => Err(FindDaemonError::Ambiguous {
                id: id.to_owned(),
                repos: [one.row.key.repo.clone(), other.row.key.repo.clone()],
            }),
        }
    }

    /// Returns why no daemon has the id.
    fn missing(&self, id: &str, repo: Option<&RepoName>) -> FindDaemonError {
        let id = id.to_owned();
        let Some(repo) = repo else {
            return FindDaemonError::Unknown { id };
        };
        if !self.has_repo(repo) {
            return FindDaemonError::UnknownRepo {
                repo: repo.clone(),
                known: self.repos().cloned().collect(),
            };
        }
        let mut keys = self.daemons.keys();
        match keys.find(|key| key.id.as_str() == id) {
            Some(key) => FindDaemonError::Elsewhere {
                id,
                repo: repo.clone(),
                other: key.repo.clone(),
            },
            None => FindDaemonError::Unknown { id },
        }
    }

    /// Reports whether a daemon of a repository is registered.
    pub fn has_repo(&self, repo: &RepoName) -> bool {
        self.repos().any(|known| known.folded() == repo.folded())
    }

    /// Reports whether a daemon with an id is registered.
    pub fn has_id(&self, id: &str) -> bool {
        self.daemons.keys().any(|key| key.id.as_str() == id)
    }

    /// Returns the repositories that have daemons, each once.
    pub fn repos(&self) -> impl Iterator<Item = &RepoName> {
        let repos: BTreeSet<&RepoName> = self.daemons.keys().map(|key| &key.repo).collect();
        repos.into_iter()
    }

    /// Returns the daemons that cannot be matched with an event until facts are fetched, each with those facts.
    ///
    /// An event of GitHub or git without a repository gets none: there is no service or clone to fetch them from.
    pub fn missing_facts(&self, event: &Event) -> Vec<(&Arc<Registered>, BTreeSet<Need>)> {
        if self.needs.is_empty() {
            return Vec::new();
        }
        let repo = event.repo.as_ref().map(RepoName::folded);
        let kind = daemon_event::vocabulary::kinds()
            .iter()
            .find(|kind| kind.source == event.source && kind.name == event.kind);
        let Some(kind) = kind else { return Vec::new() };
        let key = (repo.unwrap_or_default(), event.source, kind.name);
        // A fact that the event has already, such as the files of a push, is not fetched again.
        let is_missing = |need: &Need| match need {
            Need::ChangedFiles | Need::ChannelName | Need::LabelName => {
                event.facts.get(need.field()).is_none()
            }
            Need::PullRequests => true,
        };
        let keys = self.needs.get(&key).into_iter().flatten();
        let keys = keys.filter(|(_, needs)| needs.iter().any(is_missing));
        let daemons = keys.filter_map(|(key, _)| self.daemons.get(key));
        daemons
            .map(|daemon| (daemon, daemon.missing_facts(event)))
            .filter(|(_, needs)| !needs.is_empty())
            .collect()
    }

    /// Reports whether a valid daemon may need facts that the payloads of a source do not contain.
    pub fn needs_of(&self, source: Source) -> bool {
        self.needs.keys().any(|(_, of, _)| *of == source)
    }

    pub(crate) fn put(&mut self, daemon: Registered) {
        let key = daemon.row.key.clone();
        if daemon.is_valid() {
            for ((source, kind), needs) in daemon.needs_by_kind() {
                // Events of Linear, Slack and Sentry name no repository, so that a daemon of any repository may need their
                // facts.
                let repo = match source {
                    Source::Github | Source::Git => key.repo.folded(),
                    Source::Linear | Source::Slack | Source::Sentry | Source::Cloudevents => {
                        String::new()
                    }
                };
                let keys = self.needs.entry((repo, source, kind)).or_default();
                keys.insert(key.clone(), needs);
            }
        }
        self.daemons.insert(key, Arc::new(daemon));
    }

    pub(crate) fn remove(&mut self, key: &DaemonKey) {
        self.daemons.remove(key);
        self.needs.retain(|_, keys| {
            keys.remove(key);
            !keys.is_empty()
        });
    }
}
