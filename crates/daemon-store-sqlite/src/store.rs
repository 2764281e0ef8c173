//! The store as its users hold it.

use std::path::Path;

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::export::moved;
use crate::failure::TxResult;
use crate::open::{Schema, check_to_read, open, open_in_memory};
use crate::reader::Readers;
use crate::recent::WriteTx;
use crate::writer::{TransactionScope, WriterHandle};

/// A store in one SQLite file, or in memory.
///
/// Dropping it ends the writer, after the queued operations are committed, and merges the log into the file.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped before the writer: the log is merged whole only if no reader has the file open.
    /// `None` for a store in memory: only the connection of the writer sees its content.
    readers: Option<Readers>,
    /// `None` for a store that is open for reading only.
    writer: Option<WriterHandle>,
}

impl SqliteStore {
    /// Opens the store in a file and creates it if no file exists. The call blocks while every page is checked.
    ///
    /// # Errors
    /// `Damaged` for a file that is empty, truncated or of another program; `LogDamaged` for one whose log is missing or
    /// has lost commits, which [`repair`](crate::repair) can give up; `Newer` for one that a newer version wrote;
    /// `Moved` for one that was imported into another; `Unavailable` if it cannot be reached, or if the linked SQLite is older than
    /// 3.51.3. Nothing of the content is changed then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let database = open(path)?;
        let moved = moved(&database.conn);
        let moved = moved.map_err(|failure| failure.into_error("open the store"))?;
        // Started in any case: the end of the writer closes the log in order.
        let store = Self::from_parts(WriterHandle::start(database)?, Readers::new(path));
        match moved {
            Some(to) => Err(StoreError::Moved {
                to: to.target,
                is_finished: to.is_finished,
            }),
            None => Ok(store),
        }
    }

    pub(crate) fn from_parts(writer: WriterHandle, readers: Readers) -> Self {
        Self {
            writer: Some(writer),
            readers: Some(readers),
        }
    }

    /// Opens the store in a file for reading: in a file and a directory that need not be writable, and next to a process that
    /// may write it. The log is not merged. Operations that write fail as `Unavailable`.
    ///
    /// A store without a log is read without locks, and read again if it changes meanwhile. One of an earlier version is
    /// opened as by [`SqliteStore::open`], which brings it up to date.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`]; `Unavailable` also for a file that does not exist.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let readers = Readers::without_writer(path);
        match check_to_read(path, &readers)? {
            Schema::Current => Ok(Self {
                writer: None,
                readers: Some(readers),
            }),
            Schema::Older => Self::open(path).map_err(|error| match error {
                StoreError::Unavailable { source, .. } => StoreError::Unavailable {
                    context: format!(
                        "`{}` is of an earlier release, and bringing it up to date has to write it",
                        path.display()
                    ),
                    source,
                },
                other => other,
            }),
        }
    }

    /// Makes an empty store in memory, for dry runs: it writes no file, and its content is lost when it is dropped.
    ///
    /// # Errors
    /// `Unavailable` if the linked SQLite is older than 3.51.3.
    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Self {
            writer: Some(WriterHandle::start(open_in_memory()?)?),
            readers: None,
        })
    }

    /// Returns the version of the schema that every opened store has.
    pub fn schema_version() -> i64 {
        crate::migrate::STORE.newest()
    }

    /// Runs an operation in a transaction that it shares with others from the queue.
    pub(crate) async fn write<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTx<'_>) -> TxResult<T> + Send + 'static,
    {
        let scope = TransactionScope::Shared;
        self.writer(context)?.run(context, scope, operation).await
    }

    /// Runs an operation that writes much in a transaction of its own.
    pub(crate) async fn write_alone<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTx<'_>) -> TxResult<T> + Send + 'static,
    {
        let scope = TransactionScope::Own;
        self.writer(context)?.run(context, scope, operation).await
    }

    /// Runs a read on a snapshot of the last commit.
    pub(crate) async fn read<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> TxResult<T> + Send + 'static,
    {
        match &self.readers {
            Some(readers) => readers.run(context, read).await,
            None => self.write(context, move |tx| read(tx)).await,
        }
    }

    fn writer(&self, context: &str) -> Result<&WriterHandle, StoreError> {
        self.writer.as_ref().ok_or_else(|| StoreError::Unavailable {
            context: format!("{context}: the store is open for reading only"),
            source: None,
        })
    }
}
