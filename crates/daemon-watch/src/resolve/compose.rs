//! Nouns and verbs that form another noun together, and filters for parents.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::happening::Happening;
use super::subject::Subject;
use super::subject::has_row;
use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod};

/// A noun, its verbs, and its parents.
type Composed = (Noun, Vec<Verb>, Vec<Noun>);

/// Replaces nouns and verbs by the noun of the event: to comment on a pull request is to create a comment.
pub(super) fn compose(
    draft: &Draft,
    noun: Noun,
    parents: &[Noun],
    happening: &Happening,
) -> Composed {
    let words = Words {
        draft,
        noun,
        parents,
        happening,
    };
    words
        .comments()
        .or_else(|| words.linear_places())
        .or_else(|| words.replies())
        .or_else(|| words.things_created())
        .or_else(|| words.commits())
        .or_else(|| words.reviews())
        .or_else(|| words.comments_of_parents())
        .or_else(|| words.messages())
        .or_else(|| words.plans())
        .unwrap_or_else(|| words.keeps(happening.verbs.clone()))
}

/// A noun with its parents, its verbs and its draft.
struct Words<'a> {
    draft: &'a Draft,
    noun: Noun,
    parents: &'a [Noun],
    happening: &'a Happening,
}

impl Words<'_> {
    fn has(&self, verb: Verb) -> bool {
        self.happening.verbs.contains(&verb)
    }

    fn names(&self, noun: Noun) -> bool {
        let nouns = &self.draft.nouns;
        nouns.iter().any(|hit| hit.nouns.contains(&noun))
    }

    fn is_inline(&self) -> bool {
        self.draft.mods.iter().any(|hit| hit.kind == Mod::Inline)
    }

    fn is_in_linear(&self) -> bool {
        let sources = &self.draft.sources;
        sources.iter().any(|(source, _)| *source == Source::Linear)
    }

    /// The same noun with other verbs.
    fn keeps(&self, verbs: Vec<Verb>) -> Composed {
        (self.noun, verbs, self.parents.to_vec())
    }

    /// Another noun with the same parents.
    fn becomes(&self, noun: Noun, verbs: Vec<Verb>) -> Composed {
        (noun, verbs, self.parents.to_vec())
    }

    /// Another noun that is created on this parent.
    fn created_on(&self, noun: Noun, parent: Noun) -> Composed {
        let mut parents = self.parents.to_vec();
        parents.push(parent);
        (noun, vec![Verb::Create], parents)
    }

    /// `comments on a commit`, `a comment gets a reply`, `an emoji on a message`.
    fn comments(&self) -> Option<Composed> {
        let noun = self.noun;
        if self.has(Verb::Comment) {
            let comment = match noun {
                Noun::Discussion => Noun::DiscussionComment,
                // GitHub's comments on commits and discussions have kinds of their own.
                Noun::Commit => Noun::CommitComment,
                _ if self.is_inline() => Noun::ReviewComment,
                _ => Noun::Comment,
            };
            return Some(if noun == Noun::Comment {
                self.becomes(comment, vec![Verb::Create])
            } else {
                self.created_on(comment, noun)
            });
        }
        if noun == Noun::Reply && self.has(Verb::Mention) {
            return Some(self.becomes(Noun::Mention, vec![Verb::Create]));
        }
        if noun == Noun::Comment && self.has(Verb::Reply) {
            return Some(self.keeps(vec![Verb::Create]));
        }
        if noun == Noun::Emoji && (self.names(Noun::Message) || self.names(Noun::Comment)) {
            return Some(self.becomes(Noun::Reaction, self.happening.verbs.clone()));
        }
        // Linear has no reviews, so a review thread there is one of comments.
        (noun == Noun::ReviewThread && self.is_in_linear())
            .then(|| self.becomes(Noun::Comment, self.happening.verbs.clone()))
    }

    /// `an issue is added to a project`, `an issue leaves a state of Linear`.
    fn linear_places(&self) -> Option<Composed> {
        if self.noun != Noun::Issue {
            return None;
        }
        if self.has(Verb::Add) && self.names(Noun::GithubProject) {
            return Some((
                Noun::ProjectItem,
                vec![Verb::Create],
                vec![Noun::GithubProject],
            ));
        }
        // Linear reports the move, not the state before it.
        if self.has(Verb::Leave) && self.is_in_linear() {
            return Some(self.keeps(vec![Verb::Move]));
        }
        let joins_project = self.draft.mods.iter().any(|hit| {
            hit.n_verbs > 0 && matches!(hit.kind, Mod::Is(Field::Project | Field::Cycle, _))
        });
        (joins_project && (self.has(Verb::Add) || self.has(Verb::Move)))
            .then(|| self.keeps(vec![Verb::Update]))
    }

    /// `replies to a discussion`, `responds to an issue`.
    fn replies(&self) -> Option<Composed> {
        let noun = self.noun;
        let replies = self.has(Verb::Reply) && !self.has(Verb::Answer);
        let is_in_discussion = noun == Noun::Discussion || self.parents.contains(&Noun::Discussion);
        if (replies || noun == Noun::Reply) && is_in_discussion {
            return Some(self.created_on(Noun::DiscussionComment, Noun::Discussion));
        }
        (replies && matches!(noun, Noun::Issue | Noun::PullRequest))
            .then(|| self.created_on(Noun::Comment, noun))
    }

    /// `a file is attached to an issue`, `a new project is started`, `posts /fix on a pull request`.
    fn things_created(&self) -> Option<Composed> {
        let (draft, noun) = (self.draft, self.noun);
        if self.has(Verb::Attach) && noun == Noun::Issue && draft.parts.is_empty() {
            return Some(self.created_on(Noun::Attachment, noun));
        }
        if noun == Noun::Reaction && self.has(Verb::React) {
            return Some(self.keeps(vec![Verb::Create, Verb::React]));
        }
        if self.has(Verb::Start)
            && draft.is_new.is_some()
            && matches!(noun, Noun::Project | Noun::Initiative)
        {
            // A new project that is started is created, not moved to a started state.
            return Some(self.keeps(vec![Verb::Create]));
        }
        let writes = self.has(Verb::Post)
            && draft.mods.iter().any(|hit| {
                matches!(
                    hit.kind,
                    Mod::Test(Field::Comment, Op::Command, _) | Mod::Text(None, _)
                )
            });
        let comment = match noun {
            Noun::Discussion => Noun::DiscussionComment,
            Noun::PullRequest | Noun::Issue => Noun::Comment,
            _ => return None,
        };
        writes.then(|| self.created_on(comment, noun))
    }

    /// `a commit is pushed to a pull request`.
    fn commits(&self) -> Option<Composed> {
        let noun = self.noun;
        let brings_commits = self.has(Verb::Push) || self.has(Verb::Add) || self.has(Verb::Create);
        if noun == Noun::Commit && self.parents.contains(&Noun::PullRequest) && brings_commits {
            return Some((Noun::PullRequest, vec![Verb::Synchronize], Vec::new()));
        }
        if noun != Noun::PullRequest {
            return None;
        }
        if self.has(Verb::Push) && !self.has(Verb::Merge) && !self.has(Verb::Create) {
            return Some((noun, vec![Verb::Synchronize], Vec::new()));
        }
        self.has(Verb::Synchronize)
            .then(|| self.keeps(vec![Verb::Synchronize]))
    }

    /// `a review is requested`, `an approving review`.
    fn reviews(&self) -> Option<Composed> {
        let noun = self.noun;
        if noun == Noun::Review && (self.has(Verb::Request) || self.has(Verb::RequestReview)) {
            return Some((Noun::PullRequest, vec![Verb::RequestReview], Vec::new()));
        }
        let asks_somebody = || {
            let mut mods = self.draft.mods.iter();
            mods.any(|hit| matches!(hit.kind, Mod::Target(_) | Mod::Team(_)))
        };
        if noun == Noun::PullRequest
            && self.has(Verb::Request)
            && (asks_somebody() || self.names(Noun::Review))
        {
            return Some(self.keeps(vec![Verb::RequestReview]));
        }
        let is_verdict = self.has(Verb::Approve) || self.has(Verb::RequestChanges);
        // The vocabulary lists verdicts as verbs of pull requests.
        (noun == Noun::Review && is_verdict)
            .then(|| (Noun::PullRequest, self.happening.verbs.clone(), Vec::new()))
    }

    /// Comments whose kind depends on their parent.
    fn comments_of_parents(&self) -> Option<Composed> {
        if self.noun != Noun::Comment {
            return None;
        }
        let is_on_pull_requests = || {
            self.parents
                .iter()
                .all(|parent| *parent == Noun::PullRequest)
        };
        let comment = if self.is_inline() && is_on_pull_requests() {
            Noun::ReviewComment
        } else if self.parents.contains(&Noun::Discussion) {
            Noun::DiscussionComment
        } else if self.parents.contains(&Noun::Commit) {
            Noun::CommitComment
        } else {
            return None;
        };
        Some(self.becomes(comment, self.happening.verbs.clone()))
    }

    /// Messages, mentions and replies, channels that gain members, and pull requests with another base.
    fn messages(&self) -> Option<Composed> {
        let (draft, noun) = (self.draft, self.noun);
        let is_of_channel = || {
            let mut mods = draft.mods.iter();
            mods.any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)))
        };
        if noun == Noun::Channel && self.has(Verb::Add) && is_of_channel() {
            return Some(self.keeps(vec![Verb::Join]));
        }
        if self.has(Verb::Retarget) {
            return Some(self.keeps(vec![Verb::Edit]));
        }
        let is_mention = noun == Noun::Message && self.has(Verb::Mention) || noun == Noun::Mention;
        if is_mention {
            return Some(self.becomes(Noun::Mention, vec![Verb::Create]));
        }
        // A message that is `pushed to #eng` is posted there.
        let arrives = (self.has(Verb::Move) || self.has(Verb::Push)) && !self.has(Verb::Change);
        let is_sent = draft.agent.is_some()
            && !self.has(Verb::React)
            && !has_known_message_verb(self.happening);
        let is_posted = matches!(noun, Noun::DirectMessage | Noun::Reply)
            || noun == Noun::Message && (arrives || is_sent);
        is_posted.then(|| self.keeps(vec![Verb::Post]))
    }

    /// Issues and pull requests that enter or leave a cycle, a project or a milestone.
    fn plans(&self) -> Option<Composed> {
        let noun = self.noun;
        let milestone = self.names(Noun::Milestone);
        let is_planned = milestone || self.names(Noun::Cycle) || self.names(Noun::Project);
        if noun == Noun::Issue && (self.has(Verb::Add) || self.has(Verb::Move)) && is_planned {
            // GitHub has an event for milestones; Linear reports them as updates.
            let verb = if milestone {
                Verb::Milestone
            } else {
                Verb::Update
            };
            return Some(self.keeps(vec![verb]));
        }
        if !milestone || !matches!(noun, Noun::Issue | Noun::PullRequest) {
            return None;
        }
        if self.has(Verb::Remove) {
            return Some(self.keeps(vec![Verb::Demilestone]));
        }
        (noun == Noun::PullRequest && self.has(Verb::Add))
            .then(|| self.keeps(vec![Verb::Milestone]))
    }
}

pub(super) fn has_known_message_verb(happening: &Happening) -> bool {
    happening
        .verbs
        .iter()
        .any(|verb| has_row(Noun::Message, *verb))
}

/// Adds the filters of a parent: the sources, and the pull request of a comment or check.
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
            // Linear has no diff, so a top-level comment there is one that is not a reply.
            if top_level && only_linear {
                subject.require(Field::Reply, Op::Is, &["false".to_owned()], span);
            } else if top_level {
                // A comment on a line of the diff has a kind of its own, so the kind is excluded.
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
            // The payload lists the pull requests of a commit; a check of a branch has none.
            subject.require(Field::PullRequests, Op::Present, &[], span);
        }
        // No webhook reports reactions on GitHub.
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
        // A new base is an edit with `base` among the changed fields.
        subject.require(Field::Changed, Op::Is, &["base".to_owned()], span);
    }
}
