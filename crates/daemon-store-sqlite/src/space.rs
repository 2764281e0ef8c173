//! Space of the file that nothing uses any more: given back to the file system, a little at a time.

use rusqlite::{Connection, ErrorCode};

use crate::failure::Outcome;
use crate::log;
use crate::mark::Mark;

/// Pages that may stay unused, for what comes next: 4 MiB.
const KEPT: i64 = 1_024;
/// Pages that one transaction gives back: 2 MiB.
const STEP: i64 = 512;
/// `PRAGMA auto_vacuum` of a file whose unused pages can be given back.
const INCREMENTAL: i64 = 2;

/// Lets a file without tables give its space back.
pub(crate) fn prepare(conn: &Connection) -> Outcome<()> {
    conn.pragma_update(None, "auto_vacuum", "incremental")?;
    Ok(())
}

/// Lets a file that an older version made give its space back, by writing it anew.
///
/// Where there is no room for the copy, or no directory for it, the file stays as it is, and the next start tries again.
pub(crate) fn convert(conn: &Connection, mark: &mut Mark) -> Outcome<()> {
    let mode: i64 = conn.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode == INCREMENTAL {
        return Ok(());
    }
    prepare(conn)?;
    // The copy may be larger than the memory.
    conn.pragma_update(None, "temp_store", "file")?;
    let written = conn.execute_batch("VACUUM");
    conn.pragma_update(None, "temp_store", "memory")?;
    match written {
        Ok(()) => log::merge(conn, mark),
        Err(error) => match error.sqlite_error_code() {
            // A directory for the copy that cannot be found, and a quota, are failures of the system to SQLite. The log
            // may hold most of the copy: it is merged, so that it does not fill the disk.
            Some(ErrorCode::DiskFull | ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => {
                log::merge(conn, mark)
            }
            _ => Err(error.into()),
        },
    }
}

/// Gives some unused pages back; returns whether there are more.
pub(crate) fn reclaim(conn: &Connection, mark: &mut Mark) -> Outcome<bool> {
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

fn unused(conn: &Connection) -> Outcome<i64> {
    let mut count = conn.prepare_cached("PRAGMA freelist_count")?;
    Ok(count.query_row([], |row| row.get(0))?)
}
