//! The nearest phrasing: the cheapest edit of a line that is read whole.

use super::grammar::Grammar;
use super::lexicon::LONGEST_NOUN;
use super::read_whole;
use crate::normalise::{Token, TokenKind, tokens};
use crate::span::Span;

/// The longest line that is edited, in tokens.
const LONGEST_EDITED: usize = 40;
/// The most edges that all edits take together, since each of them is read.
const MOST_EDGES: usize = 3_000;
/// The edges in whose time a token becomes words.
const EDGES_OF_TOKEN: usize = 6;
/// The prices of the kinds of edits. A dropped phrase costs one more for each word.
const INSERT: usize = 1;
const DROP: usize = 2;
const REPLACE: usize = 4;
/// What makes an event of a thing.
const CREATED: &str = "new";

/// What is probably meant by a line that names no event, by a word of it; an earlier row goes first.
const TOPICS: &str = include_str!("../../lexicon/topics.tsv");

/// Words in the place of a span of the line. An edit without words drops the span, one without a span inserts them.
struct Edit {
    span: Span,
    with: &'static str,
    cost: usize,
}

impl Edit {
    fn applied(&self, line: &str) -> Option<String> {
        let (before, behind) = (line.get(..self.span.start)?, line.get(self.span.end..)?);
        Some(tidied(&format!("{before} {} {behind}", self.with)))
    }
}

/// Returns a line without its remainder, if that is read whole.
pub(super) fn without(line: &str, remainder: &[Span]) -> Option<String> {
    let mut kept = String::with_capacity(line.len());
    let mut at = 0;
    for span in remainder {
        kept.push_str(line.get(at..span.start)?);
        at = span.end;
    }
    kept.push_str(line.get(at..)?);
    let shorter = tidied(&kept);
    is_whole(&shorter).then_some(shorter)
}

/// Returns the line with the cheapest edit by which it is read whole and names the same sources.
pub(super) fn edited(grammar: &Grammar, line: &str, words: &[Token]) -> Option<String> {
    if words.len() > LONGEST_EDITED {
        return None;
    }
    let mut edits = edits(grammar, words);
    edits.sort_by_key(|edit| edit.cost);
    let mut n_edges = 0;
    for edit in &edits {
        let said = edit.applied(line)?;
        if !names_the_same(grammar, words, &said) {
            continue;
        }
        let left = MOST_EDGES.checked_sub(n_edges)?;
        let (found, taken) = read_whole(&said, &tokens(&said), left);
        n_edges += taken + EDGES_OF_TOKEN * words.len();
        if found.is_some() {
            return Some(said);
        }
    }
    None
}

/// Returns the edits of a line: an unknown word is dropped or replaced by an event of the noun, a phrase is dropped, a thing is
/// created.
fn edits(grammar: &Grammar, words: &[Token]) -> Vec<Edit> {
    let mut found = Vec::new();
    let start = words.first().map_or(0, |first| first.span.start);
    found.push(Edit {
        span: Span::new(start, start),
        with: CREATED,
        cost: INSERT,
    });
    let event = example(grammar, words).and_then(|example| {
        let words = tokens(example);
        let mut words = words.iter().rev();
        let led = words.find(|word| grammar.lexicon.is_passive(&word.text))?;
        example.get(led.span.end..)
    });
    for (at, token) in words.iter().enumerate() {
        let is_word = token.kind == TokenKind::Word;
        let is_unknown =
            !grammar.lexicon.is_word(&token.text) || grammar.lexicon.is_quality(&token.text);
        if is_word && is_unknown {
            let edit = |with, cost| Edit {
                span: token.span,
                with,
                cost,
            };
            found.push(edit("", DROP));
            found.extend(event.map(|event| edit(event, REPLACE)));
        }
        if at > 1 && opens(grammar, token) {
            found.extend(dropped(grammar, words, at));
        }
    }
    found
}

/// Returns the edits that drop the phrase that begins at a word: up to the next one, or to the end of the line.
fn dropped(grammar: &Grammar, words: &[Token], at: usize) -> Vec<Edit> {
    let next = (at + 2..words.len()).find(|next| opens(grammar, &words[*next]));
    let ends = next.into_iter().chain([words.len()]);
    let edit = |end: usize| Edit {
        span: Span::new(words[at].span.start, words[end - 1].span.end),
        with: "",
        cost: DROP + end - at,
    };
    ends.map(edit).collect()
}

/// Whether a token opens a phrase that can be dropped.
fn opens(grammar: &Grammar, token: &Token) -> bool {
    token.kind == TokenKind::Mark && token.text == "," || grammar.is_one(token, "opener")
}

/// Whether a phrasing names every source of the line, so that it is about the same things.
fn names_the_same(grammar: &Grammar, words: &[Token], text: &str) -> bool {
    let said = tokens(text);
    let mut sources = (words.iter()).filter(|word| grammar.lexicon.is_source(&word.text));
    sources.all(|source| said.iter().any(|word| word.text == source.text))
}

/// Returns the phrasing of the first topic that is a word of a line, unless the line names a source, of which it may not be.
pub(super) fn of_topic(grammar: &Grammar, words: &[Token]) -> Option<String> {
    let is_plain = |word: &&Token| word.kind == TokenKind::Word;
    let plain = words.iter().filter(is_plain);
    if plain
        .clone()
        .any(|word| grammar.lexicon.is_source(&word.text))
    {
        return None;
    }
    let found = topics().find(|(topic, _)| plain.clone().any(|word| word.text == *topic));
    found.map(|(_, phrasing)| phrasing.to_owned())
}

/// Returns the words of topics with their phrasings.
fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS
        .lines()
        .skip(1)
        .filter_map(|row| row.split_once('\t'))
}

/// Returns the example of the first noun that a line names, of the source that it names.
pub(super) fn of_noun(grammar: &Grammar, words: &[Token]) -> Option<String> {
    example(grammar, words).map(str::to_owned)
}

fn example(grammar: &Grammar, words: &[Token]) -> Option<&'static str> {
    let plain: Vec<&str> = words
        .iter()
        .filter(|word| word.kind == TokenKind::Word)
        .map(|word| word.text.as_str())
        .collect();
    let source = plain.iter().find(|word| grammar.lexicon.is_source(word));
    let nouns = (0..plain.len()).flat_map(|start| {
        let most = LONGEST_NOUN.min(plain.len() - start);
        (1..=most).rev().map(move |length| (start, length))
    });
    let of = |(start, length): (usize, usize)| {
        let noun = plain[start..start + length].join(" ");
        let said = match source {
            Some(source) => grammar.lexicon.example_of(&noun, source)?,
            // A line without a source is not answered with one.
            None => (grammar.lexicon.example(&noun)).filter(|said| !names_source(grammar, said))?,
        };
        is_whole(said).then_some(said)
    };
    nouns.filter_map(of).next()
}

fn names_source(grammar: &Grammar, line: &str) -> bool {
    let mut words = line.split(' ').map(str::to_lowercase);
    words.any(|word| grammar.lexicon.is_source(&word))
}

/// Returns a phrasing with single blanks, none before a comma, and no comma at the end.
fn tidied(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    for at in 1..words.len() {
        // The word that the article was for may be gone.
        let is_vowel = words[at].starts_with(['a', 'e', 'i', 'o']);
        let is_consonant =
            words[at].starts_with(['b', 'c', 'd', 'f', 'l', 'm', 'n', 'p', 'r', 's', 't', 'P']);
        words[at - 1] = match words[at - 1] {
            "an" if is_consonant => "a",
            "a" if is_vowel => "an",
            word => word,
        };
    }
    let text = words.join(" ").replace(" ,", ",").replace(",,", ",");
    text.trim_end_matches([',', ';', '.', ' ']).to_owned()
}

fn is_whole(line: &str) -> bool {
    read_whole(line, &tokens(line), usize::MAX).0.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phrasing_of_every_topic_is_read_whole_and_no_topic_is_repeated() {
        let mut seen = std::collections::BTreeSet::new();
        assert!(topics().count() > 30);
        for (topic, phrasing) in topics() {
            assert!(is_whole(phrasing), "{phrasing}");
            assert!(seen.insert(topic), "{topic}");
        }
    }
}
