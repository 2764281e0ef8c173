//! Payloads: stored once, in a table of their own, and forgotten when they are old.

use std::sync::Arc;

use daemon_event::{Event, Source};
use daemon_store::stored::facts;
use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, MAIN_DB, Row, params};

use crate::column::{Columns as _, micros};
use crate::event::{COLUMNS, TABLES};
use crate::failure::{TxResult, damaged};

/// Payloads beyond this many bytes are written and read in pieces: SQLite copies a value that it is given as a whole, or
/// gives as a whole, at least twice. The columns of events name it too.
const WHOLE: usize = 256 * 1024;
/// What is written at once of them, in bytes.
const PIECE: usize = 64 * 1024;
/// How many payloads a transaction forgets.
const FORGOTTEN: usize = 256;
/// How many bytes of payloads a transaction forgets, one payload more or less.
const FORGOTTEN_BYTES: u64 = 8 * 1024 * 1024;
/// How many bytes of payloads are read for one page, one payload more or less.
pub(crate) const READ_BYTES: usize = 8 * 1024 * 1024;

/// Stores the payload of an event and its facts.
pub(crate) fn insert(tx: &Connection, seq: i64, event: &Event) -> TxResult<()> {
    let payload = &*event.payload;
    let facts = facts::to_text(&event.facts, || {
        TxResult::Ok(facts::of_payload(event.source, &event.kind, payload))
    })?;
    tx.prepare_cached("INSERT INTO payload VALUES (?1, ?2, ?3)")?
        .execute(params![seq, facts, column(payload)])?;
    write_long(tx, ("payload", seq), payload)
}

/// Returns what is inserted for a payload: zeros for a long one, which [`write_long`] replaces.
pub(crate) fn column(payload: &[u8]) -> ToSqlOutput<'_> {
    match payload.len() <= WHOLE {
        true => ToSqlOutput::Borrowed(ValueRef::Blob(payload)),
        false => ToSqlOutput::ZeroBlob(payload.len() as u64),
    }
}

/// Writes the payload of a row whose `body` was inserted as [`column`] says.
pub(crate) fn write_long(
    tx: &Connection,
    (table, row): (&str, i64),
    payload: &[u8],
) -> TxResult<()> {
    if payload.len() <= WHOLE {
        return Ok(());
    }
    let mut blob = tx.blob_open(MAIN_DB, table, "body", row, false)?;
    for (n, piece) in payload.chunks(PIECE).enumerate() {
        blob.write_at(piece, n * PIECE)?;
    }
    blob.close()?;
    Ok(())
}

/// Reads the payload of a row of a table; empty if it was forgotten.
pub(crate) fn of_row(
    conn: &Connection,
    row: &Row<'_>,
    (table, number): (&str, i64),
) -> TxResult<Arc<[u8]>> {
    let n_bytes: Option<i64> = row.get("n_body")?;
    let Some(n_bytes) = n_bytes else {
        return Ok(Arc::default());
    };
    let n_bytes = usize::try_from(n_bytes).map_err(|error| damaged("a payload", error))?;
    if n_bytes <= WHOLE {
        return match row.get_ref("body")?.as_blob() {
            Ok(body) => Ok(body.into()),
            Err(error) => Err(rusqlite::Error::from(error).into()),
        };
    }
    // Allocated once as what is returned: a `Vec` would be copied into the `Arc`.
    let mut payload: Arc<[u8]> = std::iter::repeat_n(0, n_bytes).collect();
    let bytes = Arc::get_mut(&mut payload).expect("it has no other owner yet");
    let blob = conn.blob_open(MAIN_DB, table, "body", number, true)?;
    blob.read_at_exact(bytes, 0)?;
    blob.close()?;
    Ok(payload)
}

/// Replaces the facts of an event whose payload is kept.
pub(crate) fn put_facts(
    tx: &Connection,
    seq: i64,
    found: &daemon_event::EventFacts,
) -> TxResult<()> {
    let facts = facts::to_text(found, || -> TxResult<_> {
        let mut find =
            tx.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE e.seq = ?1"))?;
        let mut rows = find.query([seq])?;
        let Some(row) = rows.next()? else {
            return Ok(daemon_event::EventFacts::default());
        };
        let source: Source = row.word("source")?;
        let payload = of_row(tx, row, ("payload", seq))?;
        Ok(facts::of_payload(source, &row.text("kind")?, &payload))
    })?;
    tx.prepare_cached("UPDATE payload SET facts = ?2 WHERE seq = ?1")?
        .execute(params![seq, facts])?;
    Ok(())
}

/// Deletes some of the payloads received before an instant, of events after a given one, and returns the last event that was
/// read if there may be more.
///
/// The later reports of the event and its wanted facts are deleted with it.
pub(crate) fn forget(tx: &Connection, before: Timestamp, behind: i64) -> TxResult<Option<i64>> {
    let mut find = tx.prepare_cached(
        "SELECT e.seq, coalesce((SELECT length(p.body) FROM payload AS p WHERE p.seq = e.seq), 0) \
         + (SELECT coalesce(sum(length(r.body)), 0) FROM report AS r WHERE r.seq = e.seq) AS n_body \
         FROM event AS e WHERE e.seq > ?1 AND e.due = 0 AND e.received_at < ?2 \
         AND (EXISTS (SELECT 1 FROM payload AS p WHERE p.seq = e.seq) \
              OR EXISTS (SELECT 1 FROM report AS r WHERE r.seq = e.seq) \
              OR EXISTS (SELECT 1 FROM wanted AS w WHERE w.seq = e.seq)) \
         AND NOT EXISTS (SELECT 1 FROM wanted AS w WHERE w.seq = e.seq AND w.state = 'waiting') \
         ORDER BY e.seq",
    )?;
    let mut rows = find.query(params![behind, micros(before)])?;
    let (mut forgotten, mut n_bytes) = (Vec::new(), 0);
    // Bounded, because intake waits while this transaction holds the writer.
    while forgotten.len() < FORGOTTEN
        && n_bytes < FORGOTTEN_BYTES
        && let Some(row) = rows.next()?
    {
        forgotten.push(row.get::<_, i64>("seq")?);
        n_bytes += row.count("n_body")?;
    }
    drop(rows);
    for table in ["payload", "report", "wanted"] {
        let mut delete = tx.prepare_cached(&format!("DELETE FROM {table} WHERE seq = ?1"))?;
        for seq in &forgotten {
            delete.execute([seq])?;
        }
    }
    Ok(forgotten.last().copied())
}
