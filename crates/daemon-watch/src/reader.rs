//! The reader that is to replace `sentence`, `grammar`, `resolve` and `prefix`: one chart over one lexicon.
//!
//! A line becomes tokens, the tokens become words of the lexicon, the grammar combines them in a chart, and the cheapest
//! parse of the whole line that the vocabulary and the accounts accept is its meaning. English is in `lexicon/*.tsv`,
//! `grammar/grammar.txt` and `grammar/frames.tsv`. This module is compiled for tests and with the feature `shadow`
//! only, until it reads everything that the shipped readers read.

mod account;
mod category;
mod chart;
mod compose;
mod frames;
mod grammar;
mod lexicon;
mod load;
mod skips;
mod value;
mod words;

use std::sync::LazyLock;

use crate::interpretation::{Correction, Interpretation, Status};
use crate::meaning::emit::emit;
use crate::meaning::spoken::Spoken;
use crate::normalise::{Token, TokenKind, tokens};
use crate::span::Span;
use chart::Chart;
use grammar::Grammar;

/// The grammar with its lexicon, parsed at the first line that is read.
static GRAMMAR: LazyLock<Grammar> = LazyLock::new(load::grammar);

/// The longest line that the chart reads, in tokens.
const MOST_TOKENS: usize = 120;

/// Reads one line; `None` if no parse of the whole line has a meaning.
pub fn interpret(line: &str) -> Option<Interpretation> {
    let all = tokens(line);
    let tokens = spoken(&GRAMMAR, all);
    if tokens.is_empty() || tokens.len() > MOST_TOKENS {
        return None;
    }
    let spoken = Spoken { tokens: &tokens };
    let mut chart = Chart::new(&GRAMMAR, line, &tokens);
    while let Some(goal) = chart.next_goal() {
        let Some(events) = chart.events(goal) else {
            continue;
        };
        let Some(found) = emit(spoken, events) else {
            continue;
        };
        let left = chart.left_over(goal);
        if !account::is_complete(&tokens, &left, &found) {
            continue;
        }
        let remainder: Vec<Span> = left.iter().map(|range| spoken.span(range)).collect();
        let status = if remainder.is_empty() {
            Status::Mapped
        } else {
            Status::Partial
        };
        let typo = |(at, word): (usize, &'static str)| Correction {
            span: tokens[at].span,
            replacement: word.to_owned(),
        };
        let meaning = Interpretation {
            status,
            clauses: found.clauses,
            filters: found.filters,
            remainder,
            notes: found.notes,
            time: None,
            corrections: chart.mended(goal).into_iter().map(typo).collect(),
            instruction: None,
            suggestion: None,
        };
        // No event passes filters that exclude each other, so another parse is meant.
        if meaning.contradiction().is_none() {
            return Some(meaning);
        }
    }
    None
}

/// Returns the cost, the number of edges and the parse of a line as a tree, for those who extend the grammar.
pub fn trace(line: &str) -> String {
    let tokens = spoken(&GRAMMAR, tokens(line));
    let mut chart = Chart::new(&GRAMMAR, line, &tokens);
    let goal = chart.next_goal();
    let tree = goal.map_or_else(String::new, |goal| chart.tree(goal));
    format!("{} edges\n{tree}", chart.n_edges())
}

/// Returns how many edges the first parse of a line takes.
#[cfg(test)]
fn edges(line: &str) -> usize {
    let tokens = spoken(&GRAMMAR, tokens(line));
    let mut chart = Chart::new(&GRAMMAR, line, &tokens);
    chart.next_goal();
    chart.n_edges()
}

/// Drops fillers and the marks at the end, so that no rule has to name them.
fn spoken(grammar: &Grammar, all: Vec<Token>) -> Vec<Token> {
    let is_kept = |token: &Token| {
        token.kind != TokenKind::Word || !grammar.lexicon.is_filler(token.text.as_str())
    };
    let mut kept: Vec<Token> = all.into_iter().filter(is_kept).collect();
    for token in &mut kept {
        // A dash separates clauses as a comma does.
        if token.kind == TokenKind::Word && matches!(token.text.as_str(), "-" | "--") {
            token.kind = TokenKind::Mark;
            token.text = ",".to_owned();
        }
    }
    let is_end = |token: &Token| {
        token.kind == TokenKind::Mark && matches!(token.text.as_str(), "." | "!" | "," | "?")
    };
    while kept.last().is_some_and(is_end) {
        kept.pop();
    }
    kept
}

#[cfg(test)]
mod tests;
