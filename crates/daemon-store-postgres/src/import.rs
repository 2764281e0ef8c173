//! The content of the store of one home, copied into an empty database.
//!
//! Rows and the number of the copied ones are committed together, so that an import that ended anywhere continues behind its last
//! commit. From its beginning to its end, hosts are refused: they would number events and activations that are still to come.

use daemon_store::StoreError;
use daemon_store::transfer::{Cell, RowsDigest};
use tokio::task::JoinSet;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement, Transaction};

use crate::column::{Columns as _, integer};
use crate::failure::{TxError, TxResult, damaged};
use crate::migrate::{STEPS, migrate};
use crate::options::PostgresOptions;
use crate::partition;
use crate::transaction::Tx;

/// How many rows are read at once to compare them, of tables with payloads and of others.
const READ_PAYLOADS: i32 = 16;
const READ_ROWS: i32 = 1_000;

/// The sequences, each with the greatest number that was given from it.
const SEQUENCES: [(&str, &str); 9] = [
    ("report_number", "SELECT max(number) FROM report"),
    ("lane_turn", "SELECT max(turn) FROM lane"),
    ("tick_number", "SELECT max(number) FROM tick"),
    ("activation_number", "SELECT max(number) FROM activation"),
    ("wake_number", "SELECT max(number) FROM wake"),
    ("run_number", "SELECT max(number) FROM run"),
    ("output_number", "SELECT max(number) FROM output"),
    (
        "roster_checkin_number",
        "SELECT max(number) FROM roster_checkin",
    ),
    (
        "roster_audit_number",
        "SELECT max(number) FROM roster_audit",
    ),
];

/// An import into a database, which this process may continue.
#[derive(Debug)]
pub struct PostgresImport {
    session: ImportSession,
    id: String,
    state: ImportState,
}

/// How far an import was when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// It began with this process.
    Begun,
    /// An earlier process began it.
    Continued,
    /// It has ended; hosts may use the tables, and nothing is copied any more.
    Ended,
}

/// The connection of an import.
struct ImportSession {
    client: Client,
    _driver: JoinSet<()>,
}

impl std::fmt::Debug for ImportSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportSession").finish_non_exhaustive()
    }
}

impl PostgresImport {
    /// Begins or continues the import of an id. An unfinished import of the same host under another id is begun again, from nothing.
    ///
    /// # Errors
    /// `Conflict` if the database has content, or another host imports into it; else as [`open`](crate::PostgresStore::open).
    pub async fn open(
        options: &PostgresOptions,
        id: &str,
        tables: &[&str],
    ) -> Result<Self, StoreError> {
        let address = options.resolve()?;
        let opened = async {
            let (mut client, driver) = address.client().await?;
            migrate(&client, STEPS).await?;
            partition::prepare(&client).await?;
            // A table with all its rows is read in one transaction, and rows are sent for as long as the network needs.
            client
                .batch_execute(
                    "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0",
                )
                .await?;
            let state = begin(&mut client, (id, &options.host), tables).await?;
            let session = ImportSession {
                client,
                _driver: driver,
            };
            TxResult::Ok((session, state))
        };
        match opened.await {
            Ok((session, state)) => Ok(Self {
                session,
                id: id.to_owned(),
                state,
            }),
            Err(error) => Err(error.into_error("open the database")),
        }
    }

    /// Returns how far the import was when it was opened.
    pub fn state(&self) -> ImportState {
        self.state
    }

    /// Returns how many rows of a table are copied, and their digest if they were compared.
    ///
    /// # Errors
    /// As every read.
    pub async fn copied(&self, table: &str) -> Result<(u64, Option<String>), StoreError> {
        let read = async {
            let sql = "SELECT copied, digest FROM import_table WHERE import = $1 AND name = $2";
            let found = self
                .session
                .client
                .query_opt(sql, &[&self.id, &table])
                .await?;
            found.map_or(Ok((0, None)), |row| {
                Ok((row.count("copied")?, row.maybe_text("digest")?))
            })
        };
        read.await
            .map_err(|error: TxError| error.into_error("read the progress of an import"))
    }

    /// Stores rows of a table, and that they were copied.
    ///
    /// # Errors
    /// As every write; `Conflict` if the import was begun again elsewhere.
    pub async fn copy(
        &mut self,
        table: &str,
        columns: &[String],
        rows: &[Vec<Cell>],
    ) -> Result<(), StoreError> {
        let copied = async {
            let tx = self.session.client.transaction().await?;
            hold(&tx, &self.id).await?;
            insert(&tx, table, columns, rows).await?;
            tx.execute(
                "INSERT INTO import_table (import, name, copied) VALUES ($1, $2, $3) \
                 ON CONFLICT (import, name) DO UPDATE SET copied = import_table.copied + excluded.copied",
                &[&self.id, &table, &integer(rows.len())],
            )
            .await?;
            tx.commit().await?;
            TxResult::Ok(())
        };
        let context = format!("copy rows of `{table}`");
        copied.await.map_err(|error| error.into_error(&context))
    }

    /// Reads all rows of a table, and returns their digest.
    ///
    /// # Errors
    /// As every read.
    pub async fn digest(
        &mut self,
        table: &str,
        columns: &[String],
    ) -> Result<RowsDigest, StoreError> {
        let context = format!("compare the rows of `{table}`");
        let read = async {
            let tx = self.session.client.transaction().await?;
            let sql = format!("SELECT {} FROM {table}", columns.join(", "));
            let statement = tx.prepare(&sql).await?;
            let has_payloads = columns.iter().any(|column| column == "body");
            let n_rows = if has_payloads {
                READ_PAYLOADS
            } else {
                READ_ROWS
            };
            let portal = tx.bind(&statement, &[]).await?;
            let mut digest = RowsDigest::default();
            loop {
                let rows = tx.query_portal(&portal, n_rows).await?;
                if rows.is_empty() {
                    break;
                }
                for row in &rows {
                    digest.add(&cells(row)?);
                }
            }
            TxResult::Ok(digest)
        };
        read.await.map_err(|error| error.into_error(&context))
    }

    /// Stores that the rows of a table were compared.
    ///
    /// # Errors
    /// As every write.
    pub async fn compared(&self, table: &str, digest: &RowsDigest) -> Result<(), StoreError> {
        let sql = "INSERT INTO import_table (import, name, copied, digest) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (import, name) DO UPDATE SET digest = excluded.digest";
        let (n_rows, digest) = (integer(digest.n_rows), digest.to_string());
        let client = &self.session.client;
        let stored = client
            .execute(sql, &[&self.id, &table, &n_rows, &digest])
            .await;
        stored
            .map(drop)
            .map_err(|error| TxError::from(error).into_error("store the digest of a table"))
    }

    /// Ends the import: from then on, hosts may use the tables.
    ///
    /// # Errors
    /// As every write.
    pub async fn finish(mut self) -> Result<(), StoreError> {
        let finished = async {
            let tx = self.session.client.transaction().await?;
            hold(&tx, &self.id).await?;
            for (sequence, greatest) in SEQUENCES {
                let sql = format!(
                    "SELECT setval('{sequence}', coalesce(n.max, 1), n.max IS NOT NULL) FROM ({greatest}) AS n"
                );
                tx.execute(&sql, &[]).await?;
            }
            tx.execute(
                "UPDATE import SET ended_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = $1",
                &[&self.id],
            )
            .await?;
            tx.commit().await?;
            TxResult::Ok(())
        };
        finished
            .await
            .map_err(|error| error.into_error("end the import"))
    }
}

/// Refuses a host while an import has not ended.
pub(crate) async fn check(tx: &Tx) -> TxResult<()> {
    match tx.maybe_row(UNFINISHED, &[]).await? {
        None => Ok(()),
        Some(row) => Err(unfinished(&row)?.into()),
    }
}

/// As [`check`], outside of a transaction.
pub(crate) async fn check_client(client: &Client) -> TxResult<()> {
    match client.query_opt(UNFINISHED, &[]).await? {
        None => Ok(()),
        Some(row) => Err(unfinished(&row)?.into()),
    }
}

const UNFINISHED: &str = "SELECT host FROM import WHERE ended_at IS NULL";

fn unfinished(row: &Row) -> TxResult<StoreError> {
    let host = row.text("host")?;
    Ok(StoreError::Unavailable {
        context: format!(
            "the import of `{host}` has not ended: run `daemon-run import` there again"
        ),
        source: None,
    })
}

async fn begin(
    client: &mut Client,
    (id, host): (&str, &str),
    tables: &[&str],
) -> TxResult<ImportState> {
    let tx = client.transaction().await?;
    // A host that begins an epoch waits here for the end of this transaction, or has begun it before.
    tx.execute("SELECT n FROM counter ORDER BY name FOR UPDATE", &[])
        .await?;
    let known = tx
        .query_opt(
            "SELECT id, host, ended_at IS NOT NULL AS ended FROM import ORDER BY began_at DESC LIMIT 1",
            &[],
        )
        .await?;
    if let Some(row) = &known {
        let (known, of, has_ended) = (row.text("id")?, row.text("host")?, row.flag("ended")?);
        match (known == id, has_ended) {
            (true, true) => return Ok(ImportState::Ended),
            (true, false) => return Ok(ImportState::Continued),
            (false, false) if of == host => clear(&tx, tables).await?,
            (false, false) => {
                return Err(StoreError::conflict("the import of", of, "not ended").into());
            }
            (false, true) => return Err(not_empty().into()),
        }
    } else if has_content(&tx).await? {
        return Err(not_empty().into());
    }
    // Their rows come with the others.
    tx.execute("DELETE FROM counter", &[]).await?;
    tx.execute(
        "INSERT INTO import (id, host, began_at) VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        &[&id, &host],
    )
    .await?;
    tx.commit().await?;
    Ok(ImportState::Begun)
}

fn not_empty() -> StoreError {
    StoreError::conflict("the store of", "host.store", "not empty")
}

async fn has_content(tx: &Transaction<'_>) -> TxResult<bool> {
    let row = tx
        .query_one(
            "SELECT EXISTS (SELECT 1 FROM counter WHERE n > 0) OR EXISTS (SELECT 1 FROM host) \
             OR EXISTS (SELECT 1 FROM lane) AS found",
            &[],
        )
        .await?;
    row.flag("found")
}

/// Removes what an import that is begun again has copied.
async fn clear(tx: &Transaction<'_>, tables: &[&str]) -> TxResult<()> {
    let tables = tables.join(", ");
    tx.batch_execute(&format!("TRUNCATE {tables}, import, import_table"))
        .await?;
    Ok(())
}

/// Checks that the import is still this one, and keeps it until the transaction ends.
async fn hold(tx: &Transaction<'_>, id: &str) -> TxResult<()> {
    let sql = "SELECT 1 FROM import WHERE id = $1 AND ended_at IS NULL FOR UPDATE";
    match tx.query_opt(sql, &[&id]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::conflict("import", id, "begun again elsewhere").into()),
    }
}

/// Inserts rows as arrays, one for each column: one statement for all rows, with the types of the columns.
async fn insert(
    tx: &Transaction<'_>,
    table: &str,
    columns: &[String],
    rows: &[Vec<Cell>],
) -> TxResult<()> {
    let names = columns.join(", ");
    let typed = tx.prepare(&format!("SELECT {names} FROM {table}")).await?;
    let (mut arrays, mut values) = (Vec::new(), Vec::new());
    for (place, column) in typed.columns().iter().enumerate() {
        let cells = rows.iter().map(|row| row.get(place));
        let (kind, array) = array(column.type_(), cells, (table, column.name()))?;
        arrays.push(format!("${}::{kind}[]", place + 1));
        values.push(array);
    }
    let sql = format!(
        "INSERT INTO {table} ({names}) SELECT * FROM unnest({})",
        arrays.join(", ")
    );
    let statement: Statement = tx.prepare(&sql).await?;
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
    tx.execute(&statement, &values).await?;
    Ok(())
}

/// The values of a column.
type Array<'a> = Box<dyn ToSql + Sync + Send + 'a>;

fn array<'a>(
    kind: &Type,
    cells: impl Iterator<Item = Option<&'a Cell>>,
    column: (&str, &str),
) -> TxResult<(&'static str, Array<'a>)> {
    fn each<'a, T>(
        cells: impl Iterator<Item = Option<&'a Cell>>,
        (table, column): (&str, &str),
        value: impl Fn(&'a Cell) -> Option<T>,
    ) -> TxResult<Vec<Option<T>>> {
        cells
            .map(|cell| match cell {
                Some(Cell::Null) => Ok(None),
                cell => match cell.and_then(&value) {
                    Some(value) => Ok(Some(value)),
                    None => Err(unfit(table, column).into()),
                },
            })
            .collect()
    }
    Ok(match *kind {
        Type::BOOL => (
            "boolean",
            Box::new(each(cells, column, |cell| match cell {
                Cell::Integer(n) => Some(*n != 0),
                _ => None,
            })?),
        ),
        Type::INT8 => (
            "bigint",
            Box::new(each(cells, column, |cell| match cell {
                Cell::Integer(n) => Some(*n),
                _ => None,
            })?),
        ),
        Type::FLOAT8 => (
            "double precision",
            Box::new(each(cells, column, |cell| match cell {
                Cell::Real(n) => Some(*n),
                _ => None,
            })?),
        ),
        Type::TEXT => (
            "text",
            Box::new(each(cells, column, |cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                _ => None,
            })?),
        ),
        Type::BYTEA => (
            "bytea",
            Box::new(each(cells, column, |cell| match cell {
                Cell::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            })?),
        ),
        _ => return Err(unfit(column.0, column.1).into()),
    })
}

fn unfit(table: &str, column: &str) -> StoreError {
    StoreError::Damaged {
        context: format!("table `{table}`, column `{column}` has a value of another type"),
        source: None,
    }
}

fn cells(row: &Row) -> TxResult<Vec<Cell>> {
    let read = |place: usize, kind: &Type| -> Result<Cell, tokio_postgres::Error> {
        Ok(match *kind {
            Type::BOOL => row
                .try_get::<_, Option<bool>>(place)?
                .map_or(Cell::Null, |flag| Cell::Integer(flag.into())),
            Type::INT8 => row
                .try_get::<_, Option<i64>>(place)?
                .map_or(Cell::Null, Cell::Integer),
            Type::FLOAT8 => row
                .try_get::<_, Option<f64>>(place)?
                .map_or(Cell::Null, Cell::Real),
            Type::BYTEA => row
                .try_get::<_, Option<Vec<u8>>>(place)?
                .map_or(Cell::Null, Cell::Bytes),
            _ => row
                .try_get::<_, Option<String>>(place)?
                .map_or(Cell::Null, Cell::Text),
        })
    };
    row.columns()
        .iter()
        .enumerate()
        .map(|(place, column)| {
            read(place, column.type_())
                .map_err(|error| damaged(format!("column `{}`", column.name()), error).into())
        })
        .collect()
}
