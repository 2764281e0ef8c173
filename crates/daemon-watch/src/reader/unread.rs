//! Lines without a reading: states, times that recur, and what no source reports.

use super::grammar::Grammar;
use super::lexicon::Signal;
use super::nearest;
use crate::instruction::instruction;
use crate::interpret::{time_based, whole};
use crate::interpretation::{Interpretation, Status};
use crate::normalise::{Token, TokenKind};
use crate::time;

/// Returns the interpretation of a line in which no event was found.
pub(super) fn interpreted(grammar: &Grammar, line: &str, words: &[Token]) -> Interpretation {
    let says = |wanted: Signal| {
        let mut signals = grammar.lexicon.signals(words);
        signals.any(|(_, signal)| signal == wanted)
    };
    let is_foreign = says(Signal::Foreign);
    if !is_foreign && let Some(time) = time::Words::new(words).recurs() {
        return time_based(line, time);
    }
    // Another service decides alone: the line is unmapped even if it describes a state.
    let status = if is_foreign || says(Signal::Unsupported) {
        Status::Unmapped
    } else if says(Signal::State) || !happens(grammar, words) {
        Status::Vague
    } else {
        Status::Unmapped
    };
    let notes = match status {
        Status::Unmapped if is_foreign => {
            vec!["the sources known here are GitHub, Linear, Slack, Sentry and git".to_owned()]
        }
        _ => Vec::new(),
    };
    let edited = || nearest::edited(grammar, line, words);
    let of_noun = || nearest::of_noun(grammar, words);
    let of_topic = || nearest::of_topic(grammar, words);
    let suggestion = match status {
        _ if is_foreign => None,
        // A line without an event is about a topic, and its words are seldom those of the event that is meant.
        Status::Vague => of_topic().or_else(edited).or_else(of_noun),
        _ => edited().or_else(of_noun).or_else(of_topic),
    };
    Interpretation {
        status,
        clauses: Vec::new(),
        filters: Vec::new(),
        // Nothing of a line without an event was used, so all of it is the remainder.
        remainder: whole(line),
        notes,
        time: None,
        corrections: Vec::new(),
        instruction: instruction(line),
        suggestion,
    }
}

/// Whether an unknown participle reports that something happens: "is yodeled".
fn happens(grammar: &Grammar, words: &[Token]) -> bool {
    words.windows(2).any(|pair| {
        let [before, word] = pair else { return false };
        let is_unknown = word.kind == TokenKind::Word && !grammar.lexicon.is_word(&word.text);
        let is_participle = word.text.len() > 4 && word.text.ends_with("ed");
        let is_led = before.kind == TokenKind::Word && grammar.lexicon.is_passive(&before.text);
        is_unknown && is_participle && is_led
    })
}
