//! The store as its users hold it.

use std::path::{Path, PathBuf};

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::failure::Outcome;
use crate::open::open;
use crate::reader::Readers;
use crate::writer::{TransactionScope, Writer};

/// A store in one SQLite file.
///
/// Dropping it ends the writer, after what is queued was committed, and merges the log into the file.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped before the writer, whose connection merges the log if it is the last.
    readers: Readers,
    writer: Writer,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the store in a file, making it if nothing is there. It blocks while every page is checked.
    ///
    /// # Errors
    /// `Damaged` for a file that is empty, truncated or of another program; `LogDamaged` for one whose log is missing or has
    /// lost commits, which [`repair`](crate::repair) gives up; `Newer` for one that a newer version wrote; `Unavailable` where it cannot be reached, or for an SQLite older than 3.51.3. Nothing is
    /// written then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Ok(Self {
            writer: Writer::start(open(path)?)?,
            readers: Readers::new(path),
            path: path.to_owned(),
        })
    }

    /// Returns the version of the schema that every opened store has.
    pub fn schema_version() -> i64 {
        crate::migrate::newest()
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn write<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.writer
            .run(context, TransactionScope::Shared, operation)
            .await
    }

    /// Writes much, in a transaction that nothing else shares.
    pub(crate) async fn write_alone<T, F>(
        &self,
        context: &'static str,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.writer
            .run(context, TransactionScope::Own, operation)
            .await
    }

    pub(crate) async fn read<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.readers.run(context, read).await
    }
}
