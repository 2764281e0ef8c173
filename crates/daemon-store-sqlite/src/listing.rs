//! Listings: one page of one table.

use std::ops::RangeInclusive;

use daemon_engine::{Activation, Output};
use daemon_event::RepoName;
use daemon_store::{Bounds, EventRow, Listing, Page, Position, Query, RunRow, StoredTick};
use rusqlite::{Connection, Row, ToSql};

use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;
use crate::{activation, event, event_block, output, run, tick};

/// The columns of a table by which listings filter and order.
struct Table {
    listing: Listing,
    columns: &'static str,
    tables: &'static str,
    /// The table's short name in `tables`.
    alias: &'static str,
    /// The instant that orders rows, before their number.
    instant: &'static str,
    /// The column that a query's `state` is compared with.
    state: &'static str,
}

/// How many activations a daemon has at most whose wakes are all looked up.
const FEW: u32 = 5_000;
/// Looks all wakes up: among the newest of many events may be none of them. A refused one has no activation.
const OF_FEW_WAKES: &str = "e.seq IN (SELECT f.seq FROM event AS f WHERE f.id IN (\
     SELECT substr(w.key, 7) FROM activation AS a JOIN wake AS w ON w.activation = a.number \
     WHERE a.lane IN (SELECT id FROM lane WHERE daemon = ?) AND w.key GLOB 'event:*' \
     UNION ALL SELECT substr(w.key, 7) FROM wake AS w WHERE w.activation IS NULL \
     AND w.lane IN (SELECT id FROM lane WHERE daemon = ?) AND w.key GLOB 'event:*'))";
/// Looks each event up among the wakes, from the newest: some of many are near.
const OF_MANY_WAKES: &str = "EXISTS (SELECT 1 FROM wake AS w JOIN lane AS l ON l.id = w.lane \
     WHERE w.key = 'event:' || e.id AND l.daemon = ?)";

fn has_few_wakes(conn: &Connection, daemon: &str) -> TxResult<bool> {
    let count = "SELECT count(*) FROM (SELECT 1 FROM activation \
         WHERE lane IN (SELECT id FROM lane WHERE daemon = ?1) LIMIT ?2)";
    let mut find = conn.prepare_cached(count)?;
    let n: u32 = find.query_row(rusqlite::params![daemon, FEW + 1], |row| row.get(0))?;
    Ok(n <= FEW)
}

pub(crate) fn events(conn: &Connection, query: &Query) -> TxResult<Page<EventRow>> {
    let bounds = query.bounds(Listing::Events)?;
    let of_daemon = match &bounds.daemon {
        None => None,
        Some(daemon) if has_few_wakes(conn, daemon)? => Some((daemon, OF_FEW_WAKES)),
        Some(daemon) => Some((daemon, OF_MANY_WAKES)),
    };
    let ranges = match of_daemon {
        // Its events are read one by one.
        Some((_, OF_FEW_WAKES)) => vec![0..=i64::MAX],
        _ => event_block::ranges(conn, &bounds)?,
    };
    let mut rows = Vec::new();
    for range in ranges {
        let asked = asked_of_events(&bounds, of_daemon, &range);
        let sql = format!(
            "SELECT {} FROM {} WHERE {} ORDER BY e.seq DESC LIMIT {}",
            event::LISTED_COLUMNS,
            event::TABLES,
            asked.condition(),
            // One row more than the page shows whether another page follows, without counting.
            bounds.limit + 1
        );
        rows.extend(asked.rows(conn, &sql, |row| {
            let event = event::read_listed(conn, row)?;
            Ok((Position::of_event(event.seq), event))
        })?);
        if rows.len() > bounds.limit {
            break;
        }
    }
    Ok(bounds.page(Listing::Events, rows))
}

fn asked_of_events(
    bounds: &Bounds,
    of_daemon: Option<(&String, &str)>,
    range: &RangeInclusive<i64>,
) -> Asked {
    let mut asked = Asked::default();
    let before = bounds.before.map(|before| integer(before.number) - 1);
    asked.and("e.seq >= ?", *range.start());
    asked.and(
        "e.seq <= ?",
        before.map_or(*range.end(), |before| before.min(*range.end())),
    );
    if let Some((daemon, condition)) = of_daemon {
        asked.and(condition, daemon.clone());
        if condition.matches('?').count() > 1 {
            asked.values.push(Box::new(daemon.clone()));
        }
    }
    if let Some(repo) = &bounds.repo {
        asked.and("e.repo_folded = ?", repo.folded());
    }
    if let Some(since) = bounds.since {
        asked.and("e.received_at >= ?", micros(since));
    }
    if let Some(until) = bounds.until {
        asked.and("e.received_at < ?", micros(until));
    }
    asked
}

pub(crate) fn ticks(conn: &Connection, query: &Query) -> TxResult<Page<StoredTick>> {
    let table = Table {
        listing: Listing::Ticks,
        columns: tick::COLUMNS,
        tables: tick::TABLES,
        alias: "t",
        instant: "scheduled_at",
        state: "outcome",
    };
    table.page(conn, query, tick::read)
}

pub(crate) fn activations(conn: &Connection, query: &Query) -> TxResult<Page<Activation>> {
    let table = Table {
        listing: Listing::Activations,
        columns: activation::COLUMNS,
        tables: activation::TABLES,
        alias: "a",
        instant: "created_at",
        state: "state",
    };
    table.page(conn, query, |row| {
        Ok(activation::read(conn, row)?.activation)
    })
}

pub(crate) fn runs(conn: &Connection, query: &Query) -> TxResult<Page<RunRow>> {
    let table = Table {
        listing: Listing::Runs,
        columns: run::COLUMNS,
        tables: run::TABLES,
        alias: "r",
        instant: "started_at",
        state: "state",
    };
    table.page(conn, query, run::read)
}

pub(crate) fn outputs(conn: &Connection, query: &Query) -> TxResult<Page<Output>> {
    let table = Table {
        listing: Listing::Outputs,
        columns: output::COLUMNS,
        tables: output::TABLES,
        alias: "o",
        instant: "created_at",
        state: "state",
    };
    table.page(conn, query, output::read)
}

impl Table {
    fn page<T>(
        &self,
        conn: &Connection,
        query: &Query,
        mut read: impl FnMut(&Row<'_>) -> TxResult<T>,
    ) -> TxResult<Page<T>> {
        let bounds = query.bounds(self.listing)?;
        let (alias, instant) = (self.alias, self.instant);
        let asked = self.asked(&bounds);
        let sql = format!(
            "SELECT {} FROM {} WHERE {} ORDER BY {alias}.{instant} DESC, {alias}.number DESC LIMIT {}",
            self.columns,
            self.tables,
            asked.condition(),
            bounds.limit + 1
        );
        let rows = asked.rows(conn, &sql, |row| {
            let position = Position::new(row.at(instant)?, row.count("number")?);
            Ok((position, read(row)?))
        })?;
        Ok(bounds.page(self.listing, rows))
    }

    fn asked(&self, bounds: &Bounds) -> Asked {
        let (alias, instant) = (self.alias, self.instant);
        let mut asked = Asked::default();
        if let Some(before) = bounds.before {
            asked.and(
                // A row value instead of an offset: SQLite seeks to it in the index, and rows that arrive meanwhile shift
                // nothing.
                &format!("({alias}.{instant}, {alias}.number) < (?, ?)"),
                before.micros,
            );
            asked.values.push(Box::new(integer(before.number)));
        }
        if let Some(since) = bounds.since {
            asked.and(&format!("{alias}.{instant} >= ?"), micros(since));
        }
        if let Some(until) = bounds.until {
            asked.and(&format!("{alias}.{instant} < ?"), micros(until));
        }
        if let Some(state) = &bounds.state {
            asked.and(&format!("{alias}.{} = ?", self.state), state.clone());
        }
        if let Some(daemon) = &bounds.daemon {
            asked.and(
                &format!("{alias}.lane IN (SELECT id FROM lane WHERE daemon = ?)"),
                daemon.clone(),
            );
        }
        if let Some(repo) = bounds.repo.as_ref().map(RepoName::as_str) {
            asked.and(
                &format!("{alias}.lane IN (SELECT id FROM lane WHERE repo = ?)"),
                repo.to_owned(),
            );
        }
        asked
    }
}

/// Conditions and their values, in the order of their question marks.
#[derive(Default)]
struct Asked {
    conditions: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Asked {
    fn and(&mut self, condition: &str, value: impl ToSql + 'static) {
        // Values are bound and never part of the text: a query comes from a client.
        self.conditions.push(condition.to_owned());
        self.values.push(Box::new(value));
    }

    fn condition(&self) -> String {
        if self.conditions.is_empty() {
            "1".to_owned()
        } else {
            self.conditions.join(" AND ")
        }
    }

    fn rows<T>(
        &self,
        conn: &Connection,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> TxResult<(Position, T)>,
    ) -> TxResult<Vec<(Position, T)>> {
        let mut find = conn.prepare_cached(sql)?;
        let mut rows = find.query(rusqlite::params_from_iter(self.values.iter()))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }
}
