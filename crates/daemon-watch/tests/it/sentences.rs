//! Long sentences, each with its whole reading: about GitHub in `sentences.txt`, about the rest in `elsewhere.txt`.

use std::fmt::Write as _;

use daemon_watch::{Status, Test, interpret};
use expect_test::expect_file;

fn readings(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
        let meaning = interpret(line);
        writeln!(out, "# {line}").expect("a string takes text");
        if meaning.status != Status::Mapped {
            writeln!(out, "{}", meaning.status.as_str()).expect("a string takes text");
        }
        for clause in &meaning.clauses {
            let told = crate::table::clause(&meaning, clause, |test| test);
            writeln!(out, "  {told}").expect("a string takes text");
        }
        for span in &meaning.remainder {
            writeln!(out, "  left over: {}", span.of(line)).expect("a string takes text");
        }
    }
    out
}

#[test]
fn every_guard_of_a_sentence_applies_to_its_own_alternatives() {
    let text = include_str!("sentences.txt");
    expect_file!["sentences.txt"].assert_eq(&readings(text));
}

#[test]
fn the_filters_of_sentences_read_back_as_they_are_printed() {
    let text = include_str!("sentences.txt");
    for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
        for filter in interpret(line).filters {
            let printed = filter.test.to_string();
            let read: Test = printed.parse().expect("a printed filter is a filter");
            assert_eq!(read, filter.test, "{line}");
            assert!(
                filter.span.end <= line.len() && filter.span.start < filter.span.end,
                "{line}"
            );
        }
    }
}

#[test]
fn a_guard_that_is_not_understood_is_never_dropped() {
    let lines = [
        "when a pull request is opened, unless the moon is full",
        "when a PR is opened or edited by a human other than the intern",
        "when a PR labelled bug and approved by legal is merged into main",
        "when someone opens a PR, provided that the build is quick",
        "when a review is requested from anyone but the usual suspects",
        "when an issue is closed by the robot overlords of accounting",
        "when a push with more than ten commits lands on main",
        "when a PR that breaks the API is merged into main",
        "when a PR is merged into main that changes the public API",
        "when a PR is opened by a human on the platform team",
        "when a PR is opened, and it looks risky",
        "when a PR is opened while main is frozen",
        "when a PR is opened during the weekend",
        "when a PR is opened or the moon is full",
        "when a PR is opened unless CI is red",
        "when a PR is opened except on Fridays",
        "when a PR labelled bug or approved by legal is merged",
        "when a PR is opened by a human with admin rights",
        "when a PR is approved by at least two maintainers",
    ];
    for line in lines {
        let meaning = interpret(line);
        assert_ne!(meaning.status, Status::Mapped, "{line}");
    }
}

#[test]
fn sentences_about_other_sources_keep_the_scope_of_their_guards() {
    let text = include_str!("elsewhere.txt");
    expect_file!["elsewhere.txt"].assert_eq(&readings(text));
}
