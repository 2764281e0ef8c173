//! The search over stored rows.

use std::str::FromStr;

use daemon_event::EventId;
use daemon_store::{FoundIds, SEARCHED_ROWS, SearchFound, SearchQuery};
use rusqlite::{Connection, Row};

use crate::column::Columns as _;
use crate::failure::TxResult;

/// The columns of one kind of rows.
struct Searched {
    table: &'static str,
    id: &'static str,
    /// Selects the id, then the searched columns, of the newest rows.
    newest: &'static str,
}

const EVENTS: Searched = Searched {
    table: "event",
    id: "id",
    newest: "SELECT e.id, e.subject, e.actor, e.kind, e.action, p.facts FROM event AS e \
             LEFT JOIN payload AS p ON p.seq = e.seq ORDER BY e.seq DESC LIMIT ?1",
};
const ACTIVATIONS: Searched = Searched {
    table: "activation",
    id: "id",
    newest: "SELECT a.id, l.daemon, a.subject, a.summary, a.reason FROM activation AS a JOIN lane AS l ON l.id = a.lane \
             ORDER BY a.created_at DESC, a.number DESC LIMIT ?1",
};
const RUNS: Searched = Searched {
    table: "run",
    id: "id",
    newest: "SELECT r.id, l.daemon, r.provider, r.object FROM run AS r LEFT JOIN lane AS l ON l.id = r.lane \
             ORDER BY r.started_at DESC, r.number DESC LIMIT ?1",
};
const OUTPUTS: Searched = Searched {
    table: "output",
    id: "key",
    newest: "SELECT o.key, l.daemon, o.target, o.url, o.error FROM output AS o JOIN lane AS l ON l.id = o.lane \
             ORDER BY o.created_at DESC, o.number DESC LIMIT ?1",
};

pub(crate) fn search(conn: &Connection, query: &SearchQuery) -> TxResult<SearchFound> {
    Ok(SearchFound {
        events: EVENTS.find::<EventId>(conn, query, |row| {
            let texts = texts::<4>(row)?;
            let facts: Option<&str> = row
                .get_ref(5)?
                .as_str_or_null()
                .map_err(rusqlite::Error::from)?;
            Ok(query.is_met_by_event(&texts, facts))
        })?,
        activations: ACTIVATIONS.find(conn, query, |row| Ok(query.is_met_by(&texts::<4>(row)?)))?,
        runs: RUNS.find(conn, query, |row| {
            let object: &str = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
            Ok(query.is_met_by_run(&texts::<2>(row)?, object))
        })?,
        outputs: OUTPUTS.find(conn, query, |row| Ok(query.is_met_by(&texts::<4>(row)?)))?,
    })
}

/// Reads the columns of a row after its id.
fn texts<'r, const N: usize>(row: &'r Row<'_>) -> TxResult<[Option<&'r str>; N]> {
    let mut texts = [None; N];
    for (n, text) in texts.iter_mut().enumerate() {
        *text = row
            .get_ref(n + 1)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?;
    }
    Ok(texts)
}

impl Searched {
    fn find<T>(
        &self,
        conn: &Connection,
        query: &SearchQuery,
        is_met: impl Fn(&Row<'_>) -> TxResult<bool>,
    ) -> TxResult<Vec<T>>
    where
        T: FromStr + PartialEq,
        T::Err: std::error::Error + Send + Sync + 'static,
    {
        let mut ids = FoundIds::new(query);
        let Self { table, id, newest } = self;
        let sql = format!(
            "SELECT {id} FROM {table} WHERE {id} >= ?1 AND {id} < ?2 ORDER BY {id} DESC LIMIT ?3"
        );
        let mut find = conn.prepare_cached(&sql)?;
        for beginning in query.ids() {
            // No character of an id is greater.
            let end = format!("{beginning}\u{10ffff}");
            let mut rows = find.query((&beginning, &end, query.limit))?;
            while let Some(row) = rows.next()? {
                ids.add(row.word(0)?);
            }
        }
        let mut find = conn.prepare_cached(newest)?;
        let mut rows = find.query([SEARCHED_ROWS])?;
        while !ids.is_full()
            && let Some(row) = rows.next()?
        {
            if is_met(row)? {
                ids.add(row.word(0)?);
            }
        }
        Ok(ids.into_ids())
    }
}
