//! Finds the conditions that an event meets without deciding most of the others.
//!
//! Conditions are filed by repository and by source, kind and action; within these by one exact value that they
//! require, by their path globs, or by the strings they search for. Only the candidates are decided in full.

mod bucket;
mod texts;

mod slots;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use daemon_event::{Event, RepoName, Source};

use crate::filter::{FilterVerdict, Test};
use crate::interpretation::{EventPattern, Interpretation, all_hold};
use bucket::Bucket;
use slots::{Entry, Slot};

/// Conditions of many daemons, filed so that an event finds those it meets.
///
/// `K` identifies a daemon. The crate page has an example with events.
///
/// # Examples
/// ```
/// use daemon_watch::{MatchIndex, interpret};
///
/// let repo = "acme/pump".parse()?;
/// let mut index = MatchIndex::new();
/// for (position, line) in ["when a PR is opened", "when CI fails on main"].into_iter().enumerate() {
///     index.insert(&repo, &"triage", position, &interpret(line));
/// }
/// index.remove(&"triage"); // both conditions
/// # Ok::<(), daemon_event::InvalidId>(())
/// ```
#[derive(Debug)]
pub struct MatchIndex<K> {
    repos: HashMap<u64, Vec<RepoIndex>>,
    /// Conditions on sources whose events name no repository.
    global: ByKind,
    buckets: Vec<Bucket<K>>,
    /// The places of each key's conditions: the bucket, and the slot in it.
    places: HashMap<K, Vec<(usize, Slot)>>,
}

#[derive(Debug)]
struct RepoIndex {
    name: RepoName,
    by_kind: ByKind,
}

/// By source and kind, then by action, the bucket.
type ByKind = HashMap<(Source, &'static str), Vec<(Option<&'static str>, usize)>>;

impl<K> Default for MatchIndex<K> {
    fn default() -> Self {
        Self {
            repos: HashMap::new(),
            global: HashMap::new(),
            buckets: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> MatchIndex<K> {
    /// Creates an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files one condition of a key: number `condition` of its daemon, as interpreted.
    ///
    /// A condition that cannot wake is not filed.
    pub fn insert(&mut self, repo: &RepoName, key: &K, condition: usize, meaning: &Interpretation) {
        if !meaning.status.can_wake() {
            return;
        }
        let patterns = || meaning.clauses.iter().flat_map(|clause| &clause.events);
        let mut filed = Vec::new();
        for clause in &meaning.clauses {
            let tests: Arc<[Test]> = clause
                .filters
                .iter()
                .map(|index| meaning.filters[*index].test.clone())
                .collect();
            for pattern in &clause.events {
                let entry = Entry {
                    key: key.clone(),
                    condition,
                    tests: Arc::clone(&tests),
                    has_siblings: patterns()
                        .filter(|other| {
                            other.source == pattern.source && other.kind == pattern.kind
                        })
                        .count()
                        > 1,
                };
                let bucket = self.bucket(repo, *pattern);
                filed.push((bucket, self.buckets[bucket].insert(entry)));
            }
        }
        self.places.entry(key.clone()).or_default().extend(filed);
    }

    /// Removes every condition of a key, in time proportional to how many it has.
    pub fn remove(&mut self, key: &K) {
        for (bucket, slot) in self.places.remove(key).unwrap_or_default() {
            self.buckets[bucket].remove(slot);
        }
    }

    /// Appends the key and the number of each condition that the event meets, each once.
    ///
    /// Allocates nothing for an event that meets none.
    pub fn matches(&self, event: &Event, acc: &mut Vec<(K, usize)>) {
        let begin = acc.len();
        match &event.repo {
            Some(repo) if is_of_a_repository(event.source) => {
                let found = self
                    .repos
                    .get(&repo_hash(repo.as_str()))
                    .into_iter()
                    .flatten();
                for index in found.filter(|index| same_repo(index.name.as_str(), repo.as_str())) {
                    self.meet(&index.by_kind, event, begin, acc);
                }
            }
            // An event that names no repository meets the daemons of all.
            Some(_) | None if is_of_a_repository(event.source) => {
                for index in self.repos.values().flatten() {
                    self.meet(&index.by_kind, event, begin, acc);
                }
            }
            Some(_) | None => self.meet(&self.global, event, begin, acc),
        }
    }

    fn meet(&self, by_kind: &ByKind, event: &Event, begin: usize, acc: &mut Vec<(K, usize)>) {
        let Some(actions) = by_kind.get(&(event.source, event.kind.as_str())) else {
            return;
        };
        for (action, bucket) in actions {
            if action.is_some_and(|action| event.action.as_deref() != Some(action)) {
                continue;
            }
            self.buckets[*bucket].each_candidate(event, |entry| {
                if all_hold(entry.tests.iter(), event).0 != FilterVerdict::Pass {
                    return;
                }
                let is_known = entry.has_siblings
                    && acc[begin..]
                        .iter()
                        .any(|(key, condition)| *condition == entry.condition && *key == entry.key);
                if !is_known {
                    acc.push((entry.key.clone(), entry.condition));
                }
            });
        }
    }

    /// Returns the bucket of a repository's kind and action, or creates it.
    fn bucket(&mut self, repo: &RepoName, pattern: EventPattern) -> usize {
        let by_kind = if is_of_a_repository(pattern.source) {
            let same_hash = self.repos.entry(repo_hash(repo.as_str())).or_default();
            let at = same_hash
                .iter()
                .position(|index| same_repo(index.name.as_str(), repo.as_str()));
            let at = at.unwrap_or_else(|| {
                same_hash.push(RepoIndex {
                    name: repo.clone(),
                    by_kind: HashMap::new(),
                });
                same_hash.len() - 1
            });
            &mut same_hash[at].by_kind
        } else {
            &mut self.global
        };
        let actions = by_kind.entry((pattern.source, pattern.kind)).or_default();
        let known = actions.iter().find(|(action, _)| *action == pattern.action);
        if let Some((_, bucket)) = known {
            return *bucket;
        }
        self.buckets.push(Bucket::default());
        actions.push((pattern.action, self.buckets.len() - 1));
        self.buckets.len() - 1
    }
}

fn is_of_a_repository(source: Source) -> bool {
    match source {
        Source::Github | Source::Git => true,
        Source::Linear | Source::Slack | Source::Sentry | Source::Cloudevents => false,
    }
}

fn same_repo(a: &str, b: &str) -> bool {
    a.chars()
        .flat_map(char::to_lowercase)
        .eq(b.chars().flat_map(char::to_lowercase))
}

fn repo_hash(name: &str) -> u64 {
    bucket::hash_chars(name.chars().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests;
