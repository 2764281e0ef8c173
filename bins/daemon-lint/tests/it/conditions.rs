//! The interpreter's verdicts in a report.

use crate::world::{CLEAN, World};

/// Lints a daemon with these conditions and lists `code line:column message` about them.
fn findings(conditions: &[&str], routine: &str) -> Vec<String> {
    let list: String = conditions
        .iter()
        .map(|condition| format!("  - {condition}\n"))
        .collect();
    let text = CLEAN
        .replace("  - when a pull request is opened\n", &list)
        .replace(
            "  - list broken links in one comment\n",
            &format!("  - {routine}\n"),
        );
    let report = World::of_daemon(&text).run(&["--json"]).json();
    let found = report["files"][0]["diagnostics"]
        .as_array()
        .expect("a list of findings");
    found
        .iter()
        .map(|found| {
            let text = |name: &str| found[name].as_str().expect("a string");
            let start = &found["start"];
            format!(
                "{} {}:{} {}",
                text("code"),
                start["line"],
                start["column"],
                text("message")
            )
        })
        .collect()
}

#[test]
fn a_condition_that_is_understood_has_no_diagnostic() {
    let conditions = ["when a pull request is opened", "when an issue is created"];
    assert_eq!(
        findings(&conditions, "list broken links in a report"),
        Vec::<String>::new()
    );
}

#[test]
fn a_condition_without_an_event_is_an_error() {
    let found = findings(
        &["when a pull request is opened", "'when something happens'"],
        "list broken links",
    );
    assert_eq!(found, ["D300 6:6 `when something happens` names no event"]);
}

#[test]
fn a_time_is_not_an_event_and_the_daemon_is_inert() {
    let found = findings(&["every morning"], "list broken links");
    assert_eq!(
        found,
        [
            "D310 4:1 nothing can wake this daemon here",
            "D302 5:5 `every morning` is a time, not an event",
        ]
    );
}

#[test]
fn an_event_without_a_source_is_reported_with_the_known_sources() {
    let found = findings(
        &[
            "when a pull request is opened",
            "when a Kubernetes pod crashes",
        ],
        "list broken links",
    );
    assert_eq!(
        found,
        ["D304 6:5 no known source emits `when a Kubernetes pod crashes`"]
    );
}

#[test]
fn words_that_were_not_understood_have_their_own_span() {
    let found = findings(
        &["\"when a large pull request is opened\""],
        "list broken links",
    );
    assert_eq!(found, ["D305 5:13 not understood: `large pull request`"]);
}

#[test]
fn the_later_of_two_conditions_with_the_same_meaning_is_reported() {
    let found = findings(
        &["when a pull request is opened", "when a PR is opened"],
        "list broken links",
    );
    assert_eq!(
        found,
        ["D307 6:5 this means the same as entry 1 of `watch`"]
    );
}

#[test]
fn a_typo_has_a_fix() {
    let world = World::of_daemon(&CLEAN.replace("is opened", "is sychronized"));
    assert_eq!(
        world.run(&["--json"]).findings(),
        [".agents/daemons/tidy/DAEMON.md D309 5:28"]
    );
    world.run(&["--fix"]);
    assert!(
        world
            .read(".agents/daemons/tidy/DAEMON.md")
            .contains("  - when a pull request is synchronized\n")
    );
}

#[test]
fn a_loop_is_reported_only_if_a_routine_produces_the_event() {
    let comment = ["when an issue comment is created"];
    assert_eq!(
        findings(&comment, "reply to each question"),
        ["D311 5:5 its own output could match `when an issue comment is created`"]
    );
    assert_eq!(findings(&comment, "set the priority"), Vec::<String>::new());
    let by_a_human = ["when an issue comment is created by a human"];
    assert_eq!(
        findings(&by_a_human, "reply to each question"),
        Vec::<String>::new()
    );
}
