//! The nouns that a clause is about although it names none.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod};
use crate::lexicon::Part;

/// The nouns of a clause that names none.
pub(super) fn implied_nouns(draft: &Draft, has_files: bool) -> Vec<Noun> {
    let verbs = |wanted: Verb| draft.verbs.iter().any(|hit| hit.verbs.contains(&wanted));
    let in_slack = draft
        .sources
        .iter()
        .any(|(source, _)| *source == Source::Slack)
        || draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)));
    let on_branch = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
    if draft.parts.iter().any(|part| part.part != Part::Team)
        || verbs(Verb::RequestChanges)
        || verbs(Verb::Approve)
        || verbs(Verb::ReadyForReview)
            && draft
                .mods
                .iter()
                .any(|hit| matches!(hit.kind, Mod::Is(Field::Draft, _)))
    {
        return vec![Noun::PullRequest];
    }
    if verbs(Verb::EnableAutoMerge) || verbs(Verb::DisableAutoMerge) || verbs(Verb::RequestReview) {
        return vec![Noun::PullRequest];
    }
    if verbs(Verb::MessageDirectly) {
        if verbs(Verb::Mention) {
            return vec![Noun::Mention, Noun::DirectMessage];
        }
        return vec![Noun::DirectMessage];
    }
    let in_linear = draft
        .sources
        .iter()
        .any(|(source, _)| *source == Source::Linear);
    if verbs(Verb::React) && in_linear {
        return vec![Noun::Reaction];
    }
    if verbs(Verb::Mention) && in_slack {
        return vec![Noun::Mention];
    }
    // `someone pushes to main` means commits; Slack has no pushes.
    if verbs(Verb::Push) && (on_branch || draft.agent.is_some()) && !in_slack
        || verbs(Verb::ForcePush)
    {
        return vec![Noun::Commit];
    }
    if has_files {
        return vec![Noun::File];
    }
    if on_branch && (verbs(Verb::Create) || verbs(Verb::Delete)) {
        return vec![Noun::Branch];
    }
    let moves = verbs(Verb::Update) || verbs(Verb::Push) || draft.gains.is_some();
    if on_branch && moves {
        return vec![Noun::Branch];
    }
    let writes = [
        Verb::Post,
        Verb::Reply,
        Verb::React,
        Verb::Mention,
        Verb::Comment,
        Verb::Join,
        Verb::Leave,
    ];
    if in_slack
        && (draft.verbs.is_empty() || writes.into_iter().any(verbs) || draft.agent.is_some())
    {
        if verbs(Verb::Join) || verbs(Verb::Leave) {
            return vec![Noun::Channel];
        }
        return vec![Noun::Message];
    }
    // A command without a noun is written in a comment: `someone says /deploy`.
    if verbs(Verb::Comment)
        || draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Test(Field::Comment, Op::Command, _)))
    {
        return vec![Noun::Comment];
    }
    if verbs(Verb::Mention) && draft.agent.is_some() {
        return vec![Noun::Mention];
    }
    Vec::new()
}
