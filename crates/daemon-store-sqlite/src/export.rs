//! The content of a store for another one, and the mark that says where it went.

use std::path::Path;

use daemon_store::StoreError;
use daemon_store::transfer::{Cell, RowsDigest};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::sync::mpsc::Sender;

use crate::failure::{TxError, TxResult, damaged};
use crate::open::open;
use crate::reader::Readers;
use crate::store::SqliteStore;
use crate::writer::WriterHandle;

/// How many rows a batch has at most, and how many bytes, one row more or less.
const MOST_ROWS: usize = 1_000;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Where the content of a store goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The name of the import, drawn at random when it begins.
    pub import: String,
    /// The address of the other store.
    pub target: String,
    /// Whether all rows were there and compared.
    pub is_finished: bool,
}

/// A store whose content is copied into another. No host can start on it after [`begin`](Self::begin).
#[derive(Debug)]
pub struct SqliteExport {
    store: SqliteStore,
    host: String,
}

/// Rows of one table, as many as are copied at once.
pub type Batch = Vec<Vec<Cell>>;

/// Returns the tables that are copied, in order.
pub fn tables() -> impl Iterator<Item = &'static str> {
    queries().map(|(table, _)| table)
}

/// Returns the tables, each with the query of its rows.
fn queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("export.sql")
        .split("\n@ ")
        .skip(1)
        .map(|part| part.split_once('\n').expect("a table has a query"))
}

fn query(table: &str) -> &'static str {
    let found = queries().find(|(name, _)| *name == table);
    found.expect("a table of `tables`").1
}

impl SqliteExport {
    /// Opens a store, also one that was moved. Rows of hosts get the name of one.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`].
    pub fn open(path: &Path, host: impl Into<String>) -> Result<Self, StoreError> {
        let store = SqliteStore::from_parts(WriterHandle::start(open(path)?)?, Readers::new(path));
        Ok(Self {
            store,
            host: host.into(),
        })
    }

    /// Returns where the content goes, if that was decided.
    ///
    /// # Errors
    /// As every read.
    pub async fn moved(&self) -> Result<Option<Move>, StoreError> {
        self.store
            .read("read where the store was moved", moved)
            .await
    }

    /// Marks the store, so that no host starts on it.
    ///
    /// # Errors
    /// As every write.
    pub async fn begin(&self, import: &str, target: &str) -> Result<(), StoreError> {
        let (import, target) = (import.to_owned(), target.to_owned());
        self.change(move |tx| {
            let sql = "INSERT OR REPLACE INTO moved VALUES (1, ?1, ?2, 0)";
            tx.execute(sql, params![import, target])
        })
        .await
    }

    /// Marks the store as moved for good.
    ///
    /// # Errors
    /// As every write.
    pub async fn finish(&self) -> Result<(), StoreError> {
        self.change(|tx| tx.execute("UPDATE moved SET finished = 1", []))
            .await
    }

    /// Removes the mark of an import that is not finished, so that hosts can start again.
    ///
    /// # Errors
    /// As every write.
    pub async fn abandon(&self) -> Result<(), StoreError> {
        self.change(|tx| tx.execute("DELETE FROM moved WHERE NOT finished", []))
            .await
    }

    async fn change(
        &self,
        change: impl Fn(&Connection) -> rusqlite::Result<usize> + Send + 'static,
    ) -> Result<(), StoreError> {
        let context = "mark the store as moved";
        self.store
            .write(context, move |tx| Ok(change(tx.conn).map(drop)?))
            .await
    }

    /// Returns the columns of a table, in the order of the cells of its rows.
    ///
    /// # Errors
    /// As every read.
    pub async fn columns(&self, table: &'static str) -> Result<Vec<String>, StoreError> {
        let names = move |conn: &Connection| {
            let find = conn.prepare(query(table))?;
            Ok(find.column_names().map(str::to_owned).collect())
        };
        self.store.read("read the columns of a table", names).await
    }

    /// Sends the rows of a table after some that were copied, and returns the digest of all.
    ///
    /// # Errors
    /// As every read; also if nothing receives the rows.
    pub async fn rows(
        &self,
        table: &'static str,
        n_copied: u64,
        batches: Sender<Batch>,
    ) -> Result<RowsDigest, StoreError> {
        let host = self.host.clone();
        self.store
            .read("read the rows of a table", move |conn| {
                send(conn, (table, &host), n_copied, &batches)
            })
            .await
    }
}

/// Returns where a store was moved, if it was.
pub(crate) fn moved(conn: &Connection) -> TxResult<Option<Move>> {
    let found = conn
        .query_row("SELECT import, target, finished FROM moved", [], |row| {
            Ok(Move {
                import: row.get(0)?,
                target: row.get(1)?,
                is_finished: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn send(
    conn: &Connection,
    (table, host): (&'static str, &str),
    n_copied: u64,
    batches: &Sender<Batch>,
) -> TxResult<RowsDigest> {
    let mut find = conn.prepare(query(table))?;
    let n_columns = find.column_count();
    // Not every table has rows of a host.
    let mut rows = match find.parameter_count() {
        0 => find.query([])?,
        _ => find.query([host])?,
    };
    let (mut digest, mut batch, mut n_bytes) = (RowsDigest::default(), Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let cells: Vec<Cell> = (0..n_columns)
            .map(|place| cell(table, row.get_ref(place)?))
            .collect::<TxResult<_>>()?;
        digest.add(&cells);
        // Read again for the digest only: the rows of a store that was moved do not change.
        if digest.n_rows <= n_copied {
            continue;
        }
        n_bytes += cells.iter().map(Cell::n_bytes).sum::<usize>();
        batch.push(cells);
        if batch.len() >= MOST_ROWS || n_bytes >= MOST_BYTES {
            pass(batches, std::mem::take(&mut batch))?;
            n_bytes = 0;
        }
    }
    if !batch.is_empty() {
        pass(batches, batch)?;
    }
    Ok(digest)
}

fn pass(batches: &Sender<Batch>, batch: Batch) -> TxResult<()> {
    batches.blocking_send(batch).map_err(|error| {
        TxError::Store(StoreError::Unavailable {
            context: "copy the rows of a table".to_owned(),
            source: Some(Box::new(error)),
        })
    })
}

fn cell(table: &str, value: ValueRef<'_>) -> TxResult<Cell> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(n) => Cell::Integer(n),
        ValueRef::Real(n) => Cell::Real(n),
        ValueRef::Text(bytes) => Cell::text(
            std::str::from_utf8(bytes)
                .map_err(|error| damaged(format!("table `{table}`"), error))?,
        ),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_owned()),
    })
}
