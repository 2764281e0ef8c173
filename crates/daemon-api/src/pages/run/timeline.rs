//! The timeline of a run: a row for each tool call with its duration, for output in between, and for every other event.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::runs::TimelineEntry;
use daemon_view::Badge;
use daemon_view::ansi;
use daemon_view::text::{seconds, visible};

/// The maximum number of rows; of longer timelines, the last are shown.
const MOST_ROWS: usize = 500;
/// The maximum number of lines within a row.
const MOST_LINES: usize = 100;
/// The width of the time axis, in its own units.
const AXIS: f64 = 1000.0;

/// A row of the timeline.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// The instant, in RFC 3339.
    pub(super) instant: String,
    /// The time since the start of the run.
    pub(super) offset: String,
    /// What it is: `tool`, `output`, or the name of the event.
    pub(super) kind: String,
    /// The name of the tool, or the text of the event.
    pub(super) title: String,
    pub(super) badge: Option<(Badge, String)>,
    /// How long it took; empty for an instant, or before its end.
    pub(super) took: String,
    /// Where it begins on the axis, and how far it reaches.
    pub(super) bar: (String, String),
    /// What is folded: arguments, and lines of output.
    pub(super) lines: Vec<String>,
    /// How many lines are left out.
    pub(super) n_left_out: usize,
    begin: f64,
    end: Option<f64>,
    is_open: bool,
}

/// The instants of a run that its axis is drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) began: Option<Timestamp>,
    /// How long it took or has taken, in seconds.
    pub(super) length: f64,
    /// Whether the run has ended, so that a call without a result gets none.
    pub(super) is_over: bool,
}

/// Folds the events of a run.
pub(super) fn steps(events: &[Map<String, Value>], span: Span) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = span.offset(text("ts"));
        match text("event") {
            "tool_call" => steps.push(Step {
                kind: "tool".to_owned(),
                title: visible(text("name")),
                lines: arguments(text("args_preview")),
                is_open: true,
                ..Step::new(text("ts"), at)
            }),
            "tool_result" => match steps.iter_mut().find(|step| step.is_call_of(text("name"))) {
                Some(step) => step.close(text("status"), at),
                None => steps.push(Step::of_event(event, at)),
            },
            "cli_output" => output(&mut steps, text("text"), (text("ts"), at)),
            _ => steps.push(Step::of_event(event, at)),
        }
    }
    let first = steps.len().saturating_sub(MOST_ROWS);
    let mut steps = steps.split_off(first);
    let end = steps
        .iter()
        .filter_map(|step| step.end)
        .fold(span.length, f64::max);
    for step in &mut steps {
        step.draw(end.max(1.0), span);
    }
    steps
}

/// Adds a line of output to the open call, or to a row of its own.
fn output(steps: &mut Vec<Step>, text: &str, (ts, at): (&str, f64)) {
    let open = steps.iter().rposition(|step| step.is_open);
    let place = open.or_else(|| {
        steps
            .len()
            .checked_sub(1)
            .filter(|last| steps[*last].kind == "output")
    });
    let step = match place.and_then(|place| steps.get_mut(place)) {
        Some(step) => step,
        None => {
            steps.push(Step {
                kind: "output".to_owned(),
                ..Step::new(ts, at)
            });
            match steps.last_mut() {
                Some(step) => step,
                None => return,
            }
        }
    };
    step.end = Some(at).filter(|_| !step.is_open);
    match step.lines.len() < MOST_LINES {
        true => step.lines.push(ansi::plain(text)),
        false => step.n_left_out += 1,
    }
}

fn arguments(preview: &str) -> Vec<String> {
    let known = Some(preview).filter(|preview| !matches!(*preview, "" | "{}"));
    known.map(visible).into_iter().collect()
}

impl Span {
    fn offset(self, ts: &str) -> f64 {
        let at = ts.parse::<Timestamp>().ok();
        let passed = at
            .zip(self.began)
            .map(|(at, began)| at.duration_since(began));
        passed.map_or(0.0, |passed| passed.as_secs_f64().max(0.0))
    }
}

impl Step {
    fn new(ts: &str, at: f64) -> Self {
        Self {
            instant: ts.to_owned(),
            offset: format!("+{}", seconds(at.floor())),
            begin: at,
            ..Self::default()
        }
    }

    fn of_event(event: &Map<String, Value>, at: f64) -> Self {
        let entry = TimelineEntry::of(event);
        Self {
            kind: visible(&entry.kind).replace('_', " "),
            title: visible(&entry.detail),
            ..Self::new(&entry.at, at)
        }
    }

    fn is_call_of(&self, name: &str) -> bool {
        self.is_open && self.title == visible(name)
    }

    /// Ends a call with its status.
    fn close(&mut self, status: &str, at: f64) {
        self.is_open = false;
        self.end = Some(at);
        let took = at - self.begin;
        // Events of a log have whole seconds.
        self.took = if took < 1.0 {
            "under 1 s".to_owned()
        } else {
            seconds(took)
        };
        self.badge = Some((Badge::of(status), visible(status)));
    }

    fn draw(&mut self, length: f64, span: Span) {
        if self.is_open {
            let (state, word) = match span.is_over {
                true => ("unknown", "no result"),
                false => ("running", "running"),
            };
            self.badge = Some((Badge::of(state), word.to_owned()));
        }
        let begin = (self.begin / length).clamp(0.0, 1.0) * AXIS;
        let end = self
            .end
            .map_or(if self.is_open { 1.0 } else { 0.0 }, |end| {
                (end / length).clamp(0.0, 1.0)
            })
            * AXIS;
        self.bar = (
            format!("{begin:.0}"),
            format!("{:.0}", (end - begin).max(4.0)),
        );
    }

    /// Returns the summary of a row whose lines are folded.
    pub(super) fn summary(&self) -> String {
        let n = self.lines.len() + self.n_left_out;
        match (self.kind.as_str(), n) {
            ("output", 1) => self.lines.first().cloned().unwrap_or_default(),
            ("output", n) => format!("{n} lines of output"),
            _ => self.title.clone(),
        }
    }

    /// Reports whether there is something to unfold.
    pub(super) fn is_folded(&self) -> bool {
        let is_one_line = self.kind == "output" && self.lines.len() == 1;
        !self.lines.is_empty() && !is_one_line
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Span, steps};

    fn events(all: Value) -> Vec<Map<String, Value>> {
        let all = all.as_array().unwrap().iter();
        all.map(|event| event.as_object().unwrap().clone())
            .collect()
    }

    #[test]
    fn a_call_and_its_result_are_one_row_with_the_output_between_them() {
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        let call = |second, name, args| json!({"ts": at(second), "event": "tool_call", "name": name, "args_preview": args});
        let result = |second, name, status| json!({"ts": at(second), "event": "tool_result", "name": name, "status": status});
        let output = |second, line| json!({"ts": at(second), "event": "cli_output", "text": line});
        let events = events(json!([
            {"ts": at(0), "event": "daemon_start"},
            output(1, "a"),
            output(1, "\u{1b}[31mb"),
            call(2, "grep", "{\"x\":1}"),
            call(3, "read", "{}"),
            output(3, "c"),
            result(9, "grep", "ok"),
            result(9, "other", "error"),
            call(10, "<b>", ""),
        ]));
        let span = Span {
            began: at(0).parse().ok(),
            length: 20.0,
            is_over: false,
        };
        let rows = steps(&events, span).into_iter().map(|step| {
            let badge = step.badge.as_ref().map_or("", |(_, word)| word);
            let lines = step.lines.join(" ");
            let (x, width) = &step.bar;
            let (offset, kind, took) = (&step.offset, &step.kind, &step.took);
            format!(
                "{offset}|{kind}|{}|{badge}|{took}|{lines}|{x} {width}",
                step.summary()
            )
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                "+0.0 s|daemon start|||||0 4",
                "+1.0 s|output|2 lines of output|||a b|50 4",
                "+2.0 s|tool|grep|ok|7.0 s|{\"x\":1}|100 350",
                "+3.0 s|tool|read|running||c|150 850",
                "+9.0 s|tool result|name=other status=error||||450 4",
                "+10.0 s|tool|<b>|running|||500 500",
            ]
        );
    }

    #[test]
    fn a_call_without_a_result_is_running_only_until_its_run_ends() {
        let ts = "2026-01-01T00:00:02Z";
        let call = json!([{"ts": ts, "event": "tool_call", "name": "grep", "args_preview": ""}]);
        let words = [false, true].map(|is_over| {
            let span = Span {
                began: "2026-01-01T00:00:00Z".parse().ok(),
                length: 20.0,
                is_over,
            };
            let shown = steps(&events(call.clone()), span);
            shown[0].badge.clone().map(|(_, word)| word)
        });
        assert_eq!(
            words,
            [Some("running".to_owned()), Some("no result".to_owned())]
        );
    }
}
