//! What happens: the verbs, or what other words imply.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::nouns::is_dependent;
use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod, NounHit, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::span::Span;

/// A verb and its place, or one that the words imply.
#[derive(Clone)]
pub(super) struct Happening {
    pub(super) verbs: Vec<Verb>,
    pub(super) index: Option<usize>,
    pub(super) span: Span,
    pub(super) mark: Mark,
}

/// What no event tells of a thing to which something else happens: `an approved PR is merged`.
const PASTS: &[Verb] = &[
    Verb::Approve,
    Verb::Review,
    Verb::Pin,
    Verb::Lock,
    Verb::Archive,
    Verb::Label,
    Verb::Assign,
    Verb::Fail,
    Verb::Cancel,
];

/// Whether a participle before its noun says how that was before something else happens.
fn tells_a_past(reader: &Reader<'_>, draft: &Draft, index: usize) -> bool {
    let is_before_noun = |hit: &VerbHit| {
        reader.has_form(hit.at, Forms::PAST)
            && reader.is_attributive(hit.at)
            && hit.verbs.iter().any(|verb| PASTS.contains(verb))
    };
    is_before_noun(&draft.verbs[index]) && draft.verbs.iter().any(|hit| !is_before_noun(hit))
}

/// What happens: the verbs, or what nouns and `new` imply.
pub(super) fn happenings(
    reader: &mut Reader<'_>,
    draft: &Draft,
    primary: &[Noun],
) -> Vec<Happening> {
    let span = reader.span(&draft.range);
    let implied = |verbs: Vec<Verb>, mark: Mark| {
        vec![Happening {
            verbs,
            index: None,
            span,
            mark,
        }]
    };
    let mut found: Vec<Happening> = Vec::new();
    let mut unread: Vec<usize> = Vec::new();
    for (index, hit) in draft.verbs.iter().enumerate() {
        if is_left_over(draft, index) {
            unread.push(index);
            continue;
        }
        let has_files = draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Files(..)));
        if hit.verbs == [Verb::Touch] && !has_files || tells_a_past(reader, draft, index) {
            unread.push(index);
            continue;
        }
        let says_verdict = draft.verbs.iter().any(|other| {
            other.verbs.contains(&Verb::Approve) || other.verbs.contains(&Verb::RequestChanges)
        });
        let is_submission =
            says_verdict && primary.contains(&Noun::Review) && hit.verbs.contains(&Verb::Create);
        if is_submission {
            continue;
        }
        found.push(Happening {
            verbs: hit.verbs.clone(),
            index: Some(index),
            span: reader.span(&hit.range),
            mark: Mark::Exact,
        });
    }
    for index in unread {
        reader.release(draft.verbs[index].range.clone());
    }
    let gains_itself = primary.iter().all(|noun| !is_dependent(*noun))
        && draft.parts.is_empty()
        && !primary.contains(&Noun::Release)
        && draft
            .is_new
            .zip(draft.gains)
            .is_none_or(|(new, gains)| new < gains);
    if draft.gains.is_some() && found.is_empty() && gains_itself {
        return Vec::new();
    }
    let gains_something = draft.gains.is_none_or(|gains| {
        draft.nouns.iter().any(|hit| hit.at > gains)
            || draft.parts.iter().any(|part| part.range.end > gains)
            || draft.is_new.is_some_and(|new| new > gains)
    });
    if !gains_something && found.is_empty() {
        return Vec::new();
    }
    if draft.gains.is_some()
        && (found.is_empty()
            || found
                .iter()
                .all(|happening| happening.verbs.contains(&Verb::RequestReview)))
        && found.is_empty()
    {
        return implied(
            vec![Verb::Add, Verb::Create, Verb::Push, Verb::StarIt],
            Mark::Exact,
        );
    }
    if draft.loses.is_some() {
        // How it was before is not what happens: `a pinned issue loses its assignee`.
        let verbs = draft.verbs.iter().filter(|hit| hit.forms.has(Forms::PAST));
        verbs.for_each(|hit| reader.release(hit.range.clone()));
        return implied(vec![Verb::Remove], Mark::Exact);
    }
    if !found.is_empty() {
        return found;
    }
    if draft.parts.iter().any(|part| part.part == Part::Approval) {
        return implied(vec![Verb::Create], Mark::Exact);
    }
    if draft.is_new.is_some() && primary == [Noun::Release] {
        return implied(vec![Verb::Publish], Mark::Inferred);
    }
    if draft.is_new.is_some() {
        return implied(
            vec![Verb::Create, Verb::Push, Verb::Fire, Verb::Publish],
            Mark::Exact,
        );
    }
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    if has_files && (primary.contains(&Noun::PullRequest) || draft.touches) {
        let verb = if primary == [Noun::Commit] {
            Verb::Push
        } else {
            Verb::Touch
        };
        return implied(vec![verb], Mark::Exact);
    }
    if draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Conclusion(_)))
        || ends_in_value(draft, primary)
    {
        return implied(vec![Verb::Complete], Mark::Exact);
    }
    if draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Value(..)))
        && primary.contains(&Noun::MetricAlert)
    {
        return implied(vec![Verb::Fire], Mark::Inferred);
    }
    let happens = |noun: &Noun| {
        matches!(
            noun,
            Noun::Comment
                | Noun::ReviewComment
                | Noun::Message
                | Noun::Reply
                | Noun::Mention
                | Noun::DirectMessage
                | Noun::Commit
                | Noun::Reaction
                | Noun::Review
                | Noun::ProjectUpdate
                | Noun::DiscussionComment
                | Noun::CommitComment
        )
    };
    let is_code = |hit: &NounHit| {
        hit.nouns.contains(&Noun::Commit)
            && reader
                .unit(hit.at)
                .is_some_and(|unit| unit.text.contains("code"))
    };
    let is_bare_code = primary == [Noun::Commit] && draft.nouns.iter().any(is_code);
    // `a tweet mentions us`: a mention of nobody knows whom, nobody knows where.
    let is_stray_mention = primary == [Noun::Mention]
        && draft.sources.is_empty()
        && !reader.units.iter().any(|unit| unit.is(Class::Bot))
        && !draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)));
    if primary.iter().any(happens) && !is_bare_code && !is_stray_mention {
        return implied(
            vec![Verb::Create, Verb::Post, Verb::Push, Verb::Add],
            Mark::Inferred,
        );
    }
    if primary.contains(&Noun::Alert) && !draft.sources.is_empty() {
        return implied(vec![Verb::Fire], Mark::Inferred);
    }
    Vec::new()
}

/// A conclusion as a value: `ends in failure or timed_out`.
pub(super) fn ends_in_value(draft: &Draft, primary: &[Noun]) -> bool {
    let is_check = primary.iter().any(|noun| {
        matches!(
            noun,
            Noun::Check
                | Noun::CheckRun
                | Noun::CheckSuite
                | Noun::Status
                | Noun::Workflow
                | Noun::Job
                | Noun::Ci
        )
    });
    is_check
        && draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Value(..)))
}

pub(super) fn is_either_way(draft: &Draft) -> bool {
    draft.parts.iter().any(|part| part.part == Part::Label)
}

/// Whether a verb joined by `and` tells what must happen besides: `opened and merged by a human`.
pub(super) fn is_left_over(draft: &Draft, index: usize) -> bool {
    draft.verbs.get(index).is_some_and(|hit| hit.is_sequel)
        && !draft.nouns.iter().any(|noun| noun.plural)
        && !is_either_way(draft)
}
