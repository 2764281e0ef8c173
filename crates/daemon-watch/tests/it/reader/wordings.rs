//! Guards in front, alternatives that leave out what they share, and other word order mean what the plain line means.

use daemon_watch::{Status, interpret};

#[track_caller]
pub(super) fn same(pairs: &[(&str, &str)]) {
    let differs = |(line, plain): &&(&str, &str)| {
        let (meaning, meant) = (interpret(line), interpret(plain));
        let is_read = meaning.status == Status::Mapped && meant.status == Status::Mapped;
        !is_read || !meaning.means_the_same_as(&meant)
    };
    let wrong: Vec<&(&str, &str)> = pairs.iter().filter(differs).collect();
    assert_eq!(wrong, Vec::<&(&str, &str)>::new());
}

#[test]
fn a_guard_in_front_of_the_event_is_a_guard_of_it() {
    same(&[
        (
            "If it is a draft, when a pull request is labeled bug",
            "when a draft pull request is labeled bug",
        ),
        (
            "Provided that it targets main and that it is not a draft, when a PR is closed",
            "when a non-draft PR targeting main is closed",
        ),
        (
            "Unless its title contains \"WIP\", when a PR is opened",
            "when a PR whose title does not contain \"WIP\" is opened",
        ),
        (
            "For PRs from forks: when a review is submitted",
            "when a review is submitted on a PR from a fork",
        ),
        (
            "If the label bug is present on a GitHub issue, when it is closed",
            "when a GitHub issue with the label bug is closed",
        ),
        (
            "Bots aside, whenever a GitHub issue is opened",
            "when a GitHub issue is opened, not by a bot",
        ),
        (
            "When, in Linear, an issue is created",
            "when a Linear issue is created",
        ),
    ]);
}

#[test]
fn a_guard_in_front_that_no_event_holds_is_left_over() {
    for (line, expected) in [
        (
            "If the moon is full, when a pull request is opened",
            "If the moon is full",
        ),
        (
            "If the pull request is from a fork, when a check fails",
            "If the pull request is from a fork",
        ),
    ] {
        let meaning = interpret(line);
        let left: Vec<&str> = meaning.remainder.iter().map(|span| span.of(line)).collect();
        assert_eq!(left, [expected]);
    }
}

#[test]
fn an_alternative_shares_what_it_leaves_out() {
    same(&[
        (
            "when a review is requested from @kit or from @ida",
            "when a review is requested from @kit or @ida",
        ),
        (
            "when the label bug is added to a PR, or is removed from it again",
            "when the label bug is added to or removed from a PR",
        ),
        (
            "when a PR gets the label bug, or when this label is taken off it",
            "when the label bug is added to or removed from a PR",
        ),
        (
            "when someone posts a comment on a PR, or edits one",
            "when a comment on a PR is posted or edited",
        ),
        (
            "when an issue is created in GitHub, in Linear or in Sentry",
            "when an issue is created in GitHub or in Linear, or when a Sentry issue is created",
        ),
        (
            "new or edited comments on PRs",
            "when a comment on a PR is created or edited",
        ),
        (
            "when a PR is closed, but not when it is merged",
            "when a PR is closed",
        ),
    ]);
}

#[test]
fn a_negation_holds_for_the_whole_list_behind_it() {
    same(&[
        (
            "when a PR is opened, but not by a bot or by @kit",
            "when a PR is opened by neither a bot nor @kit",
        ),
        (
            "when a message is posted, not in #ops or in #dev",
            "when a message is posted outside #ops or #dev",
        ),
        (
            "when a Linear issue is created, not in team Kilns or in team Bricks",
            "when a Linear issue is created outside team Kilns or Bricks",
        ),
    ]);
}

#[test]
fn other_word_order_and_wrong_forms_are_read_as_what_is_meant() {
    same(&[
        (
            "when it is merged a pull request in the branch develop",
            "when a pull request is merged into develop",
        ),
        (
            "when label bug is add to a PR",
            "when the label bug is added to a PR",
        ),
        (
            "when a tag was made that not begins with nightly",
            "when a tag that does not begin with nightly is created",
        ),
        (
            "when in #ops is posted a message",
            "when a message is posted in #ops",
        ),
        (
            "when a bot has closed a GitHub issue",
            "when a GitHub issue is closed by a bot",
        ),
    ]);
}

#[test]
fn quoted_words_that_are_added_are_a_label_and_no_comment() {
    same(&[(
        "when \"good first issue\" is added to a GitHub issue",
        "when the label \"good first issue\" is added to a GitHub issue",
    )]);
}

#[test]
fn the_english_of_learners_means_what_it_is_meant_to() {
    same(&[
        (
            "whenever a pull request is touching docs/",
            "when a pull request touches docs/",
        ),
        (
            "if somebody is changing the due date of one Linear issue",
            "when somebody changes the due date of a Linear issue",
        ),
        (
            "when a comment is mentioning @kit on a pull request",
            "when a comment on a pull request mentions @kit",
        ),
        (
            "when a GitHub issue is labeled with something else than bug",
            "when a label other than bug is added to a GitHub issue",
        ),
        (
            "a GitHub issue was taken out from the milestone Cone 10",
            "when a GitHub issue is removed from the milestone \"Cone 10\"",
        ),
        (
            "someone puts the priority of a Linear issue on Low",
            "when the priority of a Linear issue is set to low",
        ),
        (
            "someone pushes to trunk, as long as it is not @kit",
            "someone other than @kit pushes to trunk",
        ),
        (
            "a PR is opened and it has not the label \"backport\"",
            "a PR without the label \"backport\" is opened",
        ),
        (
            "someone writes a comment in Linear who is no integration",
            "a comment in Linear is written, not by an integration",
        ),
        (
            "a force push was made, does not matter to which branch",
            "when a force push is made",
        ),
    ]);
}

#[test]
fn every_run_that_has_to_succeed_is_left_over() {
    for (line, expected) in [
        (
            "when every check on a pull request has passed",
            Some("every check"),
        ),
        ("when every workflow run passes", Some("every workflow")),
        ("every check that passes", None),
        ("when a check passes", None),
    ] {
        let meaning = interpret(line);
        let left = meaning.remainder.first().map(|span| span.of(line));
        assert_eq!(
            (left, meaning.clauses.is_empty()),
            (expected, false),
            "{line}"
        );
    }
}

#[test]
fn what_is_done_with_an_answer_is_not_its_acceptance() {
    for line in [
        "an answer is unmarked in a discussion",
        "an answer is edited in a discussion",
    ] {
        let meaning = interpret(line);
        let mut events = meaning.clauses.iter().flat_map(|clause| &clause.events);
        assert!(
            events.all(|event| event.action != Some("answered")),
            "{line}"
        );
    }
}

#[test]
fn an_arrow_a_colon_and_a_plus_mean_what_words_do() {
    same(&[
        (
            "PR opened → base branch matches release/*",
            "when a pull request is opened against release/*",
        ),
        ("Pull request -> merged", "when a pull request is merged"),
        (
            "Linear issue: priority → urgent",
            "when the priority of a Linear issue is set to urgent",
        ),
        (
            "commit status ci/lint → failure or error",
            "when the commit status ci/lint is failure or error",
        ),
        (
            "#leaks → new Slack message from a bot",
            "when a bot posts a Slack message in #leaks",
        ),
        (
            "GitHub issue + label bug added",
            "when the label bug is added to a GitHub issue",
        ),
        (
            "Ready for review: any PR except drafts",
            "when a pull request is ready for review, except drafts",
        ),
        ("PR merged → wake", "when a pull request is merged"),
    ]);
}

#[test]
fn an_instruction_behind_an_arrow_is_left_over_with_the_arrow() {
    for line in [
        "PR merged → update the changelog",
        "PR merged -> then update the changelog",
    ] {
        let meaning = interpret(line);
        let left = meaning.remainder.first().map(|span| span.of(line));
        assert_eq!(left, line.strip_prefix("PR merged "), "{line}");
        assert_eq!(meaning.clauses.len(), 1, "{line}");
    }
}

#[test]
fn restrictions_in_other_words_restrict() {
    same(&[
        (
            "a PR which is no draft is opened",
            "when a pull request that is not a draft is opened",
        ),
        (
            "a PR is merged whose branch does not come from a fork",
            "when a pull request that is not from a fork is merged",
        ),
        (
            "a PR is opened and no file below tests/ is touched by it",
            "when a pull request that does not touch tests/ is opened",
        ),
        (
            "a person, so not a bot, comments on a pull request",
            "when a person who is not a bot comments on a pull request",
        ),
        (
            "a deployment fails in whichever environment that is not production",
            "when a deployment to an environment other than production fails",
        ),
        (
            "an issue is closed, provided that it is not done by a bot",
            "when an issue is closed, but not by a bot",
        ),
    ]);
}

#[test]
fn the_verdict_of_a_dismissed_review_is_left_over() {
    for line in [
        "an approving review is dismissed",
        "an approval is dismissed on a PR",
        "a review that requests changes is dismissed",
    ] {
        let meaning = interpret(line);
        assert!(!meaning.remainder.is_empty(), "{line}");
        assert!(meaning.filters.is_empty(), "{line}");
    }
}
