//! The page of the schedule: a week ahead, and what was missed in the week before.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response};
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::frame::{self, Frame};
use super::table::{MISSED, column};
use crate::http::AppState;
use daemon_view::PageTable;
use daemon_view::text::{encoded, short, visible};
use daemon_view::{CellForm, PageCell};

/// The instants of a day that its cell shows; of more, their number.
const MOST_SHOWN: usize = 2;

/// The length of the axis of a day, in minutes.
const MINUTES: u32 = 1_440;
/// The width of a mark on it.
const MARK: u32 = 24;
/// From here on, instants are not counted.
const MOST_COUNTED: u64 = 300;

#[derive(Template)]
#[template(path = "schedule.html")]
struct SchedulePage {
    frame: Frame,
    days: Vec<String>,
    rows: Vec<Row>,
    missed: PageTable,
}

/// One schedule.
struct Row {
    name: PageCell,
    reading: String,
    expression: String,
    gate: Option<PageCell>,
    next: PageCell,
    days: Vec<Day>,
}

/// The instants of a day.
struct Day {
    title: String,
    text: String,
    /// All instants that are known, for a pointer that rests on the cell.
    all: String,
    /// Where they are on an axis of 24 hours, and how wide their marks are, in minutes.
    marks: Vec<(u32, u32)>,
}

/// Shows the schedule.
pub(super) async fn show(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let read = |params| app.operations.schedule(params);
    frame::shown(&app, &headers, query, read, SchedulePage::of).await
}

impl SchedulePage {
    fn of(members: &Map<String, Value>) -> Self {
        let rows = |name: &str| {
            let rows = members.get(name).and_then(Value::as_array);
            rows.map(Vec::as_slice).unwrap_or_default()
        };
        let rows_of: Vec<Row> = rows("schedules").iter().map(Row::of).collect();
        let days = rows_of.first().map(|row| &row.days);
        Self {
            frame: Frame::new("Schedule", "/schedule"),
            days: days
                .into_iter()
                .flatten()
                .map(|day| day.title.clone())
                .collect(),
            rows: rows_of,
            missed: MISSED.table(rows("missed")),
        }
    }
}

impl Row {
    fn of(row: &Value) -> Self {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let name = match text("kind") {
            "cron" => PageCell::words(format!("cron {}: {}", text("id"), text("about")))
                .to("/crons".to_owned()),
            _ => {
                let (id, repo) = (text("id"), text("repo"));
                let path = format!("/daemons/{}?repo={}", encoded(id), encoded(repo));
                PageCell::words(id).to(path)
            }
        };
        let gate = column("Gate", "/gate", CellForm::State);
        let days = row["days"].as_array().into_iter().flatten();
        Self {
            name,
            reading: short(text("reading"), 200),
            expression: format!(
                "{} {}",
                short(text("expression"), 100),
                short(text("zone"), 60)
            ),
            gate: Some(gate.cell(row)).filter(|_| row["gate"].is_string() && row["gate"] != "open"),
            next: column("Next", "/next", CellForm::Instant).cell(row),
            days: days.map(Day::of).collect(),
        }
    }
}

impl Day {
    fn of(day: &Value) -> Self {
        let times = day["times"].as_array().into_iter().flatten();
        // `2026-11-28T03:00:00Z`: all instants of a schedule are whole minutes.
        let times: Vec<&str> = times
            .filter_map(|time| time.as_str()?.get(11..16))
            .collect();
        let count = day["count"].as_u64().unwrap_or_default();
        let is_more = day["more"] == true;
        let plus = if count >= MOST_COUNTED { "+" } else { "" };
        let text = match times.len() {
            0 => String::new(),
            n if n <= MOST_SHOWN => times.join(" "),
            _ => format!("{count}{plus} times"),
        };
        let marks: Vec<u32> = times.iter().filter_map(|time| minutes(time)).collect();
        let marks = match marks.first() {
            // More than are listed are one line, from the first on.
            Some(first) if is_more => vec![(*first, MINUTES - first)],
            _ => marks.into_iter().map(|at| (at, MARK)).collect(),
        };
        let date = day["date"].as_str().unwrap_or_default();
        let title = date
            .parse::<Date>()
            .map(|date| date.strftime("%a %-d").to_string());
        Self {
            title: title.unwrap_or_else(|_| visible(date)),
            text,
            all: times.join(" "),
            marks,
        }
    }
}

/// Returns the minutes of `03:30` since midnight.
fn minutes(time: &str) -> Option<u32> {
    let (hours, minutes) = time.split_once(':')?;
    Some(hours.parse::<u32>().ok()? * 60 + minutes.parse::<u32>().ok()?)
}
