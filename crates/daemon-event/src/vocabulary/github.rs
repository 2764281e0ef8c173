//! GitHub: pull requests, issues, comments, reviews and discussions.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::{ActionRow, EventKind, FieldPath, at, common, raw, row};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = &[
    at("repository.full_name", F::Repo),
    at("repository.default_branch", F::DefaultBranch),
    at("sender.login", F::Actor),
    at("sender.type", F::ActorKind),
];

const PULL_REQUEST: &[FieldPath] = &[
    at("pull_request.number", F::Number),
    at("pull_request.title", F::Title),
    at("pull_request.body", F::Body),
    at("pull_request.state", F::State),
    at("pull_request.draft", F::Draft),
    at("pull_request.merged", F::Merged),
    at("pull_request.head.ref", F::Head),
    raw("pull_request.head.repo.full_name"),
    at("pull_request.head.sha", F::After),
    at("pull_request.base.ref", F::Base),
    raw("pull_request.base.repo.full_name"),
    at("pull_request.labels[].name", F::Labels),
    at("pull_request.assignees[].login", F::Assignees),
    at("pull_request.milestone.title", F::Milestone),
];
const PULL_REQUEST_AUTHOR: &[FieldPath] = &[
    at("pull_request.user.login", F::Author),
    at("pull_request.user.type", F::AuthorKind),
    at("pull_request.author_association", F::AuthorAssociation),
];
const PULL_REQUEST_PARENT: &[FieldPath] = &[
    at("pull_request.user.login", F::ParentAuthor),
    at("pull_request.user.type", F::ParentAuthorKind),
    at(
        "pull_request.author_association",
        F::ParentAuthorAssociation,
    ),
];
const LABELLED: &[FieldPath] = &[
    raw("label.name"),
    at("assignee.login", F::Assignee),
    at("milestone.title", F::Milestone),
    at("changes.*", F::Changed),
];
const ISSUE: &[FieldPath] = &[
    at("issue.number", F::Number),
    at("issue.title", F::Title),
    at("issue.body", F::Body),
    at("issue.state", F::State),
    at("issue.state_reason", F::StateReason),
    at("issue.draft", F::Draft),
    at("issue.labels[].name", F::Labels),
    at("issue.assignees[].login", F::Assignees),
    at("issue.milestone.title", F::Milestone),
    raw("issue.pull_request.url"),
];
const ISSUE_AUTHOR: &[FieldPath] = &[
    at("issue.user.login", F::Author),
    at("issue.user.type", F::AuthorKind),
    at("issue.author_association", F::AuthorAssociation),
];
const ISSUE_PARENT: &[FieldPath] = &[
    at("issue.user.login", F::ParentAuthor),
    at("issue.user.type", F::ParentAuthorKind),
    at("issue.author_association", F::ParentAuthorAssociation),
];
const COMMENT: &[FieldPath] = &[
    at("comment.body", F::Comment),
    at("comment.user.login", F::Author),
    at("comment.user.type", F::AuthorKind),
    at("comment.author_association", F::AuthorAssociation),
    at("changes.*", F::Changed),
];
const DISCUSSION: &[FieldPath] = &[
    at("discussion.number", F::Number),
    at("discussion.title", F::Title),
    at("discussion.body", F::Body),
    at("discussion.category.name", F::Category),
    at("discussion.labels[].name", F::Labels),
];

/// Returns a kind of GitHub's.
pub(super) const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [FieldPath]],
    times: &'static [&'static str],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Github,
        name,
        required,
        reads,
        times,
        rows,
    }
}

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "pull_request",
        &["action", "pull_request"],
        &[
            COMMON,
            PULL_REQUEST,
            PULL_REQUEST_AUTHOR,
            LABELLED,
            &[
                at("requested_reviewer.login", F::Reviewer),
                at("requested_team.slug", F::ReviewerTeam),
                at("requested_team.name", F::ReviewerTeam),
            ],
        ],
        &["pull_request.updated_at"],
        &[
            common("opened", N::PullRequest, &[V::Create], &[]),
            common(
                "edited",
                N::PullRequest,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            common(
                "synchronize",
                N::PullRequest,
                &[V::Synchronize, V::Update, V::Change],
                &[],
            ),
            row(
                "closed",
                N::PullRequest,
                &[V::Close],
                &[Is(F::Merged, &["false"])],
            ),
            common(
                "closed",
                N::PullRequest,
                &[V::Merge],
                &[Is(F::Merged, &["true"])],
            ),
            row("reopened", N::PullRequest, &[V::Reopen], &[]),
            row(
                "ready_for_review",
                N::PullRequest,
                &[V::ReadyForReview],
                &[],
            ),
            row(
                "converted_to_draft",
                N::PullRequest,
                &[V::ConvertToDraft],
                &[],
            ),
            row("labeled", N::PullRequest, &[V::Label, V::Relabel], &[]),
            row("unlabeled", N::PullRequest, &[V::Unlabel, V::Relabel], &[]),
            row("assigned", N::PullRequest, &[V::Assign, V::Reassign], &[]),
            row(
                "unassigned",
                N::PullRequest,
                &[V::Unassign, V::Reassign],
                &[],
            ),
            row("review_requested", N::PullRequest, &[V::RequestReview], &[]),
            row(
                "review_request_removed",
                N::PullRequest,
                &[V::UnrequestReview],
                &[],
            ),
            row("locked", N::PullRequest, &[V::Lock], &[]),
            row("unlocked", N::PullRequest, &[V::Unlock], &[]),
            row("milestoned", N::PullRequest, &[V::Milestone], &[]),
            row("demilestoned", N::PullRequest, &[V::Demilestone], &[]),
            row("enqueued", N::PullRequest, &[V::Enqueue], &[]),
            row("dequeued", N::PullRequest, &[V::Dequeue], &[]),
            row(
                "auto_merge_enabled",
                N::PullRequest,
                &[V::EnableAutoMerge],
                &[],
            ),
            row(
                "auto_merge_disabled",
                N::PullRequest,
                &[V::DisableAutoMerge],
                &[],
            ),
            common("opened", N::PullRequest, &[V::Touch], &[]),
            common("synchronize", N::PullRequest, &[V::Touch], &[]),
            common("reopened", N::PullRequest, &[V::Touch], &[]),
            common("opened", N::File, &[V::Touch], &[]),
            common("synchronize", N::File, &[V::Touch], &[]),
            common("reopened", N::File, &[V::Touch], &[]),
        ],
    ),
    &kind(
        "pull_request_review",
        &["action", "pull_request", "review"],
        &[
            COMMON,
            PULL_REQUEST,
            PULL_REQUEST_PARENT,
            &[
                at("review.body", F::Comment),
                at("review.state", F::ReviewState),
                at("review.user.login", F::Author),
                at("review.user.type", F::AuthorKind),
                at("review.author_association", F::AuthorAssociation),
                at("changes.*", F::Changed),
            ],
        ],
        &["review.submitted_at", "pull_request.updated_at"],
        &[
            row(
                "submitted",
                N::Review,
                &[V::Create, V::Complete, V::Post, V::Add],
                &[],
            ),
            row("submitted", N::PullRequest, &[V::Review], &[]),
            row(
                "submitted",
                N::PullRequest,
                &[V::Approve],
                &[Is(F::ReviewState, &["approved"])],
            ),
            row(
                "submitted",
                N::PullRequest,
                &[V::RequestChanges],
                &[Is(F::ReviewState, &["changes_requested"])],
            ),
            row("edited", N::Review, &[V::Edit, V::Update, V::Change], &[]),
            row("dismissed", N::Review, &[V::Dismiss], &[]),
        ],
    ),
    &kind(
        "pull_request_review_comment",
        &["action", "pull_request", "comment"],
        &[
            COMMON,
            PULL_REQUEST,
            PULL_REQUEST_PARENT,
            COMMENT,
            &[
                at("comment.path", F::CommentPath),
                raw("comment.in_reply_to_id"),
            ],
        ],
        &["comment.updated_at"],
        &[
            common("created", N::Comment, &[V::Create, V::Add, V::Post], &[]),
            row(
                "created",
                N::ReviewComment,
                &[V::Create, V::Add, V::Post],
                &[],
            ),
            row("edited", N::Comment, &[V::Edit, V::Update, V::Change], &[]),
            row(
                "edited",
                N::ReviewComment,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row("deleted", N::Comment, &[V::Delete, V::Remove], &[]),
            row("deleted", N::ReviewComment, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "pull_request_review_thread",
        &["action", "pull_request", "thread"],
        &[COMMON, PULL_REQUEST, PULL_REQUEST_PARENT],
        &["updated_at"],
        &[
            row("resolved", N::ReviewThread, &[V::Resolve, V::Close], &[]),
            row(
                "unresolved",
                N::ReviewThread,
                &[V::Unresolve, V::Reopen],
                &[],
            ),
        ],
    ),
    &kind(
        "issues",
        &["action", "issue"],
        &[COMMON, ISSUE, ISSUE_AUTHOR, LABELLED],
        &["issue.updated_at"],
        &[
            common("opened", N::Issue, &[V::Create], &[]),
            common("edited", N::Issue, &[V::Edit, V::Update, V::Change], &[]),
            row(
                "closed",
                N::Issue,
                &[V::Close, V::Resolve, V::Complete],
                &[],
            ),
            row("reopened", N::Issue, &[V::Reopen], &[]),
            common("labeled", N::Issue, &[V::Label, V::Relabel], &[]),
            row("unlabeled", N::Issue, &[V::Unlabel, V::Relabel], &[]),
            row("assigned", N::Issue, &[V::Assign, V::Reassign], &[]),
            row("unassigned", N::Issue, &[V::Unassign, V::Reassign], &[]),
            row("milestoned", N::Issue, &[V::Milestone], &[]),
            row("demilestoned", N::Issue, &[V::Demilestone], &[]),
            row("deleted", N::Issue, &[V::Delete, V::Remove], &[]),
            row("transferred", N::Issue, &[V::Transfer], &[]),
            row("pinned", N::Issue, &[V::Pin], &[]),
            row("unpinned", N::Issue, &[V::Unpin], &[]),
            row("locked", N::Issue, &[V::Lock], &[]),
            row("unlocked", N::Issue, &[V::Unlock], &[]),
            row("typed", N::Issue, &[V::SetType], &[]),
            row("untyped", N::Issue, &[V::ClearType], &[]),
        ],
    ),
    &kind(
        "issue_comment",
        &["action", "issue", "comment"],
        &[COMMON, ISSUE, ISSUE_PARENT, COMMENT],
        &["comment.updated_at"],
        &[
            common("created", N::Comment, &[V::Create, V::Add, V::Post], &[]),
            row("edited", N::Comment, &[V::Edit, V::Update, V::Change], &[]),
            row("deleted", N::Comment, &[V::Delete, V::Remove], &[]),
            row("pinned", N::Comment, &[V::Pin], &[]),
            row("unpinned", N::Comment, &[V::Unpin], &[]),
        ],
    ),
    &kind(
        "commit_comment",
        &["comment"],
        &[COMMON, COMMENT, &[at("comment.commit_id", F::After)]],
        &["comment.updated_at"],
        &[row(
            "created",
            N::CommitComment,
            &[V::Create, V::Add, V::Post],
            &[],
        )],
    ),
    &kind(
        "discussion",
        &["action", "discussion"],
        &[
            COMMON,
            DISCUSSION,
            LABELLED,
            &[
                at("discussion.user.login", F::Author),
                at("discussion.user.type", F::AuthorKind),
                at("discussion.author_association", F::AuthorAssociation),
            ],
        ],
        &["discussion.updated_at"],
        &[
            row(
                "created",
                N::Discussion,
                &[V::Create, V::Start, V::Post],
                &[],
            ),
            row(
                "edited",
                N::Discussion,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row("answered", N::Discussion, &[V::Answer], &[]),
            row("labeled", N::Discussion, &[V::Label, V::Relabel], &[]),
            row("unlabeled", N::Discussion, &[V::Unlabel, V::Relabel], &[]),
            row("deleted", N::Discussion, &[V::Delete, V::Remove], &[]),
            row("closed", N::Discussion, &[V::Close], &[]),
            row("reopened", N::Discussion, &[V::Reopen], &[]),
            row("locked", N::Discussion, &[V::Lock], &[]),
            row("pinned", N::Discussion, &[V::Pin], &[]),
            row("transferred", N::Discussion, &[V::Transfer], &[]),
            row("unanswered", N::Discussion, &[V::Unanswer], &[]),
            row(
                "answered",
                N::Answer,
                &[V::Accept, V::Answer, V::Create, V::Add],
                &[],
            ),
            row(
                "unanswered",
                N::Answer,
                &[V::Unanswer, V::Remove, V::Delete],
                &[],
            ),
            row("unlocked", N::Discussion, &[V::Unlock], &[]),
            row("unpinned", N::Discussion, &[V::Unpin], &[]),
            row("category_changed", N::Discussion, &[V::Recategorize], &[]),
        ],
    ),
    &kind(
        "discussion_comment",
        &["action", "discussion", "comment"],
        &[
            COMMON,
            DISCUSSION,
            COMMENT,
            &[
                at("discussion.user.login", F::ParentAuthor),
                at("discussion.user.type", F::ParentAuthorKind),
            ],
        ],
        &["comment.updated_at"],
        &[
            row(
                "created",
                N::DiscussionComment,
                &[V::Create, V::Add, V::Post],
                &[],
            ),
            row(
                "edited",
                N::DiscussionComment,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row(
                "deleted",
                N::DiscussionComment,
                &[V::Delete, V::Remove],
                &[],
            ),
        ],
    ),
];
