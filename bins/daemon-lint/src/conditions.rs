//! The interpreter's verdicts on the conditions of a file, as data for the rules.

use daemon_spec::{DaemonFile, FieldList};
use daemon_validate::{ConditionStatus, ConditionVerdict, SpellingCorrection};
use daemon_watch::{
    EventPattern, Interpretation, Interpreter, Span, Status, TimeKind, names_unreported,
};

use crate::own_output::could_match_own_output;

/// Returns the verdicts on the entries of `watch` that are text, in order.
pub(crate) fn verdicts(interpreter: &dyn Interpreter, file: &DaemonFile) -> Vec<ConditionVerdict> {
    let conditions = file.watch().value().into_iter().flat_map(FieldList::texts);
    let routines: Vec<String> = file
        .routines()
        .value()
        .into_iter()
        .flat_map(FieldList::texts)
        .map(|routine| routine.value.to_lowercase())
        .collect();
    let mut meanings: Vec<Interpretation> = Vec::new();
    let mut acc = Vec::new();
    for condition in conditions {
        let meaning = interpreter.interpret(&condition.value);
        let mut verdict = verdict(&condition.value, &meaning);
        // All pairs are compared: a list has at most 256 entries.
        verdict.same_as = meanings
            .iter()
            .position(|earlier| earlier.means_the_same_as(&meaning));
        verdict.may_match_own_output = could_match_own_output(&meaning, &routines);
        meanings.push(meaning);
        acc.push(verdict);
    }
    acc
}

fn verdict(line: &str, meaning: &Interpretation) -> ConditionVerdict {
    let range = |span: &Span| span.start..span.end;
    let beyond = meaning.beyond_the_format();
    let corrections = meaning
        .corrections
        .iter()
        .map(|correction| SpellingCorrection {
            range: range(&correction.span),
            spelling: correction.replacement.clone(),
        })
        .collect();
    ConditionVerdict {
        remainder: meaning.remainder.iter().map(range).collect(),
        // For a line about time the suggestion is a schedule. Elapsed time has none, because no cron
        // expression describes an absence.
        suggestion: match &meaning.time {
            Some(TimeKind::Schedule(expression)) => expression.clone(),
            Some(TimeKind::Elapsed) => None,
            None => meaning.suggestion.clone(),
        },
        corrections,
        contradiction: contradiction(meaning).iter().map(range).collect(),
        instruction: meaning.instruction.as_ref().map(range),
        names_the_format: names_the_format(meaning, &beyond),
        beyond_the_format: beyond.iter().map(ToString::to_string).collect(),
        ..ConditionVerdict::new(status(line, meaning))
    }
}

fn status(line: &str, meaning: &Interpretation) -> ConditionStatus {
    match (meaning.status, &meaning.time) {
        (Status::Mapped, _) => ConditionStatus::Mapped,
        (Status::Partial, _) => ConditionStatus::Partial,
        (Status::Unmapped, _) if names_unreported(line) => ConditionStatus::Unmapped,
        (Status::Unmapped, _) => ConditionStatus::Unread,
        (Status::TimeBased, Some(TimeKind::Elapsed)) => ConditionStatus::Elapsed,
        (Status::TimeBased, _) => ConditionStatus::Time,
        (Status::Vague, _) => ConditionStatus::Vague,
    }
}

/// Returns the parts that exclude each other. A part that excludes itself is returned once.
fn contradiction(meaning: &Interpretation) -> Vec<Span> {
    let mut parts: Vec<Span> = meaning.contradiction().into_iter().flatten().collect();
    parts.dedup();
    parts
}

/// Returns `true` if an event is not among those beyond the format.
fn names_the_format(meaning: &Interpretation, beyond: &[EventPattern]) -> bool {
    let mut events = meaning.clauses.iter().flat_map(|clause| &clause.events);
    events.any(|event| !beyond.contains(event))
}
