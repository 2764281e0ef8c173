//! Words and phrases with their categories, from `lexicon/*.tsv`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::category::{Categories, Category};
use super::value::Sense;
use crate::lexicon::Forms;
use crate::lexicon::inflect::{plural, verb_forms};

/// One row: a phrase with a category, a sense and an example.
pub(super) struct Row {
    pub(super) phrase: &'static str,
    pub(super) category: &'static str,
    pub(super) sense: Sense,
    /// A line that is read with the row: its test.
    #[cfg(test)]
    pub(super) example: &'static str,
}

/// The phrases by their first word.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    by_first: FxHashMap<String, Vec<Phrase>>,
    fillers: FxHashSet<String>,
    /// Words of structure, which are never values: articles, prepositions, forms of "be".
    closed: FxHashSet<String>,
    words: FxHashSet<String>,
}

/// A phrase in one of its forms.
#[derive(Debug)]
pub(super) struct Phrase {
    /// The words behind the first one.
    pub(super) rest: Box<[String]>,
    pub(super) category: Category,
    pub(super) sense: Sense,
}

/// The category of nouns for people, which have a plural too.
const PERSON: &str = "p.noun";
/// The category of words that are passed over at any place of a line.
const FILLER: &str = "filler";

impl Row {
    /// Reads the rows of a file; `#` begins a comment.
    ///
    /// # Panics
    /// Panics if a row is malformed; the files are a part of the program.
    pub(super) fn parse(file: &'static str) -> Vec<Self> {
        let lines = file
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|line| {
                let cells: Vec<&str> = line.split('\t').collect();
                let [phrase, category, sense, _example] = cells[..] else {
                    panic!("a row has four cells: {line}");
                };
                Self {
                    phrase,
                    category,
                    sense: Sense::parse(sense).unwrap_or_else(|| panic!("no sense: {line}")),
                    #[cfg(test)]
                    example: _example,
                }
            })
            .collect()
    }
}

/// The categories of words of structure, or the beginnings of their names.
const CLOSED: &[&str] = &[
    "det", "opener", "be.", "get.", "have.", "do", "pron", "poss",
];

impl Lexicon {
    /// Adds a row in all its forms: `v.` are verbs, `n.` nouns with a plural.
    pub(super) fn add(&mut self, row: &Row, categories: &mut Categories) {
        if CLOSED.iter().any(|name| row.category.starts_with(name)) {
            self.closed.insert(row.phrase.to_owned());
        }
        if row.category == FILLER {
            self.fillers.insert(row.phrase.to_owned());
        } else if row.category.starts_with("v.") {
            for (form, kind) in verb_forms(row.phrase) {
                for (flag, ending) in [
                    (Forms::BASE, "b"),
                    (Forms::BASE, "f"),
                    (Forms::THIRD, "f"),
                    (Forms::PAST, "ed"),
                    (Forms::GERUND, "g"),
                    (Forms::NOMINAL, "n"),
                ] {
                    if kind.has(flag) {
                        let category = categories.of(&format!("{}.{ending}", row.category));
                        self.phrase(&form, category, &row.sense);
                    }
                }
            }
        } else {
            let category = categories.of(row.category);
            self.phrase(row.phrase, category, &row.sense);
            if row.category.starts_with("n.") || row.category == PERSON {
                self.phrase(&plural(row.phrase), category, &row.sense);
            }
        }
    }

    /// Adds words that the grammar names itself.
    pub(super) fn phrase(&mut self, phrase: &str, category: Category, sense: &Sense) {
        self.words.extend(phrase.split(' ').map(str::to_owned));
        let mut words = phrase.split(' ').map(str::to_owned);
        let Some(first) = words.next() else { return };
        let rest: Box<[String]> = words.collect();
        let known = self.by_first.entry(first).or_default();
        let is_known = |known: &Phrase| known.category == category && known.rest == rest;
        if !known.iter().any(is_known) {
            known.push(Phrase {
                rest,
                category,
                sense: sense.clone(),
            });
        }
    }

    pub(super) fn beginning_with(&self, word: &str) -> &[Phrase] {
        self.by_first.get(word).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_closed(&self, word: &str) -> bool {
        self.closed.contains(word)
    }

    /// Whether a word is in a phrase.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    pub(super) fn is_filler(&self, word: &str) -> bool {
        self.fillers.contains(word)
    }
}
