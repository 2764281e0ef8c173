//! The answers to requests with an id.

use daemon_roster::{RequestKey, RosterTables, RowId, StoredReply};
use daemon_store::stored::answer;

use super::upsert;
use crate::column::{Columns as _, micros};
use crate::failure::TxResult;
use crate::transaction::Tx;

const COLUMNS: [&str; 5] = ["of_row", "request", "params", "answer", "at"];

/// Who gave a request its id (`None` for the operator), and the id.
type ReplyKey = (Option<RowId>, RequestKey);

pub(super) async fn put(tx: &Tx, key: &ReplyKey, reply: &StoredReply) -> TxResult<()> {
    let (row, request) = key;
    tx.run(
        &upsert("roster_reply", 2, &COLUMNS),
        &[
            &row.as_ref().map_or("", RowId::as_str),
            &request.as_str(),
            &reply.params.as_slice(),
            &answer::to_text(&reply.answer),
            &micros(reply.at),
        ],
    )
    .await?;
    Ok(())
}

/// Loads the answers that were not given before an instant.
pub(super) async fn load(tx: &Tx, since: i64, tables: &mut RosterTables) -> TxResult<()> {
    let rows = tx
        .rows("SELECT * FROM roster_reply WHERE at >= $1", &[&since])
        .await?;
    for found in &rows {
        let row = match found.text("of_row")?.as_str() {
            "" => None,
            _ => Some(found.word("of_row")?),
        };
        let reply = StoredReply {
            params: found.hash("params")?,
            answer: answer::from_text(&found.text("answer")?)?,
            at: found.at("at")?,
        };
        tables.replies.insert((row, found.word("request")?), reply);
    }
    Ok(())
}
