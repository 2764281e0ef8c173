//! The pages of listings, each for one listing operation.

mod table;

use crate::ops::{MAX_LIMIT, Operation, Operations, Params};
use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use daemon_records::error::OpError;
use serde_json::{Map, Value};

use super::accept::Representation;
use super::action::Subject;
use super::frame::{self, Frame, page};
use super::live::LiveListing;
use super::{accept, action, login};
use crate::http::{AppState, answer, api};
use daemon_view::text::{encoded, short, visible};
use daemon_view::{PageTable, TableKind};
use table::LISTINGS;

/// A filter of a listing: parameter, label, and an example.
type Filter = (&'static str, &'static str, &'static str);

/// The page of one listing operation.
pub(super) struct Listing {
    kind: &'static TableKind,
    filters: &'static [Filter],
    choice: (&'static str, &'static str),
    /// What the rows are, in a sentence; empty if the caption says it.
    intro: &'static str,
    /// The most rows of its page, if they are more than its operation returns.
    rows: Option<usize>,
    /// Further lists of the same result.
    more: &'static [&'static TableKind],
    path: &'static str,
    operation: Operation,
    states: fn() -> Vec<&'static str>,
    /// What a row is, if its actions are offered in the list.
    subject: Option<fn() -> &'static Subject>,
    /// The path and the title of the page that adds a row; a page without actions has no link to it.
    adds: Option<(&'static str, &'static str)>,
}

/// A field of the form.
struct Field {
    name: &'static str,
    label: &'static str,
    example: &'static str,
    value: String,
}

#[derive(Template)]
#[template(path = "listing.html")]
struct ListingPage {
    frame: Frame,
    caption: &'static str,
    /// What the rows are, in a sentence.
    intro: &'static str,
    /// What a person should know before the rows.
    notices: Vec<String>,
    /// The page that adds a row.
    adds: Option<(&'static str, &'static str)>,
    path: &'static str,
    fields: Vec<Field>,
    /// The parameter and the label of the field with these words.
    choice: (&'static str, &'static str),
    states: Vec<&'static str>,
    state: String,
    is_filtered: bool,
    /// The link to the newest rows; `None` on their page.
    newest: Option<String>,
    /// The link to the next older rows.
    older: Option<String>,
    /// The listing, then the further lists.
    tables: Vec<PageTable>,
}

/// Builds the routes of all listings.
pub(super) fn router() -> Router<Arc<AppState>> {
    LISTINGS.iter().fold(Router::new(), |router, listing| {
        let show =
            move |state: State<Arc<AppState>>,
                  query: Query<Vec<(String, String)>>,
                  headers: HeaderMap| show(listing, state, query, headers);
        router.route(listing.path, get(show))
    })
}

async fn show(
    listing: &'static Listing,
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let wanted = match login::admit(&app, &headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    if wanted == Representation::Json {
        return api::look(&app, listing.operation, query, None, &headers).await;
    }
    // A form also sends its empty fields, which are no filters.
    let query: Vec<_> = query
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let acts = action::form_token(&app, &headers).is_some();
    let subject = listing.subject.filter(|_| acts).map(|subject| subject());
    if accept::is_stream(&headers) {
        let live = LiveListing::new(listing, &app.operations, query, subject);
        // Read once before the response begins, so that an error becomes a status and not an event.
        return match live.first().await {
            Ok(()) => app.streams.answer(live),
            Err(error) => answer::op_error(&error),
        };
    }
    match listing.read(&app.operations, &query).await {
        Ok(answer) => page(StatusCode::OK, &listing.page(&query, &answer, subject)),
        Err(error) => frame::op_error(&error),
    }
}

impl Listing {
    /// Performs the operation, and again for the next rows until the page has as many as it may.
    pub(super) async fn read(
        &self,
        operations: &Operations,
        query: &[(String, String)],
    ) -> Result<Map<String, Value>, OpError> {
        let plural = self.kind.plural;
        let is_sized = query.iter().any(|(name, _)| name == "limit");
        let mut answer = match self.rows.filter(|_| !is_sized) {
            Some(most) => self.whole(operations, query, most).await?,
            None => self.part(operations, query.to_vec()).await?,
        };
        operations.add_headlines_to(plural, &mut answer).await?;
        Ok(answer)
    }

    /// Reads up to `most` rows, which are more than the operation returns at once.
    async fn whole(
        &self,
        operations: &Operations,
        query: &[(String, String)],
        most: usize,
    ) -> Result<Map<String, Value>, OpError> {
        let mut query = query.to_vec();
        query.push(("limit".to_owned(), MAX_LIMIT.to_string()));
        let mut answer = self.part(operations, query.clone()).await?;
        let plural = self.kind.plural;
        while let Some(next) = answer
            .get("next")
            .and_then(Value::as_str)
            .map(str::to_owned)
        {
            let rows = answer.get_mut(plural).and_then(Value::as_array_mut);
            let Some(rows) = rows.filter(|rows| rows.len() < most) else {
                break;
            };
            query.retain(|(name, _)| name != "after");
            query.push(("after".to_owned(), next));
            // The row of the cursor may have left the list since: then the page ends there.
            let Ok(mut more) = self.part(operations, query.clone()).await else {
                break;
            };
            if let Some(Value::Array(more)) = more.get_mut(plural) {
                rows.append(more);
            }
            answer.insert("next".to_owned(), more.remove("next").unwrap_or_default());
        }
        Ok(answer)
    }

    async fn part(
        &self,
        operations: &Operations,
        query: Vec<(String, String)>,
    ) -> Result<Map<String, Value>, OpError> {
        let params = Params::default().with_url(query)?;
        operations.call(self.operation, params).await
    }

    /// Returns the warnings of an answer.
    pub(super) fn notices(answer: &Map<String, Value>) -> Vec<String> {
        let warnings = answer.get("warnings").and_then(Value::as_array);
        let messages = warnings
            .into_iter()
            .flatten()
            .filter_map(|it| it["message"].as_str());
        messages.map(visible).collect()
    }

    /// Formats the rows of an answer: those of the listing, then the further lists.
    pub(super) fn tables(
        &self,
        query: &[(String, String)],
        answer: &Map<String, Value>,
        offered: Option<&Subject>,
    ) -> Vec<PageTable> {
        let rows = |kind: &TableKind| {
            let rows = answer.get(kind.plural).and_then(Value::as_array);
            rows.map(Vec::as_slice).unwrap_or_default()
        };
        let mut table = self.kind.table(rows(self.kind));
        if is_filtered(query) {
            table.empty = "Nothing matches these filters.";
        }
        if let Some(subject) = offered {
            let cells = rows(self.kind).iter().map(|row| subject.in_row(row));
            table.add_column("Action", cells);
        }
        let more = self.more.iter().map(|kind| kind.table(rows(kind)));
        std::iter::once(table).chain(more).collect()
    }

    fn page(
        &self,
        query: &[(String, String)],
        answer: &Map<String, Value>,
        offered: Option<&Subject>,
    ) -> ListingPage {
        let given = |name: &str| {
            let found = query.iter().find(|(given, _)| given == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let fields = self.filters.iter().map(|(name, label, example)| Field {
            name,
            label,
            example,
            value: given(name),
        });
        let next = answer.get("next").and_then(Value::as_str);
        ListingPage {
            frame: Frame::new(self.kind.caption, self.path),
            caption: self.kind.caption,
            intro: self.intro,
            notices: Self::notices(answer),
            adds: self.adds.filter(|_| offered.is_some()),
            path: self.path,
            fields: fields.collect(),
            choice: self.choice,
            states: (self.states)(),
            state: given(self.choice.0),
            is_filtered: is_filtered(query),
            newest: (!given("after").is_empty()).then(|| self.link(query, None)),
            older: next.map(|next| self.link(query, Some(next))),
            tables: self.tables(query, answer, offered),
        }
    }

    /// Returns the link to another page of the same rows.
    fn link(&self, query: &[(String, String)], after: Option<&str>) -> String {
        let kept = query.iter().filter(|(name, _)| name != "after");
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let all = kept.chain(after.map(|after| ("after", after)));
        let parts: Vec<String> = all
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        match parts.as_slice() {
            [] => self.path.to_owned(),
            parts => format!("{}?{}", self.path, parts.join("&")),
        }
    }
}

/// Reports whether a page leaves out rows that are neither newer nor older than its own.
fn is_filtered(query: &[(String, String)]) -> bool {
    let mut names = query.iter().map(|(name, _)| name.as_str());
    names.any(|name| !matches!(name, "after" | "limit"))
}

impl ListingPage {
    /// Formats a state as the rows do.
    fn word(state: &str) -> String {
        short(state, 40).replace('_', " ")
    }
}
