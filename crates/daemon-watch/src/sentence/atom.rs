//! What a condition says of an event, before it is known which event it is.

use std::ops::Range;

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::formula::{Formula, Literal, is};
use super::sources::{Topic, is_said, name_test, tells, topic, value_test};
use crate::filter::{Op, Test};
use crate::lexicon::Part;

/// A formula over what conditions say.
pub(super) type Guard = Formula<Atom>;

/// One thing that is said, and the tokens that say it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Atom {
    pub(super) says: Says,
    /// It is said of what the comment or review is on.
    pub(super) of_parent: bool,
    pub(super) range: Range<usize>,
}

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Says {
    /// A comparison that means the same for every event.
    Test(Test),
    /// The base of a pull request, the branch of everything else.
    Branch(Op, Vec<String>),
    /// A flag that the event itself may turn: what it was before, no payload says.
    State(State),
    /// Who did it, or who wrote it.
    Person(Role, Who),
    /// A text in a place.
    Text(Place, Op, Vec<String>),
    /// It is an event of this source.
    Source(Source),
    /// The label that the event puts on or takes off, else one that is there.
    TheLabel(Vec<String>),
    /// The changed paths.
    Files(Op, Vec<String>),
    /// The name of what runs.
    Name(Vec<String>),
    /// Values of an attribute, where one is named, else of the one that an event has.
    Value(Option<Part>, Vec<String>),
}

/// A state of a pull request or issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Draft,
    Open,
    Closed,
    Merged,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Title,
    Body,
    /// The comment's or commit's own text; title or body of what has both.
    Own,
    Message,
}

/// Who is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Who {
    Human,
    Bot,
    Maintainer,
    FirstTimer,
    Named(Vec<String>),
    /// Who wrote the pull request or issue.
    TheAuthor,
}

/// What a person has to do with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Who acted.
    Actor,
    /// Who wrote the noun that the words stand beside.
    Author,
}

/// The event that atoms are resolved for.
pub(super) struct Occasion {
    pub(super) source: Source,
    pub(super) kind: &'static str,
    pub(super) noun: Noun,
    pub(super) verb: Verb,
}

const INSIDERS: &[&str] = &["OWNER", "MEMBER", "COLLABORATOR"];
const FIRST: &[&str] = &["FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER"];

impl Atom {
    /// Returns what it compares for an event; none where the event has nothing that it could mean.
    pub(super) fn on(&self, event: &Occasion, is_negated: bool) -> Option<Formula<Literal>> {
        if let Says::State(state) = &self.says
            && event.turns(*state)
        {
            return Some(Formula::Always);
        }
        if let Says::Source(source) = self.says {
            return (event.source == source && !is_negated).then_some(Formula::Always);
        }
        let found = self.says_on(event)?;
        Some(if is_negated { found.not() } else { found })
    }

    fn says_on(&self, event: &Occasion) -> Option<Formula<Literal>> {
        match &self.says {
            // The default branch is known of the commit that a check ran on, not of where it is to go.
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
            Says::Text(place, op, values) => self.text(event, *place, *op, values),
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

    fn literal(&self, test: Test) -> Formula<Literal> {
        Formula::Atom(Literal {
            test,
            range: self.range.clone(),
        })
    }

    fn person(&self, event: &Occasion, role: Role, who: &Who) -> Option<Formula<Literal>> {
        if *who == Who::TheAuthor {
            let has_author = event.kind.starts_with("pull_request")
                || matches!(event.kind, "issues" | "issue_comment" | "Issue" | "Comment");
            let acts = role == Role::Actor || event.is_about_writing() && !self.of_parent;
            return (has_author && acts).then(|| self.literal(is(Field::ByAuthor, &["true"])));
        }
        let (name, kind, association) = self.person_fields(event, role);
        // Who is new here acts on nothing but what is his own.
        if *who == Who::FirstTimer
            && association.is_none()
            && matches!(event.kind, "pull_request" | "issues")
        {
            let own = self.literal(is(Field::ByAuthor, &["true"]));
            return Some(own.and(self.literal(is(Field::AuthorAssociation, FIRST))));
        }
        let test = match who {
            Who::Human => is(kind, &["human"]),
            Who::Bot => is(kind, &["bot"]),
            Who::Maintainer => is(association?, INSIDERS),
            Who::FirstTimer => is(association?, FIRST),
            Who::Named(names) => Test::new(name, Op::Is, names.clone()),
            Who::TheAuthor => return None,
        };
        Some(self.literal(test))
    }

    fn person_fields(&self, event: &Occasion, role: Role) -> (Field, Field, Option<Field>) {
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
        let has_author = !matches!(
            event.noun,
            Noun::Commit | Noun::Branch | Noun::File | Noun::Tag
        ) && (topic(event.noun, None).is_none()
            || tells(event.source, event.kind, Field::Author));
        match role {
            Role::Author if has_author => author,
            Role::Actor if event.is_about_writing() || is_said(event.noun, event.verb) => author,
            Role::Actor | Role::Author
                if event.noun == Noun::CodeScanningAlert && event.verb == Verb::Create =>
            {
                // What raises it is the tool that scanned.
                (Field::Name, Field::ActorKind, None)
            }
            Role::Author | Role::Actor => (Field::Actor, Field::ActorKind, None),
        }
    }

    fn text(
        &self,
        event: &Occasion,
        place: Place,
        op: Op,
        values: &[String],
    ) -> Option<Formula<Literal>> {
        let is_command = op == Op::Begins
            && values
                .iter()
                .all(|value| value.len() > 1 && value.starts_with('/'));
        let one = |field| {
            // What begins a comment with a slash is a command.
            let op = if is_command && field == Field::Comment {
                Op::Command
            } else {
                op
            };
            self.literal(Test::new(field, op, values.to_vec()))
        };
        let speaks = event.speaks() && !self.of_parent;
        Some(match place {
            Place::Title => one(Field::Title),
            Place::Body | Place::Own if speaks => one(Field::Comment),
            Place::Message if speaks => one(Field::Comment),
            Place::Body => one(Field::Body),
            Place::Own | Place::Message
                if matches!(event.noun, Noun::Commit | Noun::Branch | Noun::File) =>
            {
                one(Field::Message)
            }
            Place::Own if topic(event.noun, Some(event.source)).is_some() => {
                let fields = [Field::Comment, Field::Title, Field::Body];
                let told = fields
                    .into_iter()
                    .filter(|field| tells(event.source, event.kind, *field));
                Formula::Any(told.map(one).collect())
            }
            Place::Own => Formula::Any(vec![one(Field::Title), one(Field::Body)]),
            Place::Message => return None,
        })
    }
}

impl Occasion {
    /// Whether the event changes a state, so that words about it tell of before or say it again.
    fn turns(&self, state: State) -> bool {
        let of_thing = matches!(
            self.noun,
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

    /// Whether who acts is who writes.
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
        writes
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
