//! How an import copies and compares.
//!
//! The order of the marks matters: hosts are refused on the database before they are refused on the old store, and admitted to it
//! after the old store is given up for good. So at no instant could hosts work on both.

use daemon_host::config::Host;
use daemon_host::home::Home;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::{failpoint, random};
use daemon_store::StoreError;
use daemon_store_postgres::{ImportState, PostgresImport};
use daemon_store_sqlite::{Batch, Move, SqliteExport, tables};
use tokio::sync::mpsc;

use crate::import::{Imported, ImportedTable, OnProgress, unread};
use crate::opening::failed;
use crate::shared::options;

/// How many batches of rows wait to be copied.
const BATCHES: usize = 2;

pub(crate) async fn copy(
    (home, host): (&Home, &Host),
    (export, known): (&SqliteExport, Option<Move>),
    progress: OnProgress<'_>,
) -> Result<Imported, OpError> {
    let id = match &known {
        Some(known) => known.import.clone(),
        None => random::hex(16),
    };
    let names: Vec<&str> = tables().collect();
    let opened = PostgresImport::open(&options(home, host)?, &id, &names).await;
    let mut import = opened.map_err(|error| refused(host, &error))?;
    failpoint::hit("I1");
    let of_file = |error: StoreError| unread(home, &error);
    let of_database = |error: StoreError| failed(&host.store, &error);
    if known.is_none() {
        export.begin(&id, &host.store).await.map_err(of_file)?;
    }
    failpoint::hit("I2");
    let state = import.state();
    let mut acc = Vec::new();
    for table in tables() {
        let (n_rows, digest) = import.copied(table).await.map_err(of_database)?;
        acc.push(match digest {
            Some(digest) => ImportedTable {
                name: table,
                n_rows,
                digest,
            },
            None => {
                copy_table(
                    (export, home),
                    (&mut import, host),
                    (table, n_rows),
                    progress,
                )
                .await?
            }
        });
    }
    failpoint::hit("I4");
    if state != ImportState::Ended {
        export.finish().await.map_err(of_file)?;
        failpoint::hit("I5");
        import.finish().await.map_err(of_database)?;
    }
    Ok(Imported {
        from: home.store().display().to_string(),
        to: host.store.clone(),
        is_continued: state != ImportState::Begun,
        tables: acc,
    })
}

async fn copy_table(
    (export, home): (&SqliteExport, &Home),
    (import, host): (&mut PostgresImport, &Host),
    (table, n_copied): (&'static str, u64),
    progress: OnProgress<'_>,
) -> Result<ImportedTable, OpError> {
    let of_database = |error: StoreError| failed(&host.store, &error);
    let columns = export.columns(table).await;
    let columns = columns.map_err(|error| unread(home, &error))?;
    let (sender, mut receiver) = mpsc::channel::<Batch>(BATCHES);
    let copying = async {
        let mut n_rows = n_copied;
        while let Some(batch) = receiver.recv().await {
            import.copy(table, &columns, &batch).await?;
            n_rows += batch.len() as u64;
            progress(table, n_rows);
            failpoint::hit("I3");
        }
        // What is not received any more ends the reading.
        drop(receiver);
        Ok(())
    };
    let (sent, copied) = tokio::join!(export.rows(table, n_copied, sender), copying);
    copied.map_err(of_database)?;
    let expected = sent.map_err(|error| unread(home, &error))?;
    let found = import.digest(table, &columns).await.map_err(of_database)?;
    if found != expected {
        let message = format!(
            "table `{table}` differs: {} rows, {expected} in `{}`; {} rows, {found} in `{}`",
            expected.n_rows,
            home.store().display(),
            found.n_rows,
            host.store
        );
        let error = OpError::new(OpErrorKind::Unavailable, "import-differs", message);
        return Err(
            error.with_help("`daemon-run import --abandon`, then import again, which begins anew")
        );
    }
    import.compared(table, &found).await.map_err(of_database)?;
    Ok(ImportedTable {
        name: table,
        n_rows: found.n_rows,
        digest: found.to_string(),
    })
}

/// Returns the error for a database that an import cannot begin in.
fn refused(host: &Host, error: &StoreError) -> OpError {
    let StoreError::Conflict { .. } = error else {
        return failed(&host.store, error);
    };
    let message = format!("`{}`: {error}", host.store);
    OpError::new(OpErrorKind::Config, "import-refused", message)
        .with_help("a store is imported into a database that no host has used")
}
