//! The keys that identify repetitions of events.

use daemon_store::Identity;
use daemon_store::decide::still_counts;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

use crate::column::{instant, micros};
use crate::failure::TxResult;
use crate::recent::WriteTx;

/// A connection that finds the events of keys.
pub(crate) trait KeyLookup {
    fn conn(&self) -> &Connection;

    /// Returns the event of a recent key, and the time when it was stored in microseconds.
    fn recent(&self, key: &str) -> TxResult<Option<(i64, i64)>>;
}

impl KeyLookup for WriteTx<'_> {
    fn conn(&self) -> &Connection {
        self.conn
    }

    fn recent(&self, key: &str) -> TxResult<Option<(i64, i64)>> {
        Ok(self.recent.borrow().entry(key))
    }
}

impl KeyLookup for Connection {
    fn conn(&self) -> &Connection {
        self
    }

    fn recent(&self, key: &str) -> TxResult<Option<(i64, i64)>> {
        let newest = "SELECT seq, stored_at FROM recent_identity WHERE key = ?1 ORDER BY number DESC LIMIT 1";
        entry(self, newest, key)
    }
}

/// Returns the event that the first key names which still counts at an instant and whose event fits.
pub(crate) fn named(
    db: &impl KeyLookup,
    (keys, at): (&[Identity], Timestamp),
    fits: impl Fn(i64) -> TxResult<bool>,
) -> TxResult<Option<i64>> {
    for key in keys {
        if let Some(seq) = counting(db, key, at)?
            && fits(seq)?
        {
            return Ok(Some(seq));
        }
    }
    Ok(None)
}

/// Makes keys name an event from an instant on, and no other event any more.
pub(crate) fn put<'a>(
    tx: &WriteTx<'_>,
    keys: impl Iterator<Item = &'a Identity>,
    (seq, at): (i64, Timestamp),
) -> TxResult<()> {
    let mut recent = tx.recent.borrow_mut();
    for key in keys {
        recent.put(tx, &key.key, (seq, micros(at)))?;
    }
    Ok(())
}

/// Makes keys name an event from an instant on, except for keys that still name another.
pub(crate) fn add<'a>(
    tx: &WriteTx<'_>,
    keys: impl Iterator<Item = &'a Identity>,
    (seq, at): (i64, Timestamp),
) -> TxResult<()> {
    for key in keys {
        if counting(tx, key, at)?.is_none() {
            put(tx, std::iter::once(key), (seq, at))?;
        }
    }
    Ok(())
}

/// Returns the event that a key names, if the key still counts at an instant.
fn counting(db: &impl KeyLookup, key: &Identity, at: Timestamp) -> TxResult<Option<i64>> {
    // The recent entry of a key is newer than the one among all.
    let found = match db.recent(&key.key)? {
        Some(found) => Some(found),
        None => entry(
            db.conn(),
            "SELECT seq, stored_at FROM identity WHERE key = ?1",
            &key.key,
        )?,
    };
    let Some((seq, stored_at)) = found else {
        return Ok(None);
    };
    Ok(still_counts(key, instant("stored_at", stored_at)?, at).then_some(seq))
}

/// Returns the event of a key and the time when it was stored.
fn entry(conn: &Connection, sql: &str, key: &str) -> TxResult<Option<(i64, i64)>> {
    let entry = conn
        .prepare_cached(sql)?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(entry)
}
