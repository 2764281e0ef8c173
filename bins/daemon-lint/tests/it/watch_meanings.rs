//! D306, D307, D310 and D311: contradictions, repetitions, inert daemons and loops.

use expect_test::expect;

use crate::watch_kit::{check, daemon, findings, shown};

#[test]
fn a_condition_that_no_event_can_satisfy_is_d306_with_the_two_parts() {
    check(
        &[
            "when a draft non-draft pull request is opened",
            "when a pull request is opened by a bot and not by a bot",
            "when a merged pull request is opened",
            "when a PR without the bug label is labeled bug",
            "when a commit is pushed to main but not to main",
            "when a Slack message is posted in #dev but not in #dev",
        ],
        &expect![[r#"
            # when a draft non-draft pull request is opened
            warning D306 [draft] no event can satisfy this condition | these exclude each other: `draft`, `non-draft`
            # when a pull request is opened by a bot and not by a bot
            warning D306 [bot] no event can satisfy this condition | these exclude each other: `bot`, `bot`
            # when a merged pull request is opened
            warning D306 [merged] no event can satisfy this condition | these exclude each other: `merged`, `a merged pull request is opened`
            # when a PR without the bug label is labeled bug
            warning D305 [without the bug label] not understood: `without the bug label` | it wakes without this, and the model has to confirm it; reword it
            # when a commit is pushed to main but not to main
            warning D306 [main] no event can satisfy this condition | these exclude each other: `main`, `main`
            # when a Slack message is posted in #dev but not in #dev
            warning D306 [#dev] no event can satisfy this condition | these exclude each other: `#dev`, `#dev`
        "#]],
    );
}

#[test]
fn a_condition_with_the_meaning_of_another_is_d307() {
    let check = |earlier: &str, later: &str| {
        let text = daemon(&[earlier, later], "list broken links");
        let found = findings(&text, &["--json"]);
        let about: Vec<String> = found
            .iter()
            .filter(|found| found["code"] != "D601")
            .map(|found| shown(&text, std::slice::from_ref(found)))
            .collect();
        assert_eq!(
            about,
            [format!(
                "warning D307 [{later}] this means the same as entry 1 of `watch` | delete one",
            )]
        );
    };
    for (earlier, later) in [
        ("when a pull request is opened", "when somebody raises a PR"),
        (
            "when a PR is opened or reopened",
            "when a pull request is reopened or created",
        ),
        (
            "when a human opens a pull request",
            "when a pull request is opened by someone who is not a bot",
        ),
        (
            "when files in docs/ change",
            "when files matching docs/** are changed",
        ),
        (
            "when an issue labeled bug or docs is closed",
            "when an issue labeled docs or bug gets closed",
        ),
        ("on release.published", "when a release is published"),
        ("when CI fails on main", "when the build breaks on main"),
        (
            "when a commit is pushed to the default branch",
            "when commits arrive on the default branch",
        ),
    ] {
        check(earlier, later);
    }
}

#[test]
fn a_wider_or_different_meaning_is_not_an_overlap() {
    for (earlier, later) in [
        (
            "when a pull request is opened",
            "when a pull request is opened or reopened",
        ),
        (
            "when a pull request is opened",
            "when a draft pull request is opened",
        ),
        (
            "when a PR is merged into main",
            "when a PR is merged into develop",
        ),
        ("when an issue is created", "when a Linear issue is created"),
    ] {
        let text = daemon(&[earlier, later], "list broken links");
        let found = findings(&text, &["--json"]);
        let codes: Vec<&str> = found
            .iter()
            .filter_map(|found| found["code"].as_str())
            .collect();
        assert!(!codes.contains(&"D307"), "{earlier}; {later}: {codes:?}");
    }
}

#[test]
fn a_daemon_that_nothing_can_wake_is_d310() {
    let check = |watch: &[&str], schedule: &str, is_inert: bool| {
        let text = daemon(watch, "list broken links")
            .replace("routines:", &format!("{schedule}routines:"));
        let found = findings(&text, &["--json"]);
        let inert: Vec<String> = found
            .iter()
            .filter(|found| found["code"] == "D310")
            .map(|found| shown(&text, std::slice::from_ref(found)))
            .collect();
        let expected = "warning D310 [watch] nothing can wake this daemon here | see the diagnostics of its conditions";
        let expected = if is_inert {
            &[expected.to_owned()][..]
        } else {
            &[]
        };
        assert_eq!(inert, expected, "{watch:?} {schedule}");
    };
    check(&["every morning", "when a Jira ticket moves"], "", true);
    check(&["when the docs are out of date"], "", true);
    check(&["when a draft non-draft pull request is opened"], "", true);
    check(&["every morning"], "schedule: \"0 9 * * *\"\n", false);
    check(&["every morning"], "schedule: \"0 0 30 2 *\"\n", true);
    check(&["when a large pull request is opened"], "", false);
    check(
        &["every morning", "when a pull request is opened"],
        "",
        false,
    );
}

fn is_loop(condition: &str, routine: &str) -> bool {
    let found = findings(&daemon(&[condition], routine), &["--json"]);
    found.iter().any(|found| found["code"] == "D311")
}

#[test]
fn a_routine_that_produces_the_event_of_its_condition_is_d311() {
    for (condition, routine) in [
        (
            "when a comment is created on a pull request",
            "post one comment with what is missing",
        ),
        ("when a PR comment is created", "reply to each question"),
        (
            "when an issue is created",
            "open an issue for each broken link",
        ),
        (
            "when an issue is labeled",
            "add the triage label to new issues",
        ),
        (
            "when a pull request is opened",
            "open a pull request that updates the docs",
        ),
        (
            "when a commit is pushed",
            "push a commit that formats the code",
        ),
        (
            "when a pull request is synchronized",
            "commit the missing tests to the branch",
        ),
        (
            "when a Slack message is posted in #dev",
            "post a message with a summary in #dev",
        ),
        (
            "when a review is submitted",
            "submit a review with what could be better",
        ),
        (
            "when a Linear issue is updated",
            "set the priority of the issue",
        ),
        (
            "when a pull request is edited",
            "rewrite the title and the description of the pull request",
        ),
        ("when a branch is created", "create a branch with the fix"),
        (
            "when a release is published",
            "publish a release with the notes",
        ),
        (
            "when a pull request is assigned",
            "assign the pull request to its owner",
        ),
    ] {
        assert!(is_loop(condition, routine), "{condition}: {routine}");
    }
}

#[test]
fn a_routine_with_other_output_and_a_narrowed_condition_are_not_d311() {
    for (condition, routine) in [
        (
            "when a comment is created on a pull request",
            "list broken links in a report",
        ),
        (
            "when a comment is created by a human on a pull request",
            "reply to each question",
        ),
        (
            "when a pull request not by a bot is opened",
            "open a pull request that updates the docs",
        ),
        (
            "when a maintainer comments \"/fix\" in a PR",
            "post one comment with what was done",
        ),
        (
            "when a Sentry alert fires",
            "post one comment with the cause",
        ),
        (
            "when an issue is closed",
            "open an issue for each broken link",
        ),
        (
            "when a pull request is merged",
            "push a commit that formats the code",
        ),
        (
            "when the bug label is added to a Linear issue",
            "set the priority of the issue",
        ),
        (
            "when a Slack message is posted in #dev",
            "reply in the thread with the likely cause",
        ),
        (
            "when a commit is pushed to main",
            "push a commit to the branch of the pull request",
        ),
    ] {
        assert!(!is_loop(condition, routine), "{condition}: {routine}");
    }
}
