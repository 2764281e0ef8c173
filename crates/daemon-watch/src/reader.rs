//! The reader of conditions: one chart over one lexicon.
//!
//! A line becomes tokens, the tokens become words of the lexicon, the grammar combines them in a chart, and the cheapest
//! parse of the whole line that the vocabulary and the accounts accept is its meaning. English is in `lexicon/` and
//! `grammar/`: a row there is how a word, a preposition or a field is added.

mod account;
mod aside;
mod category;
mod chart;
mod compose;
mod explained;
mod frames;
mod grammar;
mod inflect;
mod lexicon;
mod load;
mod nearest;
mod skips;
mod typo;
mod unread;
mod value;
mod words;

use std::ops::Range;
use std::sync::LazyLock;

use daemon_event::Source;
use daemon_event::vocabulary::Noun;

use crate::filter::Mark;
use crate::instruction::instruction;
use crate::interpret::{LONGEST_LINE, is_beyond_use, time_based, unread, with_span};
use crate::interpretation::{Correction, Interpretation, Status, TimeKind};
use crate::meaning::emit::emit;
use crate::meaning::event::GuardedEvent;
use crate::meaning::spoken::Spoken;
use crate::normalise::{Token, TokenKind, tokens};
use crate::span::Span;
use crate::time;
use chart::{Chart, Leaving, Words};
pub use explained::{ParseEdge, RunnerUp, WinningParse, parse};
use grammar::Grammar;
pub(crate) use inflect::{Forms, verb_forms};
use lexicon::Signal;

/// The grammar with its lexicon, parsed at the first line that is read.
static GRAMMAR: LazyLock<Grammar> = LazyLock::new(load::grammar);

/// Parses the grammar, unless that is done.
pub(crate) fn load() {
    LazyLock::force(&GRAMMAR);
}

/// The longest line that the chart reads, in tokens.
const MOST_TOKENS: usize = 140;

/// Interprets one line.
pub(crate) fn interpret(line: &str) -> Interpretation {
    if line.len() > LONGEST_LINE {
        return unread(line);
    }
    let words = tokens(line);
    if is_beyond_use(&words) {
        return unread(line);
    }
    if let Some(cron) = time::expression(line) {
        return time_based(line, TimeKind::Schedule(Some(cron)));
    }
    let order = instruction(line);
    let is_order = |token: &Token| order.is_some_and(|order| token.span.end > order.start);
    let n_before = words.iter().position(is_order).unwrap_or(words.len());
    let mut condition = &words[..n_before];
    let aside = aside::aside(&GRAMMAR, condition);
    let times = time::Words::new(&words);
    let before = || aside.and_then(|at| time::Words::new(&words[..at]).schedule());
    if let Some(schedule) = times.schedule().or_else(before) {
        // "Nightly burn-in workflow fails": an adverb of time can be part of a name.
        let named = read(line, condition).filter(|named| named.status == Status::Mapped);
        return named.unwrap_or_else(|| time_based(line, schedule));
    }
    // "is opened and then close it": what joins the instruction is no part of the condition.
    while let (Some(_), [before @ .., last]) = (order, condition)
        && GRAMMAR.lexicon.joins(&last.text)
    {
        condition = before;
    }
    let found = read_before(line, condition, aside);
    // `a PR has been open for three days` contains `open`, but no event reports the end of the three days.
    let is_whole = found
        .as_ref()
        .is_some_and(|found| found.status == Status::Mapped);
    if !is_whole && times.has_duration() && (found.is_none() || times.lasts_for() || times.lasts())
    {
        return time_based(line, TimeKind::Elapsed);
    }
    let Some(mut meaning) = found else {
        return unread::interpreted(&GRAMMAR, line, &words);
    };
    if let Some(order) = order {
        meaning.remainder = with_span(meaning.remainder, order);
        meaning.instruction = Some(order);
        meaning.status = Status::Partial;
    }
    if meaning.status == Status::Partial {
        meaning.suggestion = nearest::without(line, &meaning.remainder)
            .or_else(|| nearest::edited(&GRAMMAR, line, &words));
    }
    meaning
}

/// Whether a word alone is in the lexicon.
pub(crate) fn is_known(word: &str) -> bool {
    !GRAMMAR.lexicon.alone(word).is_empty() || GRAMMAR.lexicon.is_signal(word)
}

/// Whether a word is a noun or a verb of an event, or names a source.
pub(crate) fn is_event_word(word: &str) -> bool {
    let mut phrases = GRAMMAR.lexicon.alone(word).iter();
    phrases.any(|phrase| {
        let name = GRAMMAR.categories.name(phrase.category);
        name.starts_with("n.") || name.starts_with("v.") || name == lexicon::SOURCE
    })
}

/// Whether a line names a service, or an event of one, that no source here reports.
///
/// A line with the status `unmapped` without such words was not understood.
///
/// # Examples
/// ```
/// use daemon_watch::names_unreported;
///
/// assert!(names_unreported("when a Jira ticket moves"));
/// assert!(!names_unreported("when a pull request is yodeled"));
/// ```
pub fn names_unreported(line: &str) -> bool {
    let words = tokens(line);
    let mut signals = GRAMMAR.lexicon.signals(&words);
    signals.any(|(_, signal)| matches!(signal, Signal::Foreign | Signal::Unsupported))
}

/// Reads a condition, without the aside at its end if the words of the aside are not read.
fn read_before(line: &str, words: &[Token], aside: Option<usize>) -> Option<Interpretation> {
    let Some(at) = aside.filter(|at| *at < words.len()) else {
        return read(line, words);
    };
    let whole = read(line, words);
    if (whole.as_ref()).is_some_and(|whole| whole.status == Status::Mapped) {
        return whole;
    }
    let (before, behind) = words.split_at(at);
    let Some(mut found) = read(line, before) else {
        return whole;
    };
    let ends = (behind.get(1), behind.last());
    if let (Some(first), Some(last)) = ends {
        let said = Span::new(first.span.start, last.span.end).of(line);
        found.notes.push(format!("`{said}` restricts nothing"));
    }
    Some(found)
}

/// Reads a condition; `None` if no parse of all its words has a meaning.
fn read(line: &str, words: &[Token]) -> Option<Interpretation> {
    read_within(line, words, &[Leaving::Nothing, Leaving::Some], usize::MAX).0
}

/// Reads a condition of which no word is left over.
fn read_whole(line: &str, words: &[Token], most: usize) -> (Option<Interpretation>, usize) {
    let (found, n_edges) = read_within(line, words, &[Leaving::Nothing], most);
    let whole = found.filter(|found| found.status == Status::Mapped);
    (whole, n_edges)
}

/// Reads a condition with a number of edges, and returns how many of them it takes.
fn read_within(
    line: &str,
    words: &[Token],
    leaving: &[Leaving],
    most: usize,
) -> (Option<Interpretation>, usize) {
    let tokens = spoken(&GRAMMAR, words);
    if tokens.is_empty() || tokens.len() > MOST_TOKENS {
        return (None, 0);
    }
    let words = Words::of(&GRAMMAR, line, &tokens);
    let mut n_edges = 0;
    let mut excluded = None;
    for leaving in leaving {
        let mut chart = Chart::new(&GRAMMAR, line, &tokens, &words, *leaving, most);
        while let Some(goal) = chart.next_goal() {
            let Some(meaning) = meaning(&chart, goal, line, &tokens) else {
                continue;
            };
            // No event passes filters that exclude each other, so another parse is meant, if all words have one.
            if !meaning.has_dead_clause() {
                return (Some(meaning), n_edges + chart.n_edges());
            }
            excluded = excluded.or(Some(meaning));
        }
        n_edges += chart.n_edges();
        // What was too much for a chart without left-over words is too much for a larger one.
        if excluded.is_some() || chart.is_full() {
            break;
        }
    }
    (excluded, n_edges)
}

/// Returns the meaning of a parse, unless the vocabulary or the accounts refuse it.
fn meaning(chart: &Chart<'_>, goal: usize, line: &str, tokens: &[Token]) -> Option<Interpretation> {
    let spoken = Spoken { tokens };
    let events = chart.events(goal)?;
    let found = emit(spoken, events).or_else(|| emit(spoken, &elsewhere(events)?))?;
    (!chart.cuts_exception(goal)).then_some(())?;
    let mut left = chart.left_over(goal);
    left.extend(account::counted(&GRAMMAR, tokens, &found));
    left.sort_unstable_by_key(|range| range.start);
    account::is_told(&found).then_some(())?;
    account::is_complete(&GRAMMAR, tokens, &left, &found).then_some(())?;
    let remainder = left.iter().map(|range| {
        let range = behind_joint(tokens, range);
        with_fillers(line, spoken.span(&range), tokens, &range)
    });
    let remainder: Vec<Span> = remainder.collect();
    let corrections = chart.mended(goal).into_iter().map(|(at, word)| Correction {
        span: tokens[at].span,
        replacement: word.to_owned(),
    });
    let mut meaning = Interpretation {
        status: if remainder.is_empty() {
            Status::Mapped
        } else {
            Status::Partial
        },
        clauses: found.clauses,
        filters: found.filters,
        remainder,
        notes: found.notes,
        time: None,
        corrections: corrections.collect(),
        instruction: None,
        suggestion: None,
    };
    for clause in &mut meaning.clauses {
        let first = (tokens.iter()).position(|token| token.span.start == clause.span.start);
        if let Some(said) = first.and_then(|at| chart.event_around(goal, at)) {
            clause.span = spoken.span(&said);
        }
    }
    mark_corrected(line, &mut meaning);
    Some(meaning)
}

/// Drops the commas and the connective in front of what is left over: they belong to the line and not to the alternative.
fn behind_joint(tokens: &[Token], range: &Range<usize>) -> Range<usize> {
    let joins = |at: &usize| match tokens[*at].kind {
        TokenKind::Mark => tokens[*at].text == ",",
        TokenKind::Word => GRAMMAR.lexicon.joins(&tokens[*at].text),
        _ => false,
    };
    let start = range.clone().find(|at| !joins(at)).unwrap_or(range.start);
    start..range.end
}

/// Returns a span with the words that are passed over around it: "who joined recently", "later reverted".
fn with_fillers(line: &str, span: Span, tokens: &[Token], range: &Range<usize>) -> Span {
    let is_plain = |text: &str| text.chars().all(|c| c.is_alphabetic() || c == ' ');
    let before = (range.start.checked_sub(1)).map_or(0, |last| tokens[last].span.end);
    let behind = (tokens.get(range.end)).map_or(span.end, |next| next.span.start);
    let between = |start: usize, end: usize| line.get(start..end).unwrap_or_default();
    let mut found = span;
    let ahead = between(before, span.start).trim_start();
    if is_plain(ahead) {
        found.start -= ahead.len();
    }
    let rest = between(span.end, behind).trim_end();
    if is_plain(rest) {
        found.end += rest.len();
    }
    found
}

/// Returns the events with those that have no source in Linear: "an urgent issue" is in Linear, since GitHub has no priorities.
fn elsewhere(events: &[GuardedEvent]) -> Option<Vec<GuardedEvent>> {
    let is_open = |event: &GuardedEvent| {
        event.source.is_none() && matches!(event.noun, Noun::Issue | Noun::Comment)
    };
    events.iter().any(is_open).then(|| {
        let of = |event: &GuardedEvent| GuardedEvent {
            source: event.source.or(is_open(event).then_some(Source::Linear)),
            ..event.clone()
        };
        events.iter().map(of).collect()
    })
}

/// Marks what depends on a corrected word, and notes the correction.
fn mark_corrected(line: &str, meaning: &mut Interpretation) {
    let typos = meaning.corrections.clone();
    let has_typo = |span: Span| {
        let is_inside =
            |typo: &Correction| span.start <= typo.span.start && typo.span.end <= span.end;
        typos.iter().any(is_inside)
    };
    for clause in meaning
        .clauses
        .iter_mut()
        .filter(|clause| has_typo(clause.span))
    {
        clause.mark = Mark::Corrected;
    }
    for filter in meaning
        .filters
        .iter_mut()
        .filter(|filter| has_typo(filter.span))
    {
        filter.mark = Mark::Corrected;
    }
    let note =
        |typo: &Correction| format!("read `{}` as `{}`", typo.span.of(line), typo.replacement);
    meaning.notes.extend(typos.iter().map(note));
}

/// Returns the cost, the number of edges and the parse of a line as a tree, for those who extend the grammar.
pub fn trace(line: &str) -> String {
    let tokens = spoken(&GRAMMAR, &tokens(line));
    let words = Words::of(&GRAMMAR, line, &tokens);
    let most = usize::MAX;
    let mut chart = Chart::new(&GRAMMAR, line, &tokens, &words, Leaving::Some, most);
    let goal = chart.next_goal();
    let tree = goal.map_or_else(String::new, |goal| chart.tree(goal));
    format!("{} edges\n{tree}", chart.n_edges())
}

/// Returns how many edges the first parse of a line takes.
#[cfg(test)]
fn edges(line: &str) -> usize {
    let tokens = spoken(&GRAMMAR, &tokens(line));
    let words = Words::of(&GRAMMAR, line, &tokens);
    let most = usize::MAX;
    let mut chart = Chart::new(&GRAMMAR, line, &tokens, &words, Leaving::Some, most);
    chart.next_goal();
    chart.n_edges()
}

/// Drops fillers and the marks at the end, so that no rule has to name them.
fn spoken(grammar: &Grammar, all: &[Token]) -> Vec<Token> {
    let is_kept = |at: usize| {
        let token = &all[at];
        token.kind != TokenKind::Word
            || !grammar.lexicon.is_filler(token.text.as_str())
            // "direct" is passed over in "a direct push" and not in "a direct message".
            || grammar.lexicon.begins_phrase(&all[at..])
    };
    let mut kept = Vec::with_capacity(all.len() + 1);
    for (at, token) in all.iter().enumerate() {
        if is_kept(at) {
            apart(grammar, token, &mut kept);
        }
    }
    for token in &mut kept {
        // A dash and the end of a sentence separate clauses as a comma does.
        let is_dash = token.kind == TokenKind::Word && matches!(token.text.as_str(), "-" | "--");
        let is_stop = token.kind == TokenKind::Mark && matches!(token.text.as_str(), "." | ";");
        if is_dash || is_stop {
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

/// Adds a token; "fatal-level" is two words: the second names an attribute.
fn apart(grammar: &Grammar, token: &Token, kept: &mut Vec<Token>) {
    let words = (token.kind == TokenKind::Word)
        .then(|| token.text.split_once('-'))
        .flatten();
    let is_two = |(value, attribute): &(&str, &str)| {
        !grammar.lexicon.is_word(&token.text)
            && grammar.lexicon.is_word(value)
            && grammar.lexicon.is_second(attribute)
    };
    let Some((value, attribute)) = words.filter(is_two) else {
        kept.push(token.clone());
        return;
    };
    let dash = token.span.start + value.len();
    let part = |text: &str, start: usize, end: usize| Token {
        kind: TokenKind::Word,
        span: Span::new(start, end),
        text: text.to_owned(),
    };
    kept.push(part(value, token.span.start, dash));
    kept.push(part(attribute, dash + 1, token.span.end));
}

#[cfg(test)]
mod tests;
