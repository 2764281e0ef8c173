//! No word is dropped in silence.

use daemon_event::Field;
use daemon_watch::{Interpretation, Span, Status, interpret};
use proptest::prelude::*;

use crate::corpus::fixtures;

/// Words of no vocabulary here, in the shapes that people write.
const STRANGE: [&str; 8] = [
    "zqorble",
    "purple",
    "quarterly",
    "gently",
    "überfällig",
    "ramified",
    "teapots",
    "unfrobbed",
];

/// Words for frequency, selection and order.
const WEIGHTY: [&str; 7] = [
    "repeatedly",
    "manually",
    "several",
    "second",
    "multiple",
    "twice",
    "then",
];

/// Positions for an inserted word: before each word, but not inside quotes or backticks, which are data.
fn gaps(line: &str) -> Vec<usize> {
    let mut quote: Option<char> = None;
    let mut gaps = Vec::new();
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if quote.is_none() && before == ' ' && at > 0 {
            gaps.push(at);
        }
        match (quote, c) {
            (None, '"' | '`' | '“' | '‘') => quote = Some(closing(c)),
            (None, '\'') if !before.is_alphanumeric() => quote = Some('\''),
            (Some(end), c) if c == end => quote = None,
            _ => {}
        }
        before = c;
    }
    gaps
}

fn closing(open: char) -> char {
    match open {
        '“' => '”',
        '‘' => '’',
        other => other,
    }
}

/// Whether a reading accounts for a word: as remainder, as a value of a filter, as a corrected typo, in a note that its words restrict
/// nothing, or by not waking.
fn accounts_for(meaning: &Interpretation, word: &str, at: Span) -> bool {
    let overlaps = |span: &Span| span.start < at.end && at.start < span.end;
    let folded = word.to_lowercase();
    !meaning.status.can_wake()
        || meaning.remainder.iter().any(overlaps)
        || meaning.notes.iter().any(|note| {
            note.ends_with("restricts nothing") && note.to_lowercase().contains(&folded)
        })
        || meaning
            .corrections
            .iter()
            .any(|correction| overlaps(&correction.span))
        || meaning.filters.iter().any(|filter| {
            filter
                .test
                .values()
                .iter()
                .any(|value| value.to_lowercase().contains(&folded))
        })
}

fn mapped_conditions() -> Vec<String> {
    let text = std::fs::read_to_string(fixtures().join("conditions.jsonl")).expect("it is there");
    let rows = daemon_watch::corpus::conditions(&text).expect("every line is a labelled condition");
    let lines = rows.into_iter().map(|row| row.condition);
    lines
        .filter(|line| interpret(line).status == Status::Mapped)
        .collect()
}

/// Inserts a word into a gap; fails with the new line if the reading does not account for the word.
fn accounts_for_inserted(line: &str, at: usize, word: &str) -> Result<(), String> {
    let (head, tail) = line.split_at(at);
    let with = format!("{head}{word} {tail}");
    let span = Span::new(at, at + word.len());
    if accounts_for(&interpret(&with), word, span) {
        Ok(())
    } else {
        Err(with)
    }
}

#[test]
fn an_unknown_word_anywhere_in_a_mapped_condition_is_accounted_for() {
    let mut dropped = Vec::new();
    for (number, line) in mapped_conditions().iter().enumerate() {
        for (index, at) in gaps(line).into_iter().enumerate() {
            // One gap in twelve, another one in each line; the property below takes any.
            if (number + index) % 12 == 0 {
                let word = STRANGE[(number + index) / 12 % STRANGE.len()];
                dropped.extend(accounts_for_inserted(line, at, word).err());
            }
        }
    }
    assert_eq!(dropped, Vec::<String>::new());
}

#[test]
fn a_word_of_weight_anywhere_in_a_mapped_condition_is_accounted_for() {
    let mut dropped = Vec::new();
    for (number, line) in mapped_conditions().iter().enumerate() {
        for (index, at) in gaps(line).into_iter().enumerate() {
            if (number + index) % 12 == 0 {
                let word = WEIGHTY[(number + index) / 12 % WEIGHTY.len()];
                dropped.extend(accounts_for_inserted(line, at, word).err());
            }
        }
    }
    assert_eq!(dropped, Vec::<String>::new());
}

#[test]
fn words_that_give_no_filter_are_in_the_remainder() {
    for (line, remainder) in [
        // What is said about the verdict is left over as a whole.
        (
            "A pull request review is submitted with any state other than zqaa approved.",
            "with any state other than zqaa approved",
        ),
        (
            "A pull request review is submitted with state zqaa approved",
            "with state zqaa approved",
        ),
        (
            "A pull request review is submitted with conclusion zqaa approved",
            "with conclusion zqaa approved",
        ),
        // A value of a verb that is no event of its noun.
        (
            "on Slack mentions of the daemon's bot user assigned to @zqaa",
            "assigned to @zqaa",
        ),
        // Only repositories have maintainers.
        ("a channel is created by a maintainer", "by a maintainer"),
        ("an outsider joins the channel", "an outsider"),
    ] {
        let meaning = interpret(line);
        let left: Vec<&str> = meaning.remainder.iter().map(|span| span.of(line)).collect();
        assert_eq!(
            (meaning.status, left),
            (Status::Partial, vec![remainder]),
            "{line}"
        );
    }
}

#[test]
fn a_noun_with_a_quality_that_it_cannot_have_is_not_read() {
    for line in [
        "when a labeled \"zqaa\" Sentry issue is created",
        "when a check run fails on a named \"zqaa\" pull request",
        // Only comments have a place on the diff.
        "an inline pull request is opened",
    ] {
        let meaning = interpret(line);
        let left: Vec<&str> = meaning.remainder.iter().map(|span| span.of(line)).collect();
        assert_eq!((meaning.status, left), (Status::Vague, vec![line]));
    }
}

#[test]
fn an_abbreviation_is_not_a_changed_file() {
    for line in [
        "when a PR is opened (i.e. not a draft)",
        "when a PR is opened, e.g. by a bot",
    ] {
        let meaning = interpret(line);
        let fields = meaning.filters.iter().map(|filter| filter.test.field());
        let files = fields.filter(|field| *field == Field::ChangedFiles).count();
        assert_eq!(files, 0, "{line}");
    }
}

#[test]
fn a_guard_between_a_push_and_its_tag_narrows_the_push() {
    let meaning = interpret("when someone pushes by @zqaa a tag");
    let filters: Vec<String> = meaning
        .filters
        .iter()
        .map(|filter| filter.test.to_string())
        .collect();
    assert_eq!(
        (meaning.status, filters),
        (
            Status::Mapped,
            ["deleted is false", "ref_type is tag", "actor is zqaa"]
                .map(str::to_owned)
                .to_vec()
        )
    );
}

proptest! {
    #[test]
    fn a_random_word_anywhere_in_a_mapped_condition_is_accounted_for(
        line in proptest::sample::select(mapped_conditions()),
        gap in any::<proptest::sample::Index>(),
        word in "zq[a-z]{2,9}",
    ) {
        let gaps = gaps(&line);
        prop_assume!(!gaps.is_empty());
        prop_assert_eq!(accounts_for_inserted(&line, *gap.get(&gaps), &word), Ok(()));
    }
}
