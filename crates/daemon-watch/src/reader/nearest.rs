//! The nearest phrasing: the cheapest edit of a line that is read whole.

use super::grammar::Grammar;
use super::read;
use crate::interpretation::Status;
use crate::normalise::{Token, TokenKind, tokens};
use crate::span::Span;

/// The most words of a noun.
const LONGEST_NOUN: usize = 4;

/// Returns a line without its remainder, if that is read whole.
pub(super) fn without(line: &str, remainder: &[Span]) -> Option<String> {
    let mut kept = String::with_capacity(line.len());
    let mut at = 0;
    for span in remainder {
        kept.push_str(line.get(at..span.start)?);
        at = span.end;
    }
    kept.push_str(line.get(at..)?);
    let words: Vec<&str> = kept.split_whitespace().collect();
    let shorter = words.join(" ").replace(" ,", ",");
    let shorter = shorter.trim_end_matches([',', ' ']);
    is_whole(shorter).then(|| shorter.to_owned())
}

/// Returns the example of the first noun that a line names, of the source that it names.
pub(super) fn of_noun(grammar: &Grammar, words: &[Token]) -> Option<String> {
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
            None => grammar.lexicon.example(&noun)?,
        };
        is_whole(said).then(|| said.to_owned())
    };
    nouns.filter_map(of).next()
}

fn is_whole(line: &str) -> bool {
    read(line, tokens(line)).is_some_and(|meaning| meaning.status == Status::Mapped)
}
