//! The words of times, from `lexicon/times.tsv`: a word with what it is, what it means, and a line that needs it.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

const FILE: &str = include_str!("../../lexicon/times.tsv");

/// The rows of each word.
static WORDS: LazyLock<FxHashMap<&'static str, Vec<Meaning>>> = LazyLock::new(|| {
    let mut words: FxHashMap<&str, Vec<Meaning>> = FxHashMap::default();
    for (word, kind, sense, _) in rows() {
        words.entry(word).or_default().push(Meaning { kind, sense });
    }
    words
});

struct Meaning {
    kind: Kind,
    sense: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// What a word is in a phrase of time. Most words are several things.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind { $($(#[$doc])* $kind,)+ }

        impl Kind {
            fn of(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$kind),)+ _ => None }
            }
        }
    };
}

kinds! {
    /// "nightly": its sense is a cron expression.
    Adverb = "adverb",
    /// Before a duration: "more than two days".
    Approximately = "approximately",
    At = "at",
    Been = "been",
    Begin = "begin",
    /// Behind a duration: "three days old".
    Behind = "behind",
    Boundary = "boundary",
    Clock = "clock",
    Count = "count",
    Day = "day",
    /// "every other day"
    Each = "each",
    Every = "every",
    Half = "half",
    /// A part of the day: its sense is an hour.
    Hour = "hour",
    Lasting = "lasting",
    Led = "led",
    Month = "month",
    Number = "number",
    /// "every time a pull request is opened" is an event.
    Occasion = "occasion",
    Of = "of",
    Opening = "opening",
    Ordinal = "ordinal",
    Over = "over",
    /// A word that only connects those of a time.
    Part = "part",
    Has = "has",
    Per = "per",
    Perfect = "perfect",
    Rate = "rate",
    /// The first part of a zone: "europe/berlin".
    Region = "region",
    /// A phrase that alone says that something recurs.
    Recurring = "recurring",
    /// A unit of durations.
    Span = "span",
    State = "state",
    Staying = "staying",
    /// A unit that is counted in a schedule: its sense is the limit and the expression.
    Step = "step",
    Suffix = "suffix",
    Timed = "timed",
    Timer = "timer",
    Times = "times",
    /// A unit of schedules: its sense is the expression for each of it.
    Unit = "unit",
    Weekday = "weekday",
    /// "a whole week"
    Whole = "whole",
}

/// Whether a word is of a kind.
pub(super) fn is(word: &str, kind: Kind) -> bool {
    meaning(word, kind).is_some()
}

/// Returns what a word of a kind means, if it means more than its kind.
pub(super) fn sense(word: &str, kind: Kind) -> Option<&'static str> {
    let meaning = meaning(word, kind)?;
    (meaning.sense != "-").then_some(meaning.sense)
}

/// The phrases that alone say that something recurs.
pub(super) static RECURRING: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let rows = rows().filter(|(_, kind, ..)| *kind == Kind::Recurring);
    rows.map(|(phrase, ..)| phrase).collect()
});

fn meaning(word: &str, kind: Kind) -> Option<&'static Meaning> {
    WORDS.get(word)?.iter().find(|meaning| meaning.kind == kind)
}

/// Returns the rows: the word, its kind, its sense and an example.
///
/// # Panics
/// Panics if a row is malformed; the file is a part of the program.
pub(super) fn rows() -> impl Iterator<Item = (&'static str, Kind, &'static str, &'static str)> {
    FILE.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [word, kind, sense, example] = cells[..] else {
            panic!("a row has four cells: {line}");
        };
        let kind = Kind::of(kind).unwrap_or_else(|| panic!("no kind: {line}"));
        (word, kind, sense, example)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpretation::Status;

    #[test]
    fn the_example_of_every_row_names_a_time() {
        let is_time = |line: &str| {
            crate::reader::interpret(line).status == Status::TimeBased
                && crate::interpret(line).status == Status::TimeBased
        };
        let mut wrong: Vec<&str> = rows()
            .map(|(.., example)| example)
            .filter(|example| !is_time(example))
            .collect();
        wrong.sort_unstable();
        wrong.dedup();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn every_example_contains_its_word_and_the_rows_are_sorted() {
        let contains = |word: &str, example: &str| example.contains(word);
        let without: Vec<&str> = rows()
            .filter(|(word, _, _, example)| !contains(word, example))
            .map(|(word, ..)| word)
            .collect();
        assert_eq!(without, Vec::<&str>::new());
        let lines: Vec<&str> = FILE.lines().skip(1).collect();
        assert!(lines.is_sorted());
    }
}
