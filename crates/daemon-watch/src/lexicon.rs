//! The words that conditions are made of, built once from the vocabulary and the closed lists.

pub(crate) mod inflect;
mod names;
mod typo;
mod words;

use std::collections::HashMap;
use std::sync::LazyLock;

use daemon_event::Source;
use daemon_event::vocabulary::{Noun, Verb};
use rustc_hash::FxHashMap;

pub(crate) use inflect::Forms;
pub(crate) use names::{KNOWN_BRANCHES, WORKFLOW_STATES};
pub(crate) use words::{Class, Part};

/// All that a phrase can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sense {
    pub(crate) nouns: Vec<Noun>,
    pub(crate) plural: bool,
    pub(crate) verbs: Vec<Verb>,
    pub(crate) forms: Forms,
    pub(crate) classes: Vec<Class>,
    pub(crate) part: Option<Part>,
    pub(crate) is_value: bool,
    pub(crate) source: Option<Source>,
    pub(crate) is_foreign: bool,
    pub(crate) is_bot: bool,
}

impl Sense {
    pub(crate) fn is(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }

    pub(crate) fn is_verb(&self) -> bool {
        !self.verbs.is_empty()
    }

    fn shares_meaning(&self, other: &Self) -> bool {
        self.nouns.iter().any(|noun| other.nouns.contains(noun))
            || self.verbs.iter().any(|verb| other.verbs.contains(verb))
            || self
                .classes
                .iter()
                .any(|class| other.classes.contains(class))
            || (self.part.is_some() && self.part == other.part)
    }
}

struct Phrase {
    text: String,
    words: Vec<String>,
    sense: Sense,
}

struct Lexicon {
    /// By first word; the longest phrases first.
    phrases: FxHashMap<String, Vec<Phrase>>,
    typos: typo::Typos,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(build);

fn build() -> Lexicon {
    let mut senses: HashMap<String, Sense> = HashMap::new();
    let mut sense = |phrase: &str, change: &mut dyn FnMut(&mut Sense)| {
        // `PR's` is two tokens, so a phrase with `'s` needs the same two words.
        let phrase = phrase.replace("'s", " 's");
        change(senses.entry(phrase.trim().to_owned()).or_default());
    };
    for noun in Noun::ALL.iter().copied() {
        for phrase in noun.phrases() {
            sense(phrase, &mut |sense| sense.nouns.push(noun));
            sense(&inflect::plural(phrase), &mut |sense| {
                sense.nouns.push(noun);
                sense.plural = true;
            });
        }
    }
    for verb in Verb::ALL.iter().copied() {
        for (phrase, form) in verb
            .phrases()
            .iter()
            .flat_map(|phrase| inflect::verb_forms(phrase))
        {
            sense(&phrase, &mut |sense| {
                if !sense.verbs.contains(&verb) {
                    sense.verbs.push(verb);
                }
                sense.forms.0 |= form.0;
            });
        }
    }
    for (class, phrases) in words::CLASSES {
        for phrase in listed(phrases) {
            sense(phrase, &mut |sense| sense.classes.push(*class));
        }
    }
    for (part, phrases) in words::PARTS {
        for phrase in listed(phrases) {
            sense(phrase, &mut |sense| sense.part = Some(*part));
            sense(&inflect::plural(phrase), &mut |sense| {
                sense.part = Some(*part);
                sense.plural = true;
            });
        }
    }
    for value in listed(names::VALUES) {
        sense(value, &mut |sense| sense.is_value = true);
    }
    for bot in listed(names::KNOWN_BOTS) {
        sense(bot, &mut |sense| sense.is_bot = true);
        // GitHub's sender is `dependabot[bot]`, the word of an author `dependabot`.
        sense(&format!("{bot}[bot]"), &mut |sense| sense.is_bot = true);
    }
    for service in listed(names::FOREIGN) {
        sense(service, &mut |sense| sense.is_foreign = true);
    }
    for (source, phrases) in names::SOURCES {
        for phrase in listed(phrases) {
            sense(phrase, &mut |sense| sense.source = Some(*source));
        }
    }
    let typos = typo::Typos::new(&senses);
    let mut phrases: FxHashMap<String, Vec<Phrase>> = FxHashMap::default();
    for (phrase, sense) in senses {
        let words: Vec<String> = phrase.split(' ').map(str::to_owned).collect();
        let first = words.first().cloned().unwrap_or_default();
        phrases.entry(first).or_default().push(Phrase {
            text: phrase,
            words,
            sense,
        });
    }
    for found in phrases.values_mut() {
        // The first match has to be the longest: `pull request review` before `pull request`.
        found.sort_by(|a, b| {
            b.words
                .len()
                .cmp(&a.words.len())
                .then_with(|| a.words.cmp(&b.words))
        });
    }
    Lexicon { phrases, typos }
}

/// The phrases of a list that is written with bars between them.
fn listed(phrases: &str) -> impl Iterator<Item = &str> {
    phrases.split('|').map(str::trim)
}

/// Finds the longest phrase at the beginning of `words`: its sense, and how many words it takes.
pub(crate) fn longest(words: &[&str]) -> Option<(&'static Sense, usize)> {
    let first = words.first()?;
    let found = LEXICON.phrases.get(*first).and_then(|phrases| {
        phrases.iter().find(|phrase| {
            phrase.words.len() <= words.len()
                && phrase
                    .words
                    .iter()
                    .zip(words)
                    .all(|(wanted, word)| wanted == word)
        })
    });
    if let Some(phrase) = found {
        return Some((&phrase.sense, phrase.words.len()));
    }
    if !first.contains('-') {
        return None;
    }
    // `pull-request` and `merge-queue` are listed with blanks.
    let spaced = first.replace('-', " ");
    exact(&spaced).map(|sense| (sense, 1))
}

/// Finds the longest phrase of a kind at the beginning of `words`.
pub(crate) fn longest_of(
    words: &[String],
    is_wanted: impl Fn(&Sense) -> bool,
) -> Option<(&'static Sense, usize)> {
    let phrases = LEXICON.phrases.get(words.first()?)?;
    let begins = |phrase: &&Phrase| {
        is_wanted(&phrase.sense)
            && phrase.words.len() <= words.len()
            && phrase.words.iter().zip(words).all(|(a, b)| a == b)
    };
    let found = phrases.iter().find(begins)?;
    Some((&found.sense, found.words.len()))
}

/// Finds a phrase.
pub(crate) fn exact(phrase: &str) -> Option<&'static Sense> {
    let first = phrase.split(' ').next()?;
    let phrases = LEXICON.phrases.get(first)?;
    phrases
        .iter()
        .find(|found| found.text == phrase)
        .map(|found| &found.sense)
}

/// Whether a single word has a sense.
pub(crate) fn is_known(word: &str) -> bool {
    exact(word).is_some()
}

/// Whether a word is a noun, a verb or a part of an event.
pub(crate) fn is_event_word(word: &str) -> bool {
    exact(word).is_some_and(|sense| {
        !sense.nouns.is_empty() || sense.is_verb() || sense.part.is_some() || sense.source.is_some()
    })
}

/// Returns the correct spelling of a misspelt word, if there is exactly one candidate.
pub(crate) fn mend(word: &str) -> Option<&'static str> {
    LEXICON.typos.mend(word)
}
