//! The outcome of a case: compares what a daemon does with the expectation.

use daemon_api::explain::{DaemonSummary, Decided, nearest, why};
use daemon_cron::{CronExpr, Schedule, Zone};
use daemon_event::Event;
use daemon_watch::Status;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Subject;
use super::case::{Case, CaseInput, ConditionRef, TimesExpected, WakeExpected};

/// The outcome of one case.
#[derive(Clone, Debug)]
pub(super) struct CaseOutcome {
    pub(super) ok: bool,
    /// The expectation; `null` for what the case does not check.
    pub(super) expected: Value,
    /// The actual result; `null` if the daemon's file has errors.
    pub(super) got: Value,
    /// One line for each difference.
    pub(super) differences: Vec<String>,
    /// The reason for the result.
    pub(super) why: String,
    /// The expectation that would make the case pass; `None` if the daemon's file has errors.
    pub(super) found: Option<ActualResult>,
}

/// CaseInput a daemon does, in the terms of an expectation.
#[derive(Clone, Debug)]
pub(super) enum ActualResult {
    /// The result of an event.
    Wake {
        wakes: bool,
        condition: Option<ConditionRef>,
        status: Option<Status>,
    },
    /// The ticks of the schedule.
    Times(Vec<Timestamp>),
}

/// Runs one case.
pub(super) fn of_case(case: &Case, (daemon, checked): &Subject) -> CaseOutcome {
    let path = daemon.source.path();
    let summary = DaemonSummary {
        id: daemon.id(),
        path: &path,
        is_valid: checked.is_registrable,
    };
    let mut outcome = match &case.input {
        CaseInput::Event(event, expected) => on_event(event, expected, &checked.watch, summary),
        CaseInput::Ticks(from, expected) => on_ticks(*from, expected, checked.schedule.as_deref()),
    };
    // A host would not register the daemon, so the results of its conditions do not count.
    if !checked.is_registrable {
        outcome.ok = false;
        outcome.got = Value::Null;
        outcome.found = None;
        outcome.differences = Vec::new();
        outcome.why = why(summary, &[], None);
    }
    outcome
}

/// CaseInput an event does, seen from the condition that the case names.
struct EventResult {
    /// The index of the condition that the case names, if it exists.
    named: Option<usize>,
    wakes: bool,
    condition: Option<ConditionRef>,
    status: Option<Status>,
}

impl EventResult {
    fn new(expected: &WakeExpected, decided: &[Decided<'_>], watch: &[String]) -> Self {
        let asked = expected.condition.as_ref().map(|named| &named.value);
        let named = asked.and_then(|named| match named {
            ConditionRef::Index(index) => Some(*index),
            ConditionRef::Line(line) => watch.iter().position(|known| known.trim() == line.trim()),
        });
        let named = named.filter(|index| *index < decided.len());
        let about = named
            .or_else(|| nearest(decided).map(|(index, _)| index))
            .or_else(|| (!decided.is_empty()).then_some(0));
        let wakes = match named.and_then(|index| decided.get(index)) {
            Some(one) => one.wakes(),
            None => decided.iter().any(Decided::wakes),
        };
        let condition = about.map(|index| match (asked, watch.get(index)) {
            (Some(ConditionRef::Line(_)), Some(line)) => ConditionRef::Line(line.trim().to_owned()),
            _ => ConditionRef::Index(index),
        });
        let one = about.and_then(|index| decided.get(index));
        Self {
            named,
            wakes,
            condition,
            status: one.map(|one| one.reading.status),
        }
    }
}

fn on_event(
    event: &Event,
    expected: &WakeExpected,
    watch: &[String],
    summary: DaemonSummary<'_>,
) -> CaseOutcome {
    let decided = Decided::all(watch, Some(event));
    let seen = EventResult::new(expected, &decided, watch);
    let got = json!({
        "wakes": seen.wakes,
        "condition": seen.condition.as_ref().map(condition_json),
        "status": seen.status.map(Status::as_str),
    });
    let wanted = json!({
        "wakes": expected.wakes.as_ref().map(|at| at.value),
        "condition": expected.condition.as_ref().map(|at| condition_json(&at.value)),
        "status": expected.status.as_ref().map(|at| at.value.as_str()),
    });
    let differences: Vec<String> = ["wakes", "condition", "status"]
        .iter()
        .filter(|name| !wanted[**name].is_null() && wanted[**name] != got[**name])
        .map(|name| format!("{name:<9} expected {}, got {}", wanted[*name], got[*name]))
        .collect();
    CaseOutcome {
        ok: differences.is_empty(),
        expected: wanted,
        got,
        differences,
        why: decisive(summary, &decided, seen.named, event),
        found: Some(ActualResult::Wake {
            wakes: seen.wakes,
            condition: seen.condition,
            status: seen.status,
        }),
    }
}

/// Explains the result: by the condition that the case names, else by the whole daemon.
fn decisive(
    summary: DaemonSummary<'_>,
    decided: &[Decided<'_>],
    named: Option<usize>,
    event: &Event,
) -> String {
    let whole = why(summary, decided, Some(event));
    let Some((index, one)) = named.and_then(|index| Some((index, decided.get(index)?))) else {
        return whole;
    };
    if one.wakes() {
        return format!("watch[{index}] is met");
    }
    let obstacles = one.obstacles();
    let own = if obstacles.is_empty() {
        let kind = daemon_api::explain::kind_of(event);
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

fn condition_json(named: &ConditionRef) -> Value {
    match named {
        ConditionRef::Index(index) => json!(index),
        ConditionRef::Line(line) => json!(line.trim()),
    }
}

fn on_ticks(from: Timestamp, expected: &TimesExpected, schedule: Option<&str>) -> CaseOutcome {
    let schedule: Option<CronExpr> = schedule.and_then(|text| text.parse().ok());
    let why = match &schedule {
        Some(expression) => format!("`{expression}` is due {}, in UTC", expression.describe()),
        None => "it has no schedule".to_owned(),
    };
    // For a case that expects no tick, the first one is the difference to report.
    let n_asked = expected.times.len().max(1);
    let found: Vec<Timestamp> = schedule.map_or_else(Vec::new, |expression| {
        let schedule = Schedule::new(expression, Zone::utc());
        std::iter::successors(schedule.next_after(from), |at| schedule.next_after(*at))
            .take(n_asked)
            .collect()
    });
    let wanted: Vec<Timestamp> = expected.times.iter().map(|at| at.value).collect();
    let strings =
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
    CaseOutcome {
        ok: wanted == found,
        expected: json!({"times": strings(&wanted)}),
        got: json!({"times": strings(&found)}),
        differences: differences.collect(),
        why,
        found: Some(ActualResult::Times(found)),
    }
}
