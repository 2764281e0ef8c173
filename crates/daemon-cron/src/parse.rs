//! Text to masks. Nothing is allocated unless there is a problem to report.

use std::ops::Range;

use crate::expr::{CronExpr, FieldSet};
use crate::help::{expansion, help};
use crate::problem::{Error, Fix, Problem, ProblemKind};
use crate::{Field, wrap};

const MAX_BYTES: usize = 512;

/// What the reader saw on its way that the masks no longer tell.
pub(crate) enum Seen<'a> {
    /// A name where a number would do.
    Name {
        field: Field,
        span: Range<usize>,
        value: u32,
    },
    /// `*/n`, or a step over the whole range.
    Step {
        field: Field,
        span: Range<usize>,
        token: &'a str,
        step: u32,
    },
}

pub(crate) fn parse<'a>(text: &'a str, seen: &mut dyn FnMut(Seen<'a>)) -> Result<CronExpr, Error> {
    let mut reader = Reader {
        text,
        seen,
        problems: Vec::new(),
    };
    let sets = reader.fields();
    match sets {
        Some(sets) if reader.problems.is_empty() => Ok(CronExpr::from_sets(sets)),
        _ => Err(Error::new(text, reader.problems)),
    }
}

struct Reader<'a, 's> {
    text: &'a str,
    seen: &'s mut dyn FnMut(Seen<'a>),
    problems: Vec<Problem>,
}

impl<'a> Reader<'a, '_> {
    fn fields(&mut self) -> Option<[FieldSet; 5]> {
        if self.text.len() > MAX_BYTES {
            self.report(None, ProblemKind::TooLong, 0..self.text.len());
            return None;
        }
        let mut spans = [const { 0..0 }; 5];
        let mut n_fields = 0;
        let mut end = 0;
        let mut first = 0..0;
        let mut second_start = 0;
        while let Some(span) = self.next_word(end) {
            end = span.end;
            if n_fields == 0 && self.is_preamble(&span) {
                match self.preamble(span) {
                    Preamble::Zone => continue,
                    Preamble::Macro => return None,
                }
            }
            match n_fields {
                0 => first = span.clone(),
                1 => second_start = span.start,
                _ => {}
            }
            if let Some(slot) = spans.get_mut(n_fields) {
                *slot = span;
            }
            n_fields += 1;
        }
        if n_fields != 5 {
            self.report_count(n_fields, first.start..end, first, second_start);
            return None;
        }
        let mut sets = [FieldSet::default(); 5];
        for ((set, field), span) in sets.iter_mut().zip(Field::ALL).zip(spans) {
            *set = self.field(field, span);
        }
        Some(sets)
    }

    /// Finds the next run of non-blanks. Blanks other than space and tab separate too, so that
    /// a no-break space is reported as itself and not as a missing field.
    fn next_word(&mut self, from: usize) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            match *bytes.get(at)? {
                b' ' | b'\t' => at += 1,
                byte if byte.is_ascii_graphic() => break,
                _ => {
                    let found = self.text[at..].chars().next()?;
                    if !found.is_whitespace() {
                        break;
                    }
                    self.report(
                        None,
                        ProblemKind::Character(found),
                        at..at + found.len_utf8(),
                    );
                    at += found.len_utf8();
                }
            }
        }
        let start = at;
        while let Some(byte) = bytes.get(at) {
            if byte.is_ascii_graphic() {
                at += 1;
                continue;
            }
            match self.text[at..].chars().next() {
                Some(found) if !found.is_whitespace() => at += found.len_utf8(),
                _ => break,
            }
        }
        Some(start..at)
    }

    fn is_preamble(&self, span: &Range<usize>) -> bool {
        let word = &self.text[span.clone()];
        word.starts_with('@') || is_zone(word)
    }

    fn preamble(&mut self, span: Range<usize>) -> Preamble {
        if is_zone(&self.text[span.clone()]) {
            self.report(None, ProblemKind::Zone, span);
            return Preamble::Zone;
        }
        let start = span.start;
        let end = self.text.trim_end().len().max(span.end);
        let spelled_out = expansion(&self.text[start..end]);
        self.report(None, ProblemKind::Macro, start..end);
        if let (Some(text), Some(problem)) = (spelled_out, self.problems.last_mut()) {
            problem.help = format!("`{text}`").into();
            problem.fix = Some(Fix {
                title: "write the five fields".into(),
                span: start..end,
                text: text.into(),
            });
        }
        Preamble::Macro
    }

    fn report_count(
        &mut self,
        found: usize,
        span: Range<usize>,
        first: Range<usize>,
        second_start: usize,
    ) {
        // A problem already found at the blanks or the zone explains a text without fields.
        if found == 0 && !self.problems.is_empty() {
            return;
        }
        let is_idle_second = found == 6 && self.text[first.clone()].bytes().all(|b| b == b'0');
        self.report(None, ProblemKind::FieldCount(found), span);
        if let (true, Some(problem)) = (is_idle_second, self.problems.last_mut()) {
            problem.fix = Some(Fix {
                title: "remove the seconds".into(),
                span: first.start..second_start,
                text: "".into(),
            });
        }
    }

    fn field(&mut self, field: Field, span: Range<usize>) -> FieldSet {
        let text = &self.text[span.clone()];
        if text == "*" {
            return FieldSet {
                mask: field.full(),
                has_star: true,
                is_star: true,
            };
        }
        if self.has_foreign_character(field, &span) {
            return FieldSet::default();
        }
        let mut acc = FieldSet::default();
        let mut start = span.start;
        for item in text.split(',') {
            let item_span = start..start + item.len();
            start = item_span.end + 1;
            if item.is_empty() {
                // An empty item has no bytes of its own; its comma stands for it.
                let at = item_span.start.min(span.end - 1);
                self.report(Some(field), ProblemKind::EmptyItem, at..at + 1);
                continue;
            }
            let (mask, has_star) = self.item(field, item_span);
            acc.mask |= mask;
            acc.has_star |= has_star;
        }
        acc
    }

    fn has_foreign_character(&mut self, field: Field, span: &Range<usize>) -> bool {
        let text = &self.text[span.clone()];
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return false;
        }
        for (at, found) in text
            .char_indices()
            .filter(|(_, found)| !found.is_ascii_graphic())
        {
            let start = span.start + at;
            self.report(
                Some(field),
                ProblemKind::Character(found),
                start..start + found.len_utf8(),
            );
        }
        true
    }

    /// Reads `*`, `*/n`, `a`, `a-b` or `a-b/n`; a refused item has an empty mask.
    fn item(&mut self, field: Field, span: Range<usize>) -> (u64, bool) {
        let item = &self.text[span.clone()];
        let (base, step_text) = match item.split_once('/') {
            Some((base, step)) => (base, Some(step)),
            None => (item, None),
        };
        let base_span = span.start..span.start + base.len();
        let step_span = base_span.end + 1..span.end;
        if base == "*" {
            let Some(step) = self.step(field, &span, step_text, step_span) else {
                return (0, true);
            };
            if step_text.is_some() {
                (self.seen)(Seen::Step {
                    field,
                    span,
                    token: item,
                    step,
                });
            }
            return (stepped(field, field.min(), field.last(), step), true);
        }
        if !base.contains('-') {
            let Some(value) = self.value(field, base_span, &span) else {
                return (0, false);
            };
            let Some(_) = self.step(field, &span, step_text, step_span) else {
                return (0, false);
            };
            if step_text.is_some() {
                self.report_step_on_value(field, span, value);
                return (0, false);
            }
            return (1 << wrap::distinct(field, value), false);
        }
        let Some((low, high)) = self.ends(field, base_span, &span) else {
            return (0, false);
        };
        let Some(step) = self.step(field, &span, step_text, step_span) else {
            return (0, false);
        };
        if low > high {
            self.report_reversed(field, span, low, high, step);
            return (0, false);
        }
        if step_text.is_some() && low == field.min() && high >= field.last() {
            (self.seen)(Seen::Step {
                field,
                span,
                token: item,
                step,
            });
        }
        (stepped(field, low, high, step), false)
    }

    /// Reads both ends of `a-b`.
    fn ends(
        &mut self,
        field: Field,
        range: Range<usize>,
        item: &Range<usize>,
    ) -> Option<(u32, u32)> {
        let (low, high) = self.text[range.clone()].split_once('-')?;
        let low_span = range.start..range.start + low.len();
        let high_span = range.end - high.len()..range.end;
        // Both ends are read before either gives up: all problems are reported at once.
        let low = self.value(field, low_span, item);
        let high = if low.is_none() && high.is_empty() {
            None
        } else {
            self.value(field, high_span, item)
        };
        low.zip(high)
    }

    fn step(
        &mut self,
        field: Field,
        item: &Range<usize>,
        text: Option<&str>,
        span: Range<usize>,
    ) -> Option<u32> {
        let Some(text) = text else { return Some(1) };
        match digits(text) {
            Some(Ok(0)) => {
                self.report(Some(field), ProblemKind::StepZero, item.clone());
                None
            }
            Some(Ok(step)) => Some(step),
            Some(Err(TooManyDigits)) => {
                self.report(Some(field), ProblemKind::LongNumber, span);
                None
            }
            None => {
                self.report(Some(field), ProblemKind::Malformed, item.clone());
                None
            }
        }
    }

    fn value(&mut self, field: Field, span: Range<usize>, item: &Range<usize>) -> Option<u32> {
        let text = self.text;
        let token = &text[span.clone()];
        match digits(token) {
            Some(Ok(value)) if (field.min()..=field.max()).contains(&value) => return Some(value),
            Some(Ok(_)) => self.report(Some(field), ProblemKind::OutOfRange, span),
            Some(Err(TooManyDigits)) => self.report(Some(field), ProblemKind::LongNumber, span),
            None => match field.named(token) {
                Some(value) => {
                    (self.seen)(Seen::Name { field, span, value });
                    return Some(value);
                }
                None if is_other_syntax(token) => {
                    self.report(Some(field), ProblemKind::OtherSyntax, span);
                }
                None if !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphabetic()) => {
                    self.report(Some(field), ProblemKind::UnknownName, span);
                }
                None => self.report_malformed(field, item.clone()),
            },
        }
        None
    }

    /// Reports an item once even when both of its ends are unreadable.
    fn report_malformed(&mut self, field: Field, item: Range<usize>) {
        let is_known = self
            .problems
            .last()
            .is_some_and(|last| last.kind == ProblemKind::Malformed && last.span == item);
        if !is_known {
            self.report(Some(field), ProblemKind::Malformed, item);
        }
    }

    fn report_step_on_value(&mut self, field: Field, span: Range<usize>, value: u32) {
        let item = &self.text[span.clone()];
        let step = item.split_once('/').map_or("", |(_, step)| step);
        let text = if value >= field.last() {
            value.to_string()
        } else {
            format!("{value}-{}/{step}", field.last())
        };
        self.report_fixed(
            field,
            ProblemKind::StepOnValue,
            span,
            "name the range",
            text,
        );
    }

    fn report_reversed(
        &mut self,
        field: Field,
        span: Range<usize>,
        low: u32,
        high: u32,
        step: u32,
    ) {
        let text = wrap::ascending(field, low, high, step);
        self.report_fixed(field, ProblemKind::Reversed, span, "split the range", text);
    }

    fn report_fixed(
        &mut self,
        field: Field,
        kind: ProblemKind,
        span: Range<usize>,
        title: &str,
        text: String,
    ) {
        self.report(Some(field), kind, span.clone());
        if let Some(problem) = self.problems.last_mut() {
            problem.help = format!("`{text}`").into();
            problem.fix = Some(Fix {
                title: title.into(),
                span,
                text: text.into(),
            });
        }
    }

    fn report(&mut self, field: Option<Field>, kind: ProblemKind, span: Range<usize>) {
        let token = match kind {
            ProblemKind::TooLong => "",
            _ => &self.text[span.clone()],
        };
        let help = help(kind, field);
        self.problems.push(Problem {
            field,
            kind,
            span,
            token: token.into(),
            help,
            fix: None,
        });
    }
}

enum Preamble {
    Zone,
    Macro,
}

struct TooManyDigits;

fn is_zone(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    name.eq_ignore_ascii_case("TZ") || name.eq_ignore_ascii_case("CRON_TZ")
}

/// Tells whether a token is written for another scheduler: `?`, `L`, `W`, `#`, `H`, `%`.
fn is_other_syntax(token: &str) -> bool {
    let is_special = |byte: u8| {
        matches!(
            byte,
            b'?' | b'#' | b'%' | b'L' | b'W' | b'H' | b'l' | b'w' | b'h'
        )
    };
    token.bytes().any(is_special)
        && token.bytes().all(|byte| {
            is_special(byte) || byte.is_ascii_digit() || matches!(byte, b'(' | b')' | b'-')
        })
}

/// Reads a token of digits: none when it is anything else.
fn digits(token: &str) -> Option<Result<u32, TooManyDigits>> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if token.len() > 4 {
        return Some(Err(TooManyDigits));
    }
    Some(Ok(token
        .bytes()
        .fold(0, |acc, byte| acc * 10 + u32::from(byte - b'0'))))
}

fn stepped(field: Field, low: u32, high: u32, step: u32) -> u64 {
    if step == 1 && high <= field.last() {
        return (2 << high) - (1 << low);
    }
    let mut mask = 0;
    let mut value = low;
    while value <= high {
        mask |= 1 << wrap::distinct(field, value);
        value += step;
    }
    mask
}
