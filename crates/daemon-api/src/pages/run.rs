//! The page of one run.

mod facts;
mod timeline;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use daemon_run_folder::LogPlace;
use serde_json::{Value, json};

use super::accept::Representation;
use super::action::{self, ActionLinks, RUN_ACTIONS, Subject};
use super::frame::{self, Frame, page};
use super::login;
use super::table::{OUTPUTS, column};
use crate::http::{AppState, api};
use crate::ops::{Headlined, Operation, RunView};
use crate::runs::{Excerpt, View};
use daemon_view::PageTable;
use daemon_view::ansi::{AnsiStyle, Piece};
use daemon_view::text::{encoded, grouped, moment, short, visible};
use daemon_view::{Badge, CellForm, PageCell};
use facts::Fact;
use timeline::{Span, Step};

/// The seconds after which a browser without scripts reloads the page of an active run.
const REFRESH: u32 = 5;
/// The maximum number of output lines.
const OUTPUT_LINES: usize = 500;

/// What a run is, and what can be done with it.
pub(super) static RUN: Subject = Subject {
    route: "/runs/{id}",
    place: "/runs",
    operation: Operation::RunGet,
    noun: "run",
    member: "run",
    headline: "/run/headline",
    summary: &[
        column("State", "/state", CellForm::State),
        column("Daemon", "/daemon_id", CellForm::Name),
        column("Provider", "/provider", CellForm::Name),
        column("Started", "/started_at", CellForm::Instant),
        column("Current tool", "/current_tool", CellForm::Words),
        column("Result", "/result_preview", CellForm::Words),
    ],
    actions: RUN_ACTIONS,
};

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    /// What happened, in words.
    headline: String,
    id: String,
    notice: Option<String>,
    actions: ActionLinks,
    state: PageCell,
    is_running: bool,
    /// The stream of further lines while the run is active.
    follow: Option<String>,
    /// The beginning of the task.
    task: String,
    facts: Vec<Fact>,
    is_bypass: bool,
    error: Option<(String, String)>,
    result: Text,
    output: Vec<Line>,
    has_more_output: bool,
    timeline: Vec<Step>,
    is_whole: bool,
    followups: Vec<Followup>,
    outputs: PageTable,
    prompt: Text,
    files: Vec<String>,
    more_files: usize,
    folder: String,
}

/// A file that may be longer than what is shown.
struct Text {
    text: String,
    /// The length of the file, and how much of it is shown.
    note: String,
    is_cut: bool,
}

/// An output line.
struct Line {
    is_stderr: bool,
    pieces: Vec<Piece>,
}

/// A message to the run with its state and its reply.
struct Followup {
    n: u64,
    state: PageCell,
    started: String,
    error: String,
    reply: Text,
}

/// Builds the routes of the page of a run and of its actions.
pub(super) fn router() -> Router<Arc<AppState>> {
    action::router(&RUN).route(RUN.route, get(show))
}

/// Shows the page of a run.
async fn show(
    State(app): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let wanted = match login::admit(&app, &headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    // The id of no run is other than UTF-8.
    match (wanted, path.ok()) {
        (Representation::Json, path) => {
            api::look(&app, Operation::RunGet, query, path, &headers).await
        }
        (Representation::Page, None) => frame::missing(RUN.noun),
        (Representation::Page, Some(Path(id))) => match app.operations.run_view(&id).await {
            Ok(run) => {
                let object = serde_json::to_value(&run.run).unwrap_or_default();
                let mut found = json!({ "run": object });
                let outputs = run.outputs.iter();
                let outputs = outputs.filter_map(|output| serde_json::to_value(output).ok());
                let mut outputs: Vec<Value> = outputs.collect();
                let named = app
                    .operations
                    .add_headlines(Headlined::Output, &mut outputs);
                if let Err(error) = named.await {
                    return frame::op_error(&error);
                }
                if let Err(error) = app.operations.add_headline(RUN.operation, &mut found).await {
                    return frame::op_error(&error);
                }
                let run = RunPage {
                    headline: RUN.name(&found, &id),
                    notice: RUN.notice((&*app, &headers), (&id, &[])),
                    actions: RUN.offered((&*app, &headers), (&id, &[]), &found),
                    ..RunPage::of(run, &outputs)
                };
                page(StatusCode::OK, &run)
            }
            Err(error) => frame::op_error(&error),
        },
    }
}

impl RunPage {
    fn of(found: RunView, outputs: &[Value]) -> Self {
        let facts = facts::of(&found);
        let RunView { run, view, .. } = found;
        let is_running = run.state == "running";
        let span = Span {
            began: run.started_at.parse().ok(),
            length: run.elapsed_s,
            is_over: !is_running,
        };
        let document = &view.document;
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        let error = run.error.as_ref();
        Self {
            frame: Frame {
                refresh: is_running.then_some(REFRESH),
                ..Frame::new(format!("{} {}", run.word(), short(&run.id, 60)), "/runs")
            },
            headline: String::new(),
            id: short(&run.id, 80),
            notice: None,
            actions: ActionLinks::default(),
            state: PageCell::state(run.word()),
            is_running,
            follow: is_running.then(|| follow(&run.id, view.next)),
            task: short(text("task").unwrap_or_default(), 300),
            facts,
            is_bypass: text("permissions") == Some("bypass"),
            error: error.map(|error| (visible(&error.kind), visible(&error.message))),
            has_more_output: view.output.len() > OUTPUT_LINES || !view.is_whole,
            output: lines(&view),
            timeline: timeline::steps(&view.events, span),
            is_whole: view.is_whole,
            followups: followups(&view),
            outputs: OUTPUTS.table(outputs),
            result: Text::of(&view.result),
            prompt: Text::of(&view.prompt),
            files: view.files.iter().map(|file| visible(file)).collect(),
            more_files: view.more_files,
            folder: visible(&run.folder),
        }
    }

    fn badge(state: &str) -> Badge {
        Badge::of(state)
    }
}

/// Returns the address of the stream of a run's log after a place.
fn follow(id: &str, place: LogPlace) -> String {
    let base = format!(
        "/api/v1/runs/{}/log?follow=true&after={}",
        encoded(id),
        place.events
    );
    match place.output {
        Some(output) => format!("{base}&output_after={output}"),
        None => base,
    }
}

fn lines(view: &View) -> Vec<Line> {
    let first = view.output.len().saturating_sub(OUTPUT_LINES);
    // Each stream has a style of its own.
    let mut styles = [AnsiStyle::default(); 2];
    let lines = view.output.iter().map(|line| Line {
        is_stderr: line.is_stderr,
        pieces: styles[usize::from(line.is_stderr)].pieces(&line.text),
    });
    lines.skip(first).collect()
}

fn followups(view: &View) -> Vec<Followup> {
    let all = view.document.get("followups").and_then(Value::as_array);
    let one = |followup: &Value| {
        let text = |name: &str| followup[name].as_str().unwrap_or_default();
        let n = followup["n"].as_u64().unwrap_or_default();
        let reply = view.replies.iter().find(|(of, _)| *of == n);
        let message = followup.pointer("/error/message").and_then(Value::as_str);
        Followup {
            n,
            state: PageCell::state(text("state")),
            started: moment(text("started_at")),
            error: visible(message.unwrap_or_default()),
            reply: reply.map_or_else(
                || Text::of(&Excerpt::default()),
                |(_, reply)| Text::of(reply),
            ),
        }
    };
    all.into_iter().flatten().map(one).collect()
}

impl Text {
    fn of(excerpt: &Excerpt) -> Self {
        let whole = format!("{} bytes", grouped(excerpt.bytes));
        let note = if excerpt.is_cut {
            let shown = u64::try_from(excerpt.text.len()).unwrap_or(u64::MAX);
            format!("the first {} of {whole}", grouped(shown))
        } else {
            whole
        };
        Self {
            text: visible(&excerpt.text),
            note,
            is_cut: excerpt.is_cut,
        }
    }
}
