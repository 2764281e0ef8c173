//! Statements of a condition about an event, before the event is known.

use std::ops::Range;

use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::event::GuardedEvent;
use super::facts::{is_said, name_test, tells, value_test};
use super::formula::{FilterLiteral, Formula, is};
use super::part::Part;
use super::topic::{Topic, topic};
use crate::filter::{Op, Test};

/// A formula over the statements of a condition.
pub(crate) type Guard = Formula<Atom>;

/// One statement and its tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Atom {
    pub(crate) says: Says,
    /// The statement is about the thing that the comment or review is on.
    pub(crate) of_parent: bool,
    pub(crate) range: Range<usize>,
}

/// The content of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Says {
    /// A comparison with the same meaning for every event.
    Test(Test),
    /// The base of a pull request, the branch of everything else.
    Branch(Op, Vec<String>),
    /// A flag that the event itself may change: no payload contains its previous value.
    State(State),
    /// The user who acted, or who wrote.
    Person(UserRole, Who),
    /// A string in a part of the thing.
    Text(TextPlace, Op, Vec<String>),
    /// The event is of this source.
    Source(Source),
    /// The label that the event adds or removes, else one that is present.
    TheLabel(Vec<String>),
    /// The changed paths.
    Files(Op, Vec<String>),
    /// The name of the check, job or workflow.
    Name(Vec<String>),
    /// Values of the named attribute, else of the one that the event has.
    Value(Option<Part>, Vec<String>),
    /// Values of the first of some fields that the event can have.
    OneOf(Vec<Field>, Vec<String>),
}

impl Says {
    /// Returns a statement that holds if one of two does, if they compare the same fact.
    pub(crate) fn or(&self, other: &Self) -> Option<Self> {
        let all = |one: &[String], other: &[String]| [one, other].concat();
        let is_glob = |op: &Op| matches!(op, Op::Is | Op::Matches);
        let excludes = |globs: &[String]| globs.iter().any(|glob| glob.starts_with('!'));
        Some(match (self, other) {
            (Self::Branch(one, names), Self::Branch(two, more)) if is_glob(one) && is_glob(two) => {
                let op = if one == two { *one } else { Op::Matches };
                Self::Branch(op, all(names, more))
            }
            (Self::Files(Op::Any, globs), Self::Files(Op::Any, more))
                if !excludes(globs) && !excludes(more) =>
            {
                Self::Files(Op::Any, all(globs, more))
            }
            (Self::Name(names), Self::Name(more)) => Self::Name(all(names, more)),
            (Self::Test(one), Self::Test(two))
                if one.field() == two.field() && one.op() == Op::Is && two.op() == Op::Is =>
            {
                Self::Test(Test::new(
                    one.field(),
                    Op::Is,
                    all(one.values(), two.values()),
                ))
            }
            _ => return None,
        })
    }
}

/// A state of a pull request or issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Draft,
    Open,
    Closed,
    Merged,
}

/// The part of a thing that has to contain a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPlace {
    Title,
    Body,
    /// The comment or commit message itself; the title or body of issues and pull requests.
    Own,
    Message,
}

/// The users that a phrase means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Who {
    Human,
    Bot,
    Maintainer,
    FirstTimer,
    Owner,
    Member,
    Named(Vec<String>),
    /// The author of the pull request or issue.
    TheAuthor,
    /// The author of what the event is about: of the comment that is edited, else of the pull request or issue.
    TheWriter,
}

/// The role of a user in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserRole {
    /// The user who acted.
    Actor,
    /// The author of the noun next to the words.
    Author,
    /// The author of what the event is about: "unless it was written by @kit".
    AuthorOfIt,
}

/// The event for which atoms are resolved.
pub(crate) struct RowOfEvent {
    pub(crate) source: Source,
    pub(crate) kind: &'static str,
    pub(crate) noun: Noun,
    pub(crate) verb: Verb,
}

const INSIDERS: &[&str] = &["OWNER", "MEMBER", "COLLABORATOR"];
const FIRST: &[&str] = &["FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER"];

impl Atom {
    /// Returns the comparison for an event, or `None` if the event has no field for it.
    pub(crate) fn on(
        &self,
        event: &RowOfEvent,
        is_negated: bool,
    ) -> Option<Formula<FilterLiteral>> {
        if let Says::State(state) = &self.says
            && event.turns(*state)
        {
            // The verb decides the state: no payload has the one before.
            return Some(Formula::Always);
        }
        if let Says::Source(source) = self.says {
            // A negated source would mean all others, and the sources of an event are chosen before its filters.
            return (event.source == source && !is_negated).then_some(Formula::Always);
        }
        let found = self.says_on(event)?;
        Some(if is_negated { found.not() } else { found })
    }

    /// Whether one of the rows of an event has a field for the comparison.
    pub(crate) fn is_said_of(&self, event: &GuardedEvent, is_negated: bool) -> bool {
        if event.raw.is_some() || matches!(self.says, Says::Source(_)) {
            return true;
        }
        vocabulary::rows(event.noun).iter().any(|(kind, row)| {
            let occasion = RowOfEvent {
                source: kind.source,
                kind: kind.name,
                noun: event.noun,
                verb: event.verb,
            };
            let is_row = row.verbs.contains(&event.verb)
                && event.source.is_none_or(|source| source == kind.source);
            is_row
                && match self.on(&occasion, is_negated) {
                    Some(Formula::Atom(FilterLiteral { test, .. })) => {
                        test.op().is_negated() || kind.can_hold(test.field())
                    }
                    found => found.is_some(),
                }
        })
    }

    fn says_on(&self, event: &RowOfEvent) -> Option<Formula<FilterLiteral>> {
        match &self.says {
            // The payload of a check contains the default branch for its commit, not for the base of its pull request.
            Says::Test(test)
                if self.of_parent
                    && test.field() == Field::OnDefaultBranch
                    && topic(event.noun, None) == Some(Topic::Run) =>
            {
                None
            }
            Says::Test(test) => Some(self.literal(test.clone())),
            Says::Branch(op, values) => {
                let field = event.branch_field(self.of_parent)?;
                Some(self.literal(Test::new(field, *op, values.clone())))
            }
            Says::State(state) => Some(self.literal(match state {
                State::Draft => is(Field::Draft, &["true"]),
                State::Open => is(Field::State, &["open"]),
                State::Closed => is(Field::State, &["closed"]),
                State::Merged => is(Field::Merged, &["true"]),
            })),
            Says::Source(_) => None,
            Says::TheLabel(values) => {
                let field = match event.verb {
                    Verb::Label => Field::LabelAdded,
                    Verb::Unlabel => Field::LabelRemoved,
                    _ => Field::Labels,
                };
                Some(self.literal(Test::new(field, Op::Is, values.clone())))
            }
            Says::Person(role, who) => self.person(event, *role, who),
            Says::Name(values) => name_test(event, values).map(|test| self.literal(test)),
            Says::Value(part, values) => {
                value_test(event, *part, values).map(|test| self.literal(test))
            }
            Says::OneOf(fields, values) => {
                let mut fields = fields.iter();
                let field = fields.find(|field| tells(event.source, event.kind, **field))?;
                Some(self.literal(Test::new(*field, Op::Is, values.clone())))
            }
            Says::Text(place, op, values) => self.text(event, *place, *op, values),
            // What a comment on a line names is the file of the line.
            Says::Files(op, globs) if event.noun == Noun::ReviewComment && !self.of_parent => {
                let op = if *op == Op::None {
                    Op::MatchesNot
                } else {
                    Op::Matches
                };
                Some(self.literal(Test::new(Field::CommentPath, op, globs.clone())))
            }
            Says::Files(op, globs) => {
                let field = match (event.noun, event.verb) {
                    (Noun::File, Verb::Create | Verb::Add) => Field::AddedFiles,
                    (Noun::File, Verb::Delete | Verb::Remove) => Field::RemovedFiles,
                    _ => Field::ChangedFiles,
                };
                Some(self.literal(Test::new(field, *op, globs.clone())))
            }
        }
    }

    fn literal(&self, test: Test) -> Formula<FilterLiteral> {
        Formula::Atom(FilterLiteral {
            test,
            range: self.range.clone(),
        })
    }

    fn person(
        &self,
        event: &RowOfEvent,
        role: UserRole,
        who: &Who,
    ) -> Option<Formula<FilterLiteral>> {
        if matches!(who, Who::TheAuthor | Who::TheWriter) {
            return self.by_author(event, role, who);
        }
        let (name, kind, association) = self.person_fields(event, role);
        // The payload has no association of an actor. First-time contributors act on their own pull request or issue
        // only, so the association of its author decides.
        if *who == Who::FirstTimer
            && association.is_none()
            && matches!(event.kind, "pull_request" | "issues")
        {
            let own = self.literal(is(Field::ByAuthor, &["true"]));
            return Some(own.and(self.literal(is(Field::AuthorAssociation, FIRST))));
        }
        if *who == Who::Maintainer && association.is_none() && event.is_about_written() {
            // Only maintainers can edit or delete what another user wrote.
            let own = self.literal(is(Field::AuthorAssociation, INSIDERS));
            return Some(self.literal(is(Field::ByWriter, &["false"])).or(own));
        }
        let test = match who {
            Who::Human => is(kind, &["human"]),
            Who::Bot => is(kind, &["bot"]),
            Who::Maintainer => is(association?, INSIDERS),
            Who::FirstTimer => is(association?, FIRST),
            Who::Owner => is(association?, &["OWNER"]),
            Who::Member => is(association?, &["MEMBER"]),
            Who::Named(names) => Test::new(name, Op::Is, names.clone()),
            Who::TheAuthor | Who::TheWriter => return None,
        };
        Some(self.literal(test))
    }

    /// The actor is the author of the pull request or issue, or of the comment that is edited or deleted.
    fn by_author(
        &self,
        event: &RowOfEvent,
        role: UserRole,
        who: &Who,
    ) -> Option<Formula<FilterLiteral>> {
        if *who == Who::TheWriter && event.is_about_written() {
            return Some(self.literal(is(Field::ByWriter, &["true"])));
        }
        // Only these kinds compare the actor with the author.
        let has_author = event.kind.starts_with("pull_request")
            || matches!(event.kind, "issues" | "issue_comment" | "Issue" | "Comment");
        let acts = role == UserRole::Actor || event.is_about_writing() && !self.of_parent;
        (has_author && acts).then(|| self.literal(is(Field::ByAuthor, &["true"])))
    }

    fn person_fields(&self, event: &RowOfEvent, role: UserRole) -> (Field, Field, Option<Field>) {
        let author = (
            Field::Author,
            Field::AuthorKind,
            Some(Field::AuthorAssociation),
        );
        if self.of_parent {
            return (
                Field::ParentAuthor,
                Field::ParentAuthorKind,
                Some(Field::ParentAuthorAssociation),
            );
        }
        // A commit's author is a name in git and not a user, so the pusher is compared.
        let has_author = !matches!(
            event.noun,
            Noun::Commit | Noun::Branch | Noun::File | Noun::Tag
        ) && (topic(event.noun, None).is_none()
            // Other sources have an author only where their payload contains one.
            || tells(event.source, event.kind, Field::Author));
        match role {
            UserRole::Author | UserRole::AuthorOfIt if has_author => author,
            UserRole::Actor if event.is_about_writing() && event.has_writer() => author,
            UserRole::Actor if is_said(event.noun, event.verb) => author,
            UserRole::Actor | UserRole::Author | UserRole::AuthorOfIt
                if event.noun == Noun::CodeScanningAlert && event.verb == Verb::Create =>
            {
                // The tool that scanned raises the alert, so `by CodeQL` is a name and not an actor.
                (Field::Name, Field::ActorKind, None)
            }
            UserRole::Author | UserRole::AuthorOfIt | UserRole::Actor => {
                (Field::Actor, Field::ActorKind, None)
            }
        }
    }

    fn text(
        &self,
        event: &RowOfEvent,
        place: TextPlace,
        op: Op,
        values: &[String],
    ) -> Option<Formula<FilterLiteral>> {
        let is_command = op == Op::Begins
            && values
                .iter()
                .all(|value| value.len() > 1 && value.starts_with('/'));
        let one = |field| {
            // A string with a slash at the beginning of a comment is a command: `/merge` does not match `/merged`.
            let op = if is_command && field == Field::Comment {
                Op::Command
            } else {
                op
            };
            self.literal(Test::new(field, op, values.to_vec()))
        };
        let speaks = event.speaks() && !self.of_parent;
        Some(match place {
            TextPlace::Title => one(Field::Title),
            TextPlace::Body | TextPlace::Own if speaks => one(Field::Comment),
            TextPlace::Message if speaks => one(Field::Comment),
            TextPlace::Body => one(Field::Body),
            // The words of a commit are its message, also for a file that it changes.
            TextPlace::Own | TextPlace::Message
                if matches!(event.noun, Noun::Commit | Noun::Branch | Noun::File) =>
            {
                one(Field::Message)
            }
            TextPlace::Own if topic(event.noun, Some(event.source)).is_some() => {
                let fields = [Field::Comment, Field::Title, Field::Body];
                let told = fields
                    .into_iter()
                    .filter(|field| tells(event.source, event.kind, *field));
                Formula::Any(told.map(one).collect())
            }
            TextPlace::Own => Formula::Any(vec![one(Field::Title), one(Field::Body)]),
            // An error has its message as its title.
            TextPlace::Message if event.source == Source::Sentry => one(Field::Title),
            TextPlace::Message => return None,
        })
    }
}

impl RowOfEvent {
    /// Whether the event changes the state, so that words about it mean the time before or repeat the event.
    fn turns(&self, state: State) -> bool {
        let of_thing = matches!(
            self.noun,
            // Only comments and commits have a message.
            Noun::PullRequest | Noun::Issue | Noun::Discussion
        );
        of_thing
            && match state {
                State::Draft => matches!(self.verb, Verb::ReadyForReview | Verb::ConvertToDraft),
                State::Open | State::Closed => {
                    matches!(self.verb, Verb::Close | Verb::Merge | Verb::Reopen)
                }
                State::Merged => self.verb == Verb::Merge,
            }
    }

    fn branch_field(&self, of_parent: bool) -> Option<Field> {
        let targets = self.kind.starts_with("pull_request")
            || matches!(self.noun, Noun::PullRequest | Noun::Release)
            || matches!(self.kind, "issue_comment");
        match self.noun {
            Noun::Tag | Noun::Discussion | Noun::Milestone | Noun::Issue => None,
            _ if targets => Some(Field::Base),
            Noun::Commit | Noun::Branch | Noun::File => Some(Field::Branch),
            _ if of_parent => Some(Field::Base),
            _ if tells(self.source, self.kind, Field::Branch) => Some(Field::Branch),
            _ => None,
        }
    }

    /// Whether the payload says who wrote the thing: Sentry says only who acts.
    fn has_writer(&self) -> bool {
        self.source != Source::Sentry || tells(self.source, self.kind, Field::Author)
    }

    /// Whether the actor of the event is the author.
    fn is_about_writing(&self) -> bool {
        let writes = matches!(
            self.verb,
            Verb::Create
                | Verb::Add
                | Verb::Post
                | Verb::Review
                | Verb::Approve
                | Verb::RequestChanges
                | Verb::Complete
                | Verb::Start
        );
        // Who completes an issue did not write it; who completes a review or starts a discussion did.
        let is_worked_on =
            self.noun == Noun::Issue && matches!(self.verb, Verb::Complete | Verb::Start);
        writes
            && !is_worked_on
            && matches!(
                self.noun,
                Noun::PullRequest
                    | Noun::Issue
                    | Noun::Comment
                    | Noun::ReviewComment
                    | Noun::CommitComment
                    | Noun::DiscussionComment
                    | Noun::Discussion
                    | Noun::Review
            )
    }

    /// Whether the event is about a comment or a review that was written before.
    fn is_about_written(&self) -> bool {
        self.source == Source::Github
            && self.speaks()
            && !self.is_about_writing()
            && tells(self.source, self.kind, Field::ByWriter)
    }

    fn speaks(&self) -> bool {
        matches!(
            self.noun,
            Noun::Comment
                | Noun::ReviewComment
                | Noun::CommitComment
                | Noun::DiscussionComment
                | Noun::Review
                | Noun::Message
                | Noun::Reply
                | Noun::DirectMessage
                | Noun::Mention
        ) || self.kind == "pull_request_review"
    }
}
