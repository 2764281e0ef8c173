//! Nouns and verbs that make another noun together, and what a parent adds.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::happening::Happening;
use super::subject::Subject;
use super::subject::has_row;
use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod};

/// Verbs that make another noun of theirs: to comment on a pull request is to create a comment.
pub(super) fn compose(
    draft: &Draft,
    noun: Noun,
    parents: &[Noun],
    happening: &Happening,
) -> (Noun, Vec<Verb>, Vec<Noun>) {
    let has = |verb: Verb| happening.verbs.contains(&verb);
    let mut parents = parents.to_vec();
    let inline = draft.mods.iter().any(|hit| hit.kind == Mod::Inline);
    let is_in_discussion = parents.contains(&Noun::Discussion);
    let mut on = |noun: Noun| {
        parents.push(noun);
        parents.clone()
    };
    if has(Verb::Comment) {
        let comment = match noun {
            Noun::Discussion => Noun::DiscussionComment,
            Noun::Commit => Noun::CommitComment,
            _ if inline => Noun::ReviewComment,
            _ => Noun::Comment,
        };
        let parents = if noun == Noun::Comment {
            parents
        } else {
            on(noun)
        };
        return (comment, vec![Verb::Create], parents);
    }
    if noun == Noun::Reply && has(Verb::Mention) {
        return (Noun::Mention, vec![Verb::Create], parents);
    }
    if noun == Noun::Comment && has(Verb::Reply) {
        return (noun, vec![Verb::Create], parents);
    }
    if noun == Noun::Emoji
        && draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::Message | Noun::Comment))
        })
    {
        return (Noun::Reaction, happening.verbs.clone(), parents);
    }
    let in_linear = draft
        .sources
        .iter()
        .any(|(source, _)| *source == Source::Linear);
    if noun == Noun::ReviewThread && in_linear {
        return (Noun::Comment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Issue
        && has(Verb::Add)
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::GithubProject))
    {
        return (
            Noun::ProjectItem,
            vec![Verb::Create],
            vec![Noun::GithubProject],
        );
    }
    if noun == Noun::Issue && has(Verb::Leave) && in_linear {
        return (noun, vec![Verb::Move], parents);
    }
    let joins_project = draft.mods.iter().any(|hit| {
        hit.n_verbs > 0 && matches!(hit.kind, Mod::Is(Field::Project | Field::Cycle, _))
    });
    if noun == Noun::Issue && joins_project && (has(Verb::Add) || has(Verb::Move)) {
        return (noun, vec![Verb::Update], parents);
    }
    let answers = has(Verb::Reply) && !has(Verb::Answer) || noun == Noun::Reply;
    if answers && (noun == Noun::Discussion || is_in_discussion) {
        return (
            Noun::DiscussionComment,
            vec![Verb::Create],
            on(Noun::Discussion),
        );
    }
    if has(Verb::Reply) && matches!(noun, Noun::Issue | Noun::PullRequest) && !has(Verb::Answer) {
        return (Noun::Comment, vec![Verb::Create], on(noun));
    }
    if has(Verb::Attach) && noun == Noun::Issue && draft.parts.is_empty() {
        return (Noun::Attachment, vec![Verb::Create], on(noun));
    }
    if noun == Noun::Reaction && has(Verb::React) {
        return (noun, vec![Verb::Create, Verb::React], parents);
    }
    if has(Verb::Start)
        && draft.is_new.is_some()
        && matches!(noun, Noun::Project | Noun::Initiative)
    {
        // What is new and started comes into being.
        return (noun, vec![Verb::Create], parents);
    }
    let writes = has(Verb::Post)
        && draft.mods.iter().any(|hit| {
            matches!(
                hit.kind,
                Mod::Test(Field::Comment, Op::Command, _) | Mod::Text(None, _)
            )
        });
    if writes && matches!(noun, Noun::PullRequest | Noun::Issue | Noun::Discussion) {
        let comment = if noun == Noun::Discussion {
            Noun::DiscussionComment
        } else {
            Noun::Comment
        };
        return (comment, vec![Verb::Create], on(noun));
    }
    let brings_commits = has(Verb::Push) || has(Verb::Add) || has(Verb::Create);
    if noun == Noun::Commit && parents.contains(&Noun::PullRequest) && brings_commits {
        return (Noun::PullRequest, vec![Verb::Synchronize], Vec::new());
    }
    if noun == Noun::PullRequest && has(Verb::Push) && !has(Verb::Merge) && !has(Verb::Create) {
        return (Noun::PullRequest, vec![Verb::Synchronize], Vec::new());
    }
    if noun == Noun::PullRequest && has(Verb::Synchronize) {
        return (noun, vec![Verb::Synchronize], parents);
    }
    if noun == Noun::Review && (has(Verb::Request) || has(Verb::RequestReview)) {
        return (Noun::PullRequest, vec![Verb::RequestReview], Vec::new());
    }
    if noun == Noun::PullRequest
        && has(Verb::Request)
        && (draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Target(_) | Mod::Team(_)))
            || draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.contains(&Noun::Review)))
    {
        return (noun, vec![Verb::RequestReview], parents);
    }
    if noun == Noun::Review && (has(Verb::Approve) || has(Verb::RequestChanges)) {
        return (Noun::PullRequest, happening.verbs.clone(), Vec::new());
    }
    if noun == Noun::Comment && inline && parents.iter().all(|parent| *parent == Noun::PullRequest)
    {
        return (Noun::ReviewComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Comment && parents.contains(&Noun::Discussion) {
        return (Noun::DiscussionComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Comment && parents.contains(&Noun::Commit) {
        return (Noun::CommitComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Channel
        && has(Verb::Add)
        && draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)))
    {
        return (noun, vec![Verb::Join], parents);
    }
    if has(Verb::Retarget) {
        return (noun, vec![Verb::Edit], parents);
    }
    if noun == Noun::Message && has(Verb::Mention) {
        return (Noun::Mention, vec![Verb::Create], parents);
    }
    if noun == Noun::Mention {
        return (noun, vec![Verb::Create], parents);
    }
    if noun == Noun::Message && (has(Verb::Move) || has(Verb::Push)) && !has(Verb::Change) {
        return (noun, vec![Verb::Post], parents);
    }
    if noun == Noun::DirectMessage {
        return (noun, vec![Verb::Post], parents);
    }
    if noun == Noun::Reply {
        return (noun, vec![Verb::Post], parents);
    }
    if noun == Noun::Message
        && draft.agent.is_some()
        && !has(Verb::React)
        && !has_known_message_verb(happening)
    {
        return (noun, vec![Verb::Post], parents);
    }
    if matches!(noun, Noun::Issue)
        && (has(Verb::Add) || has(Verb::Move))
        && draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::Cycle | Noun::Project | Noun::Milestone))
        })
    {
        let milestone = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone));
        return (
            noun,
            vec![if milestone {
                Verb::Milestone
            } else {
                Verb::Update
            }],
            parents,
        );
    }
    if matches!(noun, Noun::Issue | Noun::PullRequest)
        && has(Verb::Remove)
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone))
    {
        return (noun, vec![Verb::Demilestone], parents);
    }
    if noun == Noun::PullRequest
        && has(Verb::Add)
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone))
    {
        return (noun, vec![Verb::Milestone], parents);
    }
    (noun, happening.verbs.clone(), parents)
}

pub(super) fn has_known_message_verb(happening: &Happening) -> bool {
    happening
        .verbs
        .iter()
        .any(|verb| has_row(Noun::Message, *verb))
}

/// What a parent adds: the sources, and whether a comment or a check is on a pull request.
pub(super) fn on_parents(draft: &Draft, subject: &mut Subject) {
    let parents = subject.parents.clone();
    let on = |noun: Noun| parents.contains(&noun);
    let span = subject.span;
    let pull = on(Noun::PullRequest);
    let issue = on(Noun::Issue);
    match subject.noun {
        Noun::Comment => {
            let top_level = draft.mods.iter().any(|hit| hit.kind == Mod::TopLevel);
            let only_linear = draft
                .sources
                .iter()
                .all(|(source, _)| *source == Source::Linear)
                && !draft.sources.is_empty();
            if top_level && only_linear {
                subject.require(Field::Reply, Op::Is, &["false".to_owned()], span);
            } else if top_level {
                // Conversation comments only: those on a diff are another kind.
                subject.require(Field::CommentOn, Op::Is, &["pull_request".to_owned()], span);
                subject.without = Some("pull_request_review_comment");
                subject.sources.retain(|source| *source == Source::Github);
            } else if pull && !issue {
                subject.require(Field::CommentOn, Op::Is, &["pull_request".to_owned()], span);
                subject.sources.retain(|source| *source == Source::Github);
            } else if issue && !pull {
                subject.require(Field::CommentOn, Op::Is, &["issue".to_owned()], span);
                subject.without = Some("pull_request_review_comment");
            }
        }
        Noun::Check
        | Noun::CheckRun
        | Noun::CheckSuite
        | Noun::Status
        | Noun::Workflow
        | Noun::Ci
            if pull =>
        {
            subject.require(Field::PullRequests, Op::Present, &[], span);
        }
        Noun::Reaction if pull || issue => subject.sources.clear(),
        Noun::Issue if on(Noun::Cycle) && subject.verb == Verb::Update => {
            let mut names = vec!["cycle".to_owned()];
            names.extend(on(Noun::Project).then(|| "project".to_owned()));
            subject.require(Field::Changed, Op::Is, &names, span);
        }
        Noun::Issue
            if subject.verb == Verb::Update
                && draft.mods.iter().any(|hit| {
                    hit.n_verbs > 0 && matches!(hit.kind, Mod::Is(Field::Project, _))
                })
                && draft.verbs.iter().any(|hit| {
                    hit.verbs.contains(&Verb::Add) || hit.verbs.contains(&Verb::Move)
                })
                && draft
                    .verbs
                    .iter()
                    .all(|hit| !hit.verbs.contains(&Verb::Update)) =>
        {
            subject.require(Field::Changed, Op::Is, &["project".to_owned()], span);
            subject.sources.retain(|source| *source == Source::Linear);
        }
        Noun::Issue if on(Noun::Project) && subject.verb == Verb::Update => {
            subject.require(Field::Changed, Op::Is, &["project".to_owned()], span);
        }
        _ => {}
    }
    if subject.noun == Noun::Issue
        && subject.verb == Verb::Update
        && (on(Noun::Cycle) || on(Noun::Project))
    {
        subject.sources.retain(|source| *source == Source::Linear);
    }
    if matches!(subject.verb, Verb::Edit)
        && draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Retarget))
    {
        subject.require(Field::Changed, Op::Is, &["base".to_owned()], span);
    }
}
