//! The one writer: operations queue, transactions take what queued during the last one.
//!
//! An operation that fails takes back only itself. Few fail after they have written something, so a transaction begins without
//! savepoints, under which SQLite copies every page that an operation changes. If one fails after a write, the transaction
//! is rolled back and its operations run again, each under a savepoint of its own. One that writes much has a
//! transaction of its own instead: under a savepoint, every statement with a trigger goes through all that the operation
//! has written before. No operation returns before the
//! commit has. There is no timer: an idle store commits an operation at once, a busy one commits up to
//! [`BATCH`] together.

use std::cell::RefCell;
use std::thread::JoinHandle;

use daemon_store::StoreError;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::failpoint;
use crate::failure::{TxError, TxResult};
use crate::mark::LogMark;
use crate::recent::{RecentIdentities, WriteTx};
use crate::{log, space};

/// The most operations of one transaction.
const BATCH: usize = 256;
/// How many operations may queue; more wait at their senders.
const QUEUE: usize = 1_024;

/// An open store, as the writer takes it over.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) conn: Connection,
    /// `None` for a store in memory, which has no log to merge and no file to shrink.
    pub(crate) mark: Option<LogMark>,
}

/// The sender's side of the writer.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    // `None` only while it is dropped.
    queue: Option<mpsc::Sender<Box<dyn Operation>>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterHandle {
    /// Starts the writer over a connection.
    pub(crate) fn start(database: Database) -> Result<Self, StoreError> {
        let (queue, operations) = mpsc::channel(QUEUE);
        let writer_thread = WriterThread {
            conn: database.conn,
            mark: database.mark,
            recent: RefCell::default(),
            operations,
            next: None,
            broken: None,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer_thread.work())
            .map_err(|error| StoreError::Unavailable {
                context: "start the writer".to_owned(),
                source: Some(Box::new(error)),
            })?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs an operation inside a transaction and returns its result once that transaction is durable.
    ///
    /// The operation may run a second time, after a rollback of the first.
    pub(crate) async fn run<T, F>(
        &self,
        context: &'static str,
        scope: TransactionScope,
        operation: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTx<'_>) -> TxResult<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let queued = Box::new(Queued {
            context,
            scope,
            operation,
            result: None,
            reply,
        });
        let queue = self.queue.as_ref().expect("the writer is being dropped");
        let gone = || StoreError::Unavailable {
            context: format!("{context}: the writer has ended"),
            source: None,
        };
        // A full queue makes the sender wait here, which slows intake down instead of filling the memory.
        if queue.send(queued).await.is_err() {
            return Err(gone());
        }
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for WriterHandle {
    /// Ends the writer once what is queued is done, and merges the log.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // The panic hook has reported a panic of the writer, and its senders have received errors.
        }
    }
}

/// An operation on its way through the writer.
trait Operation: Send {
    fn context(&self) -> &'static str;
    fn scope(&self) -> TransactionScope;
    /// Runs it; the result is kept for the reply.
    fn run(&mut self, tx: &WriteTx<'_>) -> Kept;
    /// Sends the result to the sender.
    fn reply(self: Box<Self>, end: End);
}

/// Whether an operation shares its transaction with others that wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionScope {
    /// For an operation that writes much.
    Own,
    /// For the usual small operation.
    Shared,
}

/// Whether the writes of an operation are kept.
enum Kept {
    Yes,
    No,
    /// It failed before it wrote anything.
    Unwritten,
    /// The disk is at fault: nothing of the transaction can be kept.
    Disk(TxError),
}

/// How the transaction ended.
enum End {
    Committed,
    Lost(StoreError),
}

struct Queued<T, F> {
    context: &'static str,
    scope: TransactionScope,
    operation: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Operation for Queued<T, F>
where
    T: Send + 'static,
    F: FnMut(&WriteTx<'_>) -> TxResult<T> + Send + 'static,
{
    fn context(&self) -> &'static str {
        self.context
    }

    fn scope(&self) -> TransactionScope {
        self.scope
    }

    fn run(&mut self, tx: &WriteTx<'_>) -> Kept {
        let n_changes = tx.total_changes();
        match (self.operation)(tx) {
            Ok(value) => {
                self.result = Some(Ok(value));
                Kept::Yes
            }
            Err(failure) if failure.is_of_the_disk() => Kept::Disk(failure),
            Err(failure) => {
                // A statement that fails may have changed rows without counting them.
                let is_untouched =
                    matches!(failure, TxError::Store(_)) && tx.total_changes() == n_changes;
                self.result = Some(Err(failure.into_error(self.context)));
                if is_untouched {
                    Kept::Unwritten
                } else {
                    Kept::No
                }
            }
        }
    }

    fn reply(self: Box<Self>, end: End) {
        let result = match (end, self.result) {
            (End::Lost(error), _) => Err(error),
            (End::Committed, Some(result)) => result,
            (End::Committed, None) => unreachable!("a committed operation has run"),
        };
        // The sender may have stopped waiting; what was written stays.
        drop(self.reply.send(result));
    }
}

/// The writer's side, which owns the connection.
struct WriterThread {
    conn: Connection,
    mark: Option<LogMark>,
    recent: RefCell<RecentIdentities>,
    operations: mpsc::Receiver<Box<dyn Operation>>,
    /// An operation from the queue that waits for a transaction of its own.
    next: Option<Box<dyn Operation>>,
    /// The operation during which the disk failed.
    broken: Option<String>,
}

impl WriterThread {
    fn work(mut self) {
        let mut batch: Vec<Box<dyn Operation>> = Vec::with_capacity(BATCH);
        while let Some(first) = self.next.take().or_else(|| self.receive()) {
            batch.push(first);
            self.transact(&mut batch);
        }
        let Some(mut mark) = self.mark else {
            return;
        };
        // A failure here costs nothing: the log is merged at the next start.
        let is_merged = self.broken.is_none()
            && log::merge(&self.conn, &mut mark).is_ok_and(|is_merged| is_merged);
        if is_merged {
            // Closing the connection merges what is left, if no other one is open, and removes the log.
            mark.merging();
            if self.conn.close().is_ok() && !log::path_of(mark.database()).exists() {
                mark.end();
            }
        }
    }

    /// Waits for an operation, and gives unused space back while none is queued.
    fn receive(&mut self) -> Option<Box<dyn Operation>> {
        while self.broken.is_none() {
            match self.operations.try_recv() {
                Ok(operation) => return Some(operation),
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => {}
            }
            let Some(mark) = &mut self.mark else {
                break;
            };
            match space::reclaim(&self.conn, mark) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failure) => {
                    self.note(failure, "give space back");
                    break;
                }
            }
        }
        self.operations.blocking_recv()
    }

    /// Commits the batch and further queued operations, and sends the results.
    fn transact(&mut self, batch: &mut Vec<Box<dyn Operation>>) {
        let result = match &self.broken {
            Some(context) => Err(Trouble::Broken(context.clone())),
            None => self.commit(batch),
        };
        match result {
            Ok(()) => {
                for operation in batch.drain(..) {
                    operation.reply(End::Committed);
                }
                if let Some(mark) = &mut self.mark
                    && let Err(failure) = log::merge_if_long(&self.conn, mark)
                {
                    self.note(failure, "merge the log");
                }
            }
            Err(trouble) => {
                if let Trouble::Broken(context) = &trouble {
                    self.broken = Some(context.clone());
                }
                for operation in batch.drain(..) {
                    let error = trouble.error(operation.context(), self.mark.as_ref());
                    operation.reply(End::Lost(error));
                }
            }
        }
    }

    /// Runs a batch in one transaction; on trouble nothing of it is kept.
    fn commit(&mut self, batch: &mut Vec<Box<dyn Operation>>) -> Result<(), Trouble> {
        let result = self.try_commit(batch);
        if result.is_err() {
            self.recent.get_mut().rolled_back();
        }
        if result.is_err() && !self.conn.is_autocommit() {
            // If even this fails, the connection stays inside the transaction and the next BEGIN fails.
            drop(self.conn.execute_batch("ROLLBACK"));
        }
        result
    }

    fn try_commit(&mut self, batch: &mut Vec<Box<dyn Operation>>) -> Result<(), Trouble> {
        self.begin()?;
        if let Some(first) = batch.first_mut()
            && first.scope() == TransactionScope::Own
        {
            return self.run_whole(first.as_mut());
        }
        if !self.run_together(batch)? {
            self.recent.get_mut().rolled_back();
            self.statement("ROLLBACK")?;
            self.begin()?;
            for operation in batch {
                self.run_apart(operation.as_mut())?;
            }
        }
        self.end()
    }

    fn tx(&self) -> WriteTx<'_> {
        WriteTx {
            conn: &self.conn,
            recent: &self.recent,
        }
    }

    fn begin(&mut self) -> Result<(), Trouble> {
        // Immediate: a lock that another process holds fails here, before any operation has run.
        self.statement("BEGIN IMMEDIATE")?;
        let recent = self.recent.get_mut().begin(&self.conn);
        recent.map_err(|failure| Trouble::of(failure, "read recent identities"))
    }

    /// Runs a batch without savepoints; returns `false` if one of its operations has to be taken back.
    fn run_together(&mut self, batch: &mut Vec<Box<dyn Operation>>) -> Result<bool, Trouble> {
        let mut n_run = 0;
        while let Some(operation) = batch.get_mut(n_run) {
            n_run += 1;
            match operation.run(&self.tx()) {
                Kept::Disk(failure) => return Err(Trouble::of(failure, operation.context())),
                Kept::No => return Ok(false),
                Kept::Yes | Kept::Unwritten => {}
            }
            // Senders whose results have arrived send their next operation while this transaction works. Without these, one
            // half of the senders would always wait for the sync of the other half.
            while batch.len() < BATCH
                && self.next.is_none()
                && let Ok(next) = self.operations.try_recv()
            {
                match next.scope() {
                    TransactionScope::Shared => batch.push(next),
                    TransactionScope::Own => self.next = Some(next),
                }
            }
        }
        Ok(true)
    }

    /// Runs the one operation of a transaction.
    fn run_whole(&mut self, operation: &mut dyn Operation) -> Result<(), Trouble> {
        match operation.run(&self.tx()) {
            Kept::Disk(failure) => Err(Trouble::of(failure, operation.context())),
            Kept::No | Kept::Unwritten => {
                self.recent.get_mut().rolled_back();
                self.statement("ROLLBACK")
            }
            Kept::Yes => self.end(),
        }
    }

    fn end(&mut self) -> Result<(), Trouble> {
        let settled = self.recent.get_mut().settle(&self.conn);
        settled.map_err(|failure| Trouble::of(failure, "move recent identities"))?;
        self.statement("COMMIT")
    }

    /// Runs an operation under a savepoint.
    fn run_apart(&self, operation: &mut dyn Operation) -> Result<(), Trouble> {
        self.statement("SAVEPOINT operation")?;
        let n_added = self.recent.borrow().n_added();
        match operation.run(&self.tx()) {
            Kept::Disk(failure) => return Err(Trouble::of(failure, operation.context())),
            Kept::No => {
                self.statement("ROLLBACK TO operation")?;
                // An operation that added no key leaves the index as it is.
                if self.recent.borrow().n_added() != n_added {
                    let read = self.recent.borrow_mut().read(&self.conn);
                    read.map_err(|failure| Trouble::of(failure, "read recent identities"))?;
                }
            }
            Kept::Yes | Kept::Unwritten => {}
        }
        self.statement("RELEASE operation")
    }

    fn statement(&self, sql: &'static str) -> Result<(), Trouble> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map(drop)
            .map_err(|error| Trouble::of(TxError::Sql(error), sql))
    }

    fn note(&mut self, failure: TxError, context: &str) {
        if let Trouble::Broken(context) = Trouble::of(failure, context) {
            self.broken = Some(context);
        }
    }
}

/// The reason why a transaction was lost.
#[derive(Debug)]
enum Trouble {
    /// It may pass: the disk is full, or another process holds the lock.
    Passing(TxError),
    /// It will not: writes or syncs fail, or the file is damaged.
    Broken(String),
}

impl Trouble {
    fn of(failure: TxError, context: &str) -> Self {
        let code = match &failure {
            TxError::Sql(error) => error.sqlite_error_code(),
            TxError::Store(_) => None,
        };
        match code {
            Some(
                ErrorCode::DiskFull
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::OperationInterrupted
                | ErrorCode::CannotOpen,
            ) => Self::Passing(failure),
            _ if failpoint::is_planted("retry-fsync") => Self::Passing(failure),
            // An fsync that failed is never tried again: the kernel may have dropped the pages and call the next one
            // a success.
            _ => Self::Broken(format!("{context}: {failure}")),
        }
    }

    fn error(&self, context: &str, mark: Option<&LogMark>) -> StoreError {
        match self {
            Self::Passing(TxError::Sql(error))
                if error.sqlite_error_code() == Some(ErrorCode::DiskFull)
                    && let Some(mark) = mark =>
            {
                let database = mark.database().display();
                StoreError::Unavailable {
                    context: format!("{context}: no room is left on the disk of `{database}`"),
                    source: None,
                }
            }
            Self::Passing(failure) => StoreError::Unavailable {
                context: format!("{context}: {failure}"),
                source: None,
            },
            Self::Broken(context) => StoreError::Broken {
                context: context.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests;
