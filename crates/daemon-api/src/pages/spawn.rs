//! The page that plans and confirms the start of a standing daemon.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{get, post};
use daemon_records::error::OpError;
use daemon_records::random;
use daemon_roster::Role;
use serde_json::{Map, Value, json};

use super::accept::Representation;
use super::action::{FORM_BYTES, SentForm, form_token, is_read_only, refused_form};
use super::frame::{self, Frame, page};
use super::login;
use super::table::column;
use crate::http::{AppState, answer};
use crate::ops::Operation;
use daemon_view::CellForm;
use daemon_view::text::{encoded, visible};
use daemon_view::{PageTable, TableKind};

/// The fields of the form of a plan.
const FIELDS: [&str; 4] = ["project", "role", "harness", "name"];

/// The checks of a plan.
const CHECKS: TableKind = TableKind {
    plural: "checks",
    caption: "Checks",
    empty: "Nothing was checked.",
    columns: &[
        column("Check", "/name", CellForm::Name),
        column("Outcome", "/outcome", CellForm::State),
        column("Why", "/why", CellForm::Words),
    ],
};

#[derive(Template)]
#[template(path = "spawn.html")]
struct SpawnPage {
    frame: Frame,
    token: String,
    request: String,
    problem: Option<(String, Option<String>)>,
    projects: Vec<String>,
    roles: Vec<String>,
    harnesses: Vec<String>,
    chosen: Chosen,
    plan: Option<Plan>,
}

/// What was filled in.
#[derive(Default)]
struct Chosen {
    project: String,
    role: String,
    harness: String,
    name: String,
}

/// A plan as the page shows it.
struct Plan {
    id: String,
    is_clear: bool,
    checks: PageTable,
    packet: String,
    packet_sha256: String,
    minutes: i64,
    request: String,
}

/// Builds the routes of the page.
pub(super) fn router() -> Router<Arc<AppState>> {
    let limit = || DefaultBodyLimit::max(FORM_BYTES);
    Router::new()
        .route("/roster/spawn", get(show).post(plan).layer(limit()))
        .route("/roster/spawn/confirm", post(confirm).layer(limit()))
}

async fn show(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Response<Body> {
    let wanted = match login::admit(&app, &headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    match (wanted, form_token(&app, &headers)) {
        (Representation::Json, _) => answer::members(StatusCode::OK, choices(&app).await),
        // A token of the host has no forms: it gets the page, whose forms are refused.
        (Representation::Page, None)
            if headers.contains_key(header::AUTHORIZATION) && !is_read_only(&app) =>
        {
            let shown = SpawnPage::new(&app, String::new(), Chosen::default()).await;
            page(StatusCode::OK, &shown)
        }
        (Representation::Page, None) => refused_form(&app),
        (Representation::Page, Some(token)) => {
            let shown = SpawnPage::new(&app, token, Chosen::default()).await;
            page(StatusCode::OK, &shown)
        }
    }
}

/// Plans the start, and shows the checks and what the agent will read.
async fn plan(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    let sent = match SentForm::receive(&app, request).await {
        Ok(sent) => sent,
        Err(refusal) => return *refusal,
    };
    let given = FIELDS.iter().filter_map(|name| sent.filled(name));
    let planned = sent
        .perform(&app, Operation::RosterPlan, given.collect())
        .await;
    shown(&app, &sent, planned).await
}

/// Starts what was planned.
async fn confirm(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    let sent = match SentForm::receive(&app, request).await {
        Ok(sent) => sent,
        Err(refusal) => return *refusal,
    };
    let fields = ["plan", "packet_sha256"].iter();
    let given = fields.filter_map(|name| sent.filled(name));
    let given = given.chain([("confirm".to_owned(), "true".to_owned())]);
    let confirmed = sent
        .perform(&app, Operation::RosterConfirm, given.collect())
        .await;
    match confirmed {
        Ok(members) => {
            let row = members.get("daemon").and_then(Value::as_str);
            let path = format!("/roster/{}", encoded(row.unwrap_or_default()));
            let done = "It is being started, on hold. It is live after its first check-in.";
            sent.see_other(&app, &path, done)
        }
        Err(error) => shown(&app, &sent, Err(error)).await,
    }
}

/// Returns the page with a plan, or with the error of a request.
async fn shown(
    app: &AppState,
    sent: &SentForm,
    planned: Result<Map<String, Value>, OpError>,
) -> Response<Body> {
    let Some(token) = form_token(app, &sent.headers) else {
        return match planned {
            Ok(_) => refused_form(app),
            Err(error) => frame::op_error(&error),
        };
    };
    let field = |name: &str| visible(sent.field(name));
    let chosen = Chosen {
        project: field("project"),
        role: field("role"),
        harness: field("harness"),
        name: field("name"),
    };
    let mut shown = SpawnPage::new(app, token, chosen).await;
    match planned {
        Ok(answer) => {
            let lifetime = app.roster.view().settings().plan_ttl;
            shown.plan = Some(Plan::of(&answer, lifetime.as_mins()));
            page(StatusCode::OK, &shown)
        }
        Err(error) => {
            let message = visible(&frame::sentence(&error.message));
            shown.problem = Some((message, error.help.as_deref().map(visible)));
            page(frame::status_of(&error), &shown)
        }
    }
}

/// Returns what can be chosen: the projects, the roles with a charter, and the providers.
async fn choices(app: &AppState) -> Map<String, Value> {
    let projects = app.roster.view().settings().projects.clone();
    let projects: Vec<_> = projects.iter().map(ToString::to_string).collect();
    let roles = Role::SPAWNABLE.map(|role| role.to_string());
    let listed = app
        .operations
        .call(Operation::ProviderList, Map::new())
        .await;
    // The form works without the names, which are suggestions.
    let listed = listed.unwrap_or_default();
    let providers = listed.get("providers").and_then(Value::as_array);
    let providers = providers.into_iter().flatten();
    let harnesses: Vec<_> = providers.filter_map(|it| it["name"].as_str()).collect();
    let all = json!({"projects": projects, "roles": roles, "harnesses": harnesses});
    match all {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl SpawnPage {
    async fn new(app: &AppState, token: String, chosen: Chosen) -> Self {
        let choices = choices(app).await;
        let words = |name: &str| {
            let words = choices.get(name).and_then(Value::as_array);
            let words = words.into_iter().flatten().filter_map(Value::as_str);
            words.map(visible).collect()
        };
        Self {
            frame: Frame::new("Start a daemon", "/roster"),
            token,
            request: random::hex(12),
            problem: None,
            projects: words("projects"),
            roles: words("roles"),
            harnesses: words("harnesses"),
            chosen,
            plan: None,
        }
    }
}

impl Plan {
    fn of(answer: &Map<String, Value>, minutes: i64) -> Self {
        let text = |name: &str| {
            let text = answer.get(name).and_then(Value::as_str);
            visible(text.unwrap_or_default())
        };
        let checks = answer.get("checks").and_then(Value::as_array);
        Self {
            id: text("plan"),
            is_clear: text("status") == "clear",
            checks: CHECKS.table(checks.map(Vec::as_slice).unwrap_or_default()),
            packet: text("packet"),
            packet_sha256: text("packet_sha256"),
            minutes,
            request: random::hex(12),
        }
    }
}
