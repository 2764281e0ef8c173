//! Words that always change the meaning: if no reader understood one, it is left over.

use crate::normalise::{Token, TokenKind};
use crate::span::Span;

/// The contexts in which a word of weight is understood.
enum Understood {
    /// In no context.
    Never,
    /// As part of one of these phrases.
    In(&'static [&'static str]),
    /// Where `and` or `or` follows: `both A and B`.
    BeforeJoint,
    /// Anywhere except after one of these words: `on every push`, not `when every check passes`.
    NotAfter(&'static [&'static str]),
}

/// How many words are left over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The word: `manually`.
    Word,
    /// The word and the next one, which has no meaning without it: `several labels`.
    WithNext,
}

/// Words of weight, grouped by their effect.
const WEIGHTY: &[(&[&str], Reach, Understood)] = &[
    (
        // No payload contains whether something happened before.
        &["again"],
        Reach::Word,
        Understood::In(&["unresolved again", "open again", "opened again"]),
    ),
    (
        &[
            // Counts and repetitions cannot be decided from one event.
            "manually",
            "repeatedly",
            "twice",
            "thrice",
            "simultaneously",
        ],
        Reach::Word,
        Understood::Never,
    ),
    (&["then"], Reach::WithNext, Understood::Never),
    // A sequence cannot be decided from one event, and the next word is its second part.
    (
        &[
            "multiple",
            // A count is left over with its noun: `its second approval`.
            "several",
            "numerous",
            "second",
            "third",
            "fourth",
            "fifth",
            "consecutive",
        ],
        Reach::WithNext,
        Understood::Never,
    ),
    (
        &["first"],
        // `a first time contributor` is an association, `good first issue` a label.
        Reach::WithNext,
        Understood::In(&["first time", "good first issue"]),
    ),
    (
        &["wrong"],
        Reach::WithNext,
        Understood::In(&["goes wrong", "go wrong", "went wrong"]),
    ),
    (
        &["another", "different"],
        Reach::WithNext,
        // `retargeted to another branch`: every change has another target, so the word adds nothing.
        Understood::In(&[
            "to another",
            "into another",
            "to a different",
            "into a different",
            "for another",
            "at another",
            "at a different",
            "onto another",
            "onto a different",
            "gets a different",
            "given a different",
            "has a different",
            "receives a different",
        ]),
    ),
    // `both A and B` is a conjunction that the readers understand; `both` alone counts.
    (&["both"], Reach::WithNext, Understood::BeforeJoint),
    (
        &["every", "all"],
        Reach::WithNext,
        // `on every push` is one event each; `when every check passes` is a judgement about all of them.
        Understood::NotAfter(&["when", "if", "once", "as", "until"]),
    ),
];

/// Finds the words of weight that no context explains.
pub(crate) fn passed_over(tokens: &[Token]) -> Vec<Span> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        // Tokens and not units are searched: these words count no matter which reader accepted them.
        let text = word(tokens, at);
        let is_it = |(words, ..): &&(&[&str], Reach, Understood)| words.contains(&text);
        let Some((_, reach, understood)) = WEIGHTY.iter().find(is_it) else {
            continue;
        };
        if is_understood(understood, tokens, at) {
            continue;
        }
        let next = tokens
            .get(at + 1)
            .filter(|next| next.kind == TokenKind::Word);
        found.push(match (reach, next) {
            (Reach::WithNext, Some(next)) => token.span.to(next.span),
            (Reach::Word | Reach::WithNext, _) => token.span,
        });
    }
    found
}

/// The word at a place; empty for literals and marks.
fn word(tokens: &[Token], at: usize) -> &str {
    let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word);
    token.map_or("", |token| token.text.as_str())
}

fn is_understood(understood: &Understood, tokens: &[Token], at: usize) -> bool {
    match understood {
        Understood::Never => false,
        Understood::In(phrases) => phrases.iter().any(|phrase| {
            let words: Vec<&str> = phrase.split(' ').collect();
            let places = words.iter().enumerate();
            let mut starts = places
                .filter(|(_, part)| **part == word(tokens, at))
                .filter_map(|(ahead, _)| at.checked_sub(ahead));
            starts.any(|start| {
                (start..)
                    .zip(&words)
                    .all(|(at, part)| word(tokens, at) == *part)
            })
        }),
        Understood::BeforeJoint => {
            (at + 1..tokens.len()).any(|at| matches!(word(tokens, at), "and" | "or" | "as"))
        }
        Understood::NotAfter(words) => match at.checked_sub(1) {
            Some(before) => !words.contains(&word(tokens, before)),
            None => true,
        },
    }
}
