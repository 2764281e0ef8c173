//! The refs and pull requests of a repository as they were seen, and how later ones differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the stored form.
const VERSION: u32 = 1;

/// The refs and pull requests of a repository, as they are stored in a cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    v: u32,
    /// The number of events that were made, which makes their ids unique.
    n_events: u64,
    /// The commits, or objects of tags, by full name; `None` if refs are not compared.
    refs: Option<BTreeMap<String, String>>,
    /// The highest number of a pull request.
    newest: u64,
    /// The heads of open pull requests, by number.
    heads: BTreeMap<u64, String>,
    /// The newest `updated_at` of a pull request, as GitHub writes it; at first empty.
    until: String,
}

/// A pull request of a list.
#[derive(Clone, Debug)]
pub(super) struct PullRow {
    pub(super) number: u64,
    pub(super) is_open: bool,
    pub(super) head: String,
    pub(super) updated_at: String,
    /// The object, as GitHub sent it.
    pub(super) row: Value,
}

impl PullRow {
    /// Reads an object; `None` if a member is missing that every pull request has.
    pub(super) fn read(row: Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            number: row["number"].as_u64()?,
            is_open: row["state"].as_str()? == "open",
            head: text(&row["head"]["sha"])?,
            updated_at: text(&row["updated_at"])?,
            row,
        })
    }
}

/// A difference between two snapshots.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A ref was created, moved or deleted.
    Moved(RefChange),
    /// A pull request was opened.
    Opened(PullRow),
    /// The head of a pull request moved.
    Synchronized {
        /// The pull request.
        pull: PullRow,
        /// Its head before.
        before: String,
    },
    /// A pull request was closed or merged.
    Closed(PullRow),
}

/// The move of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefChange {
    /// The full name.
    pub(super) name: String,
    /// The object before; `None` if the ref was created.
    pub(super) before: Option<String>,
    /// The object after; `None` if the ref was deleted.
    pub(super) after: Option<String>,
}

impl Snapshot {
    /// Reads a cursor; `None` for one of another version.
    pub(super) fn read(cursor: &str) -> Option<Self> {
        let snapshot: Self = serde_json::from_str(cursor).ok()?;
        (snapshot.v == VERSION).then_some(snapshot)
    }

    /// Makes the first snapshot.
    pub(super) fn baseline(refs: Option<BTreeMap<String, String>>, pulls: &[PullRow]) -> Self {
        let mut snapshot = Self {
            v: VERSION,
            n_events: 0,
            refs,
            newest: 0,
            heads: BTreeMap::new(),
            until: String::new(),
        };
        for pull in pulls {
            snapshot.note(pull);
        }
        snapshot
    }

    /// Returns the snapshot as the text of a cursor.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("names and numbers are JSON")
    }

    /// Returns the number of the next event.
    pub(super) fn next_event(&mut self) -> u64 {
        self.n_events += 1;
        self.n_events
    }

    /// Reports whether a pull request changed before the snapshot, so that those listed behind it did, too.
    // Not those of the same second: some of them may have changed after the snapshot.
    pub(super) fn is_older(&self, pull: &PullRow) -> bool {
        pull.updated_at < self.until
    }

    /// Replaces the refs and returns the differences. After a time without refs the result is empty.
    pub(super) fn move_refs(&mut self, refs: Option<BTreeMap<String, String>>) -> Vec<Change> {
        let before = std::mem::replace(&mut self.refs, refs);
        let (Some(before), Some(after)) = (before, &self.refs) else {
            return Vec::new();
        };
        let names = before.keys().chain(after.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort();
        names.dedup();
        let moves = names.into_iter().map(|name| RefChange {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        });
        let moves = moves.filter(|change| change.before != change.after);
        moves.map(Change::Moved).collect()
    }

    /// Takes the pull requests that changed, oldest change first, and returns the differences.
    pub(super) fn update_pulls(&mut self, pulls: Vec<PullRow>) -> Vec<Change> {
        let mut changes = Vec::new();
        // They come by their last change, so that a higher number may precede a lower one that is as new.
        let newest = self.newest;
        let mut opened = BTreeSet::new();
        for pull in pulls {
            let before = self.heads.get(&pull.number).cloned();
            // A change while the pages are read puts a pull request into two of them.
            let is_new = pull.number > newest && opened.insert(pull.number);
            self.note(&pull);
            match before {
                Some(before) if before != pull.head => changes.push(Change::Synchronized {
                    pull: pull.clone(),
                    before,
                }),
                Some(_) => {}
                None if is_new => changes.push(Change::Opened(pull.clone())),
                // It was closed before. That it is open again is known from now on, and only its webhook reports it.
                None => continue,
            }
            if !pull.is_open {
                changes.push(Change::Closed(pull));
            }
        }
        changes
    }

    fn note(&mut self, pull: &PullRow) {
        self.newest = self.newest.max(pull.number);
        if pull.updated_at > self.until {
            self.until.clone_from(&pull.updated_at);
        }
        match pull.is_open {
            true => self.heads.insert(pull.number, pull.head.clone()),
            false => self.heads.remove(&pull.number),
        };
    }
}

#[cfg(test)]
mod tests;
