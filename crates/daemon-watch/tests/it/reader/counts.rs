//! What alone counts, what does not count, and commands in front of an event.

use super::reading;

#[test]
fn a_command_in_front_of_an_event_is_set_aside() {
    for (line, expected) in [
        (
            "look at every PR opened from a `hotfix/**` branch",
            "github pull_request.opened [head matches hotfix/**]",
        ),
        (
            "I want you to review PRs as soon as they are ready for review",
            "github pull_request.ready_for_review []",
        ),
        (
            "let us know if a release goes out",
            "github release.published []",
        ),
        (
            "greet whoever joins #leaks",
            "slack member_joined_channel [channel is leaks]",
        ),
        (
            "audit each push to main",
            "github push, git push [deleted is false; ref_type is branch; branch is main]",
        ),
        ("react to GitHub issues", "github issues.opened []"),
        // A state is no event, and a command does not make it one.
        ("look at open pull requests", "vague"),
        // A noun that is a command elsewhere.
        (
            "support ticket opened",
            "github issues.opened, linear Issue.create []\nleft: support ticket",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn events_that_do_not_count_are_taken_from_those_of_the_line() {
    for (line, expected) in [
        (
            "new commits on a PR, bot pushes do not count",
            "github pull_request.synchronize [actor_kind is_not bot]",
        ),
        (
            "PR updated; title edits are not relevant",
            "github pull_request.synchronize []\ngithub pull_request.edited [changed is_not title]",
        ),
        (
            "when a PR is updated, edits ignored",
            "github pull_request.synchronize []",
        ),
        (
            "Sentry comment edited or deleted, new ones do not count",
            "sentry comment.updated []\nsentry comment.deleted []",
        ),
        (
            "when a Sentry issue becomes unresolved, regressions excluded",
            "sentry issue.unresolved [substatus is_not regressed]",
        ),
        (
            "GitHub issue closed, except as duplicate",
            "github issues.closed [state_reason is_not duplicate]",
        ),
        // A state of the pull request, since the label is not an event of this line.
        (
            "PR opened, not labelled wip",
            "github pull_request.opened [labels is_not wip]",
        ),
        (
            "label added to a PR, but not wip",
            "github pull_request.labeled [label_added is_not wip]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn what_has_to_hold_can_be_a_sentence_of_its_own() {
    for (line, expected) in [
        (
            "PR opened. It has to target main.",
            "github pull_request.opened [base is main]",
        ),
        (
            "PR merged, base anything but main",
            "github pull_request.closed, git merge [merged is true; base is_not main]",
        ),
        (
            "PR opened that changes `Cargo.lock` and no other file",
            "github pull_request.opened [changed_files only Cargo.lock]",
        ),
        (
            "PR opened, docs/ only",
            "github pull_request.opened [changed_files only docs/]",
        ),
        (
            "pushes to main, nothing else",
            "github push, git push [deleted is false; ref_type is branch; branch is main]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn what_people_do_with_their_own_things_is_done_by_the_author() {
    for (line, expected) in [
        (
            "the author renames their own PR",
            "github pull_request.edited [changed is title; by_author is true]",
        ),
        (
            "when someone merges a PR they opened",
            "github pull_request.closed [merged is true; by_author is true]",
        ),
        (
            "the reporter commenting on their own GitHub issue",
            "github issue_comment.created [comment_on is issue; by_author is true]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn who_edits_a_comment_is_compared_with_its_writer() {
    for (line, expected) in [
        (
            "when a comment on a PR is edited by its author",
            "github pull_request_review_comment.edited, github issue_comment.edited \
             [comment_on is pull_request; by_writer is true]",
        ),
        (
            "when a comment on a PR is edited by the PR author",
            "github pull_request_review_comment.edited, github issue_comment.edited \
             [comment_on is pull_request; by_author is true]",
        ),
        (
            "someone deletes their own comment on a GitHub issue",
            "github issue_comment.deleted [comment_on is issue; by_writer is true]",
        ),
        // Who edits what another user wrote is a maintainer.
        (
            "when a comment on a GitHub issue is edited by someone who is not a maintainer",
            "github issue_comment.edited [comment_on is issue; by_writer is true; \
             author_association is_not OWNER | MEMBER | COLLABORATOR]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn an_assignee_can_be_a_human_or_a_bot() {
    for (line, expected) in [
        (
            "when a GitHub issue is assigned to a human and not to a bot",
            "github issues.assigned [assignee_kind is human; assignee_kind is_not bot]",
        ),
        (
            "a bot is assigned to a PR",
            "github pull_request.assigned [assignee_kind is bot]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn a_name_in_front_or_behind_says_what_it_is_of() {
    for (line, expected) in [
        (
            "\"Cycle 9\" completed in Linear",
            "linear Cycle.update [changed is completed; state_type is completed; name is \"Cycle 9\"]",
        ),
        (
            "custom emoji `:kiln:` added in Slack",
            "slack emoji_changed [subtype is add; name is kiln]",
        ),
        (
            "a Kilns issue in Linear is created",
            "linear Issue.create [team is Kilns]\nlinear Issue.create [project is Kilns]",
        ),
        (
            "urgent bug filed in Linear",
            "linear Issue.create [labels is bug; priority is urgent]",
        ),
        (
            "`CI` fails on main as a workflow",
            "github workflow_run.completed [conclusion is failure | timed_out; workflow is CI; branch is main]",
        ),
        (
            "Feature request comes in: GitHub issue opened with the bug label",
            "github issues.opened [labels is bug]",
        ),
        (
            "Comment on a GitHub issue by a bot",
            "github issue_comment.created [comment_on is issue; author_kind is bot]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn other_words_of_an_event_are_read_as_it() {
    for (line, expected) in [
        (
            "when the base of a PR changes from develop to main",
            "github pull_request.edited [changed is base; base is main]\nleft: from develop",
        ),
        (
            "when a PR is no longer a draft",
            "github pull_request.ready_for_review []",
        ),
        (
            "`nightly` cancelled",
            "github check_run.completed [conclusion is cancelled; check is nightly]",
        ),
        (
            "if the PR are merge in main",
            "github pull_request.closed, git merge [merged is true; base is main]",
        ),
        (
            "any change under docs/ on main",
            "github push, git push [deleted is false; ref_type is branch; changed_files any_of docs/; branch is main]",
        ),
        (
            "when somebody who joined recently opens a PR",
            "github pull_request.opened []\nleft: who joined recently",
        ),
        // The word of a thing is no name of a branch.
        ("PR force pushed", "vague"),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}
