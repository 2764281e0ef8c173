//! The answers to requests with an id.

use daemon_roster::{RequestKey, RosterTables, RowId, StoredReply};
use daemon_store::stored::answer;
use rusqlite::{Connection, params};

use super::upsert;
use crate::column::{Columns as _, micros};
use crate::failure::TxResult;

const COLUMNS: [&str; 5] = ["row", "request", "params", "answer", "at"];

/// Who gave a request its id (`None` for the operator), and the id.
type ReplyKey = (Option<RowId>, RequestKey);

pub(super) fn put(conn: &Connection, key: &ReplyKey, reply: &StoredReply) -> TxResult<()> {
    let (row, request) = key;
    conn.prepare_cached(&upsert("roster_reply", 2, &COLUMNS))?
        .execute(params![
            row.as_ref().map_or("", RowId::as_str),
            request.as_str(),
            reply.params,
            answer::to_text(&reply.answer),
            micros(reply.at),
        ])?;
    Ok(())
}

/// Loads the answers that were not given before an instant.
pub(super) fn load(conn: &Connection, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let mut find = conn.prepare_cached("SELECT * FROM roster_reply WHERE at >= ?1")?;
    let mut rows = find.query([since])?;
    while let Some(found) = rows.next()? {
        let row = match found.text("row")?.as_str() {
            "" => None,
            _ => Some(found.word("row")?),
        };
        let reply = StoredReply {
            params: found.get("params")?,
            answer: answer::from_text(&found.text("answer")?)?,
            at: found.at("at")?,
        };
        tables.replies.insert((row, found.word("request")?), reply);
    }
    Ok(())
}
