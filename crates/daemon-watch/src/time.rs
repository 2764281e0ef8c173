//! Times and lasting states, which no event reports.

mod words;

use self::words::{
    is_clock, is_count, is_day, is_filler, is_ordinal, is_plain_unit, is_unit, number, once_per,
    singular, split_half,
};
use crate::interpretation::TimeKind;
use crate::normalise::{Token, TokenKind};
pub(super) const DAYS: &[&str] = &[
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const EVERY: &[&str] = &["every", "each"];
const ADVERBS: &[(&str, Option<&str>)] = &[
    ("hourly", Some("0 * * * *")),
    ("daily", Some("0 9 * * *")),
    ("nightly", Some("0 0 * * *")),
    ("weekly", Some("0 9 * * 1")),
    // No five-field expression means every second week.
    ("biweekly", None),
    ("fortnightly", None),
    ("monthly", Some("0 9 1 * *")),
    ("quarterly", Some("0 9 1 */3 *")),
    ("yearly", Some("0 9 1 1 *")),
    ("annually", Some("0 9 1 1 *")),
    ("periodically", None),
    ("regularly", None),
    ("routinely", None),
];

/// Words of a continuing state, before the duration.
const STAYING: &[&str] = &[
    "nobody",
    "no-one",
    "none",
    "unanswered",
    "stays",
    "stay",
    "remains",
    "remain",
    "still",
    "sits",
    "keeps",
    "lingers",
];

/// Words before a duration.
const LASTING: &[&str] = &[
    "for", "than", "after", "least", "last", "within", "over", "in", "about", "past", "of",
    "every", "already", "nearly", "exceeds", "exceed", "is", "been",
];

/// Returns the five fields of a line that consists of a cron expression: `0 9 * * 1-5`.
pub(crate) fn expression(line: &str) -> Option<String> {
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
        let from = usize::from(matches!(
            self.at(0),
            "on" | "at" | "in" | "run" | "when" | "wake" | "once" | "twice"
        ));
        let first = self.at(from);
        if let Some((_, cron)) = ADVERBS
            .iter()
            .find(|(adverb, _)| *adverb == self.at(0) || *adverb == first && self.words.len() <= 4)
        {
            return Some(TimeKind::Schedule(
                self.on_day().or(cron.map(str::to_owned)),
            ));
        }
        if EVERY.contains(&first) && MONTHS.contains(&self.at(from + 1)) {
            return Some(TimeKind::Schedule(None));
        }
        if EVERY.contains(&first) && self.every(from + 1) {
            return Some(TimeKind::Schedule(self.cron(from + 1)));
        }
        if matches!(self.at(0), "once" | "twice")
            && matches!(self.at(1), "a" | "per" | "an" | "every" | "each")
            && is_unit(self.at(2))
        {
            let cron = if self.at(0) == "once" {
                once_per(singular(self.at(2)))
            } else {
                None
            };
            return Some(TimeKind::Schedule(cron));
        }
        let named = |word: &str| word == "schedule" || word == "timer" || word == "cron";
        if matches!(self.at(0), "on" | "by") && (named(self.at(1)) || named(self.at(2))) {
            return Some(TimeKind::Schedule(None));
        }
        let begins = matches!(
            self.at(0),
            "on" | "at" | "in" | "during" | "by" | "before" | "after" | "around"
        );
        let rest = self.words.iter().skip(1);
        let speaks_of_time = rest
            .clone()
            .any(|word| is_unit(word) || is_day(word) || is_clock(word));
        let only_of_time = rest
            .clone()
            .all(|word| is_unit(word) || is_day(word) || is_clock(word) || is_filler(word));
        if begins && speaks_of_time && only_of_time {
            return Some(TimeKind::Schedule(self.on_day().or_else(|| self.clock())));
        }
        let opens_with_day = is_day(self.at(0))
            && self
                .words
                .iter()
                .all(|word| is_day(word) || is_clock(word) || is_unit(word) || is_filler(word));
        opens_with_day.then(|| TimeKind::Schedule(self.on_day()))
    }

    /// Whether the words name a recurring time at any place.
    pub(crate) fn recurs(&self) -> Option<TimeKind> {
        let n_words = self.words.len();
        for at in 0..n_words {
            let word = self.at(at);
            if let Some((_, cron)) = ADVERBS.iter().find(|(adverb, _)| *adverb == word) {
                return Some(TimeKind::Schedule(
                    self.on_day().or(cron.map(str::to_owned)),
                ));
            }
            let is_every =
                EVERY.contains(&word) || matches!(word, "per" | "a" | "an") && self.counts(at);
            // `every second approval` counts, and `second` is no unit of time there.
            if is_every && self.every(at + 1) && self.at(at + 1) != "second" {
                return Some(TimeKind::Schedule(self.cron(at + 1)));
            }
            let named = matches!(self.at(at + 1), "schedule" | "timer" | "cron");
            let led = matches!(word, "a" | "per" | "the" | "on" | "by");
            if led && named
                || self.phrase(at, &["from", "time", "to", "time"])
                || word == "overnight"
            {
                return Some(TimeKind::Schedule(None));
            }
        }
        // `weekday afternoons`, `mornings at 9`, `as the quarter ends`, `on the 1st and the 15th`
        let is_time = |word: &&str| {
            is_unit(word)
                || is_day(word)
                || is_clock(word)
                || is_filler(word)
                || is_ordinal(word)
                || matches!(
                    *word,
                    "as" | "begins"
                        | "ends"
                        | "starts"
                        | "closes"
                        | "opens"
                        | "when"
                        | "begin"
                        | "top"
                        | "per"
                        | "once"
                        | "until"
                )
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
        matches!(before, "once" | "twice" | "times" | "time") || self.at(at) == "per"
    }

    fn phrase(&self, at: usize, wanted: &[&str]) -> bool {
        wanted
            .iter()
            .enumerate()
            .all(|(n, word)| self.at(at + n) == *word)
    }

    /// Whether the line names a state that has lasted: `has been left unmerged for three days`.
    pub(crate) fn lasts_for(&self) -> bool {
        let n_words = self.words.len();
        let is_span = |at: usize| {
            let mut next = at + 1;
            while matches!(
                self.at(next),
                "more"
                    | "than"
                    | "over"
                    | "at"
                    | "least"
                    | "about"
                    | "nearly"
                    | "almost"
                    | "up"
                    | "to"
                    | "the"
                    | "last"
                    | "past"
            ) {
                next += 1;
            }
            // `for three days` is a duration, `for three reviewers` is not.
            is_count(self.at(next)) && (next + 1..next + 4).any(|at| is_plain_unit(self.at(at)))
        };
        let span = (0..n_words).find(|at| {
            matches!(
                self.at(*at),
                "for" | "in" | "within" | "over" | "after" | "than"
            ) && is_span(*at)
        });
        let Some(span) = span else { return false };
        (0..span).any(|at| {
            STAYING.contains(&self.at(at))
                || matches!(self.at(at), "has" | "have" | "had")
                    && (at + 1..(at + 4).min(span)).any(|at| {
                        matches!(
                            self.at(at),
                            "been"
                                | "seen"
                                | "had"
                                | "received"
                                | "gone"
                                | "left"
                                | "stayed"
                                | "sat"
                                | "remained"
                                | "not"
                                | "stood"
                                | "waited"
                                | "lain"
                                | "kept"
                        )
                    })
        })
    }

    /// Whether a duration is named, as in `for 3 days` or `older than two weeks`.
    pub(crate) fn has_duration(&self) -> bool {
        let n_words = self.words.len();
        (0..n_words).any(|at| {
            let whole = matches!(
                self.at(at + 1),
                "whole" | "full" | "entire" | "solid" | "couple" | "few"
            );
            let counted = is_count(self.at(at))
                && (is_plain_unit(self.at(at + 1))
                    || whole && (is_plain_unit(self.at(at + 2)) || is_plain_unit(self.at(at + 3)))
                    || is_count(self.at(at + 1)) && is_plain_unit(self.at(at + 2)));
            let lead = at.checked_sub(1).map_or("", |before| self.at(before));
            // `3 days` may be part of a title, so a duration needs a word before or after it.
            let is_behind = LASTING.contains(&lead) || lead.is_empty();
            let is_before = matches!(
                self.at(at + 2),
                "old" | "ago" | "long" | "later" | "without" | "stale"
            );
            counted && (is_behind || is_before)
        })
    }

    /// Whether the words describe a state that has lasted.
    pub(crate) fn lasts(&self) -> bool {
        let has = |word: &str| self.words.contains(&word);
        let state = [
            "idle",
            "inactive",
            "stale",
            "unanswered",
            "unreviewed",
            "unattended",
            "untouched",
            "older",
            "old",
            "stuck",
            "quiet",
            "overdue",
            "stayed",
            "stays",
            "remained",
            "remains",
            "sits",
            "sat",
            "sitting",
            "waiting",
            "waits",
            "pending",
            "open",
            "unmerged",
            "unassigned",
            "lingers",
            "dormant",
            "unresolved",
            "silent",
            "abandoned",
            "goes",
            "gone",
            "no",
            "nobody",
            "without",
            "broken",
            "red",
            "failing",
            "down",
            "blocked",
        ]
        .iter()
        .any(|word| has(word));
        let been = has("been") || has("has") || has("have") || has("had");
        state || been
    }

    fn every(&self, from: usize) -> bool {
        let next = self.at(from);
        let far = self.at(from + 1);
        // `every time a PR is opened` is an event.
        if matches!(next, "time") {
            return false;
        }
        is_unit(next)
            || is_day(next)
            || is_count(next) && is_unit(far)
            || matches!(
                next,
                "other" | "single" | "second" | "few" | "couple" | "working" | "business" | "third"
            ) && (is_unit(far) || is_day(far) || matches!(far, "of"))
    }

    fn cron(&self, from: usize) -> Option<String> {
        if let Some(count) = number(self.at(from)) {
            return match singular(self.at(from + 1)) {
                // A step beyond the range of the field would fire at every start of the range.
                "minute" | "min" if count < 60 => Some(format!("*/{count} * * * *")),
                "hour" | "hr" if count < 24 => Some(format!("0 */{count} * * *")),
                "day" => Some(format!("0 9 */{count} * *")),
                _ => None,
            };
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
        let days: Vec<String> = DAYS
            .iter()
            .enumerate()
            .filter(|(_, day)| self.words.iter().any(|word| singular(word) == **day))
            .map(|(index, _)| index.to_string())
            .collect();
        let weekdays = self.words.iter().any(|word| {
            matches!(
                singular(word),
                "weekday" | "workday" | "working" | "business"
            )
        });
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
            match *word {
                "midnight" => return Some((0, 0)),
                "noon" => return Some((12, 0)),
                "afternoon" => return Some((14, 0)),
                "evening" => return Some((18, 0)),
                _ => {}
            }
            let follows_at = at > 0 && self.words[at - 1] == "at";
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
                let hour = match half {
                    "pm" if hour < 12 => hour + 12,
                    "am" if hour == 12 => 0,
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
