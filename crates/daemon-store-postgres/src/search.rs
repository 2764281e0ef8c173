//! The search over stored rows.

use std::str::FromStr;

use daemon_event::EventId;
use daemon_store::{FoundIds, SEARCHED_ROWS, SearchFound, SearchQuery};
use tokio_postgres::Row;

use crate::column::Columns as _;
use crate::failure::TxResult;
use crate::transaction::Tx;

/// More characters than an id has.
const LONGEST_ID: usize = 64;

/// The columns of one kind of rows.
struct Searched {
    table: &'static str,
    id: &'static str,
    /// Selects the id as `id`, then the searched columns, of the newest rows.
    newest: &'static str,
}

const EVENTS: Searched = Searched {
    table: "event",
    id: "id",
    newest: "SELECT e.id, e.subject, e.actor, e.kind, e.action, p.facts FROM event AS e \
             LEFT JOIN payload AS p USING (repo, received_at, seq) ORDER BY e.seq DESC LIMIT $1",
};
const ACTIVATIONS: Searched = Searched {
    table: "activation",
    id: "id",
    newest: "SELECT id, daemon, nullif(subject, ''), summary, reason FROM activation \
             ORDER BY created_at DESC, number DESC LIMIT $1",
};
const RUNS: Searched = Searched {
    table: "run",
    id: "id",
    newest: "SELECT id, nullif(daemon, ''), provider, object FROM run ORDER BY started_at DESC, number DESC LIMIT $1",
};
const OUTPUTS: Searched = Searched {
    table: "output",
    id: "key",
    newest: "SELECT key AS id, daemon, target, url, error FROM output ORDER BY created_at DESC, number DESC LIMIT $1",
};

pub(crate) async fn search(tx: &Tx, query: &SearchQuery) -> TxResult<SearchFound> {
    Ok(SearchFound {
        events: EVENTS
            .find::<EventId>(tx, query, |row| {
                let facts: Option<&str> = row.try_get(5)?;
                Ok(query.is_met_by_event(&texts::<4>(row)?, facts))
            })
            .await?,
        activations: ACTIVATIONS
            .find(tx, query, |row| Ok(query.is_met_by(&texts::<4>(row)?)))
            .await?,
        runs: RUNS
            .find(tx, query, |row| {
                Ok(query.is_met_by_run(&texts::<2>(row)?, row.try_get(3)?))
            })
            .await?,
        outputs: OUTPUTS
            .find(tx, query, |row| Ok(query.is_met_by(&texts::<4>(row)?)))
            .await?,
    })
}

/// Reads the columns of a row after its id.
fn texts<const N: usize>(row: &Row) -> TxResult<[Option<&str>; N]> {
    let mut texts = [None; N];
    for (n, text) in texts.iter_mut().enumerate() {
        *text = row.try_get(n + 1)?;
    }
    Ok(texts)
}

impl Searched {
    async fn find<T>(
        &self,
        tx: &Tx,
        query: &SearchQuery,
        is_met: impl Fn(&Row) -> TxResult<bool>,
    ) -> TxResult<Vec<T>>
    where
        T: FromStr + PartialEq,
        T::Err: std::error::Error + Send + Sync + 'static,
    {
        let mut ids = FoundIds::new(query);
        let Self { table, id, newest } = self;
        let sql = format!(
            "SELECT {id} AS id FROM {table} WHERE {id} >= $1 AND {id} < $2 AND left({id}, length($1)) = $1 \
             ORDER BY {id} DESC LIMIT $3"
        );
        let limit = i64::from(query.limit);
        for beginning in query.ids() {
            // Ids consist of digits, letters and dashes, of which no collation puts one after `z`.
            let end = format!("{beginning}{}", "z".repeat(LONGEST_ID));
            for row in tx.rows(&sql, &[&beginning, &end, &limit]).await? {
                ids.add(row.word("id")?);
            }
        }
        if !ids.is_full() {
            for row in tx.rows(newest, &[&i64::from(SEARCHED_ROWS)]).await? {
                if is_met(&row)? {
                    ids.add(row.word("id")?);
                }
            }
        }
        Ok(ids.into_ids())
    }
}
