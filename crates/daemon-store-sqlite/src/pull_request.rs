//! The branches of pull requests, which are kept after the payloads that named them.

use daemon_event::{Event, Subject};
use daemon_store::decide;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::failure::TxResult;

/// Stores the branch of the pull request that an event describes, if it describes one.
pub(crate) fn note(tx: &Connection, event: &Event) -> TxResult<()> {
    if let Some((subject, head)) = decide::pull_request(event) {
        tx.prepare_cached("INSERT OR REPLACE INTO pull_request VALUES (?1, ?2)")?
            .execute(params![subject.as_str(), head])?;
    }
    Ok(())
}

/// Returns the branch of a pull request, unless it is of a fork or not known.
pub(crate) fn head(conn: &Connection, subject: &Subject) -> TxResult<Option<String>> {
    let mut find = conn.prepare_cached("SELECT head FROM pull_request WHERE subject = ?1")?;
    let head: Option<Option<String>> = find
        .query_row([subject.as_str()], |row| row.get(0))
        .optional()?;
    Ok(head.flatten())
}
