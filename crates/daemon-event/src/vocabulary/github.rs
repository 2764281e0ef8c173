//! GitHub: pull requests, issues, comments, reviews and discussions.

use super::RowGuard::Is;
use super::{ActionRow, EventKind, FieldPath};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = paths! {
    "repository.full_name" Repo,
    "repository.default_branch" DefaultBranch,
    "sender.login" Actor,
    "sender.type" ActorKind,
};

const PULL_REQUEST: &[FieldPath] = paths! {
    "pull_request.number" Number,
    "pull_request.title" Title,
    "pull_request.body" Body,
    "pull_request.state" State,
    "pull_request.draft" Draft,
    "pull_request.merged" Merged,
    "pull_request.head.ref" Head,
    "pull_request.head.repo.full_name",
    "pull_request.head.sha" After,
    "pull_request.base.ref" Base,
    "pull_request.base.repo.full_name",
    "pull_request.labels[].name" Labels,
    "pull_request.assignees[].login" Assignees,
    "pull_request.milestone.title" Milestone,
};
const PULL_REQUEST_AUTHOR: &[FieldPath] = paths! {
    "pull_request.user.login" Author,
    "pull_request.user.type" AuthorKind,
    "pull_request.author_association" AuthorAssociation,
};
const PULL_REQUEST_PARENT: &[FieldPath] = paths! {
    "pull_request.user.login" ParentAuthor,
    "pull_request.user.type" ParentAuthorKind,
    "pull_request.author_association" ParentAuthorAssociation,
};
const LABELLED: &[FieldPath] = paths! {
    "label.name",
    "assignee.login" Assignee,
    "assignee.type" AssigneeKind,
    "milestone.title" Milestone,
    "changes.*" Changed,
};
const ISSUE: &[FieldPath] = paths! {
    "issue.number" Number,
    "issue.title" Title,
    "issue.body" Body,
    "issue.state" State,
    "issue.state_reason" StateReason,
    "issue.draft" Draft,
    "issue.labels[].name" Labels,
    "issue.assignees[].login" Assignees,
    "issue.milestone.title" Milestone,
    "issue.pull_request.url",
};
const ISSUE_AUTHOR: &[FieldPath] = paths! {
    "issue.user.login" Author,
    "issue.user.type" AuthorKind,
    "issue.author_association" AuthorAssociation,
};
const ISSUE_PARENT: &[FieldPath] = paths! {
    "issue.user.login" ParentAuthor,
    "issue.user.type" ParentAuthorKind,
    "issue.author_association" ParentAuthorAssociation,
};
const COMMENT: &[FieldPath] = paths! {
    "comment.body" Comment,
    "comment.user.login" Author,
    "comment.user.type" AuthorKind,
    "comment.author_association" AuthorAssociation,
    "changes.*" Changed,
};
const DISCUSSION: &[FieldPath] = paths! {
    "discussion.number" Number,
    "discussion.title" Title,
    "discussion.body" Body,
    "discussion.category.name" Category,
    "discussion.labels[].name" Labels,
};

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

pub(super) static KINDS: &[&EventKind] = kinds! {
    "pull_request" ["action", "pull_request"] at ["pull_request.updated_at"]
    reads [COMMON, PULL_REQUEST, PULL_REQUEST_AUTHOR, LABELLED] {
        "requested_reviewer.login" Reviewer,
        "requested_team.slug" ReviewerTeam,
        "requested_team.name" ReviewerTeam,
    }
    rows {
        common "opened": PullRequest [Create];
        common "edited": PullRequest [Edit Update Change];
        common "synchronize": PullRequest [Synchronize Update Change];
        row "closed": PullRequest [Close] if &[Is(F::Merged, &["false"])];
        common "closed": PullRequest [Merge] if &[Is(F::Merged, &["true"])];
        row "reopened": PullRequest [Reopen];
        row "ready_for_review": PullRequest [ReadyForReview];
        row "converted_to_draft": PullRequest [ConvertToDraft];
        row "labeled": PullRequest [Label Relabel];
        row "unlabeled": PullRequest [Unlabel Relabel];
        row "assigned": PullRequest [Assign Reassign];
        row "unassigned": PullRequest [Unassign Reassign];
        row "review_requested": PullRequest [RequestReview];
        row "review_request_removed": PullRequest [UnrequestReview];
        row "locked": PullRequest [Lock];
        row "unlocked": PullRequest [Unlock];
        row "milestoned": PullRequest [Milestone];
        row "demilestoned": PullRequest [Demilestone];
        row "enqueued": PullRequest [Enqueue];
        row "dequeued": PullRequest [Dequeue];
        row "auto_merge_enabled": PullRequest [EnableAutoMerge];
        row "auto_merge_disabled": PullRequest [DisableAutoMerge];
        common "opened": PullRequest [Touch];
        common "synchronize": PullRequest [Touch];
        common "reopened": PullRequest [Touch];
        common "opened": File [Touch];
        common "synchronize": File [Touch];
        common "reopened": File [Touch];
    }

    "pull_request_review" ["action", "pull_request", "review"] at ["review.submitted_at", "pull_request.updated_at"]
    reads [COMMON, PULL_REQUEST, PULL_REQUEST_PARENT] {
        "review.body" Comment,
        "review.state" ReviewState,
        "review.user.login" Author,
        "review.user.type" AuthorKind,
        "review.author_association" AuthorAssociation,
        "changes.*" Changed,
    }
    rows {
        row "submitted": Review [Create Complete Post Add];
        row "submitted": PullRequest [Review];
        row "submitted": PullRequest [Approve] if &[Is(F::ReviewState, &["approved"])];
        row "submitted": PullRequest [RequestChanges] if &[Is(F::ReviewState, &["changes_requested"])];
        row "edited": Review [Edit Update Change];
        row "dismissed": Review [Dismiss];
    }

    "pull_request_review_comment" ["action", "pull_request", "comment"] at ["comment.updated_at"]
    reads [COMMON, PULL_REQUEST, PULL_REQUEST_PARENT, COMMENT] {
        "comment.path" CommentPath,
        "comment.in_reply_to_id",
    }
    rows {
        common "created": Comment [Create Add Post];
        row "created": ReviewComment [Create Add Post];
        row "edited": Comment [Edit Update Change];
        row "edited": ReviewComment [Edit Update Change];
        row "deleted": Comment [Delete Remove];
        row "deleted": ReviewComment [Delete Remove];
    }

    "pull_request_review_thread" ["action", "pull_request", "thread"] at ["updated_at"]
    reads [COMMON, PULL_REQUEST, PULL_REQUEST_PARENT]
    rows {
        row "resolved": ReviewThread [Resolve Close];
        row "unresolved": ReviewThread [Unresolve Reopen];
    }

    "issues" ["action", "issue"] at ["issue.updated_at"]
    reads [COMMON, ISSUE, ISSUE_AUTHOR, LABELLED]
    rows {
        common "opened": Issue [Create];
        common "edited": Issue [Edit Update Change];
        row "closed": Issue [Close Resolve];
        row "closed": Issue [Complete] if &[Is(F::StateReason, &["completed"])];
        row "reopened": Issue [Reopen];
        common "labeled": Issue [Label Relabel];
        row "unlabeled": Issue [Unlabel Relabel];
        row "assigned": Issue [Assign Reassign];
        row "unassigned": Issue [Unassign Reassign];
        row "milestoned": Issue [Milestone];
        row "demilestoned": Issue [Demilestone];
        row "deleted": Issue [Delete Remove];
        row "transferred": Issue [Transfer];
        row "pinned": Issue [Pin];
        row "unpinned": Issue [Unpin];
        row "locked": Issue [Lock];
        row "unlocked": Issue [Unlock];
        row "typed": Issue [SetType];
        row "untyped": Issue [ClearType];
    }

    "issue_comment" ["action", "issue", "comment"] at ["comment.updated_at"]
    reads [COMMON, ISSUE, ISSUE_PARENT, COMMENT]
    rows {
        common "created": Comment [Create Add Post];
        row "edited": Comment [Edit Update Change];
        row "deleted": Comment [Delete Remove];
        row "pinned": Comment [Pin];
        row "unpinned": Comment [Unpin];
    }

    "commit_comment" ["comment"] at ["comment.updated_at"]
    reads [COMMON, COMMENT] {
        "comment.commit_id" After,
    }
    rows {
        row "created": CommitComment [Create Add Post];
    }

    "discussion" ["action", "discussion"] at ["discussion.updated_at"]
    reads [COMMON, DISCUSSION, LABELLED] {
        "discussion.user.login" Author,
        "discussion.user.type" AuthorKind,
        "discussion.author_association" AuthorAssociation,
    }
    rows {
        row "created": Discussion [Create Start Post];
        row "edited": Discussion [Edit Update Change];
        row "answered": Discussion [Answer];
        row "labeled": Discussion [Label Relabel];
        row "unlabeled": Discussion [Unlabel Relabel];
        row "deleted": Discussion [Delete Remove];
        row "closed": Discussion [Close];
        row "reopened": Discussion [Reopen];
        row "locked": Discussion [Lock];
        row "pinned": Discussion [Pin];
        row "transferred": Discussion [Transfer];
        row "unanswered": Discussion [Unanswer];
        row "answered": Answer [Accept Answer Create Add];
        row "unanswered": Answer [Unanswer Remove Delete];
        row "unlocked": Discussion [Unlock];
        row "unpinned": Discussion [Unpin];
        row "category_changed": Discussion [Recategorize];
    }

    "discussion_comment" ["action", "discussion", "comment"] at ["comment.updated_at"]
    reads [COMMON, DISCUSSION, COMMENT] {
        "discussion.user.login" ParentAuthor,
        "discussion.user.type" ParentAuthorKind,
    }
    rows {
        row "created": DiscussionComment [Create Add Post];
        row "edited": DiscussionComment [Edit Update Change];
        row "deleted": DiscussionComment [Delete Remove];
    }
};
