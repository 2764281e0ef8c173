//! Charts: bars that the host draws as SVG, each with the table of its values.

use askama::Template;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::text::{grouped, moment, seconds, usd};

/// The size of a chart, in its own units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 110.0;
/// The maximum number of labels below a chart.
const MOST_LABELS: usize = 8;

/// A chart of bars in groups; its `Display` is HTML.
#[derive(Clone, Debug, Template)]
#[template(path = "chart.html")]
pub struct Chart {
    /// The caption.
    pub title: &'static str,
    /// What it shows, for those who do not see it.
    pub summary: String,
    /// The value of the highest bar.
    pub top: String,
    /// The bars of all series.
    pub bars: Vec<Bar>,
    /// The labels of groups with their places.
    pub labels: Vec<(String, String)>,
    /// The class and the name of each series.
    pub legend: Vec<(&'static str, &'static str)>,
    /// The rows of the table: a group, and its values. Groups without values are left out.
    pub rows: Vec<(String, Vec<String>)>,
}

/// A bar, in the units of its chart.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The class of its series.
    pub class: &'static str,
    /// The distance of its left edge from the left.
    pub x: String,
    /// The distance of its upper edge from the top.
    pub y: String,
    /// How wide it is.
    pub width: String,
    /// How high it is.
    pub height: String,
}

/// The values of one kind, one for each group.
struct Series {
    name: &'static str,
    class: &'static str,
    values: Vec<f64>,
}

/// Returns the charts of the usage of a daemon: activity, waits and durations, cost, and tokens.
pub fn daemon_charts(usage: &Value) -> Vec<Chart> {
    let series = |list: &str, name: &'static str, member: &str, class: &'static str| Series {
        name,
        class,
        values: numbers(&usage[list], member),
    };
    let now: Option<Timestamp> = usage["now"].as_str().and_then(|now| now.parse().ok());
    let hours = (0..24_i64).rev().map(|n| {
        let at = now.and_then(|now| now.checked_sub(SignedDuration::from_hours(n)).ok());
        at.map(|at| at.strftime("%H:%M").to_string())
            .unwrap_or_default()
    });
    let dates: Vec<String> = texts(&usage["dates"], |date| {
        date.get(5..).unwrap_or(date).to_owned()
    });
    let finished = texts_of(&usage["finished"], "at");
    let whole = |n: f64| grouped(crate::text::whole(n));
    vec![
        Chart::new(
            "The last 24 hours",
            hours.collect(),
            whole,
            vec![
                series("hours", "Events", "events", "s0"),
                series("hours", "Activations", "activations", "s1"),
                series("hours", "Outputs", "outputs", "s2"),
            ],
        ),
        Chart::new(
            "Waits and durations",
            finished,
            seconds,
            vec![
                series("finished", "Waited", "wait_s", "s0"),
                series("finished", "Took", "took_s", "s1"),
            ],
        ),
        Chart::new(
            "Cost by day",
            dates.clone(),
            usd,
            vec![series("days", "Cost", "cost_usd", "s1")],
        ),
        Chart::new(
            "Tokens by day",
            dates,
            whole,
            vec![series("days", "Tokens", "tokens", "s1")],
        ),
    ]
}

fn numbers(list: &Value, member: &str) -> Vec<f64> {
    let rows = list.as_array().into_iter().flatten();
    rows.map(|row| row[member].as_f64().unwrap_or_default())
        .collect()
}

fn texts(list: &Value, text: impl Fn(&str) -> String) -> Vec<String> {
    let all = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    all.map(text).collect()
}

fn texts_of(list: &Value, member: &str) -> Vec<String> {
    let rows = list.as_array().into_iter().flatten();
    rows.map(|row| moment(row[member].as_str().unwrap_or_default()))
        .collect()
}

impl Chart {
    fn new(
        title: &'static str,
        groups: Vec<String>,
        text: impl Fn(f64) -> String,
        series: Vec<Series>,
    ) -> Self {
        let values = series.iter().flat_map(|one| one.values.iter().copied());
        let top = values.fold(0.0, f64::max);
        let rows = groups.iter().enumerate().filter_map(|(n, group)| {
            let values: Vec<f64> = series
                .iter()
                .filter_map(|one| one.values.get(n).copied())
                .collect();
            let is_some = values.iter().any(|value| *value > 0.0);
            is_some.then(|| (group.clone(), values.into_iter().map(&text).collect()))
        });
        let rows: Vec<_> = rows.collect();
        let names: Vec<&str> = series.iter().map(|one| one.name).collect();
        Self {
            summary: format!("{title}: {}; at most {}", names.join(", "), text(top)),
            top: text(top),
            bars: bars(&series, groups.len(), top),
            labels: labels(&groups),
            legend: series.iter().map(|one| (one.class, one.name)).collect(),
            rows,
            title,
        }
    }

    /// Reports whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a chart has few bars")]
fn bars(series: &[Series], n_groups: usize, top: f64) -> Vec<Bar> {
    let group = WIDTH / n_groups.max(1) as f64;
    let width = (group * 0.8 / series.len().max(1) as f64).min(24.0);
    let mut bars = Vec::new();
    for (place, one) in series.iter().enumerate() {
        for (n, value) in one
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value > 0.0)
        {
            // The smallest value is to be seen, too.
            let height = (value / top * HEIGHT).max(2.0);
            bars.push(Bar {
                class: one.class,
                x: format!("{:.1}", n as f64 * group + place as f64 * width),
                y: format!("{:.1}", HEIGHT - height),
                width: format!("{:.1}", (width - 1.0).max(1.0)),
                height: format!("{height:.1}"),
            });
        }
    }
    bars
}

#[expect(clippy::cast_precision_loss, reason = "a chart has few groups")]
fn labels(groups: &[String]) -> Vec<(String, String)> {
    let group = WIDTH / groups.len().max(1) as f64;
    let step = groups.len().div_ceil(MOST_LABELS).max(1);
    let shown = groups.iter().enumerate().step_by(step);
    // The time of day is enough of an instant: the table has all of it.
    let short = |text: &str| text.get(11..16).unwrap_or(text).to_owned();
    shown
        .map(|(n, text)| (format!("{:.1}", n as f64 * group), short(text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::daemon_charts;

    #[test]
    fn a_chart_has_a_bar_and_a_cell_for_each_value() {
        let used = |events: u64, usd: f64| json!({"events": events, "activations": 1, "outputs": 0, "tokens": 0, "cost_usd": usd});
        let usage = json!({
            "now": "2026-01-02T12:00:00Z", "dates": ["2026-01-01", "2026-01-02"], "days": [used(0, 0.0), used(4, 0.5)],
            "hours": vec![used(2, 0.0); 24], "finished": [{"at": "2026-01-02T11:00:00Z", "wait_s": 1.0, "took_s": 90.0}],
        });
        let charts = daemon_charts(&usage);
        let shape: Vec<_> = charts
            .iter()
            .map(|chart| (chart.title, chart.bars.len(), chart.rows.len()))
            .collect();
        assert_eq!(
            shape,
            [
                ("The last 24 hours", 48, 24),
                ("Waits and durations", 2, 1),
                ("Cost by day", 1, 1),
                ("Tokens by day", 0, 0),
            ]
        );
        assert_eq!(
            charts[2].rows,
            [("01-02".to_owned(), vec!["0.50 USD".to_owned()])]
        );
        assert_eq!(charts[2].summary, "Cost by day: Cost; at most 0.50 USD");
        assert_eq!(
            (charts[1].top.as_str(), charts[1].bars[1].height.as_str()),
            ("1 min 30 s", "110.0")
        );
        assert_eq!(charts[0].labels[0], ("0.0".to_owned(), "13:00".to_owned()));
        assert!(charts[3].is_empty());
    }
}
