//! Parts of issues and pull requests that are added, removed or changed.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::happening::Happening;
use super::subject::Subject;
use super::subject::{has_row, verb_extras};
use crate::filter::Op;
use crate::grammar::draft::{Draft, PartHit};
use crate::grammar::reader::Reader;
use crate::lexicon::Part;
use crate::span::Span;

/// Returns the subjects for a changed part.
pub(super) fn of_part(
    reader: &Reader<'_>,
    draft: &Draft,
    part: &PartHit,
    owners: &[Noun],
    happening: &Happening,
) -> Vec<Subject> {
    let has = |verb: Verb| happening.verbs.contains(&verb);
    let adds = has(Verb::Add)
        || has(Verb::Create)
        || has(Verb::Post)
        || has(Verb::Label) && part.part != Part::Label;
    let removes = has(Verb::Remove) || has(Verb::Delete);
    let span = reader.span(&part.range);
    let hit = happening.index.map(|index| &draft.verbs[index]);
    let values = hit.map(|hit| hit.values.clone()).unwrap_or_default();
    let owners: Vec<Noun> = if owners.is_empty() {
        vec![Noun::PullRequest, Noun::Issue]
    } else {
        owners.to_vec()
    };
    // `a label is created` defines it for the repository; `a label is added to a PR` does not.
    let defines = part.part == Part::Label
        && !draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::PullRequest | Noun::Issue | Noun::Discussion))
        })
        && draft.agent.as_ref().is_none_or(|_| !has(Verb::Add))
        && (has(Verb::Create) && !has(Verb::Add)
            || has(Verb::Delete)
            || has(Verb::Rename)
            || has(Verb::Edit));
    if defines {
        return vec![definition(reader, part, happening)];
    }
    let mut subjects = Vec::new();
    let owners: Vec<Noun> = owners
        .into_iter()
        .map(|noun| match (noun, part.part) {
            // The status of a commit and of a deployment has events of its own.
            (Noun::Commit, Part::Status) => Noun::Status,
            (Noun::Deployment, Part::Status) => Noun::DeploymentStatus,
            (noun, _) => noun,
        })
        .collect();
    for noun in owners {
        let mut subject = Subject {
            verb_index: happening.index,
            mark: happening.mark,
            ..Subject::plain(noun, Verb::Edit, happening.span)
        };
        let verb = match part.part {
            Part::Label if removes || has(Verb::Unlabel) => Verb::Unlabel,
            Part::Label if adds || has(Verb::Label) => Verb::Label,
            Part::Label if changes(happening) => Verb::Relabel,
            Part::Assignee if removes => Verb::Unassign,
            Part::Assignee if adds || has(Verb::Assign) => Verb::Assign,
            // GitHub has no event for a changed assignee: the assignment and its removal are the change.
            Part::Assignee => Verb::Reassign,
            Part::Reviewer if removes => Verb::UnrequestReview,
            Part::Reviewer if adds || has(Verb::Request) || has(Verb::Assign) => {
                Verb::RequestReview
            }
            Part::Approval => Verb::Approve,
            Part::Title | Part::Body | Part::Base | Part::Name
                if changes(happening) || adds || removes =>
            {
                Verb::Edit
            }
            Part::Priority
            | Part::Estimate
            | Part::DueDate
            | Part::Cycle
            | Part::Team
            | Part::TargetDate
            | Part::StartDate
            | Part::Lead
            | Part::Parent
            | Part::Members
            | Part::Health
                if matches!(noun, Noun::Issue | Noun::Project)
                    && (changes(happening) || adds || removes) =>
            {
                Verb::Update
            }

            Part::Category if noun == Noun::Discussion && changes(happening) => Verb::Recategorize,
            Part::Status
                if matches!(noun, Noun::Status | Noun::DeploymentStatus)
                    && (changes(happening) || adds) =>
            {
                Verb::Change
            }
            Part::Status if changes(happening) || adds || has(Verb::Move) => Verb::Move,
            _ => continue,
        };
        subject.verb = verb;
        // Not every noun has every part: issues have no reviewers.
        if !has_row(noun, verb) {
            continue;
        }
        let negated = hit.is_some_and(|hit| hit.negated_values);
        part_extras(part, &mut subject, (span, negated), &values);
        if part.part == Part::Status && values.is_empty() && !part.values.is_empty() {
            let op = if part.negated { Op::IsNot } else { Op::Is };
            subject.require(Field::State, op, &part.values, span);
        }
        verb_extras(
            reader,
            draft,
            &mut subject,
            hit.filter(|_| part.part != Part::Label),
        );
        subjects.push(subject);
    }
    subjects
}

/// A label of the repository that is created, renamed or deleted, whether or not an issue has it.
fn definition(reader: &Reader<'_>, part: &PartHit, happening: &Happening) -> Subject {
    let has = |verb: Verb| happening.verbs.contains(&verb);
    let verb = match () {
        () if has(Verb::Delete) => Verb::Delete,
        () if has(Verb::Create) => Verb::Create,
        () => Verb::Rename,
    };
    let mut subject = Subject {
        verb_index: happening.index,
        mark: happening.mark,
        ..Subject::plain(Noun::RepositoryLabel, verb, happening.span)
    };
    if !part.values.is_empty() {
        let op = if part.negated { Op::IsNot } else { Op::Is };
        subject.require(Field::Name, op, &part.values, reader.span(&part.range));
    }
    subject
}

pub(super) fn changes(happening: &Happening) -> bool {
    happening.verbs.iter().any(|verb| {
        matches!(
            verb,
            Verb::Change
                | Verb::Update
                | Verb::Edit
                | Verb::Move
                | Verb::Touch
                | Verb::Prioritize
                | Verb::Rename
        )
    })
}

pub(super) fn part_extras(
    part: &PartHit,
    subject: &mut Subject,
    (span, negated): (Span, bool),
    values: &[String],
) {
    let op = if part.negated { Op::IsNot } else { Op::Is };
    let changed = |subject: &mut Subject, name: &str| {
        // With a value, the negation belongs to the value and not to the change.
        let is_attribute = part.values.is_empty();
        let op = if is_attribute { op } else { Op::Is };
        subject.require(Field::Changed, op, &[name.to_owned()], span);
    };
    match part.part {
        Part::Label if !part.values.is_empty() => {
            let field = match subject.verb {
                Verb::Label => Field::LabelAdded,
                Verb::Unlabel => Field::LabelRemoved,
                _ => Field::Labels,
            };
            subject.require(field, op, &part.values, span);
        }
        Part::Title => changed(subject, "title"),
        Part::Body => changed(subject, "body"),
        Part::Base => changed(subject, "base"),
        Part::Name => changed(subject, "name"),
        Part::Priority => {
            changed(subject, "priority");
            subject.sources.retain(|source| *source == Source::Linear);
            let values = if values.is_empty() {
                &part.values
            } else {
                values
            };
            if !values.is_empty() {
                let op = if negated || part.negated {
                    Op::IsNot
                } else {
                    Op::Is
                };
                subject.require(Field::Priority, op, values, span);
            }
        }
        Part::Estimate => linear_attribute(subject, "estimate", span),
        Part::DueDate => linear_attribute(subject, "due date", span),
        Part::Cycle => linear_attribute(subject, "cycle", span),
        Part::Team => linear_attribute(subject, "team", span),
        Part::TargetDate => linear_attribute(subject, "target date", span),
        Part::StartDate => linear_attribute(subject, "start date", span),
        Part::Lead => linear_attribute(subject, "lead", span),
        Part::Parent => linear_attribute(subject, "parent", span),
        Part::Members => linear_attribute(subject, "members", span),
        Part::Health => {
            linear_attribute(subject, "health", span);
            let values = if values.is_empty() {
                &part.values
            } else {
                values
            };
            if !values.is_empty() {
                let op = if negated || part.negated {
                    Op::IsNot
                } else {
                    Op::Is
                };
                subject.require(Field::Health, op, values, span);
            }
        }
        _ => {}
    }
}

pub(super) fn linear_attribute(subject: &mut Subject, name: &str, span: Span) {
    subject.require(Field::Changed, Op::Is, &[name.to_owned()], span);
    subject.sources.retain(|source| *source == Source::Linear);
}
