//! The store as its users hold it.

use std::path::Path;

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::failure::TxResult;
use crate::open::{open, open_in_memory};
use crate::reader::Readers;
use crate::writer::{TransactionScope, WriterHandle};

/// A store in one SQLite file, or in memory.
///
/// Dropping it ends the writer, after the queued operations are committed, and merges the log into the file.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped before the writer: the log is merged whole only if no reader has the file open.
    /// `None` for a store in memory: only the connection of the writer sees its content.
    readers: Option<Readers>,
    writer: WriterHandle,
}

impl SqliteStore {
    /// Opens the store in a file and creates it if no file exists. The call blocks while every page is checked.
    ///
    /// # Errors
    /// `Damaged` for a file that is empty, truncated or of another program; `LogDamaged` for one whose log is missing or
    /// has lost commits, which [`repair`](crate::repair) can give up; `Newer` for one that a newer version wrote;
    /// `Unavailable` if it cannot be reached, or if the linked SQLite is older than 3.51.3. Nothing is written then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Ok(Self {
            writer: WriterHandle::start(open(path)?)?,
            readers: Some(Readers::new(path)),
        })
    }

    /// Makes an empty store in memory, for dry runs: it writes no file, and its content is lost when it is dropped.
    ///
    /// # Errors
    /// `Unavailable` if the linked SQLite is older than 3.51.3.
    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Self {
            writer: WriterHandle::start(open_in_memory()?)?,
            readers: None,
        })
    }

    /// Returns the version of the schema that every opened store has.
    pub fn schema_version() -> i64 {
        crate::migrate::newest()
    }

    /// Runs an operation in a transaction that it shares with others from the queue.
    pub(crate) async fn write<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    {
        let scope = TransactionScope::Shared;
        self.writer.run(context, scope, operation).await
    }

    /// Runs an operation that writes much in a transaction of its own.
    pub(crate) async fn write_alone<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    {
        let scope = TransactionScope::Own;
        self.writer.run(context, scope, operation).await
    }

    /// Runs a read on a snapshot of the last commit.
    pub(crate) async fn read<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    {
        match &self.readers {
            Some(readers) => readers.run(context, read).await,
            None => self.write(context, read).await,
        }
    }
}
