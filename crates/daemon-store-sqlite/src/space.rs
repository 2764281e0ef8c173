//! Unused pages of the file, which are given back to the file system a few at a time.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rustix::fs::statvfs;

use crate::failure::{TxResult, is_for_want_of_room};
use crate::log;
use crate::mark::LogMark;

/// Pages that may stay unused for the next writes: 4 MiB.
const KEPT: i64 = 1_024;
/// Pages that one transaction gives back: 2 MiB.
// A larger step would delay the next operation that queues meanwhile.
const STEP: i64 = 512;
/// Free bytes that a merge of the log leaves on the disk, so that commits have room in the log.
const LEFT: u64 = 1024 * 1024;
/// `PRAGMA auto_vacuum` of a file whose unused pages can be given back.
const INCREMENTAL: i64 = 2;

/// Makes a file without tables able to give space back.
pub(crate) fn prepare(conn: &Connection) -> TxResult<()> {
    conn.pragma_update(None, "auto_vacuum", "incremental")?;
    Ok(())
}

/// Makes a file of an older version able to give space back, by rewriting it.
///
/// Without room or a directory for the copy the file stays as it is, and the next start tries again.
pub(crate) fn convert(conn: &Connection, mark: &mut LogMark) -> TxResult<()> {
    let mode: i64 = conn.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode == INCREMENTAL || !has_room(mark.database(), size(conn)?) {
        return Ok(());
    }
    prepare(conn)?;
    // The copy may be larger than the memory.
    conn.pragma_update(None, "temp_store", "file")?;
    let written = conn.execute_batch("VACUUM");
    conn.pragma_update(None, "temp_store", "memory")?;
    if let Err(error) = written
        && !is_for_want_of_room(&error)
    {
        return Err(error.into());
    }
    // Also after a failed copy: the log may contain most of it, and would fill the disk.
    log::merge(conn, mark)?;
    Ok(())
}

/// Reports whether the log can be merged into the file without filling the disk.
pub(crate) fn can_merge(conn: &Connection, database: &Path) -> TxResult<bool> {
    let has = fs::metadata(database).map_or(0, |file| file.len());
    let growth = size(conn)?.saturating_sub(has);
    Ok(growth == 0 || has_room(database, growth))
}

/// Returns the size of the file after a merge of the log.
fn size(conn: &Connection) -> TxResult<u64> {
    let read = |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let size = read("page_count")?.saturating_mul(read("page_size")?);
    Ok(u64::try_from(size).unwrap_or(0))
}

/// Reports whether the disk of a file has room for more bytes; also true if that cannot be read.
fn has_room(file: &Path, bytes: u64) -> bool {
    statvfs(file).map_or(true, |disk| {
        disk.f_bavail.saturating_mul(disk.f_frsize) >= bytes.saturating_add(LEFT)
    })
}

/// Gives some unused pages back; returns whether there are more.
pub(crate) fn reclaim(conn: &Connection, mark: &mut LogMark) -> TxResult<bool> {
    let before = unused(conn)?;
    if before <= KEPT {
        return Ok(false);
    }
    let n_pages = STEP.min(before - KEPT);
    let mut freed = conn.prepare(&format!("PRAGMA incremental_vacuum({n_pages})"))?;
    let mut rows = freed.query([])?;
    // Each row is one page; a statement that is not read to its end frees no more.
    while rows.next()?.is_some() {}
    drop(rows);
    let after = unused(conn)?;
    if after > KEPT {
        log::merge_if_long(conn, mark)?;
    } else {
        // The file becomes shorter where the whole log is merged.
        log::merge_some(conn, mark)?;
    }
    Ok(KEPT < after && after < before)
}

fn unused(conn: &Connection) -> TxResult<i64> {
    let mut count = conn.prepare_cached("PRAGMA freelist_count")?;
    Ok(count.query_row([], |row| row.get(0))?)
}
