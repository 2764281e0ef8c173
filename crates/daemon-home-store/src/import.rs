//! The import of a home's own store into a database that hosts share.

use std::fmt;

use daemon_host::config::Host;
use daemon_host::home::Home;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_store_sqlite::{Move, SqliteExport};
use serde_json::{Value, json};

#[cfg(feature = "postgres")]
use crate::copying::copy;
use crate::opening::{check, failed, is_shared, moved};

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The file of the home's own store.
    pub from: String,
    /// The address of the database.
    pub to: String,
    /// Whether an earlier process had begun it, or ended it.
    pub is_continued: bool,
    /// The tables, in the order in which they were copied.
    pub tables: Vec<ImportedTable>,
}

/// A table, all rows of which are in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTable {
    /// Its name in the database.
    pub name: &'static str,
    /// How many rows it has.
    pub n_rows: u64,
    /// The sum of the hashes of the rows, which was the same on both sides.
    pub digest: String,
}

impl Imported {
    /// Returns the object on the wire.
    pub fn json(&self) -> Value {
        let tables = self
            .tables
            .iter()
            .map(|table| json!({"name": table.name, "rows": table.n_rows, "sha256": table.digest}));
        json!({
            "from": self.from, "to": self.to, "continued": self.is_continued,
            "tables": tables.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from, to, tables, ..
        } = self;
        let width = tables.iter().map(|table| table.name.len()).max();
        for table in tables {
            let (name, digest) = (table.name, &table.digest[..16]);
            writeln!(
                f,
                "{name:<width$}  {:>9} rows  {digest}",
                table.n_rows,
                width = width.unwrap_or(0)
            )?;
        }
        let n_rows: u64 = tables.iter().map(|table| table.n_rows).sum();
        writeln!(
            f,
            "imported `{from}` into `{to}`: {n_rows} rows, all compared"
        )?;
        writeln!(
            f,
            "next: set `host.store` to it in config.toml, then `daemon-run serve`"
        )
    }
}

/// Receives the name of a table and how many of its rows are copied.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&str, u64) + Send);

/// Copies the store of a home into the database that `host.store` names, and compares every row. The caller owns the home.
///
/// An import that ended early continues where it was; one that is complete changes nothing. From its beginning on, no host starts
/// on the old store, and until its end none starts on the new one.
///
/// # Errors
/// `InvalidParams` if `host.store` names no database; `NotFound` for a home without a store of its own; `Config` for a database
/// with other content, or a store that was imported elsewhere; `Unavailable` if one of them cannot be reached, or they differ.
pub async fn import(
    home: &Home,
    host: &Host,
    progress: OnProgress<'_>,
) -> Result<Imported, OpError> {
    check(&host.store)?;
    if !is_shared(host) {
        let message = "`host.store` names no database to import into";
        let error = OpError::new(OpErrorKind::InvalidParams, "no-target", message);
        return Err(error
            .with_help("set it in config.toml, or use `--store postgres://USER@HOST/DATABASE`"));
    }
    let export = source(home, host)?;
    let known = export.moved().await.map_err(|error| unread(home, &error))?;
    match known {
        Some(known) if known.target != host.store => {
            Err(moved(home, (&known.target, known.is_finished)))
        }
        known => copy((home, host), (&export, known), progress).await,
    }
}

/// Without the feature, [`check`] refuses every address.
#[cfg(not(feature = "postgres"))]
async fn copy(
    _: (&Home, &Host),
    _: (&SqliteExport, Option<Move>),
    _: OnProgress<'_>,
) -> Result<Imported, OpError> {
    let message = "this program was built without the feature `postgres`";
    Err(OpError::new(OpErrorKind::Config, "no-target", message))
}

/// Gives up an import that is not finished, so that hosts can start on the home's own store again. The caller owns the home.
///
/// The database keeps what was copied. It can be used after another import of the same home, or after its tables are dropped.
///
/// # Errors
/// `NotFound` for a home without a store of its own; `Conflict` for an import that is finished, or none.
pub async fn abandon_import(home: &Home, host: &Host) -> Result<(), OpError> {
    let export = source(home, host)?;
    let known = export.moved().await.map_err(|error| unread(home, &error))?;
    let problem = match known {
        None => "no import has begun".to_owned(),
        Some(Move {
            is_finished: true,
            target,
            ..
        }) => format!("the store was imported into `{target}`"),
        Some(_) => return export.abandon().await.map_err(|error| unread(home, &error)),
    };
    Err(OpError::new(
        OpErrorKind::Conflict,
        "not-importing",
        problem,
    ))
}

/// Checks that a home has a store of its own.
///
/// # Errors
/// `NotFound` if it has none.
pub fn check_importable(home: &Home) -> Result<(), OpError> {
    match Home::existing(home.root()) {
        Some(_) => Ok(()),
        None => {
            let message = format!("there is no store in `{}`", home.root().display());
            Err(OpError::new(OpErrorKind::NotFound, "no-home", message))
        }
    }
}

fn source(home: &Home, host: &Host) -> Result<SqliteExport, OpError> {
    check_importable(home)?;
    SqliteExport::open(&home.store(), home.host_name(host)).map_err(|error| unread(home, &error))
}

pub(crate) fn unread(home: &Home, error: &daemon_store::StoreError) -> OpError {
    failed(&home.store().display().to_string(), error)
}
