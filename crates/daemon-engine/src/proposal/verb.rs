//! The verbs: what a run can propose, as one table that parsing, validation, schema and documentation read.

use std::fmt;
use std::str::FromStr;

use daemon_event::InvalidId;

use super::field::{FieldKind, FieldRow, optional, required};
use super::target::TargetKind;

/// How far the effects of a run may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputCapability {
    /// It changes only the state of its daemon.
    Read,
    /// It makes what a person can ignore.
    Propose,
    /// It changes what exists.
    Write,
}

impl OutputCapability {
    /// Returns the word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Propose => "propose",
            Self::Write => "write",
        }
    }
}

/// What a proposal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutputVerb {
    /// Pushes the changes of the work tree as a branch.
    PushBranch,
    /// Adds the changes of the work tree to the branch of a pull request.
    PushPullRequest,
    /// Opens a pull request from the branch of the activation.
    OpenPullRequest,
    /// Changes the title or the body of a pull request.
    EditPullRequest,
    /// Opens an issue.
    OpenIssue,
    /// Comments on an issue or a pull request.
    Comment,
    /// Replaces the text of an own comment.
    EditComment,
    /// Reviews a pull request.
    Review,
    /// Comments on lines of a pull request.
    ReviewComment,
    /// Adds and removes labels.
    Label,
    /// Adds and removes assignees, and requests reviewers.
    Assign,
    /// Reports a check on a commit.
    CheckRun,
    /// Runs the failed jobs of a workflow run again.
    RetryCheck,
    /// Changes an issue of Linear.
    EditIssue,
    /// Writes a message to a channel.
    Message,
    /// Answers in a thread.
    Reply,
    /// Changes the state of the daemon.
    State,
    /// Reports that there was nothing to do.
    NoOp,
}

/// One row of the table of verbs.
#[derive(Debug)]
pub struct VerbRow {
    /// The verb.
    pub verb: OutputVerb,
    /// The word in a proposal.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The capability that it needs.
    pub capability: OutputCapability,
    /// The capability that it needs on an own output of the daemon.
    pub own: OutputCapability,
    /// Whether its service lets only an App do it.
    pub needs_app: bool,
    /// How many proposals with it one activation may make.
    pub most: usize,
    /// The kinds of its target; none if it has no target.
    pub targets: &'static [TargetKind],
    /// Its fields, without `v`, `verb` and `target`.
    pub fields: &'static [FieldRow],
    /// A proposal with this verb.
    pub example: &'static str,
}

const TITLE: FieldRow = required("title", FieldKind::Line(256), "the title");
const BODY: FieldRow = required("body", FieldKind::Text, "the text, in Markdown");
const SLOT: FieldRow = optional(
    "slot",
    FieldKind::Name,
    "a name; the daemon's earlier text in this slot is replaced instead of adding one",
);
const MESSAGE: FieldRow = FieldRow {
    also: Some("body"),
    ..optional("message", FieldKind::Text, "the commit message")
};
const LABELS: FieldRow = optional("labels", FieldKind::Lines(20), "labels that it gets");
const SIDES: FieldKind = FieldKind::OneOf(&["LEFT", "RIGHT"]);

/// The fields of a comment on lines.
const ON_LINES: &[FieldRow] = &[
    required("path", FieldKind::Path, "the file, relative to the root"),
    required("line", FieldKind::Number(1, MAX_LINE), "the last line"),
    optional("side", SIDES, "the side of the diff, by default `RIGHT`"),
    optional(
        "start_line",
        FieldKind::Number(1, MAX_LINE),
        "the first line",
    ),
    BODY,
];
const MAX_LINE: u64 = 10_000_000;

const ANNOTATION: &[FieldRow] = &[
    required("path", FieldKind::Path, "the file, relative to the root"),
    required("line", FieldKind::Number(1, MAX_LINE), "the first line"),
    optional("end_line", FieldKind::Number(1, MAX_LINE), "the last line"),
    required(
        "level",
        FieldKind::OneOf(&["notice", "warning", "failure"]),
        "how severe it is",
    ),
    required("message", FieldKind::Text, "the text"),
];

/// Every verb.
pub const VERBS: &[VerbRow] = &[
    VerbRow {
        verb: OutputVerb::PushBranch,
        name: "push_branch",
        summary: "puts the changes of the work tree on a branch of their own",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::Git],
        fields: &[MESSAGE],
        example: r#"{"v":1,"verb":"push_branch","message":"docs: repair two links"}"#,
    },
    VerbRow {
        verb: OutputVerb::PushPullRequest,
        name: "push_pull_request",
        summary: "adds the changes of the work tree to the branch of the pull request at whose head the run works",
        capability: OutputCapability::Write,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::GithubNumber],
        fields: &[MESSAGE],
        example: r#"{"v":1,"verb":"push_pull_request","target":"github:o/r#42","message":"docs: repair two links"}"#,
    },
    VerbRow {
        verb: OutputVerb::OpenPullRequest,
        name: "open_pull_request",
        summary: "pushes the changes of the work tree and opens a pull request from them",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::GithubRepo],
        fields: &[
            TITLE,
            BODY,
            optional(
                "base",
                FieldKind::Branch,
                "the branch to merge into, by default the default branch",
            ),
            optional("draft", FieldKind::Flag, "whether it is a draft"),
            LABELS,
        ],
        example: r#"{"v":1,"verb":"open_pull_request","target":"github:o/r","title":"Repair two links","body":"Both pages had moved."}"#,
    },
    VerbRow {
        verb: OutputVerb::EditPullRequest,
        name: "edit_pull_request",
        summary: "changes the title or the body of a pull request, or whether it is a draft",
        capability: OutputCapability::Write,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 5,
        targets: &[TargetKind::GithubNumber],
        fields: &[
            optional("title", FieldKind::Line(256), "the new title"),
            optional("body", FieldKind::Text, "the new body"),
            optional("draft", FieldKind::Flag, "whether it is a draft"),
        ],
        example: r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#42","title":"Repair three links"}"#,
    },
    VerbRow {
        verb: OutputVerb::OpenIssue,
        name: "open_issue",
        summary: "opens an issue",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::GithubRepo],
        fields: &[TITLE, BODY, LABELS],
        example: r#"{"v":1,"verb":"open_issue","target":"github:o/r","title":"Stale page","body":"`docs/a.md` describes a removed flag."}"#,
    },
    VerbRow {
        verb: OutputVerb::Comment,
        name: "comment",
        summary: "comments on an issue or a pull request",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::GithubNumber, TargetKind::LinearIssue],
        fields: &[BODY, SLOT],
        example: r#"{"v":1,"verb":"comment","target":"github:o/r#42","slot":"summary","body":"Two links are broken."}"#,
    },
    VerbRow {
        verb: OutputVerb::EditComment,
        name: "edit_comment",
        summary: "replaces the text of an own comment",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 5,
        targets: &[TargetKind::GithubNumber, TargetKind::LinearIssue],
        fields: &[
            required(
                "output",
                FieldKind::Output,
                "the key of the own output that wrote the comment",
            ),
            BODY,
        ],
        example: r#"{"v":1,"verb":"edit_comment","target":"github:o/r#42","output":"4ymwin7k4k363ohv3ycu7vcqhh","body":"One link is broken."}"#,
    },
    VerbRow {
        verb: OutputVerb::Review,
        name: "review",
        summary: "reviews a pull request, without approving it",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::GithubNumber],
        fields: &[
            BODY,
            required(
                "event",
                FieldKind::OneOf(&["comment", "request_changes"]),
                "the verdict",
            ),
            optional(
                "comments",
                FieldKind::Rows(ON_LINES, 50),
                "comments on lines",
            ),
        ],
        example: r#"{"v":1,"verb":"review","target":"github:o/r#42","event":"comment","body":"One remark.","comments":[{"path":"src/a.rs","line":7,"body":"This is never read."}]}"#,
    },
    VerbRow {
        verb: OutputVerb::ReviewComment,
        name: "review_comment",
        summary: "comments on lines of a pull request",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 10,
        targets: &[TargetKind::GithubNumber],
        fields: ON_LINES,
        example: r#"{"v":1,"verb":"review_comment","target":"github:o/r#42","path":"src/a.rs","line":7,"body":"This is never read."}"#,
    },
    VerbRow {
        verb: OutputVerb::Label,
        name: "label",
        summary: "adds and removes labels",
        capability: OutputCapability::Write,
        own: OutputCapability::Write,
        needs_app: false,
        most: 5,
        targets: &[TargetKind::GithubNumber],
        fields: &[
            optional("add", FieldKind::Lines(20), "labels to add"),
            optional("remove", FieldKind::Lines(20), "labels to remove"),
        ],
        example: r#"{"v":1,"verb":"label","target":"github:o/r#42","add":["docs"]}"#,
    },
    VerbRow {
        verb: OutputVerb::Assign,
        name: "assign",
        summary: "adds and removes assignees, and requests reviewers",
        capability: OutputCapability::Write,
        own: OutputCapability::Write,
        needs_app: false,
        most: 5,
        targets: &[TargetKind::GithubNumber],
        fields: &[
            optional("add", FieldKind::Lines(10), "logins to assign"),
            optional(
                "remove",
                FieldKind::Lines(10),
                "logins to remove from the assignees",
            ),
            optional(
                "reviewers",
                FieldKind::Lines(10),
                "logins to request a review from",
            ),
        ],
        example: r#"{"v":1,"verb":"assign","target":"github:o/r#42","add":["octocat"]}"#,
    },
    VerbRow {
        verb: OutputVerb::CheckRun,
        name: "check_run",
        summary: "reports a check on a commit",
        capability: OutputCapability::Write,
        own: OutputCapability::Write,
        needs_app: true,
        most: 3,
        targets: &[TargetKind::GithubCommit],
        fields: &[
            required("name", FieldKind::Line(100), "the name of the check"),
            required(
                "conclusion",
                FieldKind::OneOf(&["success", "failure", "neutral", "action_required"]),
                "the result",
            ),
            TITLE,
            required("summary", FieldKind::Text, "the report, in Markdown"),
            optional(
                "annotations",
                FieldKind::Rows(ANNOTATION, 200),
                "remarks on lines",
            ),
        ],
        example: r#"{"v":1,"verb":"check_run","target":"github:o/r@0123456789abcdef0123456789abcdef01234567","name":"links","conclusion":"failure","title":"2 broken links","summary":"See the annotations.","annotations":[{"path":"a.md","line":3,"level":"failure","message":"404"}]}"#,
    },
    VerbRow {
        verb: OutputVerb::RetryCheck,
        name: "retry_check",
        summary: "runs the failed jobs of a workflow run again",
        capability: OutputCapability::Write,
        own: OutputCapability::Write,
        needs_app: false,
        most: 3,
        targets: &[TargetKind::GithubRepo],
        fields: &[required(
            "run",
            FieldKind::Number(1, u64::MAX >> 1),
            "the id of the workflow run",
        )],
        example: r#"{"v":1,"verb":"retry_check","target":"github:o/r","run":1234}"#,
    },
    VerbRow {
        verb: OutputVerb::EditIssue,
        name: "edit_issue",
        summary: "changes an issue of Linear",
        capability: OutputCapability::Write,
        own: OutputCapability::Write,
        needs_app: false,
        most: 5,
        targets: &[TargetKind::LinearIssue],
        fields: &[
            optional(
                "priority",
                FieldKind::Number(0, 4),
                "0 none, 1 urgent, 2 high, 3 normal, 4 low",
            ),
            optional(
                "assignee",
                FieldKind::Line(256),
                "the name or e-mail address of a member",
            ),
            optional(
                "state",
                FieldKind::Line(100),
                "the name of a state of the team's workflow",
            ),
            optional("append", FieldKind::Text, "text to add to the description"),
        ],
        example: r#"{"v":1,"verb":"edit_issue","target":"linear:ENG-12","priority":2,"append":"Seen again in 2.1."}"#,
    },
    VerbRow {
        verb: OutputVerb::Message,
        name: "message",
        summary: "writes a message to a channel",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::SlackChannel],
        fields: &[BODY, SLOT],
        example: r#"{"v":1,"verb":"message","target":"slack:C024BE91L","body":"The digest of the week."}"#,
    },
    VerbRow {
        verb: OutputVerb::Reply,
        name: "reply",
        summary: "answers in a thread",
        capability: OutputCapability::Propose,
        own: OutputCapability::Propose,
        needs_app: false,
        most: 1,
        targets: &[TargetKind::SlackThread],
        fields: &[BODY, SLOT],
        example: r#"{"v":1,"verb":"reply","target":"slack:C024BE91L/1401383885.000061","body":"A known problem: ENG-12."}"#,
    },
    VerbRow {
        verb: OutputVerb::State,
        name: "state",
        summary: "remembers values for the next activation",
        capability: OutputCapability::Read,
        own: OutputCapability::Read,
        needs_app: false,
        most: 200,
        targets: &[],
        fields: &[
            optional("set", FieldKind::Values, "values by key"),
            optional("remove", FieldKind::Lines(500), "keys to remove"),
        ],
        example: r#"{"v":1,"verb":"state","set":{"last_sha":"4be1c07"}}"#,
    },
    VerbRow {
        verb: OutputVerb::NoOp,
        name: "no_op",
        summary: "reports that there was nothing to do",
        capability: OutputCapability::Read,
        own: OutputCapability::Read,
        needs_app: false,
        most: 200,
        targets: &[],
        fields: &[optional("reason", FieldKind::Text, "why")],
        example: r#"{"v":1,"verb":"no_op","reason":"nothing stale"}"#,
    },
];

impl OutputVerb {
    /// Returns its row of [`VERBS`].
    pub fn row(self) -> &'static VerbRow {
        VERBS
            .iter()
            .find(|row| row.verb == self)
            .expect("every verb has a row")
    }

    /// Returns the word in a proposal.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Returns the name of the surface that carries it out on a target of a kind.
    pub fn surface(self, kind: TargetKind) -> &'static str {
        match self {
            // The branch of a pull request is a branch, and needs no access to the API of GitHub.
            Self::PushPullRequest => TargetKind::Git.surface(),
            _ => kind.surface(),
        }
    }

    /// Reports whether it puts the changes of the work tree on a branch.
    pub fn pushes(self) -> bool {
        matches!(
            self,
            Self::PushBranch | Self::PushPullRequest | Self::OpenPullRequest
        )
    }
}

impl FromStr for OutputVerb {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let row = VERBS.iter().find(|row| row.name == text);
        row.map(|row| row.verb)
            .ok_or_else(|| InvalidId::new(text, "a verb"))
    }
}

impl fmt::Display for OutputVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
