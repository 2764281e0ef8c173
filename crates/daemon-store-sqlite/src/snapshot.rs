//! Copies of databases that another process may be writing.

use std::path::Path;

use daemon_store::StoreError;
use rusqlite::{Connection, OpenFlags};

use crate::failure::TxResult;
use crate::open::{check_pages, connect, in_file};

/// Copies a database of SQLite to a new file, as it is between two transactions, and checks every page of the copy.
///
/// Another process may write it meanwhile. What its log contains is in the copy, which has no log and takes no more space than its
/// content. The call blocks, and reads the whole database.
///
/// # Errors
/// `Unavailable` if the database cannot be read, or the new file exists or cannot be written; `Damaged` if a page is wrong.
pub fn snapshot(path: &Path, to: &Path) -> Result<(), StoreError> {
    let context = format!("copy `{}`", path.display());
    copy(path, to).map_err(|failure| in_file(path, failure.into_error(&context)))
}

fn copy(path: &Path, to: &Path) -> TxResult<()> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = connect(path, access)?;
    // SQLite refuses a file that exists and has content.
    conn.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    drop(conn);
    check_pages(&Connection::open_with_flags(to, access)?)
}
