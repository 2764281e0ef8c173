//! D134 and D135: fields that wake the daemon, and empty optional fields.

use daemon_spec::{Diagnostic, Field, Fix, Shape, Span};

use super::lists::{lists, says_something};
use crate::Subject;
use crate::report::report;

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    if !is_missing(subject) {
        return;
    }
    let file = subject.file();
    let span = file
        .watch()
        .key()
        .or(file.schedule().key())
        .unwrap_or(Span::at(0));
    let message = if file.watch().is_absent() && file.schedule().is_absent() {
        "neither `watch` nor `schedule`: nothing wakes this daemon"
    } else {
        "`watch` and `schedule` are empty: nothing wakes this daemon"
    };
    acc.push(
        report(134, span, message)
            .with_help("add a condition such as `when a pull request is opened`, or a `schedule`"),
    );
}

pub(crate) fn empty_optional(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    if !subject.knows_all_fields() {
        return;
    }
    let lists = lists(file)
        .into_iter()
        .filter_map(|(name, field)| match field {
            Field::Present { key, value } if value.entries.is_empty() => {
                Some((name, *key, value.span))
            }
            _ => None,
        });
    let schedule = match file.schedule() {
        Field::Present { key, value } if value.value.trim().is_empty() => {
            Some(("schedule", *key, value.token))
        }
        _ => None,
    };
    for (name, key, span) in lists.chain(schedule) {
        // An empty required field has an error of its own.
        if name == "routines" || (name != "deny" && is_missing(subject)) {
            continue;
        }
        let raw = file.source().slice(span);
        let shown = if raw.is_empty() { name } else { raw };
        let found = report(
            135,
            key,
            format!("`{shown}` says nothing: `{name}` is empty"),
        )
        .with_help("delete the field");
        acc.push(match file.member_removal(key) {
            Some(span) => found.with_fix(Fix::replace("delete the field", span, "")),
            None => found,
        });
    }
}

/// Returns `true` if the whole file was read and no field can wake the daemon.
fn is_missing(subject: &Subject<'_>) -> bool {
    let file = subject.file();
    // A value of the wrong type is reported by its own rule. It shows that the field is not empty.
    let has_watch = match file.watch() {
        Field::Absent => false,
        Field::Present { value, .. } => says_something(value),
        Field::Mistyped { value, .. } => value.shape != Shape::Null,
    };
    let has_schedule = match file.schedule() {
        Field::Absent => false,
        Field::Present { value, .. } => !value.value.trim().is_empty(),
        Field::Mistyped { value, .. } => value.shape != Shape::Null,
    };
    subject.knows_all_fields() && !has_watch && !has_schedule
}
