//! The pages of one object: a daemon, an activation, an event, an output, or a row of the roster.

mod live;
mod table;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use serde_json::{Value, json};

use super::accept::{self, Representation};
use super::action::{self, ActionLinks, Subject};
use super::frame::{self, Frame, page};
use super::login;
use super::table::column;
use crate::http::{AppState, answer, api};
use crate::ops::{Operations, Params};
use daemon_records::error::OpError;
use daemon_view::text::{short, visible};
use daemon_view::{CellForm, PageCell, PageColumn};
use daemon_view::{Chart, daemon_charts};
use daemon_view::{PageTable, TableKind};
use live::LiveDetail;
use table::DETAILS;
pub(super) use table::{activation, roster_row};

/// The maximum length of a payload, in characters.
const LONGEST: usize = 65_536;

/// The page of one object.
struct Detail {
    subject: Subject,
    /// What is read first, below the headline.
    lead: &'static [PageColumn],
    /// The lists before the facts.
    first: &'static [&'static TableKind],
    facts: &'static [PageColumn],
    /// The lists after the facts.
    tables: &'static [&'static TableKind],
    /// The member that is shown as JSON; empty for none.
    json: &'static str,
}

#[derive(Template)]
#[template(path = "detail.html")]
struct DetailPage {
    frame: Frame,
    headline: String,
    /// What kind of object it is.
    noun: &'static str,
    /// Its id, if the headline is another.
    id: Option<String>,
    lead: Vec<PageCell>,
    first: Vec<PageTable>,
    charts: Vec<Chart>,
    notice: Option<String>,
    actions: ActionLinks,
    facts: Vec<PageCell>,
    tables: Vec<PageTable>,
    /// The title and the text of a member that is shown as JSON.
    json: Option<String>,
}

/// Builds the routes of these pages and of their actions.
pub(super) fn router() -> Router<Arc<AppState>> {
    DETAILS.iter().fold(Router::new(), |router, detail| {
        let show =
            move |state: State<Arc<AppState>>,
                  path: Result<Path<String>, PathRejection>,
                  query: Query<Vec<(String, String)>>,
                  headers: HeaderMap| show(detail, state, path, (query, headers));
        router
            .route(detail.subject.route, get(show))
            .merge(action::router(&detail.subject))
    })
}

async fn show(
    detail: &'static Detail,
    State(app): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    (Query(query), headers): (Query<Vec<(String, String)>>, HeaderMap),
) -> Response<Body> {
    let subject = &detail.subject;
    let wanted = match login::admit(&app, &headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    // An id is never other than UTF-8.
    let path = path.ok();
    if wanted == Representation::Json {
        return api::look(&app, subject.operation, query, path, &headers).await;
    }
    let Some(Path(id)) = path else {
        return frame::missing(subject.noun);
    };
    if accept::is_stream(&headers) {
        let live = LiveDetail::new(detail, &app.operations, id, query);
        // Read once before the response begins, so that an error becomes a status and not an event.
        return match live.first().await {
            Ok(()) => app.streams.answer(live),
            Err(error) => answer::op_error(&error),
        };
    }
    match detail.read(&app.operations, &id, &query).await {
        Ok(found) => {
            let asked = (&*app, &headers);
            let page_of = DetailPage {
                notice: subject.notice(asked, (&id, &query)),
                actions: subject.offered(asked, (&id, &query), &found),
                ..detail.page(&id, &found)
            };
            page(StatusCode::OK, &page_of)
        }
        Err(error) => frame::op_error(&error),
    }
}

impl Detail {
    /// Reads the object and what belongs to it.
    async fn read(
        &self,
        operations: &Operations,
        id: &str,
        query: &[(String, String)],
    ) -> Result<Value, OpError> {
        let given = std::iter::once(("id".to_owned(), id.to_owned()));
        let given: Vec<_> = given.chain(query.iter().cloned()).collect();
        let params = Params::default().with_url(given)?;
        let operation = self.subject.operation;
        let found = operations.call(operation, params).await?;
        let mut found = Value::Object(found);
        operations.add_parts(operation, &mut found).await?;
        Ok(found)
    }

    fn page(&self, id: &str, found: &Value) -> DetailPage {
        let object = self.object(found);
        let cells = |columns: &[PageColumn]| -> Vec<PageCell> {
            let known = columns.iter().filter(|fact| fact.is_known(object));
            known.map(|fact| fact.cell(object)).collect()
        };
        let table = |kind: &&TableKind| {
            let rows = found[kind.plural].as_array();
            kind.table(rows.map(Vec::as_slice).unwrap_or_default())
        };
        let json = (!self.json.is_empty()).then(|| {
            let text = serde_json::to_string_pretty(&found[self.json]);
            let text = text.unwrap_or_default();
            let whole: String = text.chars().take(LONGEST).collect();
            visible(&whole)
        });
        let headline = self.subject.name(found, id);
        let mut facts = cells(self.facts);
        facts.extend(origin(found));
        DetailPage {
            frame: Frame::new(short(&headline, 60), self.subject.place),
            noun: self.subject.noun,
            id: Some(visible(id)).filter(|id| *id != headline),
            headline,
            lead: cells(self.lead),
            first: self.first.iter().map(table).collect(),
            charts: found.get("usage").map(daemon_charts).unwrap_or_default(),
            notice: None,
            actions: ActionLinks::default(),
            facts,
            tables: self.tables.iter().map(table).collect(),
            json,
        }
    }

    /// Returns the object whose members are the facts.
    fn object<'v>(&self, found: &'v Value) -> &'v Value {
        match self.subject.member {
            // Its facts are also those of its reset and its wind-down.
            "row" => found,
            _ => self.subject.object(found),
        }
    }
}

/// Returns the link from a row of the roster to the run or the daemon file that it is about.
fn origin(found: &Value) -> Option<PageCell> {
    let row = found.get("row")?;
    let of = match row["kind"].as_str()? {
        "run" => column("Run", "/of", CellForm::Id("/runs/")),
        "repository" => column("Daemon file", "/of", CellForm::Daemon),
        _ => return None,
    };
    Some(of.cell(&json!({"of": row["actor_ref"], "repo": row["project"]})))
}
