//! Finds the correct spelling of a misspelt word.

use std::cell::RefCell;
use std::sync::LazyLock;

use daemon_event::vocabulary::{Noun, Verb};
use rustc_hash::{FxHashMap, FxHashSet};

use super::GRAMMAR;
use super::inflect::{plural, verb_forms};

/// The shortest word that is corrected, and the longest: the comparison takes time proportional to the product of the lengths.
const SHORTEST: usize = 4;
const LONGEST: usize = 24;
/// From this length a letter may differ, and from [`TWO_EDITS`] two edits are corrected.
const SUBSTITUTION: usize = 6;
const TWO_EDITS: usize = 8;

/// Ordinary words that are close to words of events and have another meaning.
const ORDINARY: &str = include_str!("../../lexicon/ordinary.txt");
/// The first words of conditions, which are corrected as those of events are.
const OPENINGS: &str = include_str!("../../lexicon/openings.txt");
/// The categories of other words that are corrected: people, and what is left out.
const MENDED: &[&str] = &["p.noun", "excl.ed"];
/// The beginning of the names of categories of nouns.
const NOUN: &str = "n.";

static TYPOS: LazyLock<Typos> = LazyLock::new(Typos::new);

/// What a word of an event means: two forms of one word have a meaning in common.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Noun(Noun),
    Verb(Verb),
    /// A category of the lexicon.
    Part(String),
    Opening,
}

/// The words that can be misspelt, by length.
struct Typos {
    by_length: Vec<Vec<(String, Vec<Meaning>)>>,
    ordinary: FxHashSet<&'static str>,
}

/// The most words whose spelling a thread remembers.
const MOST_REMEMBERED: usize = 128;

thread_local! {
    /// Finding the nearest phrasing of a line reads the same words again and again.
    static REMEMBERED: RefCell<FxHashMap<Box<str>, Option<&'static str>>> = RefCell::default();
}

/// Returns the correct spelling of a misspelt word, if there is exactly one candidate.
pub(super) fn mend(word: &str) -> Option<&'static str> {
    if !is_mendable(word) || word.len() > LONGEST {
        return None;
    }
    REMEMBERED.with_borrow_mut(|remembered| {
        if let Some(known) = remembered.get(word) {
            return *known;
        }
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        let found = TYPOS.mend(word);
        remembered.insert(word.into(), found);
        found
    })
}

/// Returns the phrases of events, each with a meaning.
fn phrases() -> Vec<(String, Meaning)> {
    let nouns = Noun::ALL.iter().flat_map(|noun| {
        let both = |phrase: &&str| [(*phrase).to_owned(), plural(phrase)];
        let phrases = noun.phrases().iter().flat_map(both);
        phrases.map(|phrase| (phrase, Meaning::Noun(*noun)))
    });
    let verbs = Verb::ALL.iter().flat_map(|verb| {
        let forms = verb.phrases().iter().flat_map(|phrase| verb_forms(phrase));
        forms.map(|(form, _)| (form, Meaning::Verb(*verb)))
    });
    let parts = GRAMMAR.lexicon.phrases().filter_map(|(phrase, category)| {
        let name = GRAMMAR.categories.name(category);
        let is_noun = name.starts_with(NOUN) && name != super::lexicon::THING;
        let is_part = is_noun || MENDED.contains(&name);
        is_part.then(|| (phrase, Meaning::Part(name.to_owned())))
    });
    let openings = OPENINGS.lines();
    let openings = openings.map(|word| (word.to_owned(), Meaning::Opening));
    nouns.chain(verbs).chain(parts).chain(openings).collect()
}

impl Typos {
    fn new() -> Self {
        let phrases = phrases();
        let mut alone: FxHashMap<&str, Vec<Meaning>> = FxHashMap::default();
        let mut inside: FxHashMap<&str, Vec<Meaning>> = FxHashMap::default();
        for (phrase, meaning) in &phrases {
            for word in phrase.split(' ').filter(|word| is_mendable(word)) {
                let words = if phrase == word {
                    &mut alone
                } else {
                    &mut inside
                };
                words.entry(word).or_default().push(meaning.clone());
            }
        }
        // A word of a phrase has its own meaning where it has one.
        inside.extend(alone);
        let mut by_length: Vec<Vec<(String, Vec<Meaning>)>> = vec![Vec::new(); LONGEST + 3];
        for (word, meanings) in inside {
            if let Some(words) = by_length.get_mut(word.len()) {
                words.push((word.to_owned(), meanings));
            }
        }
        for words in &mut by_length {
            words.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Self {
            by_length,
            ordinary: ORDINARY.lines().collect(),
        }
    }

    fn mend(&self, word: &str) -> Option<&str> {
        if GRAMMAR.lexicon.is_word(word) || self.ordinary.contains(word) {
            return None;
        }
        let edits = if word.len() >= TWO_EDITS { 2 } else { 1 };
        let mut best: Option<(usize, &str, &[Meaning])> = None;
        let mut is_unique = true;
        let lengths = word.len().saturating_sub(edits)..=word.len() + edits;
        let candidates = lengths
            .filter_map(|length| self.by_length.get(length))
            .flat_map(|words| beginning_with(words, word.as_bytes()[0]));
        for (candidate, meanings) in candidates {
            let Some(distance) = distance(word, candidate, edits) else {
                continue;
            };
            match best {
                Some((least, _, _)) if distance > least => {}
                // A tie between two forms of one word is harmless; between two words it is a guess.
                Some((least, known, others)) if distance == least => {
                    is_unique &= others.iter().any(|other| meanings.contains(other));
                    if candidate.len() > known.len() {
                        best = Some((distance, candidate, meanings));
                    }
                }
                Some(_) | None => {
                    best = Some((distance, candidate, meanings));
                    is_unique = true;
                }
            }
        }
        best.filter(|_| is_unique).map(|(_, word, _)| word)
    }
}

/// Returns the words of a sorted list that begin with a letter.
fn beginning_with<T>(words: &[(String, T)], letter: u8) -> &[(String, T)] {
    let first = |word: &(String, T)| word.0.as_bytes()[0];
    let start = words.partition_point(|word| first(word) < letter);
    let length = words[start..].partition_point(|word| first(word) == letter);
    &words[start..start + length]
}

fn is_mendable(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// Counts the edits from one word to another, if they are at most `most`; a swap of neighbours is one.
///
/// Words that begin with different letters are not compared: the first letter is seldom the misspelt one.
fn distance(from: &str, to: &str, most: usize) -> Option<usize> {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let may_substitute = to.len() >= SUBSTITUTION && from.len() >= SUBSTITUTION;
    let width = to.len() + 1;
    // The rows of the letter before the last one, of the last one and of this one.
    let mut rows = [[0_usize; LONGEST + 3]; 3];
    for (j, cell) in rows[1].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=from.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        let mut least_of_row = i;
        for j in 1..width {
            row[j] = if from[i - 1] == to[j - 1] {
                last[j - 1]
            } else {
                let mut least = row[j - 1].min(last[j]) + 1;
                if may_substitute {
                    least = least.min(last[j - 1] + 1);
                }
                // A swap of neighbours is one edit, not two: `reveiw`.
                if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                    least = least.min(before[j - 2] + 1);
                }
                least
            };
            least_of_row = least_of_row.min(row[j]);
        }
        // A swap comes from the row before the last one, which is not above this one by more than an edit.
        if least_of_row > most + 1 {
            return None;
        }
        rows.rotate_left(1);
    }
    Some(rows[1][to.len()]).filter(|distance| *distance <= most)
}
