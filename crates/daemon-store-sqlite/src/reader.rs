//! Readers: a few connections that see the last commit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use daemon_store::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::failure::TxResult;
use crate::open::{open_reader, read_error};

/// How many reads run at the same time.
const READERS: usize = 4;

/// The connections that only read.
///
/// A lock guards the idle ones, because blocking threads take and return them; it is held for a push or a pop.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs a read on a snapshot of the store.
    pub(crate) async fn run<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    {
        // Taken before the blocking thread: reads that wait must not occupy all threads of the pool.
        let _place = self
            .places
            .acquire()
            .await
            .expect("the places are never closed");
        let readers = self.clone();
        let reading = spawn_blocking(move || readers.read(context, read));
        match reading.await {
            Ok(result) => result,
            Err(error) => Err(StoreError::Unavailable {
                context: context.to_owned(),
                source: Some(Box::new(error)),
            }),
        }
    }

    fn read<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        F: FnOnce(&Connection) -> TxResult<T>,
    {
        let idle = self.idle().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => open_reader(&self.path).map_err(read_error)?,
        };
        let result = snapshot(&conn, read).map_err(|failure| failure.into_error(context));
        self.idle().push(conn);
        result
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // A panic while the lock is held cannot leave the list half changed, so a poisoned lock is used on.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs all statements of a read in one transaction, so that they see one state of the store.
fn snapshot<T>(conn: &Connection, read: impl FnOnce(&Connection) -> TxResult<T>) -> TxResult<T> {
    // Without it each statement would see a later commit, and a page could name triggers of an event that it does not have.
    let transaction = conn.unchecked_transaction()?;
    let value = read(&transaction)?;
    transaction.finish()?;
    Ok(value)
}
