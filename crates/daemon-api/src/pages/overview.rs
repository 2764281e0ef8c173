//! The overview: whether the host is ready, what runs, what happened last, and what wakes next.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response};
use daemon_records::error::OpError;
use serde_json::{Map, Value, json};

use super::accept::Representation;
use super::frame::{self, Frame};
use super::login;
use super::table::{ACTIVATIONS, DAEMONS, RUNS};
use crate::http::AppState;
use crate::ops::NO_MODEL;
use crate::ops::Operation;
use daemon_view::Badge;
use daemon_view::PageTable;
use daemon_view::text::{short, visible};

/// The seconds after which the page is reloaded.
const REFRESH: u32 = 10;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    /// The parts that are not `ok`, each with its note or reason.
    down: Vec<(String, String)>,
    is_held: bool,
    /// The warning if no model is configured.
    without_model: Option<&'static str>,
    running: PageTable,
    activations: PageTable,
    daemons: PageTable,
    /// The errors of invalid daemon files.
    problems: Vec<String>,
    has_more_daemons: bool,
    unmatched: u64,
    pending: u64,
}

/// Shows the overview.
pub(super) async fn show(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let wanted = match login::admit(&app, &headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    let read = match query.first() {
        None => read(&app).await,
        Some((name, _)) => Err(OpError::invalid(format!(
            "`{}` is not a parameter here",
            short(name, 80)
        ))),
    };
    let read = match (read, wanted) {
        (Ok(members), Representation::Page) => with_headlines(&app, members).await,
        (read, _) => read,
    };
    frame::answered(read, wanted, Overview::of)
}

async fn with_headlines(
    app: &AppState,
    mut members: Map<String, Value>,
) -> Result<Map<String, Value>, OpError> {
    for plural in ["runs", "activations"] {
        let operations = &app.operations;
        operations.add_headlines_to(plural, &mut members).await?;
    }
    Ok(members)
}

/// Combines the results of several operations.
async fn read(app: &AppState) -> Result<Map<String, Value>, OpError> {
    let parts = app.health.parts().await;
    let is_ready = parts.iter().all(|(_, condition)| condition.is_up());
    let parts = parts.iter();
    let parts: Map<String, Value> = parts
        .map(|(name, condition)| ((*name).to_owned(), json!(condition.summary())))
        .collect();
    let mut members = Map::new();
    members.insert("ready".to_owned(), json!(is_ready));
    members.insert("parts".to_owned(), Value::Object(parts));
    let stats = app
        .operations
        .call(Operation::HostStats, Map::new())
        .await?;
    members.insert("stats".to_owned(), Value::Object(stats));
    for (operation, plural, params) in [
        (Operation::RunList, "runs", json!({"state": "running"})),
        (
            Operation::ActivationList,
            "activations",
            json!({"limit": 10}),
        ),
        (Operation::DaemonList, "daemons", json!({})),
    ] {
        let Value::Object(params) = params else {
            continue;
        };
        let mut listing = app.operations.call(operation, params).await?;
        members.insert(
            plural.to_owned(),
            listing.remove(plural).unwrap_or_default(),
        );
        if plural == "daemons" {
            members.insert(
                "next".to_owned(),
                listing.remove("next").unwrap_or_default(),
            );
        }
    }
    Ok(members)
}

impl Overview {
    fn of(members: &Map<String, Value>) -> Self {
        let rows = |plural: &str| {
            let rows = members.get(plural).and_then(Value::as_array);
            rows.map(Vec::as_slice).unwrap_or_default()
        };
        let parts = members.get("parts").and_then(Value::as_object);
        let down = parts
            .into_iter()
            .flatten()
            .filter(|(_, summary)| **summary != "ok");
        let down = down.map(|(name, summary)| {
            let summary = summary.as_str().unwrap_or_default();
            (name.clone(), visible(summary))
        });
        let stats = members.get("stats");
        let stat = |pointer: &str| stats.and_then(|stats| stats.pointer(pointer)?.as_u64());
        let mut running = RUNS.table(rows("runs"));
        (running.caption, running.empty) = ("Running now", "Nothing is running.");
        let mut activations = ACTIVATIONS.table(rows("activations"));
        activations.caption = "Last activations";
        Self {
            frame: Frame {
                refresh: Some(REFRESH),
                ..Frame::new("Overview", "/")
            },
            down: down.collect(),
            is_held: stats.is_some_and(|stats| stats["gate"] == "held"),
            without_model: stats
                .is_some_and(|stats| stats["has_model"] == false)
                .then_some(NO_MODEL),
            running,
            activations,
            daemons: DAEMONS.table(rows("daemons")),
            problems: rows("daemons").iter().flat_map(problems).collect(),
            has_more_daemons: members.get("next").is_some_and(Value::is_string),
            unmatched: stat("/unmatched").unwrap_or_default(),
            pending: stat("/activations/pending").unwrap_or_default(),
        }
    }

    fn badge(state: &str) -> Badge {
        Badge::of(state)
    }
}

/// Returns the errors in the file of an invalid daemon.
fn problems(daemon: &Value) -> Vec<String> {
    let diagnostics = daemon["diagnostics"].as_array();
    let errors = diagnostics
        .into_iter()
        .flatten()
        .filter(|diagnostic| daemon["valid"] == false && diagnostic["severity"] == "error");
    let lines = errors.map(|error| {
        let text = |value: &Value| short(value.as_str().unwrap_or_default(), 300);
        let (path, code) = (text(&daemon["path"]), text(&error["code"]));
        let line = &error["start"]["line"];
        format!("{path}:{line}: error[{code}]: {}", text(&error["message"]))
    });
    lines.collect()
}
