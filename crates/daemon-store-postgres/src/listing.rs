//! Listings: one page of one table.

use daemon_engine::{Activation, Output};
use daemon_event::RepoName;
use daemon_store::{Bounds, EventRow, Listing, Page, Position, Query, RunRow, StoredTick};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::column::{Columns as _, integer, micros, text};
use crate::failure::TxResult;
use crate::transaction::{Tx, Value};
use crate::{activation, event, output, run, tick};

/// The columns of a table by which listings filter and order.
struct Table {
    listing: Listing,
    columns: &'static str,
    table: &'static str,
    /// The table's short name in `columns`.
    alias: &'static str,
    /// The instant that orders rows, before their number.
    instant: &'static str,
    /// The column that a query's `state` is compared with.
    state: &'static str,
}

pub(crate) async fn events(tx: &Tx, query: &Query) -> TxResult<Page<EventRow>> {
    let bounds = query.bounds(Listing::Events)?;
    let mut asked = Asked::default();
    if let Some(before) = bounds.before {
        asked.and("e.seq < ?", integer(before.number));
    }
    if let Some(daemon) = &bounds.daemon {
        asked.and(
            "EXISTS (SELECT 1 FROM wake AS w WHERE w.key = 'event:' || e.id AND w.daemon = ?)",
            daemon.clone(),
        );
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
    let sql = format!(
        "SELECT {}, p.facts FROM {} WHERE {} ORDER BY e.seq DESC LIMIT {}",
        event::OWN_COLUMNS,
        event::LISTED_TABLES,
        asked.condition,
        // One row more than the page shows whether another page follows, without counting.
        bounds.limit + 1
    );
    let rows = asked.rows(tx, &sql).await?;
    let events = event::listed(tx, &rows).await?;
    let placed = events
        .into_iter()
        .map(|event| (Position::of_event(event.seq), event))
        .collect();
    Ok(bounds.page(Listing::Events, placed))
}

pub(crate) async fn ticks(tx: &Tx, query: &Query) -> TxResult<Page<StoredTick>> {
    let table = Table {
        listing: Listing::Ticks,
        columns: tick::COLUMNS,
        table: "tick",
        alias: "t",
        instant: "scheduled_at",
        state: "outcome",
    };
    table.page(tx, query, tick::read).await
}

pub(crate) async fn activations(tx: &Tx, query: &Query) -> TxResult<Page<Activation>> {
    let table = Table {
        listing: Listing::Activations,
        columns: activation::COLUMNS,
        table: "activation",
        alias: "a",
        instant: "created_at",
        state: "state",
    };
    let (bounds, rows) = table.rows(tx, query).await?;
    let found = activation::read_all(tx, &rows).await?;
    let placed = found
        .into_iter()
        .zip(&rows)
        .map(|(one, row)| Ok((table.position(row)?, one.activation)))
        .collect::<TxResult<_>>()?;
    Ok(bounds.page(table.listing, placed))
}

pub(crate) async fn runs(tx: &Tx, query: &Query) -> TxResult<Page<RunRow>> {
    let table = Table {
        listing: Listing::Runs,
        columns: run::COLUMNS,
        table: "run",
        alias: "r",
        instant: "started_at",
        state: "state",
    };
    table.page(tx, query, run::read).await
}

pub(crate) async fn outputs(tx: &Tx, query: &Query) -> TxResult<Page<Output>> {
    let table = Table {
        listing: Listing::Outputs,
        columns: output::COLUMNS,
        table: "output",
        alias: "o",
        instant: "created_at",
        state: "state",
    };
    table.page(tx, query, output::read).await
}

impl Table {
    async fn page<T>(
        &self,
        tx: &Tx,
        query: &Query,
        read: fn(&Row) -> TxResult<T>,
    ) -> TxResult<Page<T>> {
        let (bounds, rows) = self.rows(tx, query).await?;
        let placed = rows
            .iter()
            .map(|row| Ok((self.position(row)?, read(row)?)))
            .collect::<TxResult<_>>()?;
        Ok(bounds.page(self.listing, placed))
    }

    async fn rows(&self, tx: &Tx, query: &Query) -> TxResult<(Bounds, Vec<Row>)> {
        let bounds = query.bounds(self.listing)?;
        let (alias, instant) = (self.alias, self.instant);
        let asked = self.asked(&bounds);
        let sql = format!(
            "SELECT {} FROM {} AS {alias} WHERE {} ORDER BY {alias}.{instant} DESC, {alias}.number DESC LIMIT {}",
            self.columns,
            self.table,
            asked.condition,
            bounds.limit + 1
        );
        let rows = asked.rows(tx, &sql).await?;
        Ok((bounds, rows))
    }

    fn position(&self, row: &Row) -> TxResult<Position> {
        Ok(Position::new(row.at(self.instant)?, row.count("number")?))
    }

    fn asked(&self, bounds: &Bounds) -> Asked {
        let (alias, instant) = (self.alias, self.instant);
        let mut asked = Asked::default();
        if let Some(before) = bounds.before {
            asked.and_both(
                // A row value instead of an offset: it is found in the index, and rows that arrive meanwhile shift nothing.
                &format!("({alias}.{instant}, {alias}.number) < (?, ?)"),
                (before.micros, integer(before.number)),
            );
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
            asked.and(&format!("{alias}.daemon = ?"), daemon.clone());
        }
        if let Some(repo) = bounds.repo.as_ref().map(RepoName::as_str) {
            asked.and(&format!("{alias}.repo = ?"), repo.to_owned());
        }
        asked
    }
}

type Bound = Box<dyn ToSql + Sync + Send>;

/// Conditions and their values.
struct Asked {
    condition: String,
    values: Vec<Bound>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            condition: "true".to_owned(),
            values: Vec::new(),
        }
    }
}

impl Asked {
    /// Adds a condition in which a question mark is the value. Values are bound and never part of the text: a query comes from a
    /// client.
    fn and(&mut self, condition: &str, value: impl Into<AskedValue>) {
        self.add(condition, [value.into()]);
    }

    fn and_both(&mut self, condition: &str, (first, second): (i64, i64)) {
        self.add(condition, [first.into(), second.into()]);
    }

    fn add<const N: usize>(&mut self, condition: &str, values: [AskedValue; N]) {
        let mut condition = condition.to_owned();
        for value in values {
            self.values.push(match value {
                AskedValue::Number(number) => Box::new(number),
                AskedValue::Text(written) => Box::new(text(&written).into_owned()),
            });
            condition = condition.replacen('?', &format!("${}", self.values.len()), 1);
        }
        self.condition = format!("{} AND {condition}", self.condition);
    }

    async fn rows(&self, tx: &Tx, sql: &str) -> TxResult<Vec<Row>> {
        let values: Vec<Value<'_>> = self
            .values
            .iter()
            .map(|value| {
                let value: Value<'_> = &**value;
                value
            })
            .collect();
        tx.rows(sql, &values).await
    }
}

enum AskedValue {
    Number(i64),
    Text(String),
}

impl From<i64> for AskedValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for AskedValue {
    fn from(written: String) -> Self {
        Self::Text(written)
    }
}
