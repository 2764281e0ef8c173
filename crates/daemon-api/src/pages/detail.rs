//! The pages of one daemon, one activation and one event.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use serde_json::{Value, json};

use super::accept::Representation;
use super::action::{
    self, ACTIVATION_ACTIONS, ActionLinks, DAEMON_ACTIONS, EVENT_ACTIONS, ROSTER_ACTIONS, Subject,
};
use super::cell::{Cell, Column, Form};
use super::frame::{self, Frame, page};
use super::login;
use super::table::{CHECK_INS, CONDITIONS, FACTS, Kind, SIGNALS, SUPPORT, Table, VERDICTS, column};
use super::text::{short, visible};
use crate::http::{AppState, api};
use crate::ops::{Operation, Params};

/// The maximum length of a payload, in characters.
const LONGEST: usize = 65_536;

/// The page of one object.
struct Detail {
    subject: Subject,
    facts: &'static [Column],
    tables: &'static [&'static Kind],
    /// The member that is shown as JSON; empty for none.
    json: &'static str,
}

const DAEMON: Detail = Detail {
    subject: Subject {
        route: "/daemons/{id}",
        place: "/",
        operation: Operation::DaemonGet,
        noun: "daemon",
        member: "daemon",
        headline: "",
        summary: &[
            column("Purpose", "/purpose", Form::Words),
            column("Gate", "/gate", Form::State),
            column("Last activation", "/last_activation/state", Form::State),
            column("Repository", "/repo", Form::Name),
        ],
        actions: DAEMON_ACTIONS,
    },
    facts: &[
        column("Purpose", "/purpose", Form::Words),
        column("File", "/valid", Form::State),
        column("Gate", "/gate", Form::State),
        column("Wakes on", "/modes", Form::Name),
        column("Next tick", "/next_tick", Form::Instant),
        column(
            "Last activation",
            "/last_activation/id",
            Form::Id("/activations/"),
        ),
        column("All activations", "/id", Form::Id("/activations?daemon=")),
        column("All runs", "/id", Form::Id("/runs?daemon=")),
        column("Path", "/path", Form::Words),
        column("Revision", "/rev", Form::Words),
        column("Repository", "/repo", Form::Name),
    ],
    tables: &[&CONDITIONS, &SUPPORT],
    json: "",
};

const ACTIVATION: Detail = Detail {
    subject: Subject {
        route: "/activations/{id}",
        place: "/activations",
        operation: Operation::ActivationGet,
        noun: "activation",
        member: "",
        headline: "",
        summary: &[
            column("State", "/state", Form::State),
            column("Reason", "/reason", Form::Words),
            column("Daemon", "/daemon_id", Form::Daemon),
            column("Trigger", "/trigger/key", Form::Trigger),
            column("Created", "/created_at", Form::Instant),
            column("Attempts", "/attempts", Form::Number),
        ],
        actions: ACTIVATION_ACTIONS,
    },
    facts: &[
        column("State", "/state", Form::State),
        column("Reason", "/reason", Form::Words),
        column("Daemon", "/daemon_id", Form::Daemon),
        column("Trigger", "/trigger/key", Form::Trigger),
        column("Newest event", "/trigger/event_ids/0", Form::Id("/events/")),
        column("Scheduled", "/trigger/scheduled_at", Form::Instant),
        column("By", "/trigger/by", Form::Words),
        column("Origin", "/chain/root", Form::Id("/activations/")),
        column("Depth", "/chain/depth", Form::Number),
        column("Created", "/created_at", Form::Instant),
        column("Started", "/started_at", Form::Instant),
        column("Finished", "/finished_at", Form::Instant),
        column("Attempts", "/attempts", Form::Number),
        column("Outputs", "/outputs", Form::Count),
        column("Tokens", "/tokens", Form::Number),
        column("Revision", "/rev", Form::Words),
        column("Repository", "/repo", Form::Name),
    ],
    tables: &[],
    json: "",
};

const EVENT: Detail = Detail {
    subject: Subject {
        route: "/events/{id}",
        place: "/events",
        operation: Operation::EventGet,
        noun: "event",
        member: "",
        headline: "",
        summary: &[
            column("Source", "/source", Form::Name),
            column("Kind", "/kind", Form::Words),
            column("Action", "/action", Form::Words),
            column("Subject", "/subject", Form::Words),
            column("Received", "/received_at", Form::Instant),
            column("Woke", "/verdicts", Form::Count),
        ],
        actions: EVENT_ACTIONS,
    },
    facts: &[
        column("Source", "/source", Form::Name),
        column("Kind", "/kind", Form::Words),
        column("Action", "/action", Form::Words),
        column("Subject", "/subject", Form::Words),
        column("Actor", "/actor", Form::Words),
        column("Repository", "/repo", Form::Name),
        column("Time", "/time", Form::Instant),
        column("Received", "/received_at", Form::Instant),
        column("Delivery", "/delivery_id", Form::Words),
        column("Duplicates", "/duplicates", Form::Number),
        column("Origin", "/chain/root", Form::Id("/activations/")),
        column("Depth", "/chain/depth", Form::Number),
    ],
    tables: &[&VERDICTS, &FACTS],
    json: "payload",
};

const ROSTER_ROW: Detail = Detail {
    subject: Subject {
        route: "/roster/{id}",
        place: "/roster",
        operation: Operation::RosterGet,
        noun: "row of the roster",
        member: "row",
        headline: "/row/name",
        summary: &[
            column("Liveness", "/liveness", Form::State),
            column("Gate", "/gate", Form::State),
            column("Role", "/role", Form::Name),
            column("Project", "/project", Form::Name),
            column("Wind-down", "/winddown_state", Form::Name),
            column("Last check-in", "/last_checkin_at", Form::Instant),
        ],
        actions: ROSTER_ACTIONS,
    },
    facts: &[
        column("Liveness", "/row/liveness", Form::State),
        column("Why", "/reason", Form::Words),
        column("Mark", "/row/badge", Form::Notable),
        column("Seen", "/row/age", Form::Seconds),
        column("Live until", "/row/stale_at", Form::Instant),
        column("Dead after", "/row/dead_at", Form::Instant),
        column("Gate", "/row/gate", Form::State),
        column("Kind", "/row/kind", Form::Name),
        column("Role", "/row/role", Form::Name),
        column("Project", "/row/project", Form::Name),
        column("Wind-down", "/winddown/state", Form::Notable),
        column("Handoff", "/winddown/handoff_ref", Form::Words),
        column("Reset", "/reset/state", Form::State),
        column("Reset since", "/reset/requested_at", Form::Instant),
        column("Reason of the reset", "/reset/reason", Form::Words),
        column("Predecessor", "/row/predecessor", Form::Id("/roster/")),
        column("Successor", "/row/successor", Form::Id("/roster/")),
        column("Cadence", "/row/meta/current_cadence", Form::Name),
        column("Context", "/row/context_tokens", Form::Number),
        column("Limit of the context", "/row/context_limit", Form::Number),
        column("Incarnation", "/row/incarnation", Form::Number),
        column("Charter", "/charter/version", Form::Words),
        column("Charter of a new one", "/charter/current", Form::Words),
        column("Program", "/row/harness", Form::Words),
        column("Actor", "/row/actor_ref", Form::Words),
        column("Process", "/row/process", Form::Words),
        column("Session", "/row/session", Form::Words),
        column("Expected since", "/row/expected_at", Form::Instant),
        column("First check-in", "/row/first_checkin_at", Form::Instant),
        column("Last check-in", "/row/last_checkin_at", Form::Instant),
        column("Last activity", "/row/last_activity_at", Form::Instant),
        column("Retired", "/row/retired_at", Form::Instant),
        column("Row", "/row/id", Form::Words),
    ],
    tables: &[&SIGNALS, &CHECK_INS],
    json: "",
};

static DETAILS: [Detail; 4] = [DAEMON, ACTIVATION, EVENT, ROSTER_ROW];

/// Returns what a row of the roster is about, for its listing.
pub(super) fn roster_row() -> &'static Subject {
    let [.., row] = &DETAILS;
    &row.subject
}

/// Returns what an activation is about, for its listing.
pub(super) fn activation() -> &'static Subject {
    let [_, activation, ..] = &DETAILS;
    &activation.subject
}

#[derive(Template)]
#[template(path = "detail.html")]
struct DetailPage {
    frame: Frame,
    headline: Headline,
    notice: Option<String>,
    actions: ActionLinks,
    facts: Vec<Cell>,
    tables: Vec<Table>,
    /// The title and the text of a member that is shown as JSON.
    json: Option<String>,
}

/// The headline of a page.
enum Headline {
    Id(String),
    Name(String),
}

impl Headline {
    fn text(&self, longest: usize) -> String {
        match self {
            Self::Id(text) | Self::Name(text) => short(text, longest),
        }
    }
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
    let given = std::iter::once(("id".to_owned(), id.clone())).chain(query.clone());
    let found = match Params::default().with_url(given.collect::<Vec<_>>()) {
        Ok(params) => app.operations.call(subject.operation, params).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(found) => {
            let found = Value::Object(found);
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
    fn page(&self, id: &str, found: &Value) -> DetailPage {
        let object = self.object(found);
        let facts = self.facts.iter().filter(|fact| fact.is_known(object));
        let facts = facts.map(|fact| fact.cell(object));
        let table = |kind: &&Kind| {
            let rows = found[kind.plural].as_array();
            kind.table(rows.map(Vec::as_slice).unwrap_or_default())
        };
        let json = (!self.json.is_empty()).then(|| {
            let text = serde_json::to_string_pretty(&found[self.json]);
            let text = text.unwrap_or_default();
            let whole: String = text.chars().take(LONGEST).collect();
            visible(&whole)
        });
        let name = self.subject.name(found, id);
        let headline = match self.subject.headline {
            "" => Headline::Id(name),
            _ => Headline::Name(name),
        };
        let title = format!("{} {}", self.subject.noun, headline.text(60));
        DetailPage {
            frame: Frame::new(title, self.subject.place),
            headline,
            notice: None,
            actions: ActionLinks::default(),
            facts: facts.chain(origin(found)).collect(),
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
fn origin(found: &Value) -> Option<Cell> {
    let row = found.get("row")?;
    let of = match row["kind"].as_str()? {
        "run" => column("Run", "/of", Form::Id("/runs/")),
        "repository" => column("Daemon file", "/of", Form::Daemon),
        _ => return None,
    };
    Some(of.cell(&json!({"of": row["actor_ref"], "repo": row["project"]})))
}
