//! Lists that follow what they show: a stream of the rows that change, as the host renders them.

use std::collections::HashMap;
use std::time::Duration;

use axum::response::sse::Event;
use daemon_records::error::OpError;
use serde_json::{Value, json};

use super::action::Subject;
use super::listing::Listing;
use crate::http::stream::{Follow, StreamState, event};
use crate::ops::Operations;
use crate::wire::Versioned;
use daemon_view::{PageRow, PageTable};

/// How often a list is read: a change is to be seen within a second.
pub(super) const PERIOD: Duration = Duration::from_millis(400);

/// A list that a browser follows.
pub(super) struct LiveListing {
    listing: &'static Listing,
    operations: Operations,
    query: Vec<(String, String)>,
    offered: Option<&'static Subject>,
    /// The rows of each table as they were read last.
    seen: Vec<Seen>,
    /// What was to be known before the rows.
    notices: Option<Vec<String>>,
}

/// The rows of a table by their keys, and their order.
#[derive(Default)]
struct Seen {
    order: Vec<String>,
    rows: HashMap<String, (String, Option<u64>)>,
}

impl LiveListing {
    /// Creates the stream of the listing of a query.
    pub(super) fn new(
        listing: &'static Listing,
        operations: &Operations,
        query: Vec<(String, String)>,
        offered: Option<&'static Subject>,
    ) -> Self {
        Self {
            listing,
            operations: operations.clone(),
            query,
            offered,
            seen: Vec::new(),
            notices: None,
        }
    }

    /// Reads the list before its stream begins.
    ///
    /// # Errors
    /// Those of the operation, such as for a filter that it does not have.
    pub(super) async fn first(&self) -> Result<(), OpError> {
        let read = self.listing.read(&self.operations, &self.query).await;
        read.map(|_| ())
    }

    /// Reads the list, and returns what changed since the last time; `None` if nothing did.
    async fn changes(&mut self) -> Result<Option<Value>, OpError> {
        let answer = self.listing.read(&self.operations, &self.query).await?;
        let tables = self.listing.tables(&self.query, &answer, self.offered);
        self.seen.resize_with(tables.len(), Seen::default);
        let seen = self.seen.iter_mut().zip(&tables);
        let changes: Vec<Value> = seen
            .filter_map(|(seen, table)| seen.change(table))
            .collect();
        let notices = Some(Listing::notices(&answer));
        let is_news = !changes.is_empty() || notices != self.notices;
        self.notices = notices;
        Ok(is_news.then(|| json!({"tables": changes, "notices": self.notices})))
    }
}

impl Seen {
    /// Returns the order of the rows and those that are not as they were; `None` if all are.
    fn change(&mut self, table: &PageTable) -> Option<Value> {
        let is_same = |row: &PageRow| {
            let known = self.rows.get(&row.key);
            // An age grows in the browser, too; it is sent when it was set back.
            known.is_some_and(|(text, age)| *text == row.text() && row.age() >= *age)
        };
        let changed: Vec<_> = table.rows.iter().filter(|row| !is_same(row)).collect();
        let order: Vec<String> = table.rows.iter().map(|row| row.key.clone()).collect();
        let is_news = !changed.is_empty() || order != self.order;
        let rows = changed.into_iter().map(|row| {
            let html = row.to_string();
            (row.key.clone(), Value::String(html))
        });
        let news = is_news.then(|| {
            let rows: serde_json::Map<String, Value> = rows.collect();
            json!({"table": table.caption, "order": order, "rows": rows})
        });
        let known = table.rows.iter();
        self.rows = known
            .map(|row| (row.key.clone(), (row.text(), row.age())))
            .collect();
        self.order = order;
        news
    }
}

impl Follow for LiveListing {
    const PERIOD: Duration = PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, StreamState), OpError> {
        let changes = self.changes().await?;
        let events = changes.map(|changes| event("rows", Versioned::new(changes).to_line()));
        Ok((events.into_iter().collect(), StreamState::Open))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::table::ROSTER;
    use super::Seen;

    #[test]
    fn a_row_is_sent_when_it_changed_or_was_seen_again_and_not_because_it_grew_older() {
        let row = |id: &str, gate: &str, age: u64| json!({"id": id, "name": id, "gate": gate, "age": age});
        let mut seen = Seen::default();
        let mut sent = |rows: &[Value]| {
            let news = seen.change(&ROSTER.table(rows))?;
            let rows = news["rows"].as_object().expect("an object");
            let keys: Vec<_> = rows.keys().cloned().collect();
            Some((news["order"].clone(), keys.join(" ")))
        };
        let check = |sent: Option<(Value, String)>, expected: Option<(&[&str], &str)>| {
            let expected = expected.map(|(order, keys)| (json!(order), keys.to_owned()));
            assert_eq!(sent, expected);
        };
        check(
            sent(&[row("a", "go", 3), row("b", "go", 3)]),
            Some((&["a", "b"], "a b")),
        );
        check(sent(&[row("a", "go", 4), row("b", "go", 9)]), None);
        check(
            sent(&[row("a", "hold", 5), row("b", "go", 10)]),
            Some((&["a", "b"], "a")),
        );
        check(
            sent(&[row("a", "hold", 6), row("b", "go", 0)]),
            Some((&["a", "b"], "b")),
        );
        check(
            sent(&[row("b", "go", 1), row("a", "hold", 7)]),
            Some((&["b", "a"], "")),
        );
        check(sent(&[row("b", "go", 2)]), Some((&["b"], "")));
        check(sent(&[]), Some((&[], "")));
    }
}
