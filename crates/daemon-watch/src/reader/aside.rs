//! Asides behind a condition, which restrict nothing: a reason ("because we want to see it"), a remark ("which we like to know")
//! and what makes no difference ("regardless of who did it").
//!
//! A word of restriction, a value or an event inside makes the words a part of the condition again.

use std::sync::LazyLock;

use super::grammar::Grammar;
use crate::normalise::{Token, TokenKind};

/// The phrases that begin an aside: a phrase, its kind and a line that ends with such an aside.
const FILE: &str = include_str!("../../lexicon/asides.tsv");

static PHRASES: LazyLock<Vec<(Vec<&'static str>, Kind)>> = LazyLock::new(|| {
    let rows = rows().map(|(phrase, kind, _)| (phrase.split(' ').collect(), kind));
    rows.collect()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Reason,
    Purpose,
    Remark,
    /// Alternatives that make no difference.
    Either,
}

/// The categories of words that are values of events.
static VALUES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("../../lexicon/valued.txt").lines().collect());

/// The categories of words before what they do: "because it closes".
const ACTORS: &[&str] = &[
    "pron", "n.thing", "n.run", "p.any", "p.noun", "p.name", "opener",
];

/// Returns the rows: a phrase, its kind and its example.
///
/// # Panics
/// Panics if a row is malformed; the file is a part of the program.
fn rows() -> impl Iterator<Item = (&'static str, Kind, &'static str)> {
    FILE.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [phrase, kind, example] = cells[..] else {
            panic!("a row has three cells: {line}");
        };
        let kind = match kind {
            "reason" => Kind::Reason,
            "purpose" => Kind::Purpose,
            "remark" => Kind::Remark,
            "either" => Kind::Either,
            _ => panic!("a row has a kind: {line}"),
        };
        (phrase, kind, example)
    })
}

/// Returns where the aside at the end of a condition begins, with the mark before it.
pub(super) fn aside(grammar: &Grammar, tokens: &[Token]) -> Option<usize> {
    (1..tokens.len()).find(|at| is_comma(&tokens[*at]) && is_aside(grammar, &tokens[at + 1..]))
}

/// A comma or a dash; brackets and quotes enclose more than asides.
fn is_comma(token: &Token) -> bool {
    match token.kind {
        TokenKind::Mark => matches!(token.text.as_str(), "," | ";"),
        TokenKind::Word => matches!(token.text.as_str(), "-" | "--" | "–" | "—"),
        _ => false,
    }
}

/// Whether the words to the end of a condition are an aside.
fn is_aside(grammar: &Grammar, tokens: &[Token]) -> bool {
    let begins = |phrase: &[&str]| {
        let mut words = tokens.iter().map(|token| token.text.as_str());
        phrase.iter().all(|word| words.next() == Some(*word))
    };
    let mut phrases = PHRASES.iter();
    let Some((phrase, kind)) = phrases.find(|(phrase, _)| begins(phrase)) else {
        return false;
    };
    let (rest, is_any) = without_end(&tokens[phrase.len()..]);
    // "be it a draft or not" is all that there is.
    if *kind == Kind::Either && is_any {
        return true;
    }
    // A thing can be the cause: "because of the label".
    let is_clause = rest.first().is_some_and(|first| first.text != "of");
    is_clause && restricts_nothing(grammar, rest, *kind)
}

/// Drops the stop at the end, and "or not"; returns whether the latter was there.
fn without_end(mut tokens: &[Token]) -> (&[Token], bool) {
    while let [before @ .., last] = tokens
        && last.kind == TokenKind::Mark
    {
        tokens = before;
    }
    match tokens {
        [before @ .., or, not] if or.text == "or" && not.text == "not" => (before, true),
        _ => (tokens, false),
    }
}

fn restricts_nothing(grammar: &Grammar, tokens: &[Token], kind: Kind) -> bool {
    let is = |at: usize, names: &[&str]| {
        let token = tokens.get(at);
        token.is_some_and(|token| names.iter().any(|name| grammar.is_one(token, name)))
    };
    // Nothing happens yet in "the team wants to review it".
    let wanted = |at: usize| at > 0 && is(at - 1, &["modal"]);
    // A noun, and no verb, is behind a preposition: "ready for review".
    let does =
        |at: usize| tokens[at].kind != TokenKind::Word || is(at, ACTORS) && !is(at, &["place"]);
    let happens = |at: usize| {
        is(at, &["v.act.f"]) && at > 0 && does(at - 1) && !wanted(at)
            || is(at, &["be.f", "be.ed", "get.f"]) && is(at + 1, &["v.act.ed"])
    };
    // An alternative, with its own event, can be behind a reason.
    let joins = |at: usize| match tokens[at].text.as_str() {
        "or" => true,
        "and" => is(at + 1, &["opener", "be.f", "get.f", "have.f", "v.act.ed"]),
        _ => false,
    };
    let is_free = |at: usize| {
        let token = &tokens[at];
        let is_plain = token.kind == TokenKind::Word
            && !is(
                at,
                &["negator", "restrictor", "excl", "only.w", "only.back"],
            );
        let is_kind = match kind {
            Kind::Reason => !joins(at) && !happens(at),
            Kind::Remark => {
                !joins(at) && !happens(at) && !is(at, &VALUES) && !is(at, &["v.act.ed"])
            }
            Kind::Purpose => !joins(at),
            Kind::Either => !is(at, &VALUES),
        };
        is_plain && is_kind
    };
    (0..tokens.len()).all(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpretation::Status;
    use crate::reader::{GRAMMAR, interpret};

    #[test]
    fn the_example_of_every_row_ends_with_an_aside_and_is_read_as_the_line_without_it() {
        let wrong: Vec<&str> = rows()
            .filter(|(phrase, _, example)| {
                let meaning = interpret(example);
                let event = interpret("when a pull request is opened");
                meaning.status != Status::Mapped
                    || (meaning.clauses, meaning.filters) != (event.clauses, event.filters)
                    || !example.contains(phrase)
            })
            .map(|(.., example)| example)
            .collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn rows_are_sorted_and_no_row_is_repeated() {
        let found: Vec<&str> = FILE.lines().skip(1).collect();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(found, sorted);
    }

    #[test]
    fn what_restricts_names_a_value_or_happens_is_no_aside() {
        for line in [
            "when a pull request is opened, because only drafts matter",
            "when a pull request is opened, so that we see it, unless it is a draft",
            "when a pull request is opened, because we do not want drafts",
            "when a pull request is opened, since we like tests but no drafts",
            "when a pull request is opened, because of the label bug",
            "when a pull request is opened, because we want to see it or when it is closed",
            "when a pull request is opened, because it hurts and is merged",
            "when a pull request is opened, because \"WIP\" is in the title",
            "when a pull request is opened, since it was closed",
            "when a pull request is opened, since yesterday",
            "when a pull request is opened, since the last release",
            "when a pull request is closed, as it is merged",
            "when a pull request is opened, as a draft",
            "when a pull request is opened, which they merged",
            "when a pull request is opened, which targets main",
            "when a pull request is opened, be it a draft",
            "when a pull request is opened, be it on main or develop",
            "when a pull request is opened because we want to see it",
        ] {
            assert_eq!(
                aside(&GRAMMAR, &crate::normalise::tokens(line)),
                None,
                "{line}"
            );
        }
    }

    #[test]
    fn the_reason_of_a_time_and_of_a_partly_read_condition_is_set_aside() {
        let time = interpret("every day at 9:00, so that everybody finds the summary");
        assert_eq!(time.status, Status::TimeBased);
        let line = "when a pull request is opened that breaks our API, because we want to see it";
        let meaning = interpret(line);
        let left: Vec<&str> = meaning.remainder.iter().map(|span| span.of(line)).collect();
        assert_eq!(left, ["that breaks our API"]);
        assert_eq!(
            meaning.notes,
            ["`because we want to see it` restricts nothing"]
        );
    }
}
