//! The parser. It allocates only to report a problem.

use std::ops::Range;

use crate::expr::{CronExpr, FieldSet};
use crate::help::{expansion, help};
use crate::problem::{CronProblem, CronProblemKind, Error, Replacement};
use crate::{CronField, wrap};

// An expression that lists every value of every field has fewer bytes.
const MAX_BYTES: usize = 512;

/// A property of the text that the masks do not contain. [`crate::notes`] reports on it.
pub(crate) enum ParseEvent<'a> {
    /// A name instead of a number.
    Name {
        field: CronField,
        span: Range<usize>,
        value: u32,
    },
    /// `*/n`, or a step over the whole range.
    Step {
        field: CronField,
        span: Range<usize>,
        token: &'a str,
        step: u32,
    },
}

pub(crate) fn parse<'a>(
    text: &'a str,
    on_event: &mut dyn FnMut(ParseEvent<'a>),
) -> Result<CronExpr, Error> {
    let mut parser = ExprParser {
        text,
        on_event,
        problems: Vec::new(),
    };
    let sets = parser.fields();
    match sets {
        Some(sets) if parser.problems.is_empty() => Ok(CronExpr::from_sets(sets)),
        _ => Err(Error::new(text, parser.problems)),
    }
}

struct ExprParser<'a, 's> {
    text: &'a str,
    on_event: &'s mut dyn FnMut(ParseEvent<'a>),
    problems: Vec<CronProblem>,
}

impl<'a> ExprParser<'a, '_> {
    fn fields(&mut self) -> Option<[FieldSet; 5]> {
        if self.text.len() > MAX_BYTES {
            self.report(None, CronProblemKind::TooLong, 0..self.text.len());
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
                // After a zone the fields are still read, so that their problems are reported too. A
                // macro replaces the fields, so there is nothing left to read.
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
        for ((set, field), span) in sets.iter_mut().zip(CronField::ALL).zip(spans) {
            *set = self.field(field, span);
        }
        Some(sets)
    }

    /// Returns the next run of characters that are not whitespace.
    ///
    /// Whitespace other than space and tab separates words too. A no-break space is then reported as
    /// a wrong character and not as a missing field.
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
                        CronProblemKind::Character(found),
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
            self.report(None, CronProblemKind::Zone, span);
            return Preamble::Zone;
        }
        let start = span.start;
        let end = self.text.trim_end().len().max(span.end);
        let spelled_out = expansion(&self.text[start..end]);
        self.report(None, CronProblemKind::Macro, start..end);
        if let (Some(text), Some(problem)) = (spelled_out, self.problems.last_mut()) {
            problem.help = format!("`{text}`").into();
            problem.fix = Some(Replacement {
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
        // A problem of the whitespace or the zone already explains why there are no fields.
        if found == 0 && !self.problems.is_empty() {
            return;
        }
        // Only a seconds field of zero can be removed without changing the meaning.
        let is_idle_second = found == 6 && self.text[first.clone()].bytes().all(|b| b == b'0');
        self.report(None, CronProblemKind::FieldCount(found), span);
        if let (true, Some(problem)) = (is_idle_second, self.problems.last_mut()) {
            problem.fix = Some(Replacement {
                title: "remove the seconds".into(),
                span: first.start..second_start,
                text: "".into(),
            });
        }
    }

    fn field(&mut self, field: CronField, span: Range<usize>) -> FieldSet {
        // A field that is exactly `*` is unrestricted. `*/1` and `*,5` match every value too, but
        // restrict the day.
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
                // An empty item has no bytes, so the problem points at its comma.
                let at = item_span.start.min(span.end - 1);
                self.report(Some(field), CronProblemKind::EmptyItem, at..at + 1);
                continue;
            }
            let (mask, has_star) = self.item(field, item_span);
            acc.mask |= mask;
            acc.has_star |= has_star;
        }
        acc
    }

    fn has_foreign_character(&mut self, field: CronField, span: &Range<usize>) -> bool {
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
                CronProblemKind::Character(found),
                start..start + found.len_utf8(),
            );
        }
        true
    }

    /// Parses `*`, `*/n`, `a`, `a-b` or `a-b/n`. The mask of a rejected item is empty.
    fn item(&mut self, field: CronField, span: Range<usize>) -> (u64, bool) {
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
                (self.on_event)(ParseEvent::Step {
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
            (self.on_event)(ParseEvent::Step {
                field,
                span,
                token: item,
                step,
            });
        }
        (stepped(field, low, high, step), false)
    }

    /// Parses both ends of `a-b`.
    fn ends(
        &mut self,
        field: CronField,
        range: Range<usize>,
        item: &Range<usize>,
    ) -> Option<(u32, u32)> {
        let (low, high) = self.text[range.clone()].split_once('-')?;
        let low_span = range.start..range.start + low.len();
        let high_span = range.end - high.len()..range.end;
        // Both ends are parsed before the result is checked, so that both problems are reported.
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
        field: CronField,
        item: &Range<usize>,
        text: Option<&str>,
        span: Range<usize>,
    ) -> Option<u32> {
        let Some(text) = text else { return Some(1) };
        match digits(text) {
            Some(Ok(0)) => {
                self.report(Some(field), CronProblemKind::StepZero, item.clone());
                None
            }
            Some(Ok(step)) => Some(step),
            Some(Err(TooManyDigits)) => {
                self.report(Some(field), CronProblemKind::LongNumber, span);
                None
            }
            None => {
                self.report(Some(field), CronProblemKind::Malformed, item.clone());
                None
            }
        }
    }

    fn value(&mut self, field: CronField, span: Range<usize>, item: &Range<usize>) -> Option<u32> {
        let text = self.text;
        let token = &text[span.clone()];
        match digits(token) {
            Some(Ok(value)) if (field.min()..=field.max()).contains(&value) => return Some(value),
            Some(Ok(_)) => self.report(Some(field), CronProblemKind::OutOfRange, span),
            Some(Err(TooManyDigits)) => self.report(Some(field), CronProblemKind::LongNumber, span),
            None => match field.named(token) {
                Some(value) => {
                    (self.on_event)(ParseEvent::Name { field, span, value });
                    return Some(value);
                }
                None if is_other_syntax(token) => {
                    self.report(Some(field), CronProblemKind::OtherSyntax, span);
                }
                None if !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphabetic()) => {
                    self.report(Some(field), CronProblemKind::UnknownName, span);
                }
                None => self.report_malformed(field, item.clone()),
            },
        }
        None
    }

    /// Reports a malformed item once, even if both of its ends are malformed.
    fn report_malformed(&mut self, field: CronField, item: Range<usize>) {
        let is_known = self
            .problems
            .last()
            .is_some_and(|last| last.kind == CronProblemKind::Malformed && last.span == item);
        if !is_known {
            self.report(Some(field), CronProblemKind::Malformed, item);
        }
    }

    fn report_step_on_value(&mut self, field: CronField, span: Range<usize>, value: u32) {
        // Many schedulers read `5/15` as `5-59/15`, so that is the fix. From the last value on the
        // step matches nothing more.
        let item = &self.text[span.clone()];
        let step = item.split_once('/').map_or("", |(_, step)| step);
        let text = if value >= field.last() {
            value.to_string()
        } else {
            format!("{value}-{}/{step}", field.last())
        };
        self.report_fixed(
            field,
            CronProblemKind::StepOnValue,
            span,
            "name the range",
            text,
        );
    }

    fn report_reversed(
        &mut self,
        field: CronField,
        span: Range<usize>,
        low: u32,
        high: u32,
        step: u32,
    ) {
        let text = wrap::ascending(field, low, high, step);
        self.report_fixed(
            field,
            CronProblemKind::Reversed,
            span,
            "split the range",
            text,
        );
    }

    fn report_fixed(
        &mut self,
        field: CronField,
        kind: CronProblemKind,
        span: Range<usize>,
        title: &str,
        text: String,
    ) {
        self.report(Some(field), kind, span.clone());
        if let Some(problem) = self.problems.last_mut() {
            problem.help = format!("`{text}`").into();
            problem.fix = Some(Replacement {
                title: title.into(),
                span,
                text: text.into(),
            });
        }
    }

    fn report(&mut self, field: Option<CronField>, kind: CronProblemKind, span: Range<usize>) {
        // The message of `TooLong` names no token, so the long text is not copied.
        let token = match kind {
            CronProblemKind::TooLong => "",
            _ => &self.text[span.clone()],
        };
        let help = help(kind, field);
        self.problems.push(CronProblem {
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

/// Returns `true` if a token is syntax of another scheduler: `?`, `L`, `W`, `#`, `H`, `%`.
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

/// Parses a token of digits. Returns `None` if the token contains any other character.
fn digits(token: &str) -> Option<Result<u32, TooManyDigits>> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Every value and every sensible step has at most four digits, which cannot overflow.
    if token.len() > 4 {
        return Some(Err(TooManyDigits));
    }
    Some(Ok(token
        .bytes()
        .fold(0, |acc, byte| acc * 10 + u32::from(byte - b'0'))))
}

fn stepped(field: CronField, low: u32, high: u32, step: u32) -> u64 {
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
