//! How many entries of a memory have each word.

use std::collections::{BTreeSet, HashMap};

use daemon_store::agent_memory::{MemoryEntry, indexed_columns};
use rusqlite::Connection;

use crate::column::Columns as _;
use crate::failure::TxResult;

/// The number of entries with each word. Counting them for a query would read all postings of its words.
#[derive(Debug)]
pub(crate) struct Frequencies(HashMap<Box<str>, u64>);

impl Frequencies {
    /// Reads them from the index.
    pub(crate) fn load(conn: &Connection) -> TxResult<Self> {
        conn.execute_batch(
            "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'word', 'row')",
        )?;
        let mut find = conn.prepare("SELECT term, doc FROM temp.vocabulary")?;
        let mut rows = find.query([])?;
        let mut all = HashMap::new();
        while let Some(row) = rows.next()? {
            all.insert(row.text("term")?.into_boxed_str(), row.count("doc")?);
        }
        Ok(Self(all))
    }

    /// Returns how many entries have a word.
    pub(crate) fn of(&self, word: &str) -> u64 {
        self.0.get(word).copied().unwrap_or_default()
    }

    /// Counts the words of an entry that was added.
    pub(crate) fn add(&mut self, entry: &MemoryEntry) {
        for word in distinct(entry) {
            *self.0.entry(word.into_boxed_str()).or_default() += 1;
        }
    }

    /// Takes back the words of an entry that was removed.
    pub(crate) fn remove(&mut self, entry: &MemoryEntry) {
        for word in distinct(entry) {
            if let Some(n) = self.0.get_mut(word.as_str()) {
                *n = n.saturating_sub(1);
                if *n == 0 {
                    self.0.remove(word.as_str());
                }
            }
        }
    }
}

fn distinct(entry: &MemoryEntry) -> BTreeSet<String> {
    indexed_columns(entry).into_iter().flatten().collect()
}
