//! A page that follows its object.

use std::time::Duration;

use axum::response::sse::Event;
use daemon_records::error::OpError;
use serde_json::json;

use super::{Detail, DetailPage};
use crate::http::stream::{Follow, StreamState, event};
use crate::ops::Operations;
use crate::wire::Versioned;
use daemon_view::PageCell;

/// The page of one object that a browser follows.
pub(super) struct LiveDetail {
    detail: &'static Detail,
    operations: Operations,
    id: String,
    query: Vec<(String, String)>,
    /// What a person read in it the last time.
    seen: Option<String>,
}

impl LiveDetail {
    /// Creates the stream of the page of an object.
    pub(super) fn new(
        detail: &'static Detail,
        operations: &Operations,
        id: String,
        query: Vec<(String, String)>,
    ) -> Self {
        Self {
            detail,
            operations: operations.clone(),
            id,
            query,
            seen: None,
        }
    }

    /// Reads the object before its stream begins.
    ///
    /// # Errors
    /// Those of the operation, such as for an unknown id.
    pub(super) async fn first(&self) -> Result<(), OpError> {
        self.read().await.map(|_| ())
    }

    async fn read(&self) -> Result<String, OpError> {
        let read = self.detail.read(&self.operations, &self.id, &self.query);
        let found = read.await?;
        Ok(self.detail.page(&self.id, &found).text())
    }
}

impl DetailPage {
    /// Returns what a person reads in the page, apart from what grows older.
    fn text(&self) -> String {
        let rows = self
            .first
            .iter()
            .chain(&self.tables)
            .flat_map(|table| &table.rows);
        let cells = self.lead.iter().chain(&self.facts);
        let cells = cells.filter(|cell| cell.age.is_none());
        let parts = std::iter::once(self.headline.clone())
            .chain(cells.map(PageCell::all_text))
            .chain(rows.map(daemon_view::PageRow::text));
        parts.collect::<Vec<_>>().join("\n")
    }
}

impl Follow for LiveDetail {
    const PERIOD: Duration = crate::pages::live::PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, StreamState), OpError> {
        let text = Some(self.read().await?);
        // The first look is compared too: the page may have changed before its stream began, and is loaded again then.
        let is_news = self.seen != text;
        self.seen = text;
        let news = is_news.then(|| event("changed", Versioned::new(json!({})).to_line()));
        Ok((news.into_iter().collect(), StreamState::Open))
    }
}
