//! The newest identities, which wait to be moved into the table of all.
//!
//! Keys are random. If each were put into its place among all keys at once, a commit would write a page for every key. So they
//! are appended to `recent_identity`, and moved into `identity` in the order of the keys when there are many: then most
//! pages take several. A part is moved with each commit, which no sender has to wait for.
//!
//! `recent_key` finds a recent key. For the writer it is a table in memory, which SQLite rolls back with the rest; for
//! readers it is a view.

use rusqlite::{Connection, params};

use crate::failure::TxResult;

/// How many keys wait before they are moved.
const MOVED_AT: i64 = 16_384;
/// How many are moved for each that a transaction adds: more than one, so that a move ends before the next is due.
const MOVED_PER_ADDED: i64 = 2;

/// The writer's side of the recent identities.
#[derive(Debug, Default)]
pub(crate) struct RecentIdentities {
    /// The version of the data that `recent_key` was read from; other versions were written by another connection.
    version: Option<i64>,
    /// The number of the newest identity.
    newest: i64,
    moving: Option<Moving>,
}

/// The state of a move.
#[derive(Debug)]
struct Moving {
    /// Identities with greater numbers wait for the next move.
    until: i64,
    /// The last key that was moved.
    after: String,
}

/// Makes the table for the connection that writes.
pub(crate) fn prepare_writer(conn: &Connection) -> TxResult<()> {
    conn.execute_batch(
        "CREATE TEMP TABLE recent_key ( \
           key TEXT PRIMARY KEY, seq INTEGER NOT NULL, stored_at INTEGER NOT NULL, number INTEGER NOT NULL \
         ) WITHOUT ROWID",
    )?;
    Ok(())
}

/// Makes the view for a connection that reads.
pub(crate) fn prepare_reader(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.execute_batch("CREATE TEMP VIEW recent_key AS SELECT key, seq, stored_at, number FROM main.recent_identity")
}

impl RecentIdentities {
    /// Reads the table if another connection may have changed it. Called at the start of a transaction.
    pub(crate) fn begin(&mut self, tx: &Connection) -> TxResult<()> {
        let version: i64 = tx
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(());
        }
        *self = Self::default();
        tx.execute("DELETE FROM recent_key", [])?;
        tx.execute(
            // In the order of the numbers, so that the newest entry of a key stays.
            "INSERT OR REPLACE INTO recent_key SELECT key, seq, stored_at, number FROM recent_identity ORDER BY number",
            [],
        )?;
        self.version = Some(version);
        self.newest = bounds(tx)?[1];
        Ok(())
    }

    /// Moves some identities if many wait. Called at the end of a transaction.
    pub(crate) fn settle(&mut self, tx: &Connection) -> TxResult<()> {
        let [oldest, newest] = bounds(tx)?;
        let n_added = newest - self.newest;
        self.newest = newest;
        if n_added <= 0 {
            return Ok(());
        }
        let moving = match &mut self.moving {
            Some(moving) => moving,
            None if newest - oldest < MOVED_AT => return Ok(()),
            none => none.insert(Moving {
                until: newest,
                after: String::new(),
            }),
        };
        if moving.step(tx, n_added * MOVED_PER_ADDED)? {
            for table in ["recent_identity", "recent_key"] {
                tx.prepare_cached(&format!("DELETE FROM {table} WHERE number <= ?1"))?
                    .execute([moving.until])?;
            }
            self.moving = None;
        }
        Ok(())
    }

    /// Reads the table again after a transaction was rolled back. A move starts from its beginning, which changes nothing in what was moved.
    pub(crate) fn rolled_back(&mut self) {
        *self = Self::default();
    }
}

impl Moving {
    /// Moves the next identities; returns whether all are moved.
    fn step(&mut self, tx: &Connection, n: i64) -> TxResult<bool> {
        let mut next = tx.prepare_cached(
            "SELECT key, seq, stored_at FROM recent_key WHERE key > ?1 AND number <= ?2 ORDER BY key LIMIT ?3",
        )?;
        // Replaced, not ignored: a recent entry is newer than any there.
        let mut put = tx.prepare_cached("INSERT OR REPLACE INTO identity VALUES (?1, ?2, ?3)")?;
        let mut rows = next.query(params![self.after, self.until, n])?;
        let mut n_moved = 0;
        let mut last = None;
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            put.execute(params![key, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?])?;
            last = Some(key);
            n_moved += 1;
        }
        if let Some(last) = last {
            self.after = last;
        }
        Ok(n_moved < n)
    }
}

/// Returns the numbers of the oldest and the newest identity that wait; 0 if none does.
fn bounds(tx: &Connection) -> TxResult<[i64; 2]> {
    // Two queries in one, because SQLite looks at all rows for both aggregates of one table.
    let bounds = tx
        .prepare_cached(
            "SELECT coalesce((SELECT min(number) FROM recent_identity), 0), \
             coalesce((SELECT max(number) FROM recent_identity), 0)",
        )?
        .query_row([], |row| Ok([row.get(0)?, row.get(1)?]))?;
    Ok(bounds)
}

#[cfg(test)]
mod tests;
