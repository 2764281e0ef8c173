//! The registry as the parts of a host share it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use daemon_engine::Gate;
use daemon_event::{DaemonKey, Event, RepoName};
use daemon_store::DaemonRow;
use daemon_watch::MatchIndex;

use crate::condition_cache::ConditionCache;
use crate::registered::Registered;
use crate::registry::Registry;
use crate::zone_cache::ZoneCache;

/// The registry that the tasks of a host share; a clone is another handle to it.
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
    index: Arc<RwLock<MatchIndex<DaemonKey>>>,
    conditions: Arc<ConditionCache>,
    zones: Arc<ZoneCache>,
}

impl SharedRegistry {
    /// Compiles the rows of a store into a registry.
    pub fn of(rows: Vec<DaemonRow>) -> Self {
        let shared = Self::default();
        let daemons = rows.into_iter().map(|row| shared.compile(row)).collect();
        shared.replace_all(daemons);
        shared
    }

    /// Compiles a row; a condition that a registered daemon has is not interpreted again.
    pub fn compile(&self, row: DaemonRow) -> Registered {
        Registered::compile(row, &self.conditions, &self.zones)
    }

    /// Compiles a row, or reuses the compiled daemon if its revision and schedule are unchanged.
    pub fn renew(&self, known: &Registry, row: DaemonRow) -> Registered {
        match known.find_key(&row.key) {
            // The zone is part of the schedule's text and can change by configuration while the revision stays.
            Some(old) if old.row.rev == row.rev && old.row.schedule == row.schedule => Registered {
                row: DaemonRow {
                    definition: String::new(),
                    ..row
                },
                ..Registered::clone(old)
            },
            _ => self.compile(row),
        }
    }

    /// Returns a snapshot of the registry.
    pub fn get(&self) -> Arc<Registry> {
        Arc::clone(&self.current.read().expect("no holder panics"))
    }

    /// Replaces the daemons of one repository.
    pub fn replace(&self, repo: &RepoName, daemons: Vec<Registered>) {
        self.change(|key| key.repo == *repo, daemons);
    }

    /// Replaces the daemons of all repositories.
    pub fn replace_all(&self, daemons: Vec<Registered>) {
        self.change(|_| true, daemons);
    }

    fn change(&self, is_replaced: impl Fn(&DaemonKey) -> bool, daemons: Vec<Registered>) {
        let mut next = Registry::clone(&self.get());
        // Held until the snapshot is replaced: a match between the two would name daemons that the snapshot does not have.
        let mut index = self.index.write().expect("no holder panics");
        // An edit of the prose is the most frequent change; the index, whose patterns are expensive to compile, keeps its
        // entries then.
        let unchanged: BTreeSet<DaemonKey> = daemons
            .iter()
            .filter(|new| {
                next.find_key(&new.row.key)
                    .is_some_and(|old| matches_alike(old, new))
            })
            .map(|new| new.row.key.clone())
            .collect();
        let removed: Vec<DaemonKey> = next
            .daemons
            .keys()
            .filter(|key| is_replaced(key))
            .cloned()
            .collect();
        for key in removed {
            next.remove(&key);
            if !unchanged.contains(&key) {
                index.remove(&key);
            }
        }
        for daemon in daemons {
            let key = daemon.row.key.clone();
            if daemon.is_valid() && !unchanged.contains(&key) {
                for (condition, reading) in daemon.readings.iter().enumerate() {
                    index.insert(&key.repo, &key, condition, reading);
                }
            }
            next.put(daemon);
        }
        *self.current.write().expect("no holder panics") = Arc::new(next);
    }

    /// Records the new gate of a daemon; does nothing if it is not registered.
    pub fn set_gate(&self, key: &DaemonKey, gate: Gate) {
        let mut current = self.current.write().expect("no holder panics");
        // Copies the registry only if a reader still holds a snapshot of it.
        let next = Arc::make_mut(&mut current);
        if let Some(daemon) = next.daemons.get_mut(key) {
            Arc::make_mut(daemon).row.gate = gate;
        }
    }

    /// Returns the valid daemons that an event wakes, with the indexes of the conditions it meets.
    pub fn matches(&self, event: &Event) -> BTreeMap<DaemonKey, Vec<u32>> {
        let mut found = Vec::new();
        self.index
            .read()
            .expect("no holder panics")
            .matches(event, &mut found);
        let mut woken: BTreeMap<DaemonKey, Vec<u32>> = BTreeMap::new();
        for (key, condition) in found {
            woken
                .entry(key)
                .or_default()
                .push(u32::try_from(condition).expect("a list has few entries"));
        }
        for conditions in woken.values_mut() {
            conditions.sort_unstable();
            conditions.dedup();
        }
        woken
    }
}

/// Reports whether two revisions of a daemon match the same events, so that the index keeps its entries.
fn matches_alike(old: &Registered, new: &Registered) -> bool {
    old.row.validity == new.row.validity && old.definition.watch == new.definition.watch
}
