//! The fields that conditions are matched against, and their values.

use std::fmt;
use std::str::FromStr;

use crate::ids::InvalidId;

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldShape {
    /// True or false.
    Flag,
    /// A whole number.
    Number,
    /// One string.
    Text,
    /// A list of strings.
    Texts,
}

/// Declares the fields with their printed name, type and description.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $shape:ident),+ $(,)?) => {
        /// A typed fact of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Field {
            $($(#[$doc])* $name,)+
        }

        impl Field {
            /// Every field, in the order in which [`EventFacts`](crate::EventFacts) keeps them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the printed name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the type of the field's value.
            pub fn shape(self) -> FieldShape {
                match self { $(Self::$name => FieldShape::$shape,)+ }
            }
        }
    };
}

fields! {
    /// The number of the pull request, issue, discussion or alert.
    Number = "number": Number,
    /// The source's own key for the subject: `ENG-12`, an issue id.
    Key = "key": Text,
    /// The title of the pull request, issue, discussion or document.
    Title = "title": Text,
    /// The description of the pull request, issue or discussion.
    Body = "body": Text,
    /// The body of the comment, review or message.
    Comment = "comment": Text,
    /// The messages of the pushed commits.
    Message = "message": Texts,
    /// The author of the pull request, issue, comment or message.
    Author = "author": Text,
    /// The author's kind: `human` or `bot`.
    AuthorKind = "author_kind": Text,
    /// The author's association with the repository: `OWNER`, `MEMBER`, `CONTRIBUTOR`.
    AuthorAssociation = "author_association": Text,
    /// The author of the pull request or issue that a comment, review or thread belongs to.
    ParentAuthor = "parent_author": Text,
    /// The parent author's kind: `human` or `bot`.
    ParentAuthorKind = "parent_author_kind": Text,
    /// The parent author's association with the repository.
    ParentAuthorAssociation = "parent_author_association": Text,
    /// The person or program that caused the event.
    Actor = "actor": Text,
    /// The actor's kind: `human` or `bot`.
    ActorKind = "actor_kind": Text,
    /// Whether the actor is also the author of the pull request, issue or discussion.
    ByAuthor = "by_author": Flag,
    /// Whether the actor is also the author of the comment or review that the event is about.
    ByWriter = "by_writer": Flag,
    /// The labels present after the event.
    Labels = "labels": Texts,
    /// The labels added by this event.
    LabelAdded = "label_added": Texts,
    /// The labels removed by this event.
    LabelRemoved = "label_removed": Texts,
    /// The ids of the labels removed by this event, where the payload has no names.
    LabelRemovedId = "label_removed_id": Texts,
    /// Whether the pull request is a draft.
    Draft = "draft": Flag,
    /// Whether the pull request is merged.
    Merged = "merged": Flag,
    /// `open`, `closed`, or the name of a workflow state.
    State = "state": Text,
    /// The category of a workflow state: `started`, `completed`.
    StateType = "state_type": Text,
    /// The reason for a state: `not_planned`, `completed`.
    StateReason = "state_reason": Text,
    /// Whether the head branch belongs to a fork.
    Fork = "fork": Flag,
    /// The branch that a pull request targets.
    Base = "base": Text,
    /// The branch that a pull request comes from.
    Head = "head": Text,
    /// The branches that moved, or that a check ran on.
    Branch = "branch": Texts,
    /// The tag's short name.
    Tag = "tag": Text,
    /// The type of a ref: `branch` or `tag`.
    RefType = "ref_type": Text,
    /// The ref as the source spells it: full (`refs/heads/main`) or short.
    Ref = "ref": Text,
    /// The repository's default branch at the time of the event.
    DefaultBranch = "default_branch": Text,
    /// Whether the branch, or a pull request's base, is the default branch.
    OnDefaultBranch = "on_default_branch": Flag,
    /// The parent of a comment: `pull_request`, `issue`, `discussion` or `commit`.
    CommentOn = "comment_on": Text,
    /// `approved`, `changes_requested`, `commented` or `dismissed`.
    ReviewState = "review_state": Text,
    /// The conclusion of a check, run, status or deployment.
    Conclusion = "conclusion": Text,
    /// The name of a check, a job or a status context.
    Check = "check": Text,
    /// The name of a workflow.
    Workflow = "workflow": Text,
    /// The environment of a deployment or an error.
    Environment = "environment": Text,
    /// The numbers of the pull requests whose head a check ran on.
    PullRequests = "pull_requests": Texts,
    /// Whether the checked commit is the head of an open pull request.
    CurrentHead = "current_head": Flag,
    /// The paths changed by a push or a pull request.
    ChangedFiles = "changed_files": Texts,
    /// The path of the file that an inline comment refers to.
    CommentPath = "comment_path": Text,
    /// The paths added by a push.
    AddedFiles = "added_files": Texts,
    /// The paths removed by a push.
    RemovedFiles = "removed_files": Texts,
    /// The name of a channel, without its `#`.
    Channel = "channel": Text,
    /// The service's id of a channel.
    ChannelId = "channel_id": Text,
    /// `channel`, `group`, `im` or `mpim`.
    ChannelKind = "channel_kind": Text,
    /// The id of a thread: the timestamp of its first message.
    Thread = "thread": Text,
    /// Whether a message or comment replies to another.
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
    /// The assignees after the event.
    Assignees = "assignees": Texts,
    /// The people assigned or unassigned by this event.
    Assignee = "assignee": Texts,
    /// The assignee's kind: `human` or `bot`.
    AssigneeKind = "assignee_kind": Text,
    /// The person whose review this event requests.
    Reviewer = "reviewer": Text,
    /// The team whose review this event requests.
    ReviewerTeam = "reviewer_team": Texts,
    /// The milestone's title.
    Milestone = "milestone": Text,
    /// The project: its name or slug.
    Project = "project": Texts,
    /// Whether the issue or project is archived.
    Archived = "archived": Flag,
    /// The estimate, in the unit of the team.
    Estimate = "estimate": Text,
    /// The due date, `YYYY-MM-DD`.
    DueDate = "due_date": Text,
    /// The cycle's name.
    Cycle = "cycle": Text,
    /// The attributes changed by this event.
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
    /// The detail of an error's status: `regressed`, `escalating`.
    Substatus = "substatus": Text,
    /// The name of a label, package, page, document, alert rule or similar object.
    Name = "name": Text,
    /// The repository's full name.
    Repo = "repo": Text,
    /// The commit that a ref moved to, or that a check ran on.
    After = "after": Text,
    /// The kind of a message: `posted`, `reply`, `edited`, `deleted`, or `notice` for messages of the service.
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
    /// One string.
    Text(Box<str>),
    /// A list of strings, in the order of the payload.
    Texts(Vec<Box<str>>),
}

impl FieldValue {
    /// Returns the value's strings: one, several, or none for a flag or a number.
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
