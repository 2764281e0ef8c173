//! The twin of an agent's memory: the same answers, from a list.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agent_memory::{
    AgentMemory, COLUMN_WEIGHTS, MemoryEntry, RecallPlan, RecallWords, Remembered, StoredEntry,
    indexed_columns,
};
use crate::error::StoreError;

/// The memory of an agent without a disk.
#[derive(Debug, Default)]
pub struct MemoryTwin {
    /// Oldest first.
    entries: Mutex<Vec<StoredEntry>>,
}

impl MemoryTwin {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<StoredEntry>> {
        // A panic while the lock is held cannot leave the list half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl AgentMemory for MemoryTwin {
    async fn remember(&self, entry: MemoryEntry, at: Timestamp) -> Result<Remembered, StoreError> {
        let mut entries = self.entries();
        let n_before = entries.len();
        entries.retain(|stored| !is_named(stored, entry.kind(), entry.name()));
        let is_new = entries.len() == n_before;
        entries.push(StoredEntry { entry, at });
        Ok(if is_new {
            Remembered::Added
        } else {
            Remembered::Replaced
        })
    }

    async fn recall(
        &self,
        query: &RecallWords,
        limit: usize,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        let entries = self.entries();
        let known: Vec<Indexed<'_>> = entries.iter().map(Indexed::of).collect();
        let frequency = |word: &str| {
            let n = known.iter().filter(|one| one.occurrences(word) > 0.0);
            u64::try_from(n.count()).expect("a length fits")
        };
        let mut scored: Vec<(f64, &StoredEntry)> = match query.plan(frequency) {
            RecallPlan::Nothing => Vec::new(),
            RecallPlan::Newest(words) => {
                let has_one = |one: &&Indexed<'_>| {
                    words.is_empty() || words.iter().any(|word| one.occurrences(word) > 0.0)
                };
                let matches = known.iter().filter(has_one);
                matches.map(|one| (0.0, one.stored)).collect()
            }
            RecallPlan::Ranked(words) => ranked(&known, &words),
        };
        // Newest first among equals: the sort is stable.
        scored.reverse();
        scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let best = scored.into_iter().take(limit);
        Ok(best.map(|(_, stored)| stored.clone()).collect())
    }

    async fn forget(&self, kind: &str, name: &str) -> Result<(), StoreError> {
        let mut entries = self.entries();
        let n_before = entries.len();
        entries.retain(|stored| !is_named(stored, kind, name));
        if entries.len() == n_before {
            return Err(StoreError::not_found("entry", format!("{kind}/{name}")));
        }
        Ok(())
    }
}

fn is_named(stored: &StoredEntry, kind: &str, name: &str) -> bool {
    stored.entry.kind() == kind && stored.entry.name() == name
}

/// An entry with its words.
struct Indexed<'e> {
    stored: &'e StoredEntry,
    columns: [Vec<String>; 3],
}

impl<'e> Indexed<'e> {
    fn of(stored: &'e StoredEntry) -> Self {
        Self {
            stored,
            columns: indexed_columns(&stored.entry),
        }
    }

    fn n_words(&self) -> f64 {
        self.columns.iter().map(Vec::len).sum::<usize>() as f64
    }

    /// Returns how often a word occurs, weighted by column.
    fn occurrences(&self, word: &str) -> f64 {
        let columns = self.columns.iter().zip(COLUMN_WEIGHTS);
        columns
            .map(|(words, weight)| words.iter().filter(|one| *one == word).count() as f64 * weight)
            .sum()
    }
}

/// Scores entries with BM25, with the constants of SQLite.
fn ranked<'e>(known: &[Indexed<'e>], words: &[String]) -> Vec<(f64, &'e StoredEntry)> {
    let n_entries = known.len() as f64;
    let average = known.iter().map(Indexed::n_words).sum::<f64>() / n_entries;
    let rarities: Vec<f64> = words
        .iter()
        .map(|word| {
            let n_with = known.iter().filter(|one| one.occurrences(word) > 0.0);
            let n_with = n_with.count() as f64;
            let rarity = ((n_entries - n_with + 0.5) / (n_with + 0.5)).ln();
            if rarity <= 0.0 { 1e-6 } else { rarity }
        })
        .collect();
    let score = |one: &Indexed<'e>| {
        let length = 1.2 * (1.0 - 0.75 + 0.75 * one.n_words() / average);
        let parts = words.iter().zip(&rarities).map(|(word, rarity)| {
            let n = one.occurrences(word);
            rarity * ((n * (1.2 + 1.0)) / (n + length))
        });
        parts.fold(0.0, |acc, part| acc + part)
    };
    let has_one = |one: &&Indexed<'e>| words.iter().any(|word| one.occurrences(word) > 0.0);
    let matches = known.iter().filter(has_one);
    matches.map(|one| (score(one), one.stored)).collect()
}
