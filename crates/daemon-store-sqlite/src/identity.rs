//! The keys that identify repetitions of events.

use daemon_store::Identity;
use daemon_store::decide::still_counts;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::column::{instant, micros};
use crate::failure::TxResult;

/// Returns the event that the first key names which still counts at an instant and whose event fits.
pub(crate) fn named(
    conn: &Connection,
    (keys, at): (&[Identity], Timestamp),
    fits: impl Fn(i64) -> TxResult<bool>,
) -> TxResult<Option<i64>> {
    for key in keys {
        if let Some(seq) = counting(conn, key, at)?
            && fits(seq)?
        {
            return Ok(Some(seq));
        }
    }
    Ok(None)
}

/// Makes keys name an event from an instant on, and no other event any more.
pub(crate) fn put<'a>(
    tx: &Connection,
    keys: impl Iterator<Item = &'a Identity>,
    (seq, at): (i64, Timestamp),
) -> TxResult<()> {
    let mut append =
        tx.prepare_cached("INSERT INTO recent_identity (key, seq, stored_at) VALUES (?1, ?2, ?3)")?;
    // Replaced, not ignored: a key whose time has passed names the newer event from here on.
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO recent_key VALUES (?1, ?2, ?3, ?4)")?;
    for key in keys {
        let number = append.insert(params![key.key, seq, micros(at)])?;
        put.execute(params![key.key, seq, micros(at), number])?;
    }
    Ok(())
}

/// Makes keys name an event from an instant on, except for keys that still name another.
pub(crate) fn add<'a>(
    tx: &Connection,
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
fn counting(conn: &Connection, key: &Identity, at: Timestamp) -> TxResult<Option<i64>> {
    // The recent entry of a key is newer than the one among all.
    let recent =
        "SELECT seq, stored_at FROM recent_key WHERE key = ?1 ORDER BY number DESC LIMIT 1";
    let found = match entry(conn, recent, key)? {
        Some(found) => Some(found),
        None => entry(
            conn,
            "SELECT seq, stored_at FROM identity WHERE key = ?1",
            key,
        )?,
    };
    let Some((seq, stored_at)) = found else {
        return Ok(None);
    };
    Ok(still_counts(key, instant("stored_at", stored_at)?, at).then_some(seq))
}

/// Returns the event of a key and the time when it was stored.
fn entry(conn: &Connection, sql: &str, key: &Identity) -> TxResult<Option<(i64, i64)>> {
    let entry = conn
        .prepare_cached(sql)?
        .query_row([&key.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(entry)
}
