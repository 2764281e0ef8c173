//! Sentences about events of GitHub, read by a grammar that accounts for every word or fails.
//!
//! The reader in `grammar` walks a line and collects what it recognises, which a line with unknown words needs.
//! A sentence with several guards has a structure: which guard applies to which alternative, how far a negation
//! reaches, which of two users wrote and which acted. Here noun phrases, verbs and guards become formulas, and a
//! line is read only if every word of it is.

mod actives;
mod agents;
mod clauses;
mod commenting;
mod complements;
mod conditions;
mod deeds;
mod did_it;
mod force;
mod gains;
mod gaps;
mod handling;
mod having;
mod idioms;
mod line;
mod literals;
mod modifiers;
mod nominal;
mod nouns;
mod owners;
mod participles;
mod parts;
mod paths;
mod people;
mod places;
mod planning;
mod predicate;
mod raw;
mod regardless;
mod requests;
mod reviews;
mod roles;
pub(crate) mod sources;
mod subjects;
mod texts;
mod thing_parts;
mod things;

use crate::interpretation::Correction;
use crate::meaning::spoken::Spoken;
use crate::meaning::{atom, emit, formula};
use crate::normalise::Token;
use crate::resolve::ClauseSet;
use crate::span::Span;
use line::Line;

/// Reads a whole line, or returns `None` if a word of it is not understood.
pub(crate) fn read(line: &str, tokens: &[Token]) -> Option<(ClauseSet, Vec<Correction>)> {
    [false, true].into_iter().find_map(|mends| {
        let mut line = Line::new(line, tokens, mends)?;
        if mends && line.corrections.is_empty() {
            return None;
        }
        let events = line.sentence()?;
        let found = emit::emit(spoken(&line), &events)?;
        Some((found, line.corrections))
    })
}

/// Reads a line around words that are not understood, and returns these as well.
pub(crate) fn read_around(line: &str, tokens: &[Token]) -> Option<(ClauseSet, Vec<Span>)> {
    let mut line = Line::new(line, tokens, false)?;
    let (events, left) = line.sentence_around()?;
    let found = emit::emit(spoken(&line), &events)?;
    let spans = left.iter().map(|range| line.span(range)).collect();
    Some((found, spans))
}

/// Returns the tokens that were read, with typos corrected.
fn spoken<'l>(line: &'l Line<'_>) -> Spoken<'l> {
    Spoken {
        tokens: &line.tokens,
    }
}
