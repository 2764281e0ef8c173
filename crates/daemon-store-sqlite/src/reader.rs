//! Readers: a few connections that see the last commit.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use daemon_store::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::failure::{TxError, TxResult};
use crate::open::{Locking, open_reader};

/// How many reads run at the same time.
const READERS: usize = 4;

/// How often a read without locks is made, if another process changes the file each time.
const TRIES: usize = 5;

/// The connections that only read.
///
/// A lock guards the idle ones, because blocking threads take and return them; it is held for a push or a pop.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    writer: Writer,
    idle: Arc<Mutex<Vec<Reader>>>,
    places: Arc<Semaphore>,
}

/// Whether this process writes the store that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Here,
    /// Perhaps another process, perhaps none.
    Elsewhere,
}

/// A connection, and for one without locks the file that it reads.
#[derive(Debug)]
struct Reader {
    conn: Connection,
    file: Option<FileState>,
}

/// What shows that a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Readers {
    /// Reads next to the writer of this process.
    pub(crate) fn new(path: &Path) -> Self {
        Self::of(path, Writer::Here)
    }

    /// Reads a store that this process does not write, also in a directory in which it cannot write.
    pub(crate) fn without_writer(path: &Path) -> Self {
        Self::of(path, Writer::Elsewhere)
    }

    fn of(path: &Path, writer: Writer) -> Self {
        Self {
            path: path.to_owned(),
            writer,
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs a read on a snapshot of the store.
    pub(crate) async fn run<T, F>(&self, context: &'static str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> TxResult<T> + Send + 'static,
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
        F: Fn(&Connection) -> TxResult<T>,
    {
        self.try_read(read)
            .map_err(|failure| failure.into_error(context))
    }

    /// Runs a read on this thread.
    pub(crate) fn try_read<T>(&self, read: impl Fn(&Connection) -> TxResult<T>) -> TxResult<T> {
        for _ in 0..TRIES {
            let reader = self.reader()?;
            let result = snapshot(&reader.conn, &read);
            // Without locks, a merge of the log that another process began may have been read half done.
            if reader.file.is_none() || reader.file == self.file_without_log()? {
                self.idle().push(reader);
                return result;
            }
        }
        Err(TxError::Store(StoreError::Unavailable {
            context: format!("another process writes the store `{}`", self.path.display()),
            source: None,
        }))
    }

    fn reader(&self) -> TxResult<Reader> {
        let file = self.file_without_log()?;
        // A connection without locks has pages of the file that it opened.
        if let Some(reader) = self.idle().pop().filter(|reader| reader.file == file) {
            return Ok(reader);
        }
        let locking = file.map_or(Locking::Locks, |_| Locking::None);
        let conn = open_reader(&self.path, locking)?;
        Ok(Reader { conn, file })
    }

    /// Returns the state of a file that is read without locks; `None` if locks are needed.
    fn file_without_log(&self) -> Result<Option<FileState>, StoreError> {
        if self.writer == Writer::Here || Locking::of(&self.path) == Locking::Locks {
            return Ok(None);
        }
        let metadata = std::fs::metadata(&self.path).map_err(|error| StoreError::Unavailable {
            context: format!("read the store `{}`", self.path.display()),
            source: Some(Box::new(error)),
        })?;
        Ok(Some(FileState {
            inode: metadata.ino(),
            length: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        // A panic while the lock is held cannot leave the list half changed, so a poisoned lock is used on.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs all statements of a read in one transaction, so that they see one state of the store.
fn snapshot<T>(conn: &Connection, read: impl Fn(&Connection) -> TxResult<T>) -> TxResult<T> {
    // Without it each statement would see a later commit, and a page could name triggers of an event that it does not have.
    let transaction = conn.unchecked_transaction()?;
    let value = read(&transaction)?;
    transaction.finish()?;
    Ok(value)
}
