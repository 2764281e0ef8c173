//! Whole readings of the chart, grouped by the purpose of its rules.

mod again;
mod counts;
mod wordings;

use daemon_watch::interpret;

/// Returns the reading as text: each event with its filters, and what is left over.
pub(crate) fn reading(line: &str) -> String {
    let meaning = interpret(line);
    if !meaning.status.can_wake() {
        return meaning.status.as_str().to_owned();
    }
    let clauses = meaning.clauses.iter().map(|clause| {
        let events: Vec<String> = clause.events.iter().map(ToString::to_string).collect();
        let filters = clause
            .filters
            .iter()
            .map(|at| meaning.filters[*at].test.to_string());
        format!(
            "{} [{}]",
            events.join(", "),
            filters.collect::<Vec<_>>().join("; ")
        )
    });
    let mut found: Vec<String> = clauses.collect();
    found.extend(
        meaning
            .remainder
            .iter()
            .map(|span| format!("left: {}", span.of(line))),
    );
    found.join("\n")
}

#[test]
fn guards_apply_to_the_thing_or_the_actor_by_their_place() {
    for (line, expected) in [
        (
            "when a pull request by @kit is merged by a human",
            "github pull_request.closed, git merge [merged is true; author is kit; actor_kind is human]",
        ),
        (
            "when a pull request is opened or reopened by someone who is not a bot",
            "github pull_request.opened [author_kind is_not bot]\n\
             github pull_request.reopened [actor_kind is_not bot]",
        ),
        (
            "when a non-draft pull request targeting release/* that does not touch docs/ is opened",
            "github pull_request.opened [draft is false; base matches release/*; changed_files none_of docs/]",
        ),
        (
            "when the label bug is added to an open GitHub issue",
            "github issues.labeled [state is open; label_added is bug]",
        ),
        (
            "when @kit is requested to review a pull request with \"WIP\" in the title",
            "github pull_request.review_requested [title contains WIP; reviewer is kit]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn names_places_and_outcomes_of_checks_are_guards() {
    for (line, expected) in [
        (
            "when the lint check fails or times out on main",
            "github check_run.completed [conclusion is failure | timed_out; check is lint; branch is main]\n\
             github status [conclusion is failure | error; check is lint; branch is main]\n\
             github check_run.completed [conclusion is timed_out; check is lint; branch is main]",
        ),
        (
            "when a check run fails on a pull request into main",
            "github check_run.completed [conclusion is failure | timed_out; pull_requests present; base is main]",
        ),
        (
            "when a deployment to any environment except staging ends in error",
            "github deployment_status.created [environment is_not staging; conclusion is error]",
        ),
        (
            "when the flaky check run fails",
            "github check_run.completed [conclusion is failure | timed_out]\nleft: flaky check run",
        ),
        (
            "on tag pushes",
            "github push, git push [deleted is false; ref_type is tag]",
        ),
        (
            "when a critical Dependabot alert is created",
            "github dependabot_alert.created [severity is critical]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn exclusions_and_restrictions_around_an_event_are_guards_of_it() {
    for (line, expected) in [
        (
            "PR opened/reopened, no drafts, no bots",
            "github pull_request.opened [draft is false; author_kind is_not bot]\n\
             github pull_request.reopened [draft is false; actor_kind is_not bot]",
        ),
        (
            "when a tag is created, except one that matches `nightly-*`",
            "github create, git create [ref_type is tag; tag matches_not nightly-*]",
        ),
        (
            "reviews submitted, only on PRs into main",
            "github pull_request_review.submitted [base is main]",
        ),
        (
            "only docs/ files changed in a new PR",
            "github pull_request.opened [changed_files only docs/]",
        ),
        (
            "with the exception of forks, when a PR is opened",
            "github pull_request.opened [fork is false]",
        ),
        (
            "when a PR is merged, except PRs by bots",
            "github pull_request.closed, git merge [merged is true; author_kind is_not bot]",
        ),
        (
            "failing check run on an open PR (drafts and lint excluded)",
            "github check_run.completed [conclusion is failure | timed_out; pull_requests present; \
             state is open; draft is false; check is_not lint]",
        ),
        (
            "a Dependabot alert is created, critical only",
            "github dependabot_alert.created [severity is critical]",
        ),
        (
            "when a review is submitted, unless that PR is still a draft",
            "github pull_request_review.submitted [draft is false]",
        ),
        (
            "when src/ changes, docs excluded",
            "github pull_request.opened, github pull_request.synchronize, github pull_request.reopened \
             [changed_files any_of src/ | !docs/]\n\
             github push, git push [deleted is false; ref_type is branch; changed_files any_of src/ | !docs/; \
             on_default_branch is true]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn headlines_and_the_past_are_read_as_the_event() {
    for (line, expected) in [
        (
            "@kit has deleted a branch",
            "github delete, git delete [ref_type is branch; actor is kit]",
        ),
        (
            "any PR that landed on main",
            "github pull_request.closed, git merge [merged is true; base is main]",
        ),
        (
            "\"/ship\" in a PR comment by a maintainer",
            "github pull_request_review_comment.created, github issue_comment.created \
             [comment_on is pull_request; comment command /ship; \
             author_association is OWNER | MEMBER | COLLABORATOR]",
        ),
        (
            "review requested from `ida-brook` on a PR into main that is not in draft",
            "github pull_request.review_requested [base is main; draft is false; reviewer is ida-brook]",
        ),
        (
            "pushes to a branch under release/",
            "github push, git push [deleted is false; ref_type is branch; branch begins release/]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn words_about_what_was_named_apply_to_it() {
    for (line, expected) in [
        (
            "when a maintainer approves a PR, unless its author is a bot",
            "github pull_request_review.submitted [review_state is approved; \
             author_association is OWNER | MEMBER | COLLABORATOR; parent_author_kind is_not bot]",
        ),
        (
            "when a PR is opened or the same PR is updated",
            "github pull_request.opened []\n\
             github pull_request.edited, github pull_request.synchronize []",
        ),
        (
            "when a branch that matches `release/*` or a tag that matches `v*` is created",
            "github create, git create [ref_type is branch; branch matches release/*]\n\
             github create, git create [ref_type is tag; tag matches v*]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn an_exception_that_is_not_read_keeps_all_its_words() {
    assert_eq!(
        reading("when a PR is opened or merged, excluding merges by squirrels"),
        "github pull_request.opened []\n\
         github pull_request.closed, git merge [merged is true]\n\
         left: excluding merges by squirrels",
    );
    // "only" belongs to the files, so "that only" is not left over without them.
    assert_eq!(
        reading("PRs that only change documentation under docs/"),
        "vague"
    );
}

#[test]
fn words_without_a_meaning_are_left_over_and_nothing_else() {
    for (line, expected) in [
        (
            "when a frobnicated pull request is opened",
            "github pull_request.opened []\nleft: frobnicated pull request",
        ),
        (
            "when a pull request is opened during the frobnication",
            "github pull_request.opened []\nleft: during the frobnication",
        ),
        ("when a Jira ticket is opened", "unmapped"),
        ("when the frobnication begins", "vague"),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn what_is_understood_and_no_event_holds_is_left_over() {
    for (line, expected) in [
        (
            "when a Linear issue moves from In Review to Done",
            "linear Issue.update [changed is state; state is Done]\nleft: from In Review",
        ),
        (
            "when a Linear issue leaves Triage",
            "linear Issue.update [changed is state]\nleft: Triage",
        ),
        (
            "when a Sentry issue is created, except in staging",
            "sentry issue.created []\nleft: except in staging",
        ),
        (
            "when a Linear issue is created, except those made by a committee",
            "linear Issue.create []\nleft: except those made by a committee",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn what_the_host_fetches_for_a_comment_is_a_guard_of_it() {
    let on = "github pull_request_review_comment.created, github issue_comment.created [comment_on is pull_request";
    for (line, guard) in [
        (
            "when someone comments on a pull request that changes docs/**",
            "changed_files any_of docs/**",
        ),
        (
            "when someone comments on a pull request targeting main",
            "base is main",
        ),
        ("when someone comments on a merged PR", "merged is true"),
        ("PR comment from kit[bot]", "author is kit[bot]"),
    ] {
        assert_eq!(reading(line), format!("{on}; {guard}]"), "{line}");
    }
}

#[test]
fn who_did_it_is_the_actor_of_that_verb_and_else_the_author() {
    for (line, expected) in [
        (
            "when a Linear issue moves to Done, unless an integration moved it",
            "linear Issue.update [changed is state; state is Done; actor_kind is_not bot]",
        ),
        (
            "when a Linear issue moves to Done, unless an integration created it",
            "linear Issue.update [changed is state; state is Done; author_kind is_not bot]",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn events_in_one_place_share_it() {
    for (line, expected) in [
        (
            "a message saying \"down\" in #ops, threads included",
            "slack message [message_kind is posted; comment contains down; channel is ops]\n\
             slack message [message_kind is reply; comment contains down; channel is ops]",
        ),
        (
            "when a Linear issue is created in Triage or is moved to it",
            "linear Issue.create [state is Triage]\n\
             linear Issue.update [changed is state; state is Triage]",
        ),
        (
            "when an issue is opened on GitHub or created in Linear",
            "github issues.opened []\nlinear Issue.create []",
        ),
    ] {
        assert_eq!(reading(line), expected, "{line}");
    }
}

#[test]
fn the_nearest_phrasing_is_the_cheapest_edit_that_is_read_whole() {
    for (line, expected) in [
        ("Linear issues", Some("new Linear issues")),
        (
            "when a pull request targeting main is frobnicated",
            Some("when a pull request targeting main is opened"),
        ),
        (
            "when a frobnicated pull request is opened",
            Some("when a pull request is opened"),
        ),
        (
            "when a message is posted in #ops during the frobnication by a bot",
            Some("when a message is posted in #ops by a bot"),
        ),
        ("when a Jira ticket is opened", None),
    ] {
        assert_eq!(interpret(line).suggestion.as_deref(), expected, "{line}");
    }
}

#[test]
fn the_place_of_an_event_is_never_another_source() {
    for line in [
        "when an issue is opened in Linear's frobnicator",
        "a reply in Linear during the frobnication",
    ] {
        let meaning = interpret(line);
        let sources: Vec<_> = (meaning.clauses.iter())
            .flat_map(|clause| clause.events.iter().map(|event| event.source.as_str()))
            .filter(|source| *source != "linear")
            .collect();
        assert_eq!(sources, Vec::<&str>::new(), "{line}");
    }
}
