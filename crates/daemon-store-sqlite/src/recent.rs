//! The newest identities, which wait to be moved into the table of all.
//!
//! Keys are random. If each were put into its place among all keys at once, a commit would write a page for every key. So they
//! are appended to `recent_identity`, and moved into `identity` in the order of the keys when there are many: then most
//! pages take several. A part is moved with each commit, which no sender has to wait for.
//!
//! The writer finds a recent key with an index in memory, which is read again from the table after anything of it was taken
//! back. Readers search the table.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Bound, Deref};

use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::column::micros;
use crate::failure::TxResult;

/// How many keys wait before they are moved.
const MOVED_AT: usize = 16_384;
/// How many are moved for each that a transaction adds: more than one, so that a move ends before the next is due.
const MOVED_PER_ADDED: usize = 2;

/// The connection that writes, inside a transaction, with the index of recent identities.
#[derive(Debug)]
pub(crate) struct WriteTx<'w> {
    pub(crate) conn: &'w Connection,
    pub(crate) recent: &'w RefCell<RecentIdentities>,
}

impl Deref for WriteTx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

/// The writer's side of the recent identities.
#[derive(Debug, Default)]
pub(crate) struct RecentIdentities {
    /// The version of the data that the entries were read from; other versions were written by another connection.
    version: Option<i64>,
    entries: BTreeMap<Box<str>, RecentEntry>,
    /// The number of the newest identity.
    newest: i64,
    /// How many were added since the last call of [`settle`](Self::settle).
    n_added: usize,
    moving: Option<Moving>,
}

/// The newest entry of a key.
#[derive(Clone, Copy, Debug)]
struct RecentEntry {
    seq: i64,
    /// In microseconds.
    stored_at: i64,
    number: i64,
}

/// The state of a move.
#[derive(Debug)]
struct Moving {
    /// Identities with greater numbers wait for the next move.
    until: i64,
    /// The last key that was moved.
    after: Box<str>,
}

impl RecentIdentities {
    /// Reads the table if another connection may have changed it. Called at the start of a transaction.
    pub(crate) fn begin(&mut self, tx: &Connection) -> TxResult<()> {
        let version: i64 = tx
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if self.version != Some(version) {
            self.read(tx)?;
            self.version = Some(version);
        }
        Ok(())
    }

    /// Reads the table again inside a transaction, a part of which was taken back.
    pub(crate) fn read(&mut self, tx: &Connection) -> TxResult<()> {
        *self = Self {
            version: self.version,
            ..Self::default()
        };
        // In the order of the numbers, so that the newest entry of a key stays.
        let mut all = tx.prepare_cached(
            "SELECT key, seq, stored_at, number FROM recent_identity ORDER BY number",
        )?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let entry = RecentEntry {
                seq: row.get(1)?,
                stored_at: row.get(2)?,
                number: row.get(3)?,
            };
            self.entries.insert(row.get(0)?, entry);
            self.newest = entry.number;
        }
        Ok(())
    }

    /// Returns how many keys were added since the last call of [`settle`](Self::settle).
    pub(crate) fn n_added(&self) -> usize {
        self.n_added
    }

    /// Returns the event of a recent key, and the time when it was stored in microseconds.
    pub(crate) fn entry(&self, key: &str) -> Option<(i64, i64)> {
        let entry = self.entries.get(key)?;
        Some((entry.seq, entry.stored_at))
    }

    /// Makes a key name an event that was stored at an instant, given in microseconds.
    pub(crate) fn put(
        &mut self,
        tx: &Connection,
        key: &str,
        (seq, stored_at): (i64, i64),
    ) -> TxResult<()> {
        let mut append = tx.prepare_cached(
            "INSERT INTO recent_identity (key, seq, stored_at) VALUES (?1, ?2, ?3)",
        )?;
        let number = append.insert(params![key, seq, stored_at])?;
        let entry = RecentEntry {
            seq,
            stored_at,
            number,
        };
        // Replaced, not ignored: a key whose time has passed names the newer event from here on.
        self.entries.insert(key.into(), entry);
        self.newest = number;
        self.n_added += 1;
        Ok(())
    }

    /// Deletes the keys that were stored before instants: of the bodies of webhooks, and all others.
    pub(crate) fn forget(
        &mut self,
        tx: &Connection,
        (bodies, others): (Timestamp, Timestamp),
    ) -> TxResult<()> {
        let (bodies, others) = (micros(bodies), micros(others));
        for table in ["identity", "recent_identity"] {
            tx.execute(
                // GLOB and not LIKE, which ignores case.
                &format!("DELETE FROM {table} WHERE stored_at < iif(key GLOB 'body:*', ?1, ?2)"),
                [bodies, others],
            )?;
        }
        self.entries.retain(|key, entry| {
            let since = if key.starts_with("body:") {
                bodies
            } else {
                others
            };
            entry.stored_at >= since
        });
        Ok(())
    }

    /// Moves some identities if many wait. Called at the end of a transaction.
    pub(crate) fn settle(&mut self, tx: &Connection) -> TxResult<()> {
        let n_added = std::mem::take(&mut self.n_added);
        if n_added == 0 {
            return Ok(());
        }
        let moving = match &mut self.moving {
            Some(moving) => moving,
            None if self.entries.len() < MOVED_AT => return Ok(()),
            none => none.insert(Moving {
                until: self.newest,
                after: Box::default(),
            }),
        };
        if moving.step(tx, &self.entries, n_added * MOVED_PER_ADDED)? {
            let until = moving.until;
            tx.prepare_cached("DELETE FROM recent_identity WHERE number <= ?1")?
                .execute([until])?;
            self.entries.retain(|_, entry| entry.number > until);
            self.moving = None;
        }
        Ok(())
    }

    /// Forgets the entries after a transaction was rolled back; the next one reads them. A move starts from its beginning, which
    /// changes nothing in what was moved.
    pub(crate) fn rolled_back(&mut self) {
        *self = Self::default();
    }
}

impl Moving {
    /// Moves the next `n` identities; returns whether all are moved.
    fn step(
        &mut self,
        tx: &Connection,
        entries: &BTreeMap<Box<str>, RecentEntry>,
        n: usize,
    ) -> TxResult<bool> {
        // Replaced, not ignored: a recent entry is newer than any there.
        let mut put = tx.prepare_cached("INSERT OR REPLACE INTO identity VALUES (?1, ?2, ?3)")?;
        let rest = (Bound::Excluded(&*self.after), Bound::Unbounded);
        let due = entries
            .range::<str, _>(rest)
            .filter(|(_, entry)| entry.number <= self.until);
        let (mut n_moved, mut last) = (0, None);
        for (key, entry) in due.take(n) {
            put.execute(params![key, entry.seq, entry.stored_at])?;
            last = Some(key);
            n_moved += 1;
        }
        if let Some(last) = last {
            self.after = last.clone();
        }
        Ok(n_moved < n)
    }
}

#[cfg(test)]
mod tests;
