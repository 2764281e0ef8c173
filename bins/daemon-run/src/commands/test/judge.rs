//! Whether a daemon does what a case expects.

use daemon_cron::{CronExpr, Schedule, Zone};
use daemon_event::Event;
use daemon_host::explain::{Decided, Standing, nearest, why};
use daemon_watch::Status;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Subject;
use super::case::{Case, Named, TimesExpected, WakeExpected, What};

/// What came of one case.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) ok: bool,
    /// What was expected, with `null` for what was not said.
    pub(super) expected: Value,
    /// What there is; `null` where the daemon's file has errors.
    pub(super) got: Value,
    /// What differs.
    pub(super) differences: Vec<String>,
    /// What decided it.
    pub(super) why: String,
    /// What would make the case pass.
    pub(super) found: Option<Found>,
}

/// What a daemon does, as a case may say it.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// On an event.
    Wake {
        wakes: bool,
        condition: Option<Named>,
        status: Option<Status>,
    },
    /// By its schedule.
    Times(Vec<Timestamp>),
}

/// Judges one case.
pub(super) fn judge(case: &Case, (daemon, checked): &Subject) -> Outcome {
    let path = daemon.source.path();
    let standing = Standing {
        id: daemon.id(),
        path: &path,
        is_valid: checked.is_registrable,
    };
    let mut outcome = match &case.what {
        What::Event(event, expected) => on_event(event, expected, &checked.watch, standing),
        What::Ticks(from, expected) => on_ticks(*from, expected, checked.schedule.as_deref()),
    };
    if !checked.is_registrable {
        outcome.ok = false;
        outcome.got = Value::Null;
        outcome.found = None;
        outcome.differences = Vec::new();
        outcome.why = why(standing, &[], None);
    }
    outcome
}

fn on_event(
    event: &Event,
    expected: &WakeExpected,
    watch: &[String],
    standing: Standing<'_>,
) -> Outcome {
    let decided = Decided::all(watch, Some(event));
    let named = expected.condition.as_ref().and_then(|named| {
        let index = match &named.value {
            Named::Index(index) => Some(*index),
            Named::Line(line) => watch.iter().position(|known| known.trim() == line.trim()),
        };
        index.filter(|index| *index < decided.len())
    });
    let about = named
        .or_else(|| nearest(&decided).map(|(index, _)| index))
        .or_else(|| (!decided.is_empty()).then_some(0));
    let one = about.and_then(|index| decided.get(index));
    let wakes = match named.and_then(|index| decided.get(index)) {
        Some(one) => one.wakes(),
        None => decided.iter().any(Decided::wakes),
    };
    let status = one.map(|one| one.reading.status);
    let by_words = expected
        .condition
        .as_ref()
        .is_some_and(|named| matches!(named.value, Named::Line(_)));
    let condition = about.map(|index| match watch.get(index) {
        Some(line) if by_words => Named::Line(line.trim().to_owned()),
        Some(_) | None => Named::Index(index),
    });
    let mut differences = Vec::new();
    let mut differ = |name: &str, expected: Value, got: &Value| {
        if !expected.is_null() && expected != *got {
            differences.push(format!("{name:<9} expected {expected}, got {got}"));
        }
        expected
    };
    let got = json!({
        "wakes": wakes,
        "condition": condition.as_ref().map(condition_json),
        "status": status.map(Status::as_str),
    });
    let expected = json!({
        "wakes": differ("wakes", json!(expected.wakes.as_ref().map(|at| at.value)), &got["wakes"]),
        "condition": differ(
            "condition",
            expected.condition.as_ref().map_or(Value::Null, |at| words_trimmed(&at.value)),
            &got["condition"],
        ),
        "status": differ(
            "status",
            json!(expected.status.as_ref().map(|at| at.value.as_str())),
            &got["status"],
        ),
    });
    Outcome {
        ok: differences.is_empty(),
        expected,
        got,
        differences,
        why: decisive(standing, &decided, named, event),
        found: Some(Found::Wake {
            wakes,
            condition,
            status,
        }),
    }
}

/// Says what decided the case: of the condition that it names, else of the whole daemon.
fn decisive(
    standing: Standing<'_>,
    decided: &[Decided<'_>],
    named: Option<usize>,
    event: &Event,
) -> String {
    let whole = why(standing, decided, Some(event));
    let Some((index, one)) = named.and_then(|index| Some((index, decided.get(index)?))) else {
        return whole;
    };
    if one.wakes() {
        return format!("watch[{index}] is met");
    }
    let obstacles = one.obstacles();
    let own = if obstacles.is_empty() {
        let kind = daemon_host::explain::kind_of(event);
        format!("watch[{index}] does not name {kind}")
    } else {
        format!("watch[{index}] asks {}", obstacles.join("; "))
    };
    if decided.iter().any(Decided::wakes) {
        format!("{own}; {whole}")
    } else {
        own
    }
}

fn condition_json(named: &Named) -> Value {
    match named {
        Named::Index(index) => json!(index),
        Named::Line(line) => json!(line),
    }
}

fn words_trimmed(named: &Named) -> Value {
    match named {
        Named::Index(index) => json!(index),
        Named::Line(line) => json!(line.trim()),
    }
}

fn on_ticks(from: Timestamp, expected: &TimesExpected, schedule: Option<&str>) -> Outcome {
    let schedule: Option<CronExpr> = schedule.and_then(|text| text.parse().ok());
    let why = match &schedule {
        Some(expression) => format!("`{expression}` is due {}, in UTC", expression.describe()),
        None => "it has no schedule".to_owned(),
    };
    // Whoever expects none would learn of the first.
    let n_asked = expected.times.len().max(1);
    let found: Vec<Timestamp> = schedule.map_or_else(Vec::new, |expression| {
        let schedule = Schedule::new(expression, Zone::utc());
        std::iter::successors(schedule.next_after(from), |at| schedule.next_after(*at))
            .take(n_asked)
            .collect()
    });
    let wanted: Vec<Timestamp> = expected.times.iter().map(|at| at.value).collect();
    let texts =
        |times: &[Timestamp]| -> Vec<String> { times.iter().map(ToString::to_string).collect() };
    let n_places = wanted.len().max(found.len());
    let place = |times: &[Timestamp], index: usize| {
        times
            .get(index)
            .map_or("none".to_owned(), ToString::to_string)
    };
    let differences = (0..n_places)
        .filter(|index| wanted.get(*index) != found.get(*index))
        .map(|index| {
            let (wanted, found) = (place(&wanted, index), place(&found, index));
            format!("times[{index}]  expected {wanted}, got {found}")
        });
    Outcome {
        ok: wanted == found,
        expected: json!({"times": texts(&wanted)}),
        got: json!({"times": texts(&found)}),
        differences: differences.collect(),
        why,
        found: Some(Found::Times(found)),
    }
}
