//! What a line says again in other words, what its second half leaves out, and who wakes, change nothing in what is meant.

use super::wordings::same;
use daemon_watch::{Status, interpret};

#[test]
fn what_is_said_again_narrows_the_event_and_is_not_left_over() {
    same(&[
        (
            "a pull request is merged into a hotfix branch, that is, hotfix/**",
            "when a pull request is merged into a hotfix branch",
        ),
        (
            "a GitHub issue is opened (draft or not)",
            "when a GitHub issue is opened",
        ),
        (
            "when a PR is synchronized (new commits pushed)",
            "when new commits are pushed to a PR",
        ),
        (
            "lock files changed: go.sum or yarn.lock",
            "when go.sum or yarn.lock is changed",
        ),
        (
            "the nightly build (workflow \"Nightly\") fails",
            "when the workflow \"Nightly\" fails",
        ),
    ]);
}

#[test]
fn a_second_half_has_the_place_or_the_verb_of_the_first() {
    same(&[
        (
            "when a PR is merged into develop, or someone pushes to that branch",
            "when a PR is merged into develop or someone pushes to develop",
        ),
        (
            "when a hotfix/* branch is created, or a bot pushes to one",
            "when a hotfix/* branch is created, or a bot pushes to hotfix/*",
        ),
        (
            "a workflow fails on main, and likewise when one on develop does",
            "a workflow fails on main, or a workflow fails on develop",
        ),
        (
            "the check `lint` fails, or the check `build` does",
            "the check `lint` fails, or the check `build` fails",
        ),
        (
            "@kit is assigned to a GitHub issue or asked to review a pull request",
            "@kit is assigned to a GitHub issue, or a review is requested from @kit",
        ),
        (
            "PRs into main: new ones, reopened ones",
            "when a PR into main is opened or reopened",
        ),
    ]);
}

#[test]
fn files_named_first_are_changed_by_each_of_the_events() {
    same(&[
        (
            "when go.mod is changed by a push to main or by a newly opened pull request",
            "when a push to main changes go.mod, or a pull request that changes go.mod is opened",
        ),
        (
            "when anything in deploy/ changes on main or in a pull request that is reopened",
            "when a push to main changes deploy/, or a pull request that changes deploy/ is reopened",
        ),
    ]);
}

#[test]
fn who_wakes_and_which_product_it_is_says_nothing_of_the_event() {
    let plain = "when a pull request is opened";
    for line in [
        "Triggers when a pull request is opened",
        "Triggered whenever a pull request is opened",
        "This workflow is triggered when a pull request is opened",
        "The Pull Request Opened trigger starts a run when a pull request is opened",
        "Start Kilnflow when a pull request is opened",
        "Emit new event when a pull request is opened",
        "You should wake up when a pull request is opened",
        "You must run when a pull request is opened",
    ] {
        same(&[(line, plain)]);
    }
    let order = interpret("when a pull request is opened, you should close it");
    assert_eq!(order.status, Status::Partial);
}

#[test]
fn what_is_in_parentheses_narrows_what_is_in_front_of_it() {
    same(&[
        (
            "Issue labelled \"bug\" (GitHub only)",
            "when a GitHub issue is labelled bug",
        ),
        (
            "when a GitHub issue is closed (as completed)",
            "when a GitHub issue is closed as completed",
        ),
        (
            "PR merged to main (not by bots)",
            "when a PR is merged to main, not by a bot",
        ),
    ]);
}

#[test]
fn the_name_of_a_file_is_no_branch() {
    same(&[(
        "go.mod is updated by @kit",
        "when go.mod is changed by @kit",
    )]);
}

#[test]
fn a_label_or_a_reviewer_without_its_thing_is_one_of_those_that_have_it() {
    same(&[
        (
            "the label \"ready\" is added",
            "when a pull request or an issue is labelled \"ready\"",
        ),
        (
            "a reviewer is added or removed",
            "when a reviewer is added to or removed from a pull request",
        ),
    ]);
    let meaning = interpret("the label \"ready\" is added or removed");
    let mut events = meaning.clauses.iter().flat_map(|clause| &clause.events);
    // "Removed" is the label and no issue.
    assert!(events.all(|event| event.action != Some("deleted") && event.action != Some("remove")));
}

#[test]
fn names_in_other_shapes_are_names() {
    same(&[
        (
            "when a message is posted in `#alerts`",
            "when a message is posted in #alerts",
        ),
        (
            "someone pushes to refs/heads/main",
            "someone pushes to main",
        ),
        (
            "`pull_request.opened` with draft = true",
            "when a draft pull request is opened",
        ),
    ]);
    let label = interpret("when an issue is labelled with !triage");
    assert_eq!(label.status, Status::Mapped);
    let login = interpret("KilnBot is requested as a reviewer");
    assert_eq!(login.status, Status::Mapped);
    // A participle is no name of a team.
    let line = "when a Linear issue in a team mapped to this repository is created";
    assert_ne!(interpret(line).status, Status::Mapped);
}
