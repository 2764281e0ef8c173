//! The write-ahead log: merged by us, and missed if it is gone.
//!
//! SQLite opens a file whose log was deleted without a word, as it was at the last merge. So that a store never begins
//! with a past it had already left, the file itself says that a log must be there: `host.merged` is 0 in the file from
//! each merge on, and the first commit in the new log sets it to 1. Whoever merges the log, we or another program, thereby
//! clears the mark; only a log that was lost leaves it.

use std::path::{Path, PathBuf};

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::failure::Outcome;

/// How many pages the log may have before it is merged: 8 MiB. A log that has reached its length is only overwritten,
/// and syncs of it cost a fraction of those of a growing file, so it should reach it soon.
const MERGE_AT: i64 = 2_000;

/// Returns the path of the log of a database.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Merges the whole log into the file and marks the file as waiting for a new one.
pub(crate) fn merge(conn: &Connection) -> Outcome<()> {
    merge_by(conn, "PRAGMA wal_checkpoint(TRUNCATE)")
}

/// Merges the log if it has grown.
///
/// What readers still look at stays in the log for the next time. The log keeps its length and is written again from its
/// beginning, since a sync is cheaper where no file grows.
pub(crate) fn merge_if_long(conn: &Connection) -> Outcome<()> {
    let n_pages: i64 = conn
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| row.get(1))?;
    if n_pages < MERGE_AT {
        return Ok(());
    }
    merge_some(conn)
}

/// Merges what no reader looks at.
pub(crate) fn merge_some(conn: &Connection) -> Outcome<()> {
    merge_by(conn, "PRAGMA wal_checkpoint(PASSIVE)")
}

fn merge_by(conn: &Connection, checkpoint: &str) -> Outcome<()> {
    conn.execute("UPDATE host SET merged = 0", [])?;
    conn.query_row(checkpoint, [], |_| Ok(()))?;
    conn.execute("UPDATE host SET merged = 1", [])?;
    Ok(())
}

/// Refuses a file whose log is missing; `had_log` tells whether there was one before the file was opened.
pub(crate) fn check(conn: &Connection, had_log: bool) -> Outcome<()> {
    let is_merged: bool = conn.query_row("SELECT merged FROM host", [], |row| row.get(0))?;
    if is_merged || had_log {
        return Ok(());
    }
    Err(StoreError::Damaged {
        context:
            "its write-ahead log (`-wal`) is missing; put it back, or restore both from a backup"
                .to_owned(),
        source: None,
    }
    .into())
}
