//! Recovery files: entries of one kind in TOML, from which a host restores what it holds in memory.
//!
//! Memory is authoritative. The file is written whenever memory changes and read at the start, and never written as long as it could
//! not be read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_run_folder::write_atomic;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use toml::{Table, Value};

use crate::error::AgentError;
use crate::log::LogError;

/// The key of the id that the next entry gets.
const NEXT_ID: &str = "next_id";

/// What a recovery file contains.
pub trait RecoveryEntry:
    Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The key of the array of entries.
    const KEY: &'static str;

    /// Checks what its types do not say.
    ///
    /// # Errors
    /// Says what is wrong with the entry.
    fn check(&self) -> Result<(), String>;
}

/// An entry, or what is wrong with it. An invalid entry stays in the file as it is, and has no effect.
#[derive(Clone, Debug, PartialEq)]
pub enum RecoveredEntry<E> {
    /// A valid entry.
    Valid(E),
    /// An invalid one.
    Invalid {
        /// Its keys and values.
        table: Table,
        /// What is wrong with it.
        problem: String,
    },
}

/// The entries of a recovery file by id.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<E> {
    next_id: u64,
    rows: BTreeMap<u64, RecoveredEntry<E>>,
}

impl<E> Default for Entries<E> {
    fn default() -> Self {
        Self {
            next_id: 1,
            rows: BTreeMap::new(),
        }
    }
}

impl<E: RecoveryEntry> Entries<E> {
    /// Returns the entries in the order of their ids.
    pub fn all(&self) -> impl Iterator<Item = (u64, &RecoveredEntry<E>)> {
        self.rows.iter().map(|(id, entry)| (*id, entry))
    }

    /// Returns the valid entries in the order of their ids.
    pub fn valid(&self) -> impl Iterator<Item = (u64, &E)> {
        self.all().filter_map(|(id, entry)| match entry {
            RecoveredEntry::Valid(entry) => Some((id, entry)),
            RecoveredEntry::Invalid { .. } => None,
        })
    }

    /// Adds an entry and returns its id, which no other entry ever had.
    pub fn add(&mut self, entry: E) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.rows.insert(id, RecoveredEntry::Valid(entry));
        id
    }

    /// Removes an entry.
    pub fn remove(&mut self, id: u64) -> Option<RecoveredEntry<E>> {
        self.rows.remove(&id)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        let mut entries = Self::default();
        for (key, value) in table {
            match (key.as_str(), value) {
                (NEXT_ID, Value::Integer(id)) if id > 0 => entries.next_id = id.unsigned_abs(),
                (key, Value::Array(rows)) if key == E::KEY => entries.read(rows)?,
                (key, _) => return Err(format!("`{key}` is unknown or of the wrong kind")),
            }
        }
        let used = entries.rows.keys().next_back().copied().unwrap_or(0);
        entries.next_id = entries.next_id.max(used + 1);
        Ok(entries)
    }

    fn read(&mut self, rows: Vec<Value>) -> Result<(), String> {
        for row in rows {
            let Value::Table(mut table) = row else {
                return Err(format!("an entry of `{}` is no table", E::KEY));
            };
            let id = table.remove("id").as_ref().and_then(Value::as_integer);
            let id = id.and_then(|id| u64::try_from(id).ok());
            let id = id.filter(|id| (1..u64::from(u32::MAX)).contains(id));
            let id = id.ok_or_else(|| format!("an entry of `{}` has no `id`", E::KEY))?;
            let entry = match table.clone().try_into::<E>() {
                Ok(entry) => entry.check().map(|()| entry),
                Err(error) => Err(error.message().to_owned()),
            };
            let entry = match entry {
                Ok(entry) => RecoveredEntry::Valid(entry),
                Err(problem) => RecoveredEntry::Invalid { table, problem },
            };
            if self.rows.insert(id, entry).is_some() {
                return Err(format!("two entries of `{}` have the id {id}", E::KEY));
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let rows = self.rows.iter().map(|(id, entry)| {
            let mut row = Table::new();
            row.insert("id".to_owned(), Value::Integer(signed(*id)));
            row.extend(match entry {
                RecoveredEntry::Valid(entry) => {
                    Table::try_from(entry).expect("an entry is a table of plain values")
                }
                RecoveredEntry::Invalid { table, .. } => table.clone(),
            });
            Value::Table(row)
        });
        let rows = Value::Array(rows.collect());
        let mut table = Table::new();
        table.insert(NEXT_ID.to_owned(), Value::Integer(signed(self.next_id)));
        table.insert(E::KEY.to_owned(), rows);
        table.to_string()
    }
}

fn signed(id: u64) -> i64 {
    i64::try_from(id).expect("ids count from 1")
}

/// What is known of a recovery file.
#[derive(Debug)]
enum Held<E> {
    Readable(Arc<Entries<E>>),
    Unreadable(Arc<LogError>),
}

impl<E> Held<E> {
    fn readable(&self) -> Result<&Arc<Entries<E>>, AgentError> {
        match self {
            Self::Readable(entries) => Ok(entries),
            Self::Unreadable(why) => Err(AgentError::Storage(Arc::clone(why))),
        }
    }
}

/// A recovery file with its entries in memory.
#[derive(Debug)]
pub struct RecoveryFile<E> {
    path: PathBuf,
    held: Mutex<Held<E>>,
}

impl<E: RecoveryEntry> RecoveryFile<E> {
    /// Reads a file. One that does not exist has no entries; one that cannot be read fails each use.
    pub fn open(path: PathBuf) -> Self {
        let held = Mutex::new(read(&path));
        Self { path, held }
    }

    /// Reads the file again if it could not be read before.
    pub async fn reopen(&self) {
        let mut held = self.held.lock().await;
        if matches!(*held, Held::Unreadable(_)) {
            let path = self.path.clone();
            // A reading that panics was reported by its own hook; the file stays unreadable.
            if let Ok(again) = tokio::task::spawn_blocking(move || read(&path)).await {
                *held = again;
            }
        }
    }

    /// Returns the entries.
    ///
    /// # Errors
    /// If the file could not be read.
    pub async fn entries(&self) -> Result<Arc<Entries<E>>, AgentError> {
        self.held.lock().await.readable().map(Arc::clone)
    }

    /// Changes the entries, and returns once the file has the change. Nothing is written if nothing changes.
    ///
    /// # Errors
    /// If the file could not be read before, or cannot be written; nothing changes then.
    pub async fn change<T: Send>(
        &self,
        change: impl FnOnce(&mut Entries<E>) -> T + Send,
    ) -> Result<T, AgentError> {
        let mut held = self.held.lock().await;
        let before = held.readable()?;
        let mut entries = Entries::clone(before);
        let changed = change(&mut entries);
        if entries != **before {
            let (path, text) = (self.path.clone(), entries.text());
            let written = tokio::task::spawn_blocking(move || {
                write_atomic(&path, text.as_bytes()).map_err(|source| failed(&path, source))
            });
            let panicked = Err(AgentError::Defect("writing a recovery file panicked"));
            written.await.or(panicked)??;
            *held = Held::Readable(Arc::new(entries));
        }
        Ok(changed)
    }
}

fn read<E: RecoveryEntry>(path: &Path) -> Held<E> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Held::Unreadable(Arc::new(failed(path, source))),
    };
    match Entries::parse(&text) {
        Ok(entries) => Held::Readable(Arc::new(entries)),
        Err(problem) => {
            tracing::error!(path = %path.display(), problem, "a recovery file cannot be read; repair it and reload");
            let source = io::Error::new(io::ErrorKind::InvalidData, problem);
            Held::Unreadable(Arc::new(failed(path, source)))
        }
    }
}

fn failed(path: &Path, source: io::Error) -> LogError {
    LogError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
