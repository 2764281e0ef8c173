//! Every row of the lexicon and the frames is tested by its example, and the chart by its bound.

use super::lexicon::Row;
use super::load::{FRAMES, LEXICON};
use super::{frames, interpret};
use crate::interpretation::Status;

/// The status of the example of a row.
fn status(category: &str) -> Status {
    match category {
        "foreign" | "unsupported" => Status::Unmapped,
        "quality.end" => Status::Partial,
        "state.word" => Status::Vague,
        _ => Status::Mapped,
    }
}

#[test]
fn the_example_of_every_row_is_read() {
    let words = LEXICON.iter().flat_map(|file| Row::parse(file));
    let is_left = |row: &Row| matches!(row.category, "opener" | "adverb" | "quality" | "joint");
    let words = words
        .filter(|row| !is_left(row))
        .map(|row| (status(row.category), row.example));
    let frames = frames::rows(FRAMES).filter_map(|row| row.last().copied());
    let frames = frames.map(|example| (Status::Mapped, example));
    let mut unread: Vec<&str> = words
        .chain(frames)
        .filter(|(status, example)| interpret(example).status != *status)
        .map(|(_, example)| example)
        .collect();
    unread.sort_unstable();
    unread.dedup();
    assert_eq!(unread, Vec::<&str>::new());
}

#[test]
fn qualities_and_adverbs_are_left_over() {
    let rows = LEXICON.iter().flat_map(|file| Row::parse(file));
    let rows = rows.filter(|row| matches!(row.category, "adverb" | "quality"));
    let is_left = |row: &Row| {
        let meaning = interpret(row.example);
        let mut left = meaning.remainder.iter().map(|span| span.of(row.example));
        !meaning.clauses.is_empty() && left.any(|left| left.contains(row.phrase))
    };
    let wrong: Vec<&str> = rows
        .filter(|row| !is_left(row))
        .map(|row| row.example)
        .collect();
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn rows_are_sorted_and_no_row_is_repeated() {
    for file in LEXICON {
        let rows: Vec<&str> = file.lines().skip(1).collect();
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(rows, sorted);
    }
}

#[test]
fn hostile_lines_end_at_the_bound_of_edges() {
    let nested = format!(
        "when a pull request {}is opened",
        "that touches docs/ or src/ ".repeat(20)
    );
    let many = format!("when {} is opened", vec!["a pull request"; 30].join(" or "));
    for line in [nested, many] {
        assert!(super::edges(&line) <= 2_800, "{}", super::edges(&line));
    }
}
