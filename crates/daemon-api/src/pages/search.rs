//! The page of the search.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response};
use serde_json::{Map, Value};

use super::frame::{self, Frame};
use super::table::{ACTIVATIONS, DAEMONS, EVENTS, OUTPUTS, ROSTER, RUNS};
use crate::http::AppState;
use daemon_view::text::{grouped, visible};
use daemon_view::{PageTable, TableKind};

/// What a search finds, in the order of the page.
const KINDS: [&TableKind; 6] = [&DAEMONS, &ROSTER, &ACTIVATIONS, &RUNS, &OUTPUTS, &EVENTS];

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    query: String,
    /// How many rows of each kind are searched for words.
    searched: String,
    tables: Vec<PageTable>,
}

/// Searches.
pub(super) async fn show(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let read = |params| app.operations.search(params);
    frame::shown(&app, &headers, query, read, SearchPage::of).await
}

impl SearchPage {
    fn of(members: &Map<String, Value>) -> Self {
        let query = members.get("q").and_then(Value::as_str).unwrap_or_default();
        let rows = |kind: &TableKind| {
            let rows = members.get(kind.plural).and_then(Value::as_array);
            rows.map(Vec::as_slice).unwrap_or_default()
        };
        let tables = KINDS.into_iter().map(|kind| kind.table(rows(kind)));
        let searched = members.get("searched").and_then(Value::as_u64);
        Self {
            frame: Frame {
                query: visible(query),
                ..Frame::new("Search", "/search")
            },
            query: visible(query),
            searched: grouped(searched.unwrap_or_default()),
            tables: tables.filter(|table| !table.rows.is_empty()).collect(),
        }
    }
}
