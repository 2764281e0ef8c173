//! Rewrites the expectations of failing cases, and leaves the rest of the file unchanged.

use daemon_spec::{Span, quoted};
use jiff::Timestamp;

use super::case::{Case, CaseInput, ConditionRef, Spanned, TimesExpected, WakeExpected};
use super::outcome::{ActualResult, CaseOutcome};

/// The replacement of a span.
type Replacement = (Span, String);

/// Returns a file's text with the expectations of its failing cases replaced.
///
/// # Errors
/// The reason why a case cannot be rewritten; then the file must not be written.
pub(super) fn rewritten(
    text: &str,
    cases: &[Case],
    outcomes: &[CaseOutcome],
) -> Result<String, String> {
    let mut changes: Vec<Replacement> = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes).filter(|(_, one)| !one.ok) {
        let found = match (&case.input, &outcome.found) {
            (CaseInput::Event(_, expected), Some(found)) => wake_changes(expected, found),
            (CaseInput::Ticks(_, expected), Some(ActualResult::Times(times))) => {
                times_changes(text, expected, times)
            }
            (CaseInput::Event(..) | CaseInput::Ticks(..), _) => {
                Err("is about a file that has errors")
            }
        };
        changes.extend(found.map_err(|reason| format!("`{}` {reason}", case.name))?);
    }
    // The keys of a case can be in any order in the file.
    changes.sort_by_key(|(span, _)| span.start);
    let mut acc = String::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in changes {
        acc.push_str(&text[at..span.start]);
        acc.push_str(&new);
        at = span.end;
    }
    acc.push_str(&text[at..]);
    Ok(acc)
}

fn wake_changes(
    expected: &WakeExpected,
    found: &ActualResult,
) -> Result<Vec<Replacement>, &'static str> {
    let ActualResult::Wake {
        wakes,
        condition,
        status,
    } = found
    else {
        return Err("is about an event but got ticks");
    };
    let mut changes = Vec::new();
    change(
        &mut changes,
        expected.wakes.as_ref(),
        Some(wakes),
        bool::to_string,
    )?;
    change(
        &mut changes,
        expected.condition.as_ref(),
        condition.as_ref(),
        written,
    )?;
    change(
        &mut changes,
        expected.status.as_ref(),
        status.as_ref(),
        |status| status.as_str().to_owned(),
    )?;
    Ok(changes)
}

/// Replaces one expected value by the actual one, unless they are equal.
fn change<T: PartialEq>(
    changes: &mut Vec<Replacement>,
    expected: Option<&Spanned<T>>,
    found: Option<&T>,
    write: impl Fn(&T) -> String,
) -> Result<(), &'static str> {
    match (expected, found) {
        (None, _) => Ok(()),
        (Some(_), None) => Err("names a condition, but the daemon has none"),
        (Some(at), Some(found)) => {
            if at.value != *found {
                changes.push((at.span, write(found)));
            }
            Ok(())
        }
    }
}

fn written(named: &ConditionRef) -> String {
    match named {
        ConditionRef::Index(index) => index.to_string(),
        ConditionRef::Line(line) => quoted(line),
    }
}

fn times_changes(
    text: &str,
    expected: &TimesExpected,
    times: &[Timestamp],
) -> Result<Vec<Replacement>, &'static str> {
    // In a block list only changed items are replaced, to keep its comments; a flow list has none.
    if expected.is_flow {
        let list: Vec<String> = times.iter().map(ToString::to_string).collect();
        return Ok(vec![(expected.span, format!("[{}]", list.join(", ")))]);
    }
    if times.len() != expected.times.len() {
        return Err("expects more ticks than the schedule has: remove the last ones");
    }
    let changed = expected.times.iter().zip(times);
    let changed = changed.filter(|(at, found)| at.value != **found);
    Ok(changed
        .map(|(at, found)| (at.span, in_the_same_quotes(&text[at.span.range()], found)))
        .collect())
}

fn in_the_same_quotes(old: &str, found: &Timestamp) -> String {
    match old.chars().next() {
        Some(quote @ ('"' | '\'')) => format!("{quote}{found}{quote}"),
        Some(_) | None => found.to_string(),
    }
}
