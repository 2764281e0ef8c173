//! The files of the grammar and the lexicon, as parts of the program.

use daemon_event::vocabulary::{Noun, Verb};

use super::frames;
use super::grammar::{Builder, Grammar};
use super::lexicon::{ACT, Row, THING};
use super::value::Sense;

/// The files of the lexicon, one for each kind of word.
pub(super) const LEXICON: &[&str] = &[
    include_str!("../../lexicon/adjectives.tsv"),
    include_str!("../../lexicon/attributes.tsv"),
    include_str!("../../lexicon/exclusions.tsv"),
    include_str!("../../lexicon/foreign.tsv"),
    include_str!("../../lexicon/function.tsv"),
    include_str!("../../lexicon/kept.tsv"),
    include_str!("../../lexicon/nouns.tsv"),
    include_str!("../../lexicon/orders.tsv"),
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
    include_str!("../../grammar/events.txt"),
    include_str!("../../grammar/fronts.txt"),
    include_str!("../../grammar/kept.txt"),
    include_str!("../../grammar/learners.txt"),
    include_str!("../../grammar/orders.txt"),
    include_str!("../../grammar/pulls.txt"),
    include_str!("../../grammar/second.txt"),
    include_str!("../../grammar/shared.txt"),
    include_str!("../../grammar/tails.txt"),
    include_str!("../../grammar/trackers.txt"),
    include_str!("../../grammar/workspace.txt"),
    include_str!("../../grammar/forms.txt"),
    include_str!("../../grammar/restated.txt"),
    include_str!("../../grammar/restrictions.txt"),
    include_str!("../../grammar/signs.txt"),
];

/// The files of frames, which fill the templates of the rules.
pub(super) const FRAMES: &[&str] = &[
    include_str!("../../grammar/frames.tsv"),
    include_str!("../../grammar/attributes.tsv"),
];

/// The category of a whole line.
const GOAL: &str = "Line";

/// Verbs, nouns and phrases that need words of the rules around them: "raise" moves a thing only to a state, and "code" is an
/// event only where it is pushed.
const GOVERNED: &str = include_str!("../../lexicon/governed.txt");

/// Adds the phrases of the vocabulary that no file has.
fn vocabulary(builder: &mut Builder) {
    let is_plain = |phrase: &&&str| !phrase.contains('_') && !phrase.starts_with("be ");
    let is_governed = |name: String| GOVERNED.lines().any(|governed| governed == name);
    let nouns = Noun::ALL
        .iter()
        .filter(|noun| !is_governed(format!("{noun:?}")));
    for noun in nouns {
        let phrases = noun.phrases().iter().filter(is_plain);
        for phrase in phrases.filter(|phrase| !is_governed((**phrase).to_owned())) {
            let sense = Sense::Noun(*noun);
            builder
                .lexicon
                .extend(phrase, THING, sense, &mut builder.categories);
        }
    }
    let verbs = Verb::ALL
        .iter()
        .filter(|verb| !is_governed(format!("{verb:?}")));
    for verb in verbs {
        for phrase in verb.phrases().iter().filter(is_plain) {
            let sense = Sense::Verb(*verb);
            builder
                .lexicon
                .extend(phrase, ACT, sense, &mut builder.categories);
        }
    }
}

/// Parses the files.
pub(super) fn grammar() -> Grammar {
    let mut builder = Builder::default();
    for file in LEXICON {
        for row in Row::parse(file) {
            builder.lexicon.add(&row, &mut builder.categories);
        }
    }
    vocabulary(&mut builder);
    for line in frames::expanded(&RULES.join("\n\n"), FRAMES) {
        builder.line(&line);
    }
    builder.finish(GOAL)
}
