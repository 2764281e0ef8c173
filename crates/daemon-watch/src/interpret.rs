//! Lines and their interpretations: the limits of a line, and what every interpretation consists of.

use crate::compare::LONGEST_GLOB;
use crate::instruction::instruction;
use crate::interpretation::{Interpretation, Status, TimeKind};
use crate::meaning::notes::TOO_LONG;
use crate::normalise::{Token, TokenKind};
use crate::reader;
use crate::span::Span;

/// Interprets conditions.
pub trait Interpreter {
    /// Interprets one line. The same line always gives the same interpretation.
    fn interpret(&self, condition: &str) -> Interpretation;
}

/// The interpreter of this crate: a grammar over the vocabulary of events. It calls [`interpret`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Grammar;

impl Grammar {
    /// Loads the grammar, as the first interpretation of a process does otherwise.
    ///
    /// It takes tens of milliseconds, which a thread can spend while the conditions are being read from files.
    pub fn load() {
        reader::load();
    }
}

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
/// The line is data: it becomes a filter and nothing else. A line of over 16 KiB, 140 tokens or 64 patterns, or with
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
    reader::interpret(condition)
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
        notes: vec![TOO_LONG.to_owned()],
        time: None,
        corrections: Vec::new(),
        instruction: None,
        suggestion: None,
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
