//! The files of the grammar and the lexicon, as parts of the program.

use super::frames;
use super::grammar::{Builder, Grammar};
use super::lexicon::Row;

/// The files of the lexicon, one for each kind of word.
pub(super) const LEXICON: &[&str] = &[
    include_str!("../../lexicon/adjectives.tsv"),
    include_str!("../../lexicon/attributes.tsv"),
    include_str!("../../lexicon/foreign.tsv"),
    include_str!("../../lexicon/function.tsv"),
    include_str!("../../lexicon/kept.tsv"),
    include_str!("../../lexicon/nouns.tsv"),
    include_str!("../../lexicon/parts.tsv"),
    include_str!("../../lexicon/people.tsv"),
    include_str!("../../lexicon/runs.tsv"),
    include_str!("../../lexicon/states.tsv"),
    include_str!("../../lexicon/values.tsv"),
    include_str!("../../lexicon/verbs.tsv"),
    include_str!("../../lexicon/workspace.tsv"),
    include_str!("../../lexicon/workspace_function.tsv"),
    include_str!("../../lexicon/workspace_verbs.tsv"),
];

/// The files of rules, one for each kind of thing.
const RULES: &[&str] = &[
    include_str!("../../grammar/grammar.txt"),
    include_str!("../../grammar/runs.txt"),
    include_str!("../../grammar/kept.txt"),
    include_str!("../../grammar/pulls.txt"),
    include_str!("../../grammar/trackers.txt"),
];

/// The files of frames, which fill the templates of the rules.
pub(super) const FRAMES: &[&str] = &[
    include_str!("../../grammar/frames.tsv"),
    include_str!("../../grammar/attributes.tsv"),
];

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
    for line in frames::expanded(&RULES.join("\n\n"), FRAMES) {
        builder.line(&line);
    }
    builder.finish(GOAL)
}
