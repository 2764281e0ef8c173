//! The fields that decide conditions, and their values.

use std::fmt;
use std::str::FromStr;

use crate::ids::InvalidId;

/// What kind of value a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// True or false.
    Flag,
    /// A whole number.
    Number,
    /// One text.
    Text,
    /// Any number of texts.
    Texts,
}

/// Declares the fields, each with its printed name, its shape and its meaning.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $shape:ident),+ $(,)?) => {
        /// A typed fact of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Field {
            $($(#[$doc])* $name,)+
        }

        impl Field {
            /// Every field, in the order in which facts are kept.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the printed name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns what kind of value the field holds.
            pub fn shape(self) -> Shape {
                match self { $(Self::$name => Shape::$shape,)+ }
            }
        }
    };
}

fields! {
    /// The number of the pull request, issue, discussion or alert.
    Number = "number": Number,
    /// The source's own key for the subject: `ENG-12`, an issue id.
    Key = "key": Text,
    /// The title.
    Title = "title": Text,
    /// The description.
    Body = "body": Text,
    /// The text of the comment, review or message.
    Comment = "comment": Text,
    /// The messages of the commits pushed.
    Message = "message": Texts,
    /// Who wrote the thing that the event is about.
    Author = "author": Text,
    /// `human` or `bot`, of the author.
    AuthorKind = "author_kind": Text,
    /// How the author stands to the repository: `OWNER`, `MEMBER`, `CONTRIBUTOR`.
    AuthorAssociation = "author_association": Text,
    /// Who wrote the pull request or issue that a comment, review or thread is on.
    ParentAuthor = "parent_author": Text,
    /// `human` or `bot`, of the parent's author.
    ParentAuthorKind = "parent_author_kind": Text,
    /// How the parent's author stands to the repository.
    ParentAuthorAssociation = "parent_author_association": Text,
    /// Who acted.
    Actor = "actor": Text,
    /// `human` or `bot`, of the actor.
    ActorKind = "actor_kind": Text,
    /// Whether who acted also wrote the pull request, issue or discussion.
    ByAuthor = "by_author": Flag,
    /// The labels present.
    Labels = "labels": Texts,
    /// The labels that this event added.
    LabelAdded = "label_added": Texts,
    /// The labels that this event removed.
    LabelRemoved = "label_removed": Texts,
    /// The ids of the labels that this event removed, where the payload gives no names.
    LabelRemovedId = "label_removed_id": Texts,
    /// Whether it is a draft.
    Draft = "draft": Flag,
    /// Whether it is merged.
    Merged = "merged": Flag,
    /// `open`, `closed`, or the name of a workflow state.
    State = "state": Text,
    /// The class of a workflow state: `started`, `completed`.
    StateType = "state_type": Text,
    /// Why it is in its state: `not_planned`, `completed`.
    StateReason = "state_reason": Text,
    /// Whether the change comes from a fork.
    Fork = "fork": Flag,
    /// The branch that a pull request targets.
    Base = "base": Text,
    /// The branch that a pull request comes from.
    Head = "head": Text,
    /// The branch that moved, or on which a check ran.
    Branch = "branch": Texts,
    /// The tag.
    Tag = "tag": Text,
    /// `branch` or `tag`.
    RefType = "ref_type": Text,
    /// The full name of the ref, as the source writes it.
    Ref = "ref": Text,
    /// The repository's default branch.
    DefaultBranch = "default_branch": Text,
    /// Whether the branch, or the base, is the default one.
    OnDefaultBranch = "on_default_branch": Flag,
    /// `pull_request`, `issue`, `discussion` or `commit`: what a comment is on.
    CommentOn = "comment_on": Text,
    /// `approved`, `changes_requested`, `commented` or `dismissed`.
    ReviewState = "review_state": Text,
    /// How a check, a run, a status or a deployment ended.
    Conclusion = "conclusion": Text,
    /// The name of a check, a job or a status context.
    Check = "check": Text,
    /// The name of a workflow.
    Workflow = "workflow": Text,
    /// The environment of a deployment or an error.
    Environment = "environment": Text,
    /// The numbers of the pull requests whose head a check ran on.
    PullRequests = "pull_requests": Texts,
    /// Whether the checked commit is the current head of its pull request.
    CurrentHead = "current_head": Flag,
    /// The paths that changed.
    ChangedFiles = "changed_files": Texts,
    /// The path of the file that an inline comment stands on.
    CommentPath = "comment_path": Text,
    /// The paths that were added.
    AddedFiles = "added_files": Texts,
    /// The paths that were removed.
    RemovedFiles = "removed_files": Texts,
    /// The name of a channel, without its `#`.
    Channel = "channel": Text,
    /// The id of a channel.
    ChannelId = "channel_id": Text,
    /// `channel`, `group`, `im` or `mpim`.
    ChannelKind = "channel_kind": Text,
    /// The thread's first message.
    Thread = "thread": Text,
    /// Whether a message or comment answers another.
    Reply = "reply": Flag,
    /// The source's subtype of a message.
    Subtype = "subtype": Text,
    /// The level of an error: `fatal`, `error`, `warning`.
    Level = "level": Text,
    /// The severity of an alert.
    Severity = "severity": Text,
    /// `urgent`, `high`, `medium`, `low` or `none`.
    Priority = "priority": Text,
    /// The team: its name or key.
    Team = "team": Texts,
    /// Who is assigned now.
    Assignees = "assignees": Texts,
    /// Who was assigned or unassigned by this event.
    Assignee = "assignee": Texts,
    /// Whose review was requested by this event.
    Reviewer = "reviewer": Text,
    /// The team whose review was requested by this event.
    ReviewerTeam = "reviewer_team": Texts,
    /// The milestone.
    Milestone = "milestone": Text,
    /// The project: its name or slug.
    Project = "project": Texts,
    /// Whether it is put away.
    Archived = "archived": Flag,
    /// How much work it is said to be.
    Estimate = "estimate": Text,
    /// The day on which it is due.
    DueDate = "due_date": Text,
    /// The cycle's name.
    Cycle = "cycle": Text,
    /// Which attributes this event changed.
    Changed = "changed": Texts,
    /// Whether the push rewrote history.
    Forced = "forced": Flag,
    /// Whether the ref was deleted.
    Deleted = "deleted": Flag,
    /// Whether the ref was created.
    Created = "created": Flag,
    /// Whether the release is a prerelease.
    Prerelease = "prerelease": Flag,
    /// The category of a discussion.
    Category = "category": Text,
    /// The emoji of a reaction.
    Reaction = "reaction": Text,
    /// The health that a project update reports.
    Health = "health": Text,
    /// Why an error's status changed: `regressed`, `escalating`.
    Substatus = "substatus": Text,
    /// The name of the label, package, page, document, alert rule or other thing.
    Name = "name": Text,
    /// The repository.
    Repo = "repo": Text,
    /// The source's id for the revision that moved in.
    After = "after": Text,
    /// What a message is: `posted`, `reply`, `edited`, `deleted`, or a `notice` that nobody wrote.
    MessageKind = "message_kind": Text,
}

impl FromStr for Field {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .iter()
            .copied()
            .find(|field| field.name() == text)
            .ok_or_else(|| InvalidId::new(text, "a field of an event"))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Number(u64),
    /// One text.
    Text(Box<str>),
    /// Any number of texts, in the order of the payload.
    Texts(Vec<Box<str>>),
}

impl FieldValue {
    /// Returns the value's texts: one, several, or none for a flag or a number.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (one, many): (Option<&str>, &[Box<str>]) = match self {
            Self::Text(text) => (Some(text), &[]),
            Self::Texts(texts) => (None, texts),
            Self::Flag(_) | Self::Number(_) => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(|text| &**text))
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => {
                for (index, text) in texts.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    f.write_str(text)?;
                }
                Ok(())
            }
        }
    }
}
