//! The files of the grammar and the lexicon, as parts of the program.

use super::frames;
use super::grammar::{Builder, Grammar};
use super::lexicon::Row;

/// The files of the lexicon, one for each kind of word.
pub(super) const LEXICON: &[&str] = &[
    include_str!("../../lexicon/adjectives.tsv"),
    include_str!("../../lexicon/function.tsv"),
    include_str!("../../lexicon/nouns.tsv"),
    include_str!("../../lexicon/parts.tsv"),
    include_str!("../../lexicon/people.tsv"),
    include_str!("../../lexicon/verbs.tsv"),
];

pub(super) const RULES: &str = include_str!("../../grammar/grammar.txt");
pub(super) const FRAMES: &str = include_str!("../../grammar/frames.tsv");

/// The category of a whole line.
const GOAL: &str = "Line";

/// Parses the files.
pub(super) fn grammar() -> Grammar {
    let mut builder = Builder::default();
    for file in LEXICON {
        for row in Row::parse(file) {
            builder.lexicon.add(&row, &mut builder.categories);
        }
    }
    for line in frames::expanded(RULES, FRAMES) {
        builder.line(&line);
    }
    builder.finish(GOAL)
}
