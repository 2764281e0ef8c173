//! From a line to its interpretation: parse, resolve, classify.

use crate::classify::classify;
use crate::compare::LONGEST_GLOB;
use crate::grammar::draft::Draft;
use crate::grammar::reader::Reader;
use crate::instruction::instruction;
use crate::interpretation::{Correction, Interpretation, Status, TimeKind};
use crate::lexicon::Class;
use crate::normalise::{Token, TokenKind, tokens};
use crate::prefix;
use crate::resolve::{ClauseSet, Unresolved, resolve};
use crate::sentence;
use crate::span::Span;
use crate::time::Words;
use crate::weight;

/// Interprets conditions.
pub trait Interpreter {
    /// Interprets one line. The same line always gives the same interpretation.
    fn interpret(&self, condition: &str) -> Interpretation;
}

/// The interpreter of this crate: a grammar over the vocabulary of events. It calls [`interpret`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Grammar;

impl Interpreter for Grammar {
    fn interpret(&self, condition: &str) -> Interpretation {
        interpret(condition)
    }
}

/// The longest line that is read, in bytes.
pub(crate) const LONGEST_LINE: usize = 16 * 1024;
/// The most tokens of a line that is read.
const MOST_UNITS: usize = 600;
/// The most patterns of a line that is read; compiling them takes longer than reading the rest.
const MOST_PATTERNS: usize = 64;

/// Interprets one line.
///
/// The line is data: it becomes a filter and nothing else. A line of over 16 KiB, 600 tokens or 64 patterns, or with
/// a pattern of over 512 bytes, is not read. It is `vague`, and the whole line is the remainder.
///
/// # Examples
/// ```
/// use daemon_watch::{Status, interpret};
///
/// let line = "when a PR labeled \"risk: high\" is opened and somebody is on call";
/// let meaning = interpret(line);
/// assert_eq!(meaning.status, Status::Partial);
/// assert_eq!(meaning.clauses[0].events[0].to_string(), "github pull_request.opened");
/// assert_eq!(meaning.filters[0].test.to_string(), "labels is \"risk: high\"");
/// assert_eq!(meaning.remainder[0].of(line), "somebody is on call");
/// ```
pub fn interpret(condition: &str) -> Interpretation {
    if condition.len() > LONGEST_LINE {
        return unread(condition);
    }
    let words = tokens(condition);
    if is_beyond_use(&words) {
        return unread(condition);
    }
    let meaning = read(condition, &words);
    // Only a line without any event is read by its beginning: elsewhere the words left over are known already.
    match meaning.status {
        Status::Vague | Status::Unmapped => prefix::read(condition, &words).unwrap_or(meaning),
        Status::Mapped | Status::Partial | Status::TimeBased => meaning,
    }
}

/// Reads the words of a line.
pub(crate) fn read(condition: &str, words: &[Token]) -> Interpretation {
    if let Some(cron) = crate::time::expression(condition) {
        return time_based(condition, TimeKind::Schedule(Some(cron)));
    }
    let times = Words::new(words);
    if let Some(time) = times.schedule() {
        return time_based(condition, time);
    }
    // The strict grammar goes first because it accounts for every word; its readings need no comparison with others.
    if let Some((found, corrections)) = sentence::read(condition, words) {
        return finish(condition, words, Vec::new(), found, corrections, None);
    }
    let mut reader = Reader::new(condition, words);
    let drafts = reader.drafts();
    let duration = times.has_duration();
    // `a PR has been open for three days` contains `open`, but no event reports the end of the three days.
    if duration && times.lasts_for() && drafts.len() == 1 && !is_foreign(&drafts) {
        return time_based(condition, TimeKind::Elapsed);
    }
    if duration && times.lasts() && drafts.first().is_none_or(is_state) {
        return time_based(condition, TimeKind::Elapsed);
    }
    let mut found = ClauseSet::default();
    let mut reason = Unresolved::NoEvent;
    let mut n_failed = 0_usize;
    for draft in &drafts {
        let outcome = if draft.is_sequel && !found.clauses.is_empty() {
            sequel(&mut reader, draft)
        } else {
            resolve(&mut reader, draft, &mut found)
        };
        if let Err(failure) = outcome {
            n_failed += 1;
            if found.clauses.is_empty() && (n_failed == 1 || failure == Unresolved::Unknown) {
                reason = failure;
            }
            // A clause that failed may have taken words already; all of them are part of the remainder.
            reader.release(draft.range.clone());
        }
    }
    // A duration without an event is elapsed time, even if the words for the state are unknown.
    if found.clauses.is_empty() && duration {
        return time_based(condition, TimeKind::Elapsed);
    }
    if found.clauses.is_empty()
        && !is_foreign(&drafts)
        && let Some(time) = times.recurs()
    {
        return time_based(condition, time);
    }
    let remainder = remainder(&reader);
    if (found.clauses.is_empty() || !remainder.is_empty())
        // A line about another service must not become a condition by leaving its name over.
        && !is_foreign(&drafts)
        && let Some((around, left)) = sentence::read_around(condition, words)
        && is_better(&around, &left, &found, &remainder)
    {
        return finish(condition, words, left, around, Vec::new(), None);
    }
    let unresolved = if found.clauses.is_empty() {
        let status = classify(&reader, reason);
        Some((status, crate::suggest::nearest(&reader)))
    } else {
        None
    };
    finish(
        condition,
        words,
        remainder,
        found,
        reader.corrections(),
        unresolved,
    )
}

/// Whether a reading around unknown words accounts for more of the line than the collected drafts do.
fn is_better(around: &ClauseSet, left: &[Span], found: &ClauseSet, remainder: &[Span]) -> bool {
    let length = |spans: &[Span]| -> usize { spans.iter().map(|span| span.end - span.start).sum() };
    let limit = if found.clauses.len() > around.clauses.len() {
        2 * length(remainder)
    } else {
        length(remainder)
    };
    found.clauses.is_empty() || length(left) <= limit
}

/// Whether a line names a service that is no source here.
fn is_foreign(drafts: &[Draft]) -> bool {
    drafts.iter().any(|draft| draft.foreign.is_some())
}

/// Whether a line has more tokens or patterns than any condition needs.
pub(crate) fn is_beyond_use(words: &[Token]) -> bool {
    let patterns = || {
        let code = words.iter().filter(|word| word.kind == TokenKind::Code);
        let quoted = words.iter().filter(|word| word.kind == TokenKind::Quoted);
        code.chain(quoted.filter(|word| word.text.contains(['*', '{', '['])))
    };
    words.len() > MOST_UNITS
        || patterns().count() > MOST_PATTERNS
        || patterns().any(|pattern| pattern.text.len() > LONGEST_GLOB)
}

/// A clause after `and` is another condition on the same event; only a restatement is understood.
fn sequel(reader: &mut Reader<'_>, draft: &Draft) -> Result<(), Unresolved> {
    let restates = (draft.range.clone()).all(|at| {
        let Some(unit) = reader.unit(at) else {
            return true;
        };
        unit.kind == TokenKind::Mark
            || unit.is(Class::Article)
            || unit.is(Class::Be)
            || unit.is(Class::Its)
            || matches!(unit.text.as_str(), "target" | "subject" | "thing")
            || !reader.free[at] && unit.is(Class::Except)
            || unit.sense.is_some_and(|sense| !sense.nouns.is_empty())
    });
    if restates && draft.verbs.is_empty() {
        reader.take(draft.range.clone());
        return Ok(());
    }
    Err(Unresolved::Unknown)
}

/// Whether a clause describes a state, without an event.
fn is_state(draft: &Draft) -> bool {
    use daemon_event::vocabulary::Verb;
    let happens = draft.verbs.iter().any(|hit| {
        !hit.verbs.iter().all(|verb| matches!(verb, Verb::Move))
            && !hit.forms.has(crate::lexicon::Forms::NOMINAL)
    });
    !happens || draft.foreign.is_some()
}

pub(crate) fn time_based(condition: &str, time: TimeKind) -> Interpretation {
    let note = match &time {
        TimeKind::Schedule(Some(cron)) => {
            format!("a time, not an event; `schedule: \"{cron}\"` says it")
        }
        TimeKind::Schedule(None) => "a time, not an event; `schedule` says it".to_owned(),
        TimeKind::Elapsed => {
            "elapsed time, not an event; a `schedule` and a routine that checks say it".to_owned()
        }
    };
    Interpretation {
        status: Status::TimeBased,
        clauses: Vec::new(),
        filters: Vec::new(),
        remainder: Vec::new(),
        notes: vec![note],
        time: Some(time),
        corrections: Vec::new(),
        instruction: instruction(condition),
        suggestion: None,
    }
}

pub(crate) fn unread(condition: &str) -> Interpretation {
    Interpretation {
        status: Status::Vague,
        clauses: Vec::new(),
        filters: Vec::new(),
        remainder: vec![Span::new(0, condition.len())],
        notes: vec!["too long to be read as one condition".to_owned()],
        time: None,
        corrections: Vec::new(),
        instruction: None,
        suggestion: None,
    }
}

/// Assembles the interpretation. `unresolved` is the status of a line without an event.
fn finish(
    condition: &str,
    words: &[Token],
    remainder: Vec<Span>,
    found: ClauseSet,
    corrections: Vec<Correction>,
    unresolved: Option<(Status, Option<String>)>,
) -> Interpretation {
    let mut notes = found.notes;
    notes.extend(corrections.iter().map(|correction| {
        format!(
            "read `{}` as `{}`",
            correction.span.of(condition),
            correction.replacement
        )
    }));
    let instruction = instruction(condition);
    let mut clauses = found.clauses;
    let remainder = match instruction {
        Some(order) if unresolved.is_none() => {
            // Who is ordered to assign is not waiting for an assignment.
            if clauses.iter().any(|clause| clause.span.start < order.start) {
                clauses.retain(|clause| clause.span.start < order.start);
            }
            with_span(remainder, order)
        }
        Some(_) | None => remainder,
    };
    // Words of weight are searched in every line: a reader that skipped one has still lost a part of the meaning.
    let heavy = weight::passed_over(words);
    let remainder = heavy.into_iter().fold(remainder, with_span);
    let (status, suggestion) = match unresolved {
        Some(unresolved) => unresolved,
        None if remainder.is_empty() => (Status::Mapped, None),
        None => (Status::Partial, None),
    };
    if status == Status::Unmapped {
        notes.push("the sources known here are GitHub, Linear, Slack, Sentry and git".to_owned());
    }
    let mended = |span: Span| {
        corrections
            .iter()
            .any(|typo| span.start <= typo.span.start && typo.span.end <= span.end)
    };
    for clause in &mut clauses {
        if mended(clause.span) {
            clause.mark = crate::filter::Mark::Corrected;
        }
    }
    let mut filters = found.filters;
    for filter in &mut filters {
        if mended(filter.span) {
            filter.mark = crate::filter::Mark::Corrected;
        }
    }
    Interpretation {
        status,
        clauses,
        filters,
        // Nothing of a line without an event was used, so all of it is the remainder.
        remainder: if status.can_wake() {
            remainder
        } else {
            whole(condition)
        },
        notes,
        time: None,
        corrections,
        instruction,
        suggestion,
    }
}

/// Adds a span to the remainder; adjacent spans become one.
pub(crate) fn with_span(mut spans: Vec<Span>, part: Span) -> Vec<Span> {
    spans.push(part);
    spans.sort_unstable();
    let mut acc: Vec<Span> = Vec::new();
    for span in spans {
        match acc.last_mut() {
            Some(last) if span.start <= last.end => *last = last.to(span),
            Some(_) | None => acc.push(span),
        }
    }
    acc
}

pub(crate) fn whole(condition: &str) -> Vec<Span> {
    let start = condition.len() - condition.trim_start().len();
    let end = condition.trim_end().len();
    if start < end {
        vec![Span::new(start, end)]
    } else {
        Vec::new()
    }
}

/// The words that nothing accounted for, with the small words between and before them.
fn remainder(reader: &Reader<'_>) -> Vec<Span> {
    let n_units = reader.units.len();
    let is_small = |at: usize| {
        let Some(unit) = reader.unit(at) else {
            return false;
        };
        unit.kind == TokenKind::Mark || SMALL.iter().any(|class| unit.is(*class))
    };
    let mut spans = Vec::new();
    let mut at = 0;
    while at < n_units {
        if !reader.free[at] || is_small(at) {
            at += 1;
            continue;
        }
        let mut start = at;
        while start > 0
            && reader.free[start - 1]
            && is_small(start - 1)
            && !reader
                .unit(start - 1)
                .is_some_and(|unit| unit.kind == TokenKind::Mark)
        {
            start -= 1;
        }
        let mut end = at + 1;
        let mut next = end;
        while next < n_units && reader.free[next] {
            if !is_small(next) {
                end = next + 1;
            }
            next += 1;
        }
        // `first comment`: a count is nothing without what it counts.
        let counts = reader
            .unit(end - 1)
            .is_some_and(|unit| COUNTS.contains(&unit.text.as_str()));
        if counts && (reader.is_noun(end) || reader.part(end).is_some()) {
            end += 1;
        }
        spans.push(reader.span(&(start..end)));
        at = end;
    }
    spans
}

/// Words that count what follows them.
pub(crate) const COUNTS: &[&str] = &[
    "first", "all", "both", "second", "third", "fourth", "fifth", "last", "next", "two", "three",
    "four", "five", "many", "several", "multiple", "few", "most", "final", "more", "no", "tenth",
];

/// Words without content of their own: they are in the remainder only next to other words.
const SMALL: &[Class] = &[
    Class::Lead,
    Class::Article,
    Class::Be,
    Class::Have,
    Class::Get,
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
    Class::Or,
    Class::And,
    Class::But,
    Class::That,
    Class::Its,
    Class::Possessive,
    Class::Filler,
    Class::Anything,
];
