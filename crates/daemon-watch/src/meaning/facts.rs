//! The field in which an event holds a name or a value, and whether it can hold a fact.

use daemon_event::vocabulary::{self, EventKind, Noun, Verb};
use daemon_event::{Field, Source};

use super::atom::RowOfEvent;
use super::part::{Part, value_field};
use super::topic::takes_name;
use crate::filter::{Op, Test};

/// Returns the comparison with the name of a check, a job or a workflow, if events of the kind contain it.
pub(crate) fn name_test(event: &RowOfEvent, values: &[String]) -> Option<Test> {
    let field = match (event.kind, event.noun) {
        ("workflow_run" | "deployment_review", _) => Field::Workflow,
        ("workflow_dispatch", _) => {
            let is_file = |value: &String| value.ends_with(".yml") || value.ends_with(".yaml");
            values.iter().all(is_file).then_some(())?;
            let globs = values.iter().map(|value| format!("**/{value}")).collect();
            return Some(Test::new(Field::Workflow, Op::Matches, globs));
        }
        ("check_suite", _) => Field::Name,
        (_, Noun::Branch) => return Some(name_of(Field::Branch, values)),
        (_, Noun::Tag) => return Some(name_of(Field::Tag, values)),
        (_, Noun::Release) => {
            let is_version = |value: &String| {
                value.contains(['*', '/', BEGINS])
                    || value
                        .trim_start_matches('v')
                        .starts_with(|c: char| c.is_ascii_digit())
            };
            let is_tag = values.iter().all(is_version);
            return Some(name_of(
                if is_tag { Field::Tag } else { Field::Title },
                values,
            ));
        }
        (_, Noun::Milestone) => Field::Milestone,
        _ if !takes_name(event.noun) => Field::Name,
        _ => Field::Check,
    };
    Some(name_of(field, values))
}

fn name_of(field: Field, values: &[String]) -> Test {
    let (op, values) = name_op(values);
    Test::new(field, op, values)
}

/// Marks a name of which only the beginning is known; no branch or tag contains it.
pub(crate) const BEGINS: char = '^';

/// Returns the comparison that names ask for: of a beginning, of a pattern or of the whole name.
pub(crate) fn name_op(names: &[String]) -> (Op, Vec<String>) {
    let begun: Option<Vec<String>> = names
        .iter()
        .map(|name| name.strip_prefix(BEGINS).map(str::to_owned))
        .collect();
    if let Some(begun) = begun {
        return (Op::Begins, begun);
    }
    let glob = |name: &String| match name.strip_prefix(BEGINS) {
        // One star stays in a part of a name, and a folder of branches has parts.
        Some(begun) if begun.ends_with('/') => format!("{begun}**"),
        Some(begun) => format!("{begun}*"),
        None => name.clone(),
    };
    let globs: Vec<String> = names.iter().map(glob).collect();
    let is_glob = globs.iter().any(|name| name.contains('*'));
    (if is_glob { Op::Matches } else { Op::Is }, globs)
}

/// A value of an attribute, in the field and the spelling of an event's kind.
pub(crate) fn value_test(
    event: &RowOfEvent,
    part: Option<Part>,
    values: &[String],
) -> Option<Test> {
    let (field, values) = value_field(event.source, event.kind, part, values)?;
    Some(Test::new(field, Op::Is, values))
}

/// Whether an event of a kind can hold a fact.
pub(crate) fn tells(source: Source, kind: &str, field: Field) -> bool {
    vocabulary::kind(source, kind).is_some_and(|kind: &EventKind| kind.can_hold(field))
}

/// Whether the actor is the author, as in Slack.
pub(crate) fn is_said(noun: Noun, verb: Verb) -> bool {
    matches!(
        noun,
        Noun::Message | Noun::Reply | Noun::DirectMessage | Noun::Mention
    ) && matches!(verb, Verb::Create | Verb::Add | Verb::Post | Verb::Reply)
}

/// Whether a noun has a row of the vocabulary with a verb.
pub(crate) fn has_row(noun: Noun, verb: Verb) -> bool {
    vocabulary::rows(noun)
        .iter()
        .any(|(_, row)| row.verbs.contains(&verb))
}
