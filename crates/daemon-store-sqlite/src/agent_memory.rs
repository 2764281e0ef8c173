//! The memory of an agent in a file of its own, with an index of its words.

mod file;
mod frequencies;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use daemon_store::StoreError;
use daemon_store::agent_memory::{
    AgentMemory, MemoryEntry, RecallPlan, RecallWords, Remembered, StoredEntry,
};
use jiff::Timestamp;
use tokio::task::spawn_blocking;

use crate::failure::{TxError, TxResult};
use file::MemoryFile;

/// The memory of one agent. The file is made by the first entry and opened by the first use.
///
/// A file must have one value of this type: it keeps in memory how many entries have each word. Clones share one connection.
#[derive(Clone, Debug)]
pub struct SqliteMemory {
    path: PathBuf,
    file: Arc<Mutex<Option<MemoryFile>>>,
}

impl SqliteMemory {
    /// Uses a file, which is not opened yet and may not exist.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: Arc::default(),
        }
    }

    /// Works with the file on a thread for blocking calls. After a failure of the disk, the next use opens the file again and
    /// sees what of the failed work is durable.
    async fn with<T, F>(&self, context: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut MemoryFile) -> TxResult<T> + Send + 'static,
    {
        let (path, shared) = (self.path.clone(), Arc::clone(&self.file));
        let done = spawn_blocking(move || {
            let mut place = shared.lock().unwrap_or_else(PoisonError::into_inner);
            // Taken out, so that a file that was left in the middle of a panic is opened again.
            let mut file = match place.take() {
                Some(file) => file,
                None => MemoryFile::open(&path)?,
            };
            let done = work(&mut file);
            if !done.as_ref().is_err_and(TxError::is_of_the_disk) {
                *place = Some(file);
            }
            done.map_err(|failure| {
                let context = format!("{context} in `{}`", path.display());
                failure.into_error(&context)
            })
        });
        match done.await {
            Ok(done) => done,
            Err(error) => Err(StoreError::Unavailable {
                context: context.to_owned(),
                source: Some(Box::new(error)),
            }),
        }
    }

    /// Reports whether nothing was ever kept, so that reading needs no file.
    async fn is_absent(&self) -> bool {
        // A file that cannot be examined is opened, which says why.
        matches!(tokio::fs::try_exists(&self.path).await, Ok(false))
    }
}

#[async_trait]
impl AgentMemory for SqliteMemory {
    async fn remember(&self, entry: MemoryEntry, at: Timestamp) -> Result<Remembered, StoreError> {
        self.with("keep an entry", move |file| file.remember(&entry, at))
            .await
    }

    async fn recall(
        &self,
        query: &RecallWords,
        limit: usize,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        if self.is_absent().await {
            return Ok(Vec::new());
        }
        let query = query.clone();
        let recalled = self.with("recall entries", move |file| {
            let plan = query.plan(|word| file.frequencies.of(word));
            match plan {
                RecallPlan::Nothing => Ok(Vec::new()),
                RecallPlan::Ranked(words) => file.ranked(&words, limit),
                RecallPlan::Newest(words) => file.newest(&words, limit),
            }
        });
        recalled.await
    }

    async fn forget(&self, kind: &str, name: &str) -> Result<(), StoreError> {
        let unknown = StoreError::not_found("entry", format!("{kind}/{name}"));
        if self.is_absent().await {
            return Err(unknown);
        }
        let (kind, name) = (kind.to_owned(), name.to_owned());
        let is_gone = self.with("forget an entry", move |file| file.forget(&kind, &name));
        if is_gone.await? { Ok(()) } else { Err(unknown) }
    }
}
