//! Times and lasting states, which no event reports.

mod lexicon;
mod words;

use self::lexicon::{Kind, RECURRING, is, sense};
use self::words::{
    is_clock, is_count, is_day, is_ordinal, is_plain_unit, is_span, is_unit, number, once_per,
    singular, split_half,
};
use crate::interpretation::TimeKind;
use crate::normalise::{Token, TokenKind};
/// Returns the five fields of a line that consists of a cron expression: `0 9 * * 1-5`, also behind a colon: `cron: 0 9 * * 1-5`.
pub(crate) fn expression(line: &str) -> Option<String> {
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    let line = line.trim().trim_matches(['`', '"', '\'']);
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_field = |field: &&str| {
        let has_sign = field.contains('*') || field.bytes().any(|b| b.is_ascii_digit());
        has_sign
            && field
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"*/,-#?".contains(&b))
    };
    // Five numbers alone are no schedule, so one field has to be `*`.
    let is_schedule = fields.len() == 5
        && fields.iter().all(is_field)
        && fields.iter().any(|field| field.contains('*'));
    is_schedule.then(|| fields.join(" "))
}

/// The words of a line, without marks and quotations.
pub(crate) struct Words<'t> {
    words: Vec<&'t str>,
}

impl<'t> Words<'t> {
    pub(crate) fn new(tokens: &'t [Token]) -> Self {
        let words = tokens
            .iter()
            .filter(|token| token.kind != TokenKind::Mark)
            .map(|token| {
                // Quoted units are data: `labeled "weekly"` is no schedule.
                if token.kind == TokenKind::Quoted {
                    "\u{0}"
                } else {
                    token.text.as_str()
                }
            })
            .collect();
        Self { words }
    }

    fn at(&self, at: usize) -> &str {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// Returns the schedule that the line begins with, or that it is.
    pub(crate) fn schedule(&self) -> Option<TimeKind> {
        let from = usize::from(is(self.at(0), Kind::Opening));
        let first = self.at(from);
        let is_short = self.words.len() <= 4;
        let adverb = [(self.at(0), true), (first, is_short)]
            .into_iter()
            .find(|(word, is_alone)| *is_alone && is(word, Kind::Adverb));
        if let Some((adverb, _)) = adverb {
            return Some(self.adverb(adverb));
        }
        if is(first, Kind::Every) && is(self.at(from + 1), Kind::Month) {
            return Some(TimeKind::Schedule(None));
        }
        if is(first, Kind::Every) && self.every(from + 1) {
            return Some(TimeKind::Schedule(self.cron(from + 1)));
        }
        if is(self.at(0), Kind::Times) && is(self.at(1), Kind::Per) && is_unit(self.at(2)) {
            let is_once = number_of_times(self.at(0)) == Some(1);
            let cron = is_once.then(|| once_per(singular(self.at(2)))).flatten();
            return Some(TimeKind::Schedule(cron));
        }
        let named = |word: &str| is(word, Kind::Timer);
        if is(self.at(0), Kind::Timed) && (named(self.at(1)) || named(self.at(2))) {
            return Some(TimeKind::Schedule(None));
        }
        let begins = is(self.at(0), Kind::Begin);
        let rest = self.words.iter().skip(1);
        let speaks_of_time = rest
            .clone()
            .any(|word| is_unit(word) || is_day(word) || is_clock(word));
        let only_of_time = rest.clone().all(|word| {
            is_unit(word)
                || is_day(word)
                || is_clock(word)
                || is(word, Kind::Part)
                || is(word, Kind::Number)
        });
        if begins && speaks_of_time && only_of_time {
            return Some(TimeKind::Schedule(self.on_day().or_else(|| self.clock())));
        }
        let opens_with_day = is_day(self.at(0))
            && self.words.iter().all(|word| {
                is_day(word) || is_clock(word) || is_unit(word) || is(word, Kind::Part)
            });
        opens_with_day.then(|| TimeKind::Schedule(self.on_day()))
    }

    /// Whether the words name a recurring time at any place.
    pub(crate) fn recurs(&self) -> Option<TimeKind> {
        let n_words = self.words.len();
        for at in 0..n_words {
            let word = self.at(at);
            if is(word, Kind::Adverb) {
                return Some(self.adverb(word));
            }
            let is_every = is(word, Kind::Every) || is(word, Kind::Per) && self.counts(at);
            // `every second approval` counts, and `second` is no unit of time there.
            if is_every && self.every(at + 1) && !is(self.at(at + 1), Kind::Ordinal) {
                return Some(TimeKind::Schedule(self.cron(at + 1)));
            }
            let named = is(word, Kind::Led) && is(self.at(at + 1), Kind::Timer);
            if named || RECURRING.iter().any(|phrase| self.phrase(at, phrase)) {
                return Some(TimeKind::Schedule(None));
            }
        }
        // `weekday afternoons`, `mornings at 9`, `as the quarter ends`, `on the 1st and the 15th`
        let is_time = |word: &&str| {
            is_unit(word)
                || is_day(word)
                || is_clock(word)
                || is(word, Kind::Part)
                || is_ordinal(word)
                || is(word, Kind::Boundary)
        };
        let names_time = self
            .words
            .iter()
            .any(|word| is_unit(word) || is_day(word) || is_ordinal(word));
        let says_only_time = names_time && self.words.iter().all(is_time);
        says_only_time.then(|| TimeKind::Schedule(self.on_day().or_else(|| self.clock())))
    }

    /// `once a`, `twice a`, `three times a`.
    fn counts(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.at(before));
        is(before, Kind::Times) || is(self.at(at), Kind::Rate)
    }

    fn adverb(&self, adverb: &str) -> TimeKind {
        let cron = sense(adverb, Kind::Adverb).map(str::to_owned);
        TimeKind::Schedule(self.on_day().or(cron))
    }

    fn phrase(&self, at: usize, phrase: &str) -> bool {
        (phrase.split(' ').enumerate()).all(|(n, word)| self.at(at + n) == word)
    }

    /// Whether the line names a state that has lasted: `has been left unmerged for three days`.
    pub(crate) fn lasts_for(&self) -> bool {
        let n_words = self.words.len();
        let lasts = |at: usize| {
            let mut next = at + 1;
            while is(self.at(next), Kind::Approximately) {
                next += 1;
            }
            // `for three days` is a duration, `for three reviewers` is not.
            is_span(self.at(next))
                || is_count(self.at(next))
                    && (next + 1..next + 4).any(|at| is_plain_unit(self.at(at)))
        };
        let span = (0..n_words).find(|at| is(self.at(*at), Kind::Over) && lasts(*at));
        let Some(span) = span else { return false };
        (0..span).any(|at| {
            is(self.at(at), Kind::Staying)
                || is(self.at(at), Kind::Has)
                    && (at + 1..(at + 4).min(span)).any(|at| is(self.at(at), Kind::Been))
        })
    }

    /// Whether a duration is named, as in `for 3 days` or `older than two weeks`.
    pub(crate) fn has_duration(&self) -> bool {
        let n_words = self.words.len();
        (0..n_words).any(|at| {
            let whole = is(self.at(at + 1), Kind::Whole);
            let counted = is_count(self.at(at))
                && (is_plain_unit(self.at(at + 1))
                    || whole && (is_plain_unit(self.at(at + 2)) || is_plain_unit(self.at(at + 3)))
                    || is_count(self.at(at + 1)) && is_plain_unit(self.at(at + 2)));
            let lead = at.checked_sub(1).map_or("", |before| self.at(before));
            // `3 days` may be part of a title, so a duration needs a word before or after it.
            let is_behind = is(lead, Kind::Lasting) || lead.is_empty();
            let is_before = is(self.at(at + 2), Kind::Behind);
            (counted || is_span(self.at(at))) && (is_behind || is_before)
        })
    }

    /// Whether the words describe a state that has lasted.
    pub(crate) fn lasts(&self) -> bool {
        (self.words.iter()).any(|word| is(word, Kind::State) || is(word, Kind::Perfect))
    }

    fn every(&self, from: usize) -> bool {
        let next = self.at(from);
        let far = self.at(from + 1);
        // `every time a PR is opened` is an event.
        if is(next, Kind::Occasion) {
            return false;
        }
        is_unit(next)
            || is_day(next)
            || is_count(next) && is_unit(far)
            || is(next, Kind::Each) && (is_unit(far) || is_day(far) || is(far, Kind::Of))
    }

    fn cron(&self, from: usize) -> Option<String> {
        if let Some(count) = number(self.at(from)) {
            let (limit, cron) = sense(singular(self.at(from + 1)), Kind::Step)?.split_once(' ')?;
            // A step beyond the range of the field would fire at every start of the range.
            let is_inside = limit.parse().is_ok_and(|limit: u32| count < limit);
            return is_inside.then(|| cron.replace("{}", &count.to_string()));
        }
        self.on_day()
            .or_else(|| once_per(singular(self.at(from))))
            .map(|cron| self.at_clock(&cron))
    }

    /// Puts a named clock time into an expression.
    fn at_clock(&self, cron: &str) -> String {
        match (self.time_of_day(), cron.splitn(3, ' ').nth(2)) {
            (Some((hour, minute)), Some(days)) => format!("{minute} {hour} {days}"),
            (Some(_) | None, _) => cron.to_owned(),
        }
    }

    fn on_day(&self) -> Option<String> {
        let day = |word: &&str| sense(singular(word), Kind::Day).or_else(|| sense(word, Kind::Day));
        let mut days: Vec<&str> = self.words.iter().filter_map(day).collect();
        days.sort_unstable();
        days.dedup();
        let weekdays = self
            .words
            .iter()
            .any(|word| is(singular(word), Kind::Weekday));
        // A day without an hour is 9:00, as in the examples of `docs/conditions.md`.
        let (hour, minute) = self.time_of_day().unwrap_or((9, 0));
        if weekdays {
            return Some(format!("{minute} {hour} * * 1-5"));
        }
        (!days.is_empty()).then(|| format!("{minute} {hour} * * {}", days.join(",")))
    }

    fn clock(&self) -> Option<String> {
        let (hour, minute) = self.time_of_day()?;
        Some(format!("{minute} {hour} * * *"))
    }

    fn time_of_day(&self) -> Option<(u32, u32)> {
        for (at, word) in self.words.iter().enumerate() {
            if let Some(hour) = sense(word, Kind::Hour) {
                return hour.parse().ok().map(|hour| (hour, 0));
            }
            let follows_at = at > 0 && is(self.words[at - 1], Kind::At);
            let (digits, half) = split_half(word);
            let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
            let is_time = digits.contains(':') || !half.is_empty() || follows_at;
            if let (true, Ok(hour), Ok(minute)) =
                (is_time, hour.parse::<u32>(), minute.parse::<u32>())
            {
                let half = if half.is_empty() {
                    self.at(at + 1)
                } else {
                    half
                };
                let hour = match sense(half, Kind::Half) {
                    Some("12") if hour < 12 => hour + 12,
                    Some("0") if hour == 12 => 0,
                    _ => hour,
                };
                if hour < 24 && minute < 60 {
                    return Some((hour, minute));
                }
            }
        }
        None
    }
}

fn number_of_times(word: &str) -> Option<u32> {
    sense(word, Kind::Times)?.parse().ok()
}
