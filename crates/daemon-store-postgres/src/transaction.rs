//! Transactions: begun, done again where another was faster, and committed once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_store::StoreError;
use futures_util::future::{try_join, try_join_all};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::connection::{BY_KEY, Lent};
use crate::failure::{Remedy, TxError, TxResult};
use crate::store::{Own, ServerLink};

/// How often an operation is done again because another transaction was faster.
const MAX_CONFLICTS: u32 = 12;
/// How often a connection is tried again; with the pauses between, for about ten seconds.
const MAX_RECONNECTS: u32 = 9;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A value of a statement.
pub(crate) type Value<'a> = &'a (dyn ToSql + Sync);

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxKind {
    /// Each statement sees what was committed before it; rows are locked by name.
    Write,
    /// As `Write`, of many operations at once, whose statements find rows by their keys.
    Group,
    /// All statements see one snapshot.
    Read,
}

/// An open transaction.
#[derive(Debug)]
pub(crate) struct Tx {
    connection: Lent,
    kind: TxKind,
    /// What begins it, until it has begun.
    begin: Mutex<Option<&'static str>>,
    /// The host that it is for.
    pub(crate) own: Arc<Own>,
}

/// Counts the tries of one operation.
#[derive(Debug)]
pub(crate) struct Tries {
    context: &'static str,
    n_conflicts: u32,
    n_reconnects: u32,
}

/// Whether a commit is durable.
enum Outcome {
    Committed,
    Failed(TxError),
    /// The connection broke before the answer came.
    Unknown(TxError),
}

impl Tx {
    pub(crate) async fn begin(link: &ServerLink, kind: TxKind) -> TxResult<Self> {
        let connection = link.pool.lend(&link.address).await?;
        let begin = match kind {
            TxKind::Group if connection.plans_by_key => BY_KEY,
            TxKind::Write | TxKind::Group => "BEGIN ISOLATION LEVEL READ COMMITTED",
            TxKind::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let tx = Self {
            connection,
            kind,
            begin: Mutex::new(Some(begin)),
            own: Arc::clone(&link.own),
        };
        // A group begins with its first statements.
        if kind != TxKind::Group {
            tx.begun().await?;
        }
        Ok(tx)
    }

    /// Begins the transaction if it has not begun.
    async fn begun(&self) -> TxResult<()> {
        let begin = self
            .begin
            .lock()
            .expect("no holder of the lock panics")
            .take();
        match begin {
            Some(sql) => Ok(self.connection.client.batch_execute(sql).await?),
            None => Ok(()),
        }
    }

    pub(crate) async fn rows(&self, sql: &str, values: &[Value<'_>]) -> TxResult<Vec<Row>> {
        let [rows] = self.rows_of_each([(sql, values)]).await?;
        Ok(rows)
    }

    /// Runs statements in order, and sends all of them before the first answer: locks are held for each wait.
    pub(crate) async fn rows_of_each<const N: usize>(
        &self,
        statements: [(&str, &[Value<'_>]); N],
    ) -> TxResult<[Vec<Row>; N]> {
        let prepared = self.prepared(&statements).await?;
        self.begun().await?;
        self.sent(&prepared, &statements).await
    }

    /// As [`rows_of_each`](Self::rows_of_each), for statements that only read and lock: the transaction begins together with them.
    // If the server refuses to begin, they run all the same, each on its own.
    pub(crate) async fn rows_of_first<const N: usize>(
        &self,
        statements: [(&str, &[Value<'_>]); N],
    ) -> TxResult<[Vec<Row>; N]> {
        let prepared = self.prepared(&statements).await?;
        let (_, rows) = try_join(self.begun(), self.sent(&prepared, &statements)).await?;
        Ok(rows)
    }

    /// Prepares statements before any of them is sent: one that is prepared meanwhile would run after those behind it.
    async fn prepared(&self, statements: &[(&str, &[Value<'_>])]) -> TxResult<Vec<Statement>> {
        let mut prepared = Vec::with_capacity(statements.len());
        for (sql, _) in statements {
            prepared.push(self.connection.statement(sql, self.kind).await?);
        }
        Ok(prepared)
    }

    async fn sent<const N: usize>(
        &self,
        prepared: &[Statement],
        statements: &[(&str, &[Value<'_>]); N],
    ) -> TxResult<[Vec<Row>; N]> {
        let client = &self.connection.client;
        let sent = prepared
            .iter()
            .zip(statements)
            .map(|(statement, (_, values))| client.query(statement, values));
        let answers = try_join_all(sent).await?;
        Ok(answers.try_into().expect("a statement has one answer"))
    }

    pub(crate) async fn maybe_row(&self, sql: &str, values: &[Value<'_>]) -> TxResult<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Returns the first row of a query that always has one.
    pub(crate) async fn row(&self, sql: &str, values: &[Value<'_>]) -> TxResult<Row> {
        let row = self.maybe_row(sql, values).await?;
        Ok(row.ok_or_else(|| StoreError::Damaged {
            context: format!("a row is missing: {sql}"),
            source: None,
        })?)
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) async fn run(&self, sql: &str, values: &[Value<'_>]) -> TxResult<u64> {
        let statement = self.connection.statement(sql, self.kind).await?;
        self.begun().await?;
        Ok(self.connection.client.execute(&statement, values).await?)
    }

    async fn commit(&mut self) -> Outcome {
        if self.kind == TxKind::Read {
            return match self.connection.client.batch_execute("COMMIT").await {
                Ok(()) => Outcome::Committed,
                Err(error) => Outcome::Failed(error.into()),
            };
        }
        self.connection.n_commits += 1;
        // One message, so that it takes no time of its own. Without the row, the division fails, and nothing is committed: a commit
        // that arrives after `look_up` has removed the row comes too late.
        let commit = format!(
            "WITH marked AS (UPDATE commit_mark SET n = {}, \
               at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE connection = '{}' RETURNING n) \
             SELECT 1 / count(*) FROM marked; COMMIT",
            self.connection.n_commits, self.connection.mark
        );
        match self.connection.client.batch_execute(&commit).await {
            Ok(()) => Outcome::Committed,
            Err(error) if error.as_db_error().is_some() && !self.connection.client.is_closed() => {
                // Its row is gone: this connection cannot commit any more.
                self.connection.is_spent = error.code() == Some(&SqlState::DIVISION_BY_ZERO);
                Outcome::Failed(error.into())
            }
            Err(error) => Outcome::Unknown(error.into()),
        }
    }

    async fn roll_back(self) {
        // A connection that cannot even roll back is closed, which rolls back as well.
        if self
            .connection
            .client
            .batch_execute("ROLLBACK")
            .await
            .is_ok()
        {
            self.connection.give_back();
        }
    }
}

impl Tries {
    pub(crate) fn new(context: &'static str) -> Self {
        Self {
            context,
            n_conflicts: 0,
            n_reconnects: 0,
        }
    }

    /// Ends a transaction; `None` if the operation is to be done again.
    pub(crate) async fn end<T>(
        &mut self,
        link: &ServerLink,
        mut tx: Tx,
        done: TxResult<T>,
    ) -> Option<Result<T, StoreError>> {
        let value = match done {
            Ok(value) => value,
            Err(error) => {
                tx.roll_back().await;
                return self.again(error).await.err().map(Err);
            }
        };
        match tx.commit().await {
            Outcome::Committed => {
                tx.connection.give_back();
                Some(Ok(value))
            }
            Outcome::Failed(error) => {
                tx.roll_back().await;
                self.again(error).await.err().map(Err)
            }
            Outcome::Unknown(error) => {
                let (mark, n) = (tx.connection.mark.clone(), tx.connection.n_commits);
                drop(tx);
                match self.look_up(link, &mark).await {
                    Ok(Some(committed)) if committed == n => Some(Ok(value)),
                    Ok(Some(_)) => self.again(error).await.err().map(Err),
                    Ok(None) => Some(Err(error.into_error(self.context))),
                    Err(error) => Some(Err(error)),
                }
            }
        }
    }

    /// Returns the number of the last transaction that a lost connection committed, and prevents it from committing another.
    async fn look_up(&mut self, link: &ServerLink, mark: &str) -> Result<Option<i64>, StoreError> {
        loop {
            let taken = async {
                let connection = link.pool.lend(&link.address).await?;
                // Waits for a transaction of the lost session that is still about to commit, which holds the lock on the row.
                let taken = connection
                    .client
                    .query_opt(
                        "DELETE FROM commit_mark WHERE connection = $1 RETURNING n",
                        &[&mark],
                    )
                    .await?;
                let taken = taken.map(|row| row.try_get(0)).transpose()?;
                connection.give_back();
                Ok(taken)
            };
            match taken.await {
                Ok(taken) => return Ok(taken),
                Err(error) => self.again(error).await?,
            }
        }
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// What callers see, if there is no next try.
    pub(crate) async fn again(&mut self, error: TxError) -> Result<(), StoreError> {
        let (n, most, first) = match error.remedy() {
            Remedy::Again => (&mut self.n_conflicts, MAX_CONFLICTS, 1),
            Remedy::Reconnect => (&mut self.n_reconnects, MAX_RECONNECTS, 50),
            Remedy::Nothing => return Err(error.into_error(self.context)),
        };
        if *n >= most {
            return Err(error.into_error(self.context));
        }
        let longest = (first << *n).min(LONGEST_PAUSE.as_millis().try_into().unwrap_or(u64::MAX));
        *n += 1;
        // Random, so that two transactions that met do not meet again; without random numbers they wait for the whole pause.
        let part = getrandom::u32().map_or(1.0, |n| f64::from(n) / f64::from(u32::MAX));
        tokio::time::sleep(Duration::from_millis(longest).mul_f64(0.5 + part / 2.0)).await;
        Ok(())
    }
}
