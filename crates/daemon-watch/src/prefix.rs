//! Lines that begin with a condition and end in unknown words: `a PR is merged late in the sprint`.

use daemon_event::Source;
use daemon_event::vocabulary::Noun;

use crate::interpret;
use crate::interpretation::{Interpretation, Status};
use crate::lexicon::{self, Class};
use crate::normalise::{Token, TokenKind};
use crate::span::Span;

/// The fewest words that name an object and its event.
const FEWEST: usize = 3;
/// The most words of a line that is tried: each try reads the line again.
const MOST_WORDS: usize = 48;
/// The most words that may be left over; a longer rest contains more than what was understood.
const MOST_LEFT: usize = 16;

/// Reads the longest beginning of a line that is understood whole; the rest is left over.
pub(crate) fn read(condition: &str, words: &[Token]) -> Option<Interpretation> {
    if words.len() > MOST_WORDS || names_a_foreign_service(words) {
        return None;
    }
    let last = words.last()?.span.end;
    let shortest = words.len().saturating_sub(MOST_LEFT).max(FEWEST);
    (shortest..words.len()).rev().find_map(|end| {
        let rest = words.get(end)?;
        if !may_begin_the_rest(rest) || ends_open(&words[..end]) {
            return None;
        }
        let stop = words[end - 1].span.end;
        let meaning = interpret::read(&condition[..stop], &words[..end]);
        if meaning.status != Status::Mapped
            || meaning.corrections.iter().any(|typo| typo.span.end > stop)
        {
            return None;
        }
        let speaks_of = |source: Source| {
            meaning
                .clauses
                .iter()
                .flat_map(|clause| &clause.events)
                .any(|event| event.source == source)
        };
        // No webhook reports a reaction on GitHub, so the beginning alone would wake for another event.
        let reacts = words[end..].iter().any(|word| {
            matches!(
                word.text.as_str(),
                "thumbs" | "emoji" | "reaction" | "reactions"
            )
        });
        if reacts || sources_of(&words[end..]).any(|source| !speaks_of(source)) {
            return None;
        }
        Some(Interpretation {
            status: Status::Partial,
            remainder: vec![Span::new(rest.span.start, last)],
            ..meaning
        })
    })
}

/// Whether the line names something outside the known sources: `Jira`, `merge conflicts`.
fn names_a_foreign_service(words: &[Token]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    (0..texts.len())
        .any(|at| lexicon::longest(&texts[at..]).is_some_and(|(sense, _)| sense.is_foreign))
}

/// Whether the words end in a preposition or article: `is left on an`.
fn ends_open(words: &[Token]) -> bool {
    const OPEN: [Class; 14] = [
        Class::Article,
        Class::By,
        Class::To,
        Class::Into,
        Class::On,
        Class::In,
        Class::At,
        Class::From,
        Class::With,
        Class::For,
        Class::Of,
        Class::As,
        Class::That,
        Class::Its,
    ];
    let sense = words.last().and_then(|word| lexicon::exact(&word.text));
    sense.is_some_and(|sense| OPEN.iter().any(|class| sense.is(*class)))
}

/// The sources that words name, directly or by their nouns.
fn sources_of(words: &[Token]) -> impl Iterator<Item = Source> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    (0..texts.len()).filter_map(move |at| {
        let (sense, _) = lexicon::longest(&texts[at..])?;
        let is_of_github = sense.nouns.contains(&Noun::PullRequest);
        sense.source.or(is_of_github.then_some(Source::Github))
    })
}

/// Whether a word can begin the rest: not the verb of the words before it.
fn may_begin_the_rest(word: &Token) -> bool {
    const VERBS: &[&str] = &[
        "is", "are", "was", "were", "be", "been", "being", "gets", "get", "got", "has", "have",
        "had", "does", "do", "did", "can", "could", "will", "would", "should", "must", "may",
        "might", "not", "never", "or", "and", "becomes", "become", "looks", "look", "seems",
        "seem", "needs", "need", "feels", "goes",
    ];
    // `a thumbs-up reaction`: a noun upon a noun.
    let is_noun = lexicon::exact(&word.text)
        .is_some_and(|sense| (!sense.nouns.is_empty() || sense.part.is_some()) && !sense.is_verb());
    word.kind == TokenKind::Word && !is_noun && !VERBS.contains(&word.text.as_str())
}
