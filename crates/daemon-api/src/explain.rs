//! Explanations of why an event wakes a daemon or does not.
//!
//! The command line, its tests and the HTTP route print the same words and the same object.

use daemon_event::Event;
use daemon_watch::{Explanation, Interpretation, InterpretationWire, WakeVerdict, interpret};
use serde_json::{Value, json};

/// One condition of a daemon with its reading and, for an event, its verdict.
#[derive(Clone, Debug)]
pub struct Decided<'a> {
    /// The condition as the author wrote it.
    pub line: &'a str,
    /// The reading of the interpreter.
    pub reading: Interpretation,
    /// The verdict of each filter; `None` without an event.
    pub explanation: Option<Explanation>,
    is_named: bool,
}

impl<'a> Decided<'a> {
    /// Reads a condition, and evaluates it for an event.
    pub fn new(line: &'a str, event: Option<&Event>) -> Self {
        let reading = interpret(line);
        let mut patterns = reading.clauses.iter().flat_map(|clause| &clause.events);
        Self {
            line,
            is_named: event.is_some_and(|event| patterns.any(|pattern| pattern.is_met_by(event))),
            explanation: event.map(|event| reading.explain(event)),
            reading,
        }
    }

    /// Reads and evaluates every condition of a daemon.
    pub fn all(watch: &'a [String], event: Option<&Event>) -> Vec<Self> {
        watch.iter().map(|line| Self::new(line, event)).collect()
    }

    /// Reports whether the event wakes it.
    pub fn wakes(&self) -> bool {
        self.verdict() == Some(WakeVerdict::Wakes)
    }

    /// Returns the reading and every verdict, as the command line prints them.
    pub fn to_json(&self) -> Value {
        let wire = InterpretationWire::new(self.line, &self.reading, self.explanation.as_ref());
        serde_json::to_value(wire).expect("every part of it is plain JSON")
    }

    /// Describes, for each failed filter of the nearest alternative, what it requires and what the event has instead.
    pub fn obstacles(&self) -> Vec<String> {
        let Some(explanation) = &self.explanation else {
            return Vec::new();
        };
        let described = explanation.nearest.iter().filter_map(|index| {
            let filter = self.reading.filters.get(*index)?;
            let decided = explanation.filters.get(*index)?;
            let words = filter.span.of(self.line);
            let got = match (&decided.got, decided.needs) {
                (_, Some(need)) => format!("the fact `{}` is missing", need.as_str()),
                (Some(got), None) => format!("got {}", shown(got)),
                (None, None) => "the event has none".to_owned(),
            };
            Some(format!("`{}` (\"{words}\"): {got}", filter.test))
        });
        described.collect()
    }

    fn verdict(&self) -> Option<WakeVerdict> {
        self.explanation
            .as_ref()
            .map(|explanation| explanation.verdict)
    }

    /// Returns the number of filters that fail; `None` if the condition does not name the event.
    fn distance(&self) -> Option<usize> {
        let explanation = self.explanation.as_ref().filter(|_| self.is_named)?;
        Some(explanation.nearest.len())
    }
}

/// Returns the first condition that wakes, else the one with the fewest failed filters.
pub fn nearest<'d>(decided: &'d [Decided<'d>]) -> Option<(usize, &'d Decided<'d>)> {
    let met = decided.iter().enumerate().find(|(_, one)| one.wakes());
    met.or_else(|| {
        let named = decided.iter().enumerate();
        named
            .filter_map(|(index, one)| Some((one.distance()?, index, one)))
            .min_by_key(|(distance, index, _)| (*distance, *index))
            .map(|(_, index, one)| (index, one))
    })
}

/// The properties of a daemon that an explanation shows in addition to its conditions.
#[derive(Clone, Copy, Debug)]
pub struct DaemonSummary<'a> {
    /// The id that its file declares.
    pub id: &'a str,
    /// The path of its file in the repository.
    pub path: &'a str,
    /// Whether the linter found no error in its file; an invalid daemon never wakes.
    pub is_valid: bool,
}

/// Explains one daemon: whether the event wakes it, why or why not, and every condition.
pub fn daemon_json(
    summary: DaemonSummary<'_>,
    decided: &[Decided<'_>],
    event: Option<&Event>,
) -> Value {
    let conditions = indexed(decided);
    let wakes = summary.is_valid && decided.iter().any(Decided::wakes);
    json!({
        "daemon_id": summary.id,
        "wakes": wakes,
        "why": why(summary, decided, event),
        "conditions": conditions,
    })
}

/// Returns the objects of conditions with their indexes.
pub fn indexed(decided: &[Decided<'_>]) -> Vec<Value> {
    let written = decided.iter().enumerate().map(|(index, one)| {
        let mut object = one.to_json();
        object["index"] = json!(index);
        object["condition"] = json!(one.line);
        object
    });
    written.collect()
}

/// Returns the members of an event that an explanation shows.
pub fn event_json(event: &Event) -> Value {
    json!({
        "source": event.source.as_str(),
        "kind": event.kind,
        "action": event.action,
        "subject": event.subject.as_ref().map(ToString::to_string),
        "actor": event.actor.as_ref().map(|actor| actor.name.clone()),
        "repo": event.repo.as_ref().map(ToString::to_string),
        "time": event.time.to_string(),
        "delivery_id": event.delivery.to_string(),
    })
}

/// Describes in one sentence why a daemon wakes or not.
pub fn why(summary: DaemonSummary<'_>, decided: &[Decided<'_>], event: Option<&Event>) -> String {
    if !summary.is_valid {
        return format!("its file has errors: daemon-run lint {}", summary.path);
    }
    if decided.is_empty() {
        return "it has no conditions; its schedule wakes it".to_owned();
    }
    let Some(event) = event else {
        return "no event was given".to_owned();
    };
    let missing = decided.iter().find_map(|one| match one.verdict() {
        Some(WakeVerdict::Missing(need)) => Some(need),
        Some(WakeVerdict::Wakes | WakeVerdict::Sleeps) | None => None,
    });
    match nearest(decided) {
        Some((index, one)) if one.wakes() => format!("watch[{index}] is met"),
        Some((index, one)) => match missing {
            Some(need) => format!("a needed fact is missing: {}", need.as_str()),
            None => obstacle(index, one),
        },
        None if !decided.iter().any(|one| one.reading.status.can_wake()) => {
            "none of its conditions names an event".to_owned()
        }
        None => format!("no condition names {}", kind_of(event)),
    }
}

/// Returns the source, kind and action of an event, such as `github pull_request.opened`.
pub fn kind_of(event: &Event) -> String {
    let action = event.action.as_ref().map(|action| format!(".{action}"));
    format!(
        "{} {}{}",
        event.source,
        event.kind,
        action.unwrap_or_default()
    )
}

fn obstacle(index: usize, one: &Decided<'_>) -> String {
    if !one.reading.status.can_wake() {
        let status = one.reading.status.as_str();
        return format!("watch[{index}] is {status} and cannot wake it");
    }
    let failed: Vec<String> = one
        .obstacles()
        .into_iter()
        .map(|told| format!("watch[{index}] asks {told}"))
        .collect();
    failed.join("; ")
}

/// Shortens a value to one line, without control characters.
fn shown(text: &str) -> String {
    // The value comes from a payload, and control characters could change a terminal.
    const LONGEST: usize = 120;
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let head: String = clean.clone().take(LONGEST).collect();
    if clean.count() > LONGEST {
        format!("{head}…")
    } else {
        head
    }
}
