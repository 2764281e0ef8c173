//! D300 to D311 and D601: the interpreter's verdicts on the conditions.

use std::collections::BTreeSet;
use std::ops::Range;

use daemon_spec::{Code, DaemonFile, Diagnostic, Field, FieldList, Fix, Span, Text};

use crate::prose::{folded, words};
use crate::report::report;
use crate::{ConditionStatus, ConditionVerdict, Subject};

// A condition can have 8 KiB. A message repeats only its beginning; the span covers all of it.
const MAX_SHOWN: usize = 80;
/// The code of words that were not understood.
pub(crate) const REMAINDER: Code = Code::new(305);
// A message names only the first places.
const MAX_PLACES: usize = 8;

pub(crate) fn vague(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let vague = with_status(subject, ConditionStatus::Vague);
    for (condition, verdict) in vague.filter(|(condition, _)| !is_state(&condition.value)) {
        let message = format!("`{}` names no event", shown(&condition.value));
        let help = match &verdict.suggestion {
            Some(phrase) => format!("name an event, such as `{phrase}`"),
            None => "name an event, such as `when a pull request is opened`".to_owned(),
        };
        acc.push(report(300, condition.span, message).with_help(help));
    }
}

pub(crate) fn state(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let vague = with_status(subject, ConditionStatus::Vague);
    for (condition, verdict) in vague.filter(|(condition, _)| is_state(&condition.value)) {
        let message = format!("`{}` is a state, not an event", shown(&condition.value));
        let help = match &verdict.suggestion {
            Some(phrase) => {
                format!("watch the event that changes it, such as `{phrase}`, or use `schedule`")
            }
            None => "watch the event that changes it, or check it on a `schedule`".to_owned(),
        };
        acc.push(report(301, condition.span, message).with_help(help));
    }
}

pub(crate) fn time(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in with_status(subject, ConditionStatus::Time) {
        let message = format!("`{}` is a time, not an event", shown(&condition.value));
        let help = match &verdict.suggestion {
            Some(schedule) => format!("write it as `schedule: \"{schedule}\"`"),
            None => "write it as five fields in `schedule`".to_owned(),
        };
        acc.push(report(302, condition.span, message).with_help(help));
    }
}

pub(crate) fn elapsed(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in with_status(subject, ConditionStatus::Elapsed) {
        let message = format!(
            "`{}` is elapsed time, not an event",
            shown(&condition.value)
        );
        let schedule = verdict.suggestion.as_deref().unwrap_or("0 9 * * *");
        acc.push(report(303, condition.span, message).with_help(format!(
            "wake on `schedule: \"{schedule}\"` and let a routine check for it"
        )));
    }
}

pub(crate) fn unmapped(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in with_status(subject, ConditionStatus::Unmapped) {
        let message = format!("no known source emits `{}`", shown(&condition.value));
        let sources = "the sources are GitHub, Linear, Slack, Sentry and git";
        let help = match &verdict.suggestion {
            Some(phrase) => format!("{sources}; nearest is `{phrase}`"),
            None => sources.to_owned(),
        };
        acc.push(report(304, condition.span, message).with_help(help));
    }
    for (condition, verdict) in with_status(subject, ConditionStatus::Unread) {
        let message = format!("`{}` was not understood", shown(&condition.value));
        let help = match &verdict.suggestion {
            Some(phrase) => format!("reword it; nearest is `{phrase}`"),
            None => "reword it as an event, such as `when a pull request is opened`".to_owned(),
        };
        acc.push(report(304, condition.span, message).with_help(help));
    }
}

pub(crate) fn remainder(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    // With another status the whole condition has a diagnostic already.
    for (condition, verdict) in with_status(subject, ConditionStatus::Partial) {
        for range in &verdict.remainder {
            let words = part(condition, range);
            acc.push(
                report(
                    305,
                    place(subject, condition, range),
                    format!("not understood: `{}`", shown(words)),
                )
                .with_help("it wakes without this, and the model has to confirm it; reword it"),
            );
        }
    }
}

/// Replaces the diagnostics of [`remainder`] in `acc[from..]` by one that names all places.
///
/// They have the same cause and the same remedy, and an author who accepts one accepts all.
pub(crate) fn join_remainders(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>, from: usize) {
    let mut found = acc.split_off(from);
    if found.len() < 2 {
        acc.append(&mut found);
        return;
    }
    found.sort_by_key(|one| one.span);
    let source = subject.file().source();
    let mut named: Vec<String> = found
        .iter()
        .take(MAX_PLACES)
        .map(|one| {
            let at = source.position(one.span.start);
            let words = one.message.trim_start_matches("not understood: ");
            format!("{words} ({}:{})", at.line, at.column)
        })
        .collect();
    if let Some(n_more) = found.len().checked_sub(MAX_PLACES).filter(|n| *n > 0) {
        named.push(format!("{n_more} more"));
    }
    let span = found.first().map_or(Span::at(0), |one| one.span);
    acc.push(
        report(305, span, format!("not understood: {}", named.join(", ")))
            .with_help("it wakes without these, and the model has to confirm them; reword them"),
    );
}

pub(crate) fn contradiction(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in verdicts(subject) {
        let parts: Vec<String> = verdict
            .contradiction
            .iter()
            .map(|range| format!("`{}`", shown(part(condition, range))))
            .collect();
        let Some(first) = verdict.contradiction.first() else {
            continue;
        };
        acc.push(
            report(
                306,
                place(subject, condition, first),
                "no event can satisfy this condition",
            )
            .with_help(format!("these exclude each other: {}", parts.join(", "))),
        );
    }
}

pub(crate) fn overlap(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let numbers = entry_numbers(subject.file());
    for (condition, verdict) in verdicts(subject) {
        let Some(earlier) = verdict.same_as.and_then(|earlier| numbers.get(earlier)) else {
            continue;
        };
        let message = format!("this means the same as entry {earlier} of `watch`");
        acc.push(report(307, condition.span, message).with_help("delete one"));
    }
}

pub(crate) fn instruction(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in verdicts(subject) {
        let Some(range) = &verdict.instruction else {
            continue;
        };
        let message = format!(
            "`{}` is an instruction inside a condition",
            shown(part(condition, range))
        );
        acc.push(
            report(308, place(subject, condition, range), message)
                .with_help("move it to `routines`"),
        );
    }
}

pub(crate) fn typo(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, verdict) in verdicts(subject) {
        for correction in &verdict.corrections {
            let word = part(condition, &correction.range);
            let span = place(subject, condition, &correction.range);
            let found = report(
                309,
                span,
                format!("read `{}` as `{}`", shown(word), correction.spelling),
            )
            .with_help(format!("write `{}`", correction.spelling));
            // In a folded or escaped string the span is wider than the word, so replacing it would
            // change other words. A spelling with other characters could need quotes.
            let is_exact = !word.is_empty() && subject.file().source().slice(span) == word;
            let is_word = correction
                .spelling
                .chars()
                .all(|c| c.is_alphanumeric() || "-_ ".contains(c));
            acc.push(if is_exact && is_word {
                found.with_fix(Fix::replace(
                    "accept the spelling",
                    span,
                    correction.spelling.as_str(),
                ))
            } else {
                found
            });
        }
    }
}

pub(crate) fn inert(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Field::Present { key, .. } = subject.file().watch() else {
        return;
    };
    let mut conditions = verdicts(subject).peekable();
    let is_silent =
        conditions.peek().is_some() && conditions.all(|(_, verdict)| !verdict.can_wake());
    if subject.knows_all_fields() && is_silent && !is_scheduled(subject) {
        acc.push(
            report(310, *key, "nothing can wake this daemon here")
                .with_help("see the diagnostics of its conditions"),
        );
    }
}

pub(crate) fn loops(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (condition, _) in verdicts(subject).filter(|(_, verdict)| verdict.may_match_own_output) {
        acc.push(
            report(
                311,
                condition.span,
                format!("its own output could match `{}`", shown(&condition.value)),
            )
            .with_help(
                "here a daemon never wakes on its own marked output; narrow it for other runtimes",
            ),
        );
    }
}

/// Reports a daemon that only events beyond the format wake, once for its list.
///
/// Under another runtime the schedule or the other conditions still wake a daemon that has them.
pub(crate) fn local_source(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let mut wakes = verdicts(subject).filter(|(_, verdict)| verdict.can_wake());
    if wakes.any(|(_, verdict)| verdict.names_the_format) || is_scheduled(subject) {
        return;
    }
    let mut beyond = verdicts(subject).filter(|(_, verdict)| !verdict.beyond_the_format.is_empty());
    let Some((first, verdict)) = beyond.next() else {
        return;
    };
    let mut events: Vec<&String> = verdict.beyond_the_format.iter().collect();
    let n_first = events.len();
    events.extend(beyond.flat_map(|(_, verdict)| &verdict.beyond_the_format));
    let message = if events.len() == n_first {
        let words = shown(&first.value);
        format!("the format gives no example of what `{words}` names")
    } else {
        "the format gives no example of any event that wakes this daemon".to_owned()
    };
    let mut seen = BTreeSet::new();
    events.retain(|event| seen.insert(*event));
    let named: Vec<String> = events.iter().map(|event| format!("`{event}`")).collect();
    let help = format!(
        "other runtimes may not know {}; a `schedule` wakes it there, see docs/portability.md",
        named.join(", ")
    );
    acc.push(report(601, first.span, message).with_help(help));
}

/// Returns `true` if a schedule can wake the daemon, or is intended to.
fn is_scheduled(subject: &Subject<'_>) -> bool {
    match subject.file().schedule() {
        Field::Absent => false,
        // One that never fires (D210) wakes nothing.
        Field::Present { value, .. } => {
            !value.value.trim().is_empty()
                && !subject
                    .schedule_findings()
                    .iter()
                    .any(|found| found.code.number() == 210)
        }
        // A schedule that cannot be read has a diagnostic of its own.
        Field::Mistyped { .. } => true,
    }
}

/// Returns the conditions that have a verdict.
fn verdicts<'a>(subject: &Subject<'a>) -> impl Iterator<Item = (&'a Text, &'a ConditionVerdict)> {
    let list = subject.file().watch().value();
    list.into_iter()
        .flat_map(FieldList::texts)
        .zip(subject.conditions())
        .filter(|(condition, _)| !condition.value.trim().is_empty())
}

fn with_status<'a>(
    subject: &Subject<'a>,
    status: ConditionStatus,
) -> impl Iterator<Item = (&'a Text, &'a ConditionVerdict)> {
    verdicts(subject).filter(move |(_, verdict)| verdict.status == status)
}

/// Returns the number of each condition as the author counts entries: from 1, including entries that
/// are not text.
fn entry_numbers(file: &DaemonFile) -> Vec<usize> {
    let entries = file
        .watch()
        .value()
        .map(|list| list.entries.as_slice())
        .unwrap_or_default();
    (1..)
        .zip(entries)
        .filter(|(_, entry)| entry.text().is_some())
        .map(|(number, _)| number)
        .collect()
}

// Verdicts come from outside, so a range outside the condition means the whole condition.
fn place(subject: &Subject<'_>, condition: &Text, range: &Range<usize>) -> Span {
    let is_inside = condition.value.get(range.clone()).is_some();
    let range = if is_inside {
        range.clone()
    } else {
        0..condition.value.len()
    };
    condition.place(subject.file().source(), range)
}

fn part<'a>(condition: &'a Text, range: &Range<usize>) -> &'a str {
    condition
        .value
        .get(range.clone())
        .unwrap_or(&condition.value)
}

/// Returns `true` for a state ("code quality is low"), and `false` for other lines without an event
/// ("code changes").
fn is_state(condition: &str) -> bool {
    const VERBS: [&str; 16] = [
        "is", "are", "was", "were", "isn't", "aren't", "has", "have", "hasn't", "haven't", "looks",
        "look", "seems", "seem", "remains", "stays",
    ];
    const BETWEEN: [&str; 10] = [
        "not", "been", "being", "too", "very", "so", "still", "no", "longer", "more",
    ];
    const STATES: [&str; 7] = [
        "outdated",
        "needed",
        "overloaded",
        "untested",
        "unreviewed",
        "undocumented",
        "unused",
    ];
    let folded = folded(condition);
    let mut words = words(&folded)
        .skip_while(|word| !VERBS.contains(word))
        .skip(1);
    words
        .find(|word| !BETWEEN.contains(word))
        .is_some_and(|word| {
            // A participle after the verb is an action ("is merged"), apart from a few that describe a
            // state ("is outdated").
            let is_participle = word.len() > 3 && word.ends_with("ed") && !STATES.contains(&word);
            !is_participle
        })
}

fn shown(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
