//! The page of what daemons used: money and tokens, by daemon and day.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response};
use serde_json::{Map, Value};

use super::frame::{self, Frame};
use crate::http::AppState;
use daemon_view::text::{encoded, grouped, usd, visible};

/// The height of the bars in the cells, in their own units.
const HEIGHT: f64 = 24.0;

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    frame: Frame,
    days: Vec<String>,
    rows: Vec<Row>,
    is_whole: bool,
}

/// What one daemon used.
struct Row {
    daemon: String,
    path: String,
    days: Vec<Day>,
    total: Day,
}

/// What was used on one day.
#[derive(Default)]
struct Day {
    title: String,
    usd: f64,
    tokens: u64,
    n: u64,
    /// The height and the place of its bar.
    bar: (String, String),
}

/// Shows the usage.
pub(super) async fn show(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let read = |params| app.operations.usage(params);
    frame::shown(&app, &headers, query, read, UsagePage::of).await
}

impl UsagePage {
    fn of(members: &Map<String, Value>) -> Self {
        let list = |name: &str| {
            members
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let days: Vec<String> = list("days")
            .filter_map(Value::as_str)
            .map(|day| visible(day.get(5..).unwrap_or(day)))
            .collect();
        let mut rows: Vec<Row> = list("daemons").map(|row| Row::of(row, &days)).collect();
        // Without any price, tokens are compared.
        let is_priced = rows.iter().any(|row| row.total.usd > 0.0);
        let size = |day: &Day| {
            if is_priced {
                day.usd
            } else {
                count(day.tokens)
            }
        };
        let most = rows
            .iter()
            .flat_map(|row| &row.days)
            .map(size)
            .fold(0.0, f64::max);
        for day in rows.iter_mut().flat_map(|row| &mut row.days) {
            let height = if most > 0.0 {
                size(day) / most * HEIGHT
            } else {
                0.0
            };
            day.bar = (format!("{height:.1}"), format!("{:.1}", HEIGHT - height));
        }
        rows.sort_by(|a, b| size(&b.total).total_cmp(&size(&a.total)));
        Self {
            frame: Frame::new("Usage", "/usage"),
            days,
            rows,
            is_whole: members.get("is_whole").is_none_or(|it| *it == true),
        }
    }
}

impl Row {
    fn of(row: &Value, days: &[String]) -> Self {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let used = row["days"].as_array().into_iter().flatten();
        let used: Vec<Day> = used
            .zip(days)
            .map(|(used, title)| Day {
                title: title.clone(),
                usd: used["cost_usd"].as_f64().unwrap_or_default(),
                tokens: used["tokens"].as_u64().unwrap_or_default(),
                n: used["activations"].as_u64().unwrap_or_default(),
                bar: Default::default(),
            })
            .collect();
        Self {
            daemon: visible(text("daemon_id")),
            path: format!(
                "/daemons/{}?repo={}",
                encoded(text("daemon_id")),
                encoded(text("repo"))
            ),
            total: Day {
                usd: used.iter().map(|day| day.usd).sum(),
                tokens: used.iter().map(|day| day.tokens).sum(),
                n: used.iter().map(|day| day.n).sum(),
                ..Day::default()
            },
            days: used,
        }
    }
}

impl Day {
    fn usd(&self) -> String {
        usd(self.usd)
    }

    fn tokens(&self) -> String {
        grouped(self.tokens)
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is only the height of a bar")]
fn count(n: u64) -> f64 {
    n as f64
}
