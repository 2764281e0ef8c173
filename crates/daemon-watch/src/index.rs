//! Finds the conditions that an event meets, without looking at most of them.
//!
//! Conditions are filed by repository and by source, kind and action; within these by one exact value that
//! they insist on, by their path globs, or by the texts they look for. Only what is found there is decided in full.

mod bucket;
mod texts;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use daemon_event::{Event, RepoName, Source};

use crate::filter::{FilterVerdict, Test};
use crate::interpretation::{EventPattern, Interpretation, all_hold};
use bucket::Bucket;

/// Conditions of many daemons, filed so that an event finds those it meets.
#[derive(Debug)]
pub struct MatchIndex<K> {
    repos: HashMap<u64, Vec<RepoIndex<K>>>,
    /// Conditions on sources whose events name no repository.
    global: Buckets<K>,
    /// Where the conditions of a key stand.
    places: HashMap<K, Vec<(RepoName, EventPattern)>>,
}

#[derive(Debug)]
struct RepoIndex<K> {
    name: RepoName,
    buckets: Buckets<K>,
}

/// By source and kind, then by action.
type Buckets<K> = HashMap<(Source, &'static str), Vec<(Option<&'static str>, Bucket<K>)>>;

/// One clause of one condition, under one key.
#[derive(Clone, Debug)]
pub(crate) struct Entry<K> {
    pub(crate) key: K,
    pub(crate) condition: usize,
    pub(crate) tests: Arc<[Test]>,
    /// Whether another entry can report the same condition for the same event.
    pub(crate) has_siblings: bool,
}

impl<K> Default for MatchIndex<K> {
    fn default() -> Self {
        Self {
            repos: HashMap::new(),
            global: HashMap::new(),
            places: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> MatchIndex<K> {
    /// Makes an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files one condition of a key: the `condition`th of its daemon, as it was interpreted.
    ///
    /// A condition that cannot wake is not filed.
    pub fn insert(&mut self, repo: &RepoName, key: &K, condition: usize, meaning: &Interpretation) {
        if !meaning.status.can_wake() {
            return;
        }
        let patterns = || meaning.clauses.iter().flat_map(|clause| &clause.events);
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
                self.bucket(repo, *pattern).insert(entry);
                let places = self.places.entry(key.clone()).or_default();
                if !places.contains(&(repo.clone(), *pattern)) {
                    places.push((repo.clone(), *pattern));
                }
            }
        }
    }

    /// Takes out every condition of a key.
    pub fn remove(&mut self, key: &K) {
        for (repo, pattern) in self.places.remove(key).unwrap_or_default() {
            self.bucket(&repo, pattern).remove(key);
        }
    }

    /// Adds the key and the number of each condition that the event meets, each once.
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
                    meet(&index.buckets, event, begin, acc);
                }
            }
            // An event that names no repository meets the daemons of all.
            Some(_) | None if is_of_a_repository(event.source) => {
                for index in self.repos.values().flatten() {
                    meet(&index.buckets, event, begin, acc);
                }
            }
            Some(_) | None => meet(&self.global, event, begin, acc),
        }
    }

    fn bucket(&mut self, repo: &RepoName, pattern: EventPattern) -> &mut Bucket<K> {
        let buckets = if is_of_a_repository(pattern.source) {
            let same_hash = self.repos.entry(repo_hash(repo.as_str())).or_default();
            let at = same_hash
                .iter()
                .position(|index| same_repo(index.name.as_str(), repo.as_str()));
            let at = at.unwrap_or_else(|| {
                same_hash.push(RepoIndex {
                    name: repo.clone(),
                    buckets: HashMap::new(),
                });
                same_hash.len() - 1
            });
            &mut same_hash[at].buckets
        } else {
            &mut self.global
        };
        let actions = buckets.entry((pattern.source, pattern.kind)).or_default();
        let at = actions
            .iter()
            .position(|(action, _)| *action == pattern.action);
        let at = at.unwrap_or_else(|| {
            actions.push((pattern.action, Bucket::default()));
            actions.len() - 1
        });
        &mut actions[at].1
    }
}

fn meet<K: Clone + Eq>(
    buckets: &Buckets<K>,
    event: &Event,
    begin: usize,
    acc: &mut Vec<(K, usize)>,
) {
    let Some(actions) = buckets.get(&(event.source, event.kind.as_str())) else {
        return;
    };
    for (action, bucket) in actions {
        if action.is_some_and(|action| event.action.as_deref() != Some(action)) {
            continue;
        }
        bucket.each_candidate(event, |entry| {
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

fn is_of_a_repository(source: Source) -> bool {
    match source {
        Source::Github | Source::Git => true,
        Source::Linear | Source::Slack | Source::Sentry => false,
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
