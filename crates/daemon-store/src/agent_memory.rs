//! The memory of an agent: entries that it keeps, and finds by their words.

mod entry;
mod recall;

use async_trait::async_trait;
use jiff::Timestamp;

pub use entry::{EntryProblem, MemoryEntry, StoredEntry};
pub use recall::{
    COLUMN_WEIGHTS, MAX_POSTINGS, MAX_WORDS, RecallPlan, RecallWords, indexed_columns, words,
};

use crate::error::StoreError;

/// The result of keeping an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// It is new.
    Added,
    /// It replaced the entry with the same kind and name.
    Replaced,
}

/// The memory of one agent.
///
/// Each method is one transaction, durable when it returns. An entry is identified by its kind and its name.
#[async_trait]
pub trait AgentMemory: Send + Sync + std::fmt::Debug {
    /// Keeps an entry, in place of the one with its kind and name. It is then the newest.
    ///
    /// # Errors
    /// The file cannot be written. Nothing was kept then, or the next use shows it.
    async fn remember(&self, entry: MemoryEntry, at: Timestamp) -> Result<Remembered, StoreError>;

    /// Returns at most `limit` entries that have a word of the query, the best match first; the newest entries if the query has
    /// no word.
    ///
    /// Only the rarest words count, see [`RecallWords::plan`].
    ///
    /// # Errors
    /// The file cannot be read.
    async fn recall(
        &self,
        query: &RecallWords,
        limit: usize,
    ) -> Result<Vec<StoredEntry>, StoreError>;

    /// Removes the entry with this kind and name.
    ///
    /// # Errors
    /// No entry has them, or the file cannot be written.
    async fn forget(&self, kind: &str, name: &str) -> Result<(), StoreError>;
}
