//! The phrases that the vocabulary says of itself.

use std::collections::BTreeSet;

use daemon_event::vocabulary::{self, RowGuard, Verb};
use daemon_event::{Field, Source};
use daemon_watch::{
    EventPattern, Interpretation, Op, Phrasing, Status, Test, interpret, phrasings,
};

fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn test_of(guard: &RowGuard) -> Test {
    match guard {
        RowGuard::Is(field, values) => Test::new(*field, Op::Is, owned(values)),
        RowGuard::IsNot(field, values) => Test::new(*field, Op::IsNot, owned(values)),
        RowGuard::Present(field) => Test::new(*field, Op::Present, Vec::new()),
        RowGuard::Absent(field) => Test::new(*field, Op::Absent, Vec::new()),
    }
}

/// Whether a clause names the event and holds every guard.
fn names(meaning: &Interpretation, row: &Phrasing) -> bool {
    meaning.clauses.iter().any(|clause| {
        let tests = || {
            clause
                .filters
                .iter()
                .map(|index| &meaning.filters[*index].test)
        };
        clause.events.contains(&row.event)
            && row.guards.iter().all(|guard| {
                let wanted = test_of(guard);
                tests().any(|test| *test == wanted)
            })
    })
}

#[test]
fn every_phrase_is_mapped_to_the_event_of_its_row() {
    let mut wrong = Vec::new();
    let mut n_phrases = 0;
    for row in phrasings() {
        for phrase in &row.phrases {
            n_phrases += 1;
            let meaning = interpret(phrase);
            if meaning.status != Status::Mapped || !names(&meaning, row) {
                wrong.push(format!("{:?} {:?}: {phrase}", row.event, row.guards));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(n_phrases > 400, "only {n_phrases} phrases");
}

#[test]
fn every_row_of_the_vocabulary_has_a_phrase() {
    let phrasings = phrasings();
    let mut unsaid = Vec::new();
    for kind in vocabulary::kinds() {
        for row in kind.rows {
            let said = phrasings.iter().find(|said| {
                (said.event.source, said.event.kind, said.event.action)
                    == (kind.source, kind.name, row.action)
                    && said.guards == row.guards
                    && said.names_files == row.verbs.contains(&Verb::Touch)
            });
            if said.is_none_or(|said| said.phrases.is_empty()) {
                unsaid.push((kind.source, kind.name, row.verbs[0]));
            }
        }
    }
    assert_eq!(unsaid, []);
}

#[test]
fn no_row_has_a_phrase_twice() {
    for row in phrasings() {
        let distinct: BTreeSet<&String> = row.phrases.iter().collect();
        assert_eq!(distinct.len(), row.phrases.len(), "{row:?}");
    }
}

#[test]
fn githubs_own_names_are_mapped_to_their_events() {
    for kind in vocabulary::kinds()
        .iter()
        .filter(|kind| kind.source == Source::Github)
    {
        for row in kind.rows.iter().filter_map(|row| Some((row, row.action?))) {
            let line = format!("on {}.{}", kind.name, row.1);
            let meaning = interpret(&line);
            let event = EventPattern {
                source: kind.source,
                kind: kind.name,
                action: row.0.action,
            };
            assert_eq!(meaning.status, Status::Mapped, "{line}");
            assert!(
                meaning
                    .clauses
                    .iter()
                    .any(|clause| clause.events.contains(&event)),
                "{line}"
            );
        }
    }
}

/// Returns what a line names beyond the format.
fn beyond(line: &str) -> Vec<String> {
    let meaning = interpret(line);
    assert_eq!(meaning.status, Status::Mapped, "{line}");
    let events = meaning.beyond_the_format();
    events.iter().map(ToString::to_string).collect()
}

#[test]
fn the_formats_own_phrasings_name_nothing_beyond_it() {
    for line in [
        "when a pull request is opened",
        "when a pull request is updated / synchronized",
        "when a pull request is merged",
        "when a pull request is merged into the default branch",
        "when a PR comment is created",
        "when a maintainer comments \"/daemon help\" in a PR",
        "when an issue is created / updated / labeled",
        "when files matching docs/**/*.md are changed",
        "when a Sentry alert fires",
        "when a commit is pushed to master",
        "when a check run or status check changes on a pull request",
        "when a Linear issue is created with the bug label",
        "when the bug label is added to a Linear issue",
        "when a check run fails on a non-draft pull request",
        "when a Linear issue is moved to Done",
        "when a non-draft pull request targeting main is opened by a maintainer",
    ] {
        assert_eq!(beyond(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn what_the_format_gives_no_example_of_is_named() {
    for (line, expected) in [
        (
            "when a pull request is closed",
            &["github pull_request.closed"][..],
        ),
        (
            "when a PR is opened or reopened",
            &["github pull_request.reopened"],
        ),
        ("when a Slack message is posted", &["slack message"]),
        ("when a release is published", &["github release.published"]),
        ("when a branch is deleted", &["github delete", "git delete"]),
        (
            "when a Sentry issue is resolved",
            &["sentry issue.resolved"],
        ),
        ("on pull_request.closed", &["github pull_request.closed"]),
    ] {
        assert_eq!(beyond(line), expected, "{line}");
    }
}

#[test]
fn the_marks_of_the_table_are_those_of_the_readings() {
    for row in phrasings() {
        // Another event of the same words may go beyond the format where this one does not.
        let Some(phrase) = row.phrases.first() else {
            continue;
        };
        let meaning = interpret(phrase);
        let is_marked = meaning.beyond_the_format().contains(&row.event);
        let reads_it_alone = meaning.clauses.len() == 1;
        assert!(
            is_marked == row.is_beyond_the_format || !reads_it_alone,
            "{row:?}"
        );
    }
    assert!(phrasings().iter().any(|row| {
        row.guards.contains(&RowGuard::Is(Field::Merged, &["true"])) && !row.is_beyond_the_format
    }));
}
