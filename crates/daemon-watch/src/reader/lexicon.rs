//! Words and phrases with their categories, from `lexicon/*.tsv`.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::category::{Categories, Category};
use super::inflect::{Forms, plural, verb_forms};
use super::value::Sense;
use crate::normalise::{Token, TokenKind};

/// One row: a phrase with a category, a sense and an example.
pub(super) struct Row {
    pub(super) phrase: &'static str,
    pub(super) category: &'static str,
    pub(super) sense: Sense,
    /// A line that is read with the row: its test, and what is suggested for a line with the phrase.
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
    qualities: FxHashSet<String>,
    /// The ends of words that describe a thing so: "risky-looking".
    quality_ends: Vec<String>,
    /// Words that join alternatives, that lead a participle, and that name a source.
    joints: FxHashSet<String>,
    passive: FxHashSet<String>,
    sources: FxHashSet<String>,
    /// Second parts of compounds.
    seconds: FxHashSet<String>,
    /// Phrases that decide the status of a line without a reading, by their first word.
    signals: FxHashMap<String, Vec<SignalPhrase>>,
    /// The examples of phrases, for suggestions.
    examples: FxHashMap<String, &'static str>,
    /// The examples of all rows, and the shortest of those that name a source and a noun behind it.
    rows: Vec<&'static str>,
    of_sources: FxHashMap<String, &'static str>,
}

/// The words behind the first one, and what the phrase says.
type SignalPhrase = (Box<[String]>, Signal);

/// What a phrase says about a line without a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// The name of a service that is no source of events here.
    Foreign,
    /// What no source reports.
    Unsupported,
    /// A state or a quality.
    State,
}

impl Signal {
    fn of(category: &str) -> Option<Self> {
        Some(match category {
            "foreign" => Self::Foreign,
            "unsupported" => Self::Unsupported,
            "state.word" => Self::State,
            _ => return None,
        })
    }
}

/// A phrase in one of its forms.
#[derive(Debug)]
pub(super) struct Phrase {
    /// The words behind the first one.
    pub(super) rest: Box<[String]>,
    pub(super) category: Category,
    pub(super) sense: Sense,
}

/// The most words of a noun.
pub(super) const LONGEST_NOUN: usize = 4;
/// The category of nouns for people, which have a plural too.
const PERSON: &str = "p.noun";
/// The category of nouns with events, which are suggested by their examples.
pub(super) const THING: &str = "n.thing";
/// The category of verbs whose thing is all that they need.
pub(super) const ACT: &str = "v.act";
/// The category of words that join alternatives.
const JOINT: &str = "joint";
/// The category of the names of sources.
pub(super) const SOURCE: &str = "source";
/// The category of words that are the second part of a compound: "fatal-level".
const SECOND: &str = "compound";
/// The categories of words that lead a passive participle.
const PASSIVE: &[&str] = &["be.f", "get.f"];
/// The category of words that describe a thing in a way that no event holds: neither known nor a value.
const QUALITY: &str = "quality";
/// The category of the ends of such words.
const QUALITY_END: &str = "quality.end";
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
                let [phrase, category, sense, example] = cells[..] else {
                    panic!("a row has four cells: {line}");
                };
                Self {
                    phrase,
                    category,
                    sense: Sense::parse(sense).unwrap_or_else(|| panic!("no sense: {line}")),
                    example,
                }
            })
            .collect()
    }
}

/// The categories of words of structure, or the beginnings of their names.
const CLOSED: &[&str] = &[
    "det", "opener", "be.", "get.", "have.", "do", "pron", "poss", "adverb",
];

/// Returns the forms of a phrase with their categories: `v.` are verbs, `n.` nouns with a plural.
fn forms(phrase: &str, category: &str) -> Vec<(String, String)> {
    const ENDINGS: &[(Forms, &str)] = &[
        (Forms::BASE, "b"),
        (Forms::BASE, "f"),
        (Forms::THIRD, "f"),
        (Forms::PAST, "ed"),
        (Forms::GERUND, "g"),
        (Forms::NOMINAL, "n"),
    ];
    if category.starts_with("v.") {
        let forms = verb_forms(phrase).into_iter();
        let named = forms.flat_map(|(form, kind)| {
            let endings = ENDINGS.iter().filter(move |(flag, _)| kind.has(*flag));
            endings.map(move |(_, ending)| (form.clone(), format!("{category}.{ending}")))
        });
        return named.collect();
    }
    let mut found = vec![(phrase.to_owned(), category.to_owned())];
    if category.starts_with("n.") || category == PERSON {
        found.push((plural(phrase), category.to_owned()));
    }
    found
}

impl Lexicon {
    /// Adds a row in all its forms.
    pub(super) fn add(&mut self, row: &Row, categories: &mut Categories) {
        if let Some(signal) = Signal::of(row.category) {
            return self.signal(row.phrase, signal);
        }
        self.rows.push(row.example);
        if row.category == THING {
            self.examples.insert(row.phrase.to_owned(), row.example);
            self.examples.insert(plural(row.phrase), row.example);
        }
        if row.category == JOINT {
            self.joints.insert(row.phrase.to_owned());
            return;
        }
        if row.category == SOURCE {
            self.sources.insert(row.phrase.to_owned());
        }
        if row.category == QUALITY_END {
            self.quality_ends.push(row.phrase.to_owned());
            return;
        }
        if row.category == SECOND {
            self.seconds.insert(row.phrase.to_owned());
            return;
        }
        if PASSIVE.contains(&row.category) {
            self.passive.insert(row.phrase.to_owned());
        }
        if CLOSED.iter().any(|name| row.category.starts_with(name)) {
            self.closed.insert(row.phrase.to_owned());
        }
        if row.category == QUALITY {
            self.closed.insert(row.phrase.to_owned());
            self.qualities.insert(row.phrase.to_owned());
        } else if row.category == FILLER {
            self.fillers.insert(row.phrase.to_owned());
        } else {
            for (form, category) in forms(row.phrase, row.category) {
                self.phrase(&form, categories.of(&category), &row.sense);
            }
        }
    }

    /// Adds a phrase of the vocabulary. Nouns that a file has are known; a verb may have another sense there.
    pub(super) fn extend(
        &mut self,
        phrase: &str,
        category: &str,
        sense: Sense,
        categories: &mut Categories,
    ) {
        for (form, category) in forms(phrase, category) {
            let category = categories.of(&category);
            let (first, rest) = form.split_once(' ').unwrap_or((&form, ""));
            let rest: Box<[String]> = rest.split_whitespace().map(str::to_owned).collect();
            let known = self.by_first.entry(first.to_owned()).or_default();
            let mut same = known.iter_mut();
            let same = same.find(|known| known.category == category && known.rest == rest);
            if let Some(same) = same {
                // The senses of one verb are tried in order; a noun has those of its rows.
                if matches!(sense, Sense::Verb(_)) {
                    same.sense.also(&sense);
                }
                continue;
            }
            self.words.extend(form.split(' ').map(str::to_owned));
            known.push(Phrase {
                rest,
                category,
                sense: sense.clone(),
            });
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

    /// Sorts the phrases of each first word by the words behind it, as the look-ups require.
    pub(super) fn sort(&mut self) {
        for phrases in self.by_first.values_mut() {
            phrases.sort_by(|one, other| one.rest.cmp(&other.rest));
        }
        self.name_examples();
    }

    /// Returns the phrases of one word.
    pub(super) fn alone(&self, word: &str) -> &[Phrase] {
        let phrases = self.by_first.get(word).map_or(&[][..], Vec::as_slice);
        &phrases[..phrases.partition_point(|phrase| phrase.rest.is_empty())]
    }

    /// Returns the phrases of several words that begin with two words.
    pub(super) fn beginning_with(&self, first: &str, second: &str) -> &[Phrase] {
        let phrases = self.by_first.get(first).map_or(&[][..], Vec::as_slice);
        let next = |phrase: &Phrase| phrase.rest.first().map_or("", String::as_str).cmp(second);
        let start = phrases.partition_point(|phrase| next(phrase).is_lt());
        let length = phrases[start..].partition_point(|phrase| next(phrase).is_eq());
        &phrases[start..start + length]
    }

    /// Whether tokens begin with a phrase of several words.
    pub(super) fn begins_phrase(&self, tokens: &[Token]) -> bool {
        self.begins(tokens, |phrase| !phrase.rest.is_empty())
    }

    /// Whether tokens begin with a phrase of a sort.
    fn begins(&self, tokens: &[Token], is_wanted: impl Fn(&Phrase) -> bool) -> bool {
        let [first, behind @ ..] = tokens else {
            return false;
        };
        let second = behind.first().map_or("", |second| second.text.as_str());
        let mut phrases = self.beginning_with(&first.text, second).iter();
        phrases.any(|phrase| {
            is_wanted(phrase)
                && phrase.rest.len() <= behind.len()
                && (phrase.rest.iter().zip(behind)).all(|(word, token)| *word == token.text)
        })
    }

    /// Returns all phrases with their categories.
    pub(super) fn phrases(&self) -> impl Iterator<Item = (String, Category)> + '_ {
        self.by_first.iter().flat_map(|(first, phrases)| {
            phrases.iter().map(move |phrase| {
                let words = [first].into_iter().chain(&phrase.rest);
                let words: Vec<&str> = words.map(String::as_str).collect();
                (words.join(" "), phrase.category)
            })
        })
    }

    pub(super) fn is_closed(&self, word: &str) -> bool {
        self.closed.contains(word) || self.has_quality_end(word)
    }

    /// Whether a word is in a phrase.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether a word describes a thing in a way that no event holds.
    pub(super) fn is_quality(&self, word: &str) -> bool {
        self.qualities.contains(word) || self.has_quality_end(word)
    }

    fn has_quality_end(&self, word: &str) -> bool {
        let mut ends = self.quality_ends.iter();
        word.contains('-') && ends.any(|end| word.ends_with(end.as_str()))
    }

    fn signal(&mut self, phrase: &str, signal: Signal) {
        let mut words = phrase.split(' ').map(str::to_owned);
        let Some(first) = words.next() else { return };
        let known = self.signals.entry(first).or_default();
        known.push((words.collect(), signal));
    }

    /// Whether a word alone decides the status of a line.
    pub(super) fn is_signal(&self, word: &str) -> bool {
        let known = self.signals.get(word);
        known.is_some_and(|known| known.iter().any(|(rest, _)| rest.is_empty()))
    }

    /// Returns the phrases of a line that decide its status, with their tokens.
    pub(super) fn signals<'t>(
        &'t self,
        tokens: &'t [Token],
    ) -> impl Iterator<Item = (Range<usize>, Signal)> + 't {
        let is_word = |token: &Token| token.kind == TokenKind::Word;
        let places = tokens
            .iter()
            .enumerate()
            .filter(move |(_, token)| is_word(token));
        places.flat_map(move |(at, token)| {
            let known = self.signals.get(&token.text);
            let known = known.map_or(&[][..], Vec::as_slice);
            known.iter().filter_map(move |(rest, signal)| {
                let end = at + 1 + rest.len();
                let behind = tokens.get(at + 1..end)?;
                let is_said = (behind.iter().zip(rest)).all(|(token, word)| token.text == *word);
                // "email" is foreign, and an "email domain" is Slack's.
                let is_longer = |phrase: &Phrase| {
                    phrase.rest.len() > rest.len() && matches!(phrase.sense, Sense::Noun(_))
                };
                (is_said && !self.begins(&tokens[at..], is_longer)).then_some((at..end, *signal))
            })
        })
    }

    /// Returns the shortest example that names a noun and a source.
    pub(super) fn example_of(&self, noun: &str, source: &str) -> Option<&'static str> {
        self.of_sources.get(&format!("{source} {noun}")).copied()
    }

    /// Collects the examples by the sources and nouns that they name.
    fn name_examples(&mut self) {
        for example in &self.rows {
            let lower = example.to_lowercase();
            let words: Vec<&str> = lower.split(' ').collect();
            let starts = (0..words.len()).filter(|at| self.sources.contains(words[*at]));
            for start in starts {
                for end in start + 2..words.len().min(start + 2 + LONGEST_NOUN) {
                    let known = self.of_sources.entry(words[start..end].join(" "));
                    let shortest = known.or_insert(example);
                    if example.len() < shortest.len() {
                        *shortest = example;
                    }
                }
            }
        }
    }

    /// Returns the example of a noun.
    pub(super) fn example(&self, noun: &str) -> Option<&'static str> {
        self.examples.get(noun).copied()
    }

    /// Whether a word joins alternatives.
    pub(super) fn joins(&self, word: &str) -> bool {
        self.joints.contains(word)
    }

    /// Whether a participle behind a word is passive.
    pub(super) fn is_passive(&self, word: &str) -> bool {
        self.passive.contains(word)
    }

    /// Whether a word is the second part of compounds.
    pub(super) fn is_second(&self, word: &str) -> bool {
        self.seconds.contains(word)
    }

    /// Whether a word is the name of a source.
    pub(super) fn is_source(&self, word: &str) -> bool {
        self.sources.contains(word)
    }

    pub(super) fn is_filler(&self, word: &str) -> bool {
        self.fillers.contains(word)
    }
}
