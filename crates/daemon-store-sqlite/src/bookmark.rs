//! Strings that the host keeps under names.

use daemon_store::{Accepted, Bookmark, NewEvent};
use rusqlite::{Connection, params};

use crate::column::{Columns as _, micros};
use crate::event;
use crate::failure::TxResult;
use crate::recent::WriteTx;

/// Stores events together with bookmarks.
pub(crate) fn accept(
    tx: &WriteTx<'_>,
    bookmarks: Vec<Bookmark>,
    events: Vec<NewEvent>,
) -> TxResult<Vec<Accepted>> {
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO bookmark VALUES (?1, ?2, ?3)")?;
    for one in bookmarks {
        put.execute(params![one.name, one.text, micros(one.at)])?;
    }
    event::accept(tx, &events)
}

/// Returns the bookmarks whose names begin with a prefix, by name.
pub(crate) fn named(conn: &Connection, prefix: &str) -> TxResult<Vec<Bookmark>> {
    // Compared as bytes by `substr` over a blob, because LIKE ignores case and GLOB has special characters.
    let mut find = conn.prepare_cached(
        "SELECT name, text, at FROM bookmark WHERE name >= ?1 \
         AND substr(CAST(name AS BLOB), 1, length(CAST(?1 AS BLOB))) = CAST(?1 AS BLOB) ORDER BY name",
    )?;
    let mut rows = find.query([prefix])?;
    let mut bookmarks = Vec::new();
    while let Some(row) = rows.next()? {
        bookmarks.push(Bookmark {
            name: row.text("name")?,
            text: row.text("text")?,
            at: row.at("at")?,
        });
    }
    Ok(bookmarks)
}
