//! The events of a clause: verbs, or other words that imply them.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::nouns::is_dependent;
use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod, NounHit, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::span::Span;

/// A verb with its position, or an implied verb.
#[derive(Clone)]
pub(super) struct Happening {
    pub(super) verbs: Vec<Verb>,
    pub(super) index: Option<usize>,
    pub(super) span: Span,
    pub(super) mark: Mark,
}

/// Earlier states that no payload contains: `an approved PR is merged`.
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

/// Whether a participle before its noun is an earlier state: another verb is the event.
fn is_earlier_state(reader: &Reader<'_>, draft: &Draft, index: usize) -> bool {
    let is_before_noun = |hit: &VerbHit| {
        reader.has_form(hit.at, Forms::PAST)
            && reader.is_attributive(hit.at)
            && hit.verbs.iter().any(|verb| PASTS.contains(verb))
    };
    is_before_noun(&draft.verbs[index]) && draft.verbs.iter().any(|hit| !is_before_noun(hit))
}

/// Returns the verbs of a clause, or those that nouns and `new` imply.
pub(super) fn happenings(
    reader: &mut Reader<'_>,
    draft: &Draft,
    primary: &[Noun],
) -> Vec<Happening> {
    let found = stated(reader, draft, primary);
    let span = reader.span(&draft.range);
    let implied = |(verbs, mark)| Happening {
        verbs,
        index: None,
        span,
        mark,
    };
    if found.is_empty() && draft.gains.is_some() {
        // A gain has many verbs: commits are pushed, stars given, labels added.
        let gained = gains_a_part(draft, primary).then(|| {
            let verbs = vec![Verb::Add, Verb::Create, Verb::Push, Verb::StarIt];
            implied((verbs, Mark::Exact))
        });
        return gained.into_iter().collect();
    }
    if draft.loses.is_some() {
        // The earlier state is not the event: `a pinned issue loses its assignee`.
        let verbs = draft.verbs.iter().filter(|hit| hit.forms.has(Forms::PAST));
        verbs.for_each(|hit| reader.release(hit.range.clone()));
        return vec![implied((vec![Verb::Remove], Mark::Exact))];
    }
    if !found.is_empty() {
        return found;
    }
    by_novelty(draft, primary)
        .or_else(|| by_value(draft, primary))
        .or_else(|| by_noun(reader, draft, primary))
        .map(implied)
        .into_iter()
        .collect()
}

/// Returns the verbs of a draft without earlier states, and releases the words of these.
fn stated(reader: &mut Reader<'_>, draft: &Draft, primary: &[Noun]) -> Vec<Happening> {
    let mut found: Vec<Happening> = Vec::new();
    let mut unread: Vec<usize> = Vec::new();
    for (index, hit) in draft.verbs.iter().enumerate() {
        if is_left_over(draft, index) {
            unread.push(index);
            continue;
        }
        if hit.verbs == [Verb::Touch] && !has_files(draft) || is_earlier_state(reader, draft, index)
        {
            unread.push(index);
            continue;
            // `a review is submitted that approves the PR` is one event, so the submission adds no second one.
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
    found
}

/// Whether the gained part follows `gets`, as in `an issue gets a label`.
fn gains_a_part(draft: &Draft, primary: &[Noun]) -> bool {
    let gains_itself = primary.iter().all(|noun| !is_dependent(*noun))
        && draft.parts.is_empty()
        && !primary.contains(&Noun::Release)
        && draft
            .is_new
            .zip(draft.gains)
            .is_none_or(|(new, gains)| new < gains);
    let gains_something = draft.gains.is_none_or(|gains| {
        draft.nouns.iter().any(|hit| hit.at > gains)
            || draft.parts.iter().any(|part| part.range.end > gains)
            || draft.is_new.is_some_and(|new| new > gains)
    });
    !gains_itself && gains_something
}

/// Implied verbs, and how certain they are.
type Implied = (Vec<Verb>, Mark);

/// The verbs that an approval or `new` implies.
fn by_novelty(draft: &Draft, primary: &[Noun]) -> Option<Implied> {
    if draft.parts.iter().any(|part| part.part == Part::Approval) {
        return Some((vec![Verb::Create], Mark::Exact));
    }
    draft.is_new?;
    // Drafts of releases are created too, so a new release is a published one.
    if primary == [Noun::Release] {
        return Some((vec![Verb::Publish], Mark::Inferred));
    }
    let verbs = vec![Verb::Create, Verb::Push, Verb::Fire, Verb::Publish];
    Some((verbs, Mark::Exact))
}

/// The verbs that files, a conclusion or a measured value imply.
fn by_value(draft: &Draft, primary: &[Noun]) -> Option<Implied> {
    if has_files(draft) && (primary.contains(&Noun::PullRequest) || draft.touches) {
        // A commit touches files when it is pushed, a pull request when it is opened or gets commits.
        let verb = if primary == [Noun::Commit] {
            Verb::Push
        } else {
            Verb::Touch
        };
        return Some((vec![verb], Mark::Exact));
    }
    let mut mods = draft.mods.iter();
    if mods.any(|hit| matches!(hit.kind, Mod::Conclusion(_))) || ends_in_value(draft, primary) {
        return Some((vec![Verb::Complete], Mark::Exact));
    }
    let mut mods = draft.mods.iter();
    let has_value = mods.any(|hit| matches!(hit.kind, Mod::Value(..)));
    (has_value && primary.contains(&Noun::MetricAlert)).then(|| (vec![Verb::Fire], Mark::Inferred))
}

/// The verbs of nouns that are events themselves: `a comment by a human`.
fn by_noun(reader: &Reader<'_>, draft: &Draft, primary: &[Noun]) -> Option<Implied> {
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
    // `code` alone names no event; commits do.
    let is_bare_code = primary == [Noun::Commit] && draft.nouns.iter().any(is_code);
    // `a tweet mentions us` names neither the mentioned user nor the place.
    let is_stray_mention = primary == [Noun::Mention]
        && draft.sources.is_empty()
        && !reader.units.iter().any(|unit| unit.is(Class::Bot))
        && !draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)));
    if primary.iter().any(happens) && !is_bare_code && !is_stray_mention {
        let verbs = vec![Verb::Create, Verb::Post, Verb::Push, Verb::Add];
        return Some((verbs, Mark::Inferred));
    }
    (primary.contains(&Noun::Alert) && !draft.sources.is_empty())
        .then(|| (vec![Verb::Fire], Mark::Inferred))
}

fn has_files(draft: &Draft) -> bool {
    let mut mods = draft.mods.iter();
    mods.any(|hit| matches!(hit.kind, Mod::Files(..)))
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

/// Whether a verb joined by `and` is a second condition on the same event: `opened and merged by a human`.
pub(super) fn is_left_over(draft: &Draft, index: usize) -> bool {
    draft.verbs.get(index).is_some_and(|hit| hit.is_sequel)
        // `issues opened and closed` in the plural are alternatives, as people write them.
        && !draft.nouns.iter().any(|noun| noun.plural)
        && !is_either_way(draft)
}
