//! Notes on valid expressions: behaviour that their author may not expect.

use std::fmt;
use std::ops::Range;

use jiff::Timestamp;

use crate::civil::{LAST_SECOND, MINUTES_PER_DAY, day_number};
use crate::describe::month_name;
use crate::expr::longest_month;
use crate::parse::{ParseEvent, parse};
use crate::problem::{Error, Replacement};
use crate::zone::{Zone, second_of};
use crate::{CronExpr, CronField, Schedule};

/// A note on a valid expression. `Display` prints the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The kind, which determines the diagnostic code.
    pub kind: NoteKind,
    /// The byte range of the text that the note is about.
    pub span: Range<usize>,
    /// One sentence for the author.
    pub message: Box<str>,
    /// Advice, or a description of the resulting ticks.
    pub help: Box<str>,
    /// An edit that removes the note and keeps the meaning, if there is one.
    pub fix: Option<Replacement>,
}

impl Note {
    /// Returns the stable diagnostic code, `D207` or `D210` to `D214`.
    pub const fn code(&self) -> &'static str {
        match self.kind {
            NoteKind::Names => "D207",
            NoteKind::NeverFires => "D210",
            NoteKind::TooOften => "D211",
            NoteKind::EitherDay => "D212",
            NoteKind::UnevenStep => "D213",
            NoteKind::SkippedHour | NoteKind::RepeatedHour => "D214",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The kinds of [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// A field uses names, which not every scheduler accepts.
    Names,
    /// No date satisfies the expression.
    NeverFires,
    /// Two ticks are less than five minutes apart.
    TooOften,
    /// Both day fields are restricted, so that a day matching either fires.
    EitherDay,
    /// A step does not divide its field, so the last gap of the field is shorter.
    UnevenStep,
    /// A listed time falls into an hour that the clocks skip.
    SkippedHour,
    /// A listed time falls into an hour that the clocks repeat.
    RepeatedHour,
}

/// Parses an expression and returns notes on its behaviour in `zone` from the instant `from` on.
///
/// The notes on clock changes cover the two years after `from`. An expression without surprises has
/// no notes.
///
/// # Errors
///
/// Returns an [`Error`] with every problem if the text is not an expression.
///
/// # Examples
///
/// ```
/// use daemon_cron::{Zone, notes};
///
/// let berlin = Zone::new(jiff::tz::TimeZone::get("Europe/Berlin")?);
/// let found = notes("30 2 * * *", &berlin, "2026-01-01T00:00:00Z".parse()?)?;
/// let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
/// assert_eq!(messages, [
///     "02:30 is skipped on 2026-03-29 in Europe/Berlin",
///     "02:30 comes twice on 2026-10-25 in Europe/Berlin",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn notes(text: &str, zone: &Zone, from: Timestamp) -> Result<Vec<Note>, Error> {
    let mut names = Vec::new();
    let mut steps = Vec::new();
    let expr = parse(text, &mut |event| match event {
        ParseEvent::Name { field, span, value } => names.push((field, span, value)),
        ParseEvent::Step {
            field,
            span,
            token,
            step,
        } => steps.push((field, span, token, step)),
    })?;
    let whole = outer_span(text);
    let schedule = Schedule::new(expr, zone.clone());
    let mut acc = name_notes(text, &names);
    acc.extend(steps.into_iter().filter_map(step_note));
    if expr.never_fires() {
        // The other notes describe ticks, and this expression has no ticks.
        acc.push(never_note(expr, whole));
        return Ok(acc);
    }
    // The note on an uneven step already names the short gap at the end of each hour.
    let restarts = acc.iter().any(|note| note.kind == NoteKind::UnevenStep);
    if !restarts || expr.gap_within_hour().is_some_and(|gap| gap < 5) {
        acc.extend(often_note(expr, whole.clone()));
    }
    acc.extend(either_note(&schedule, from, whole.clone()));
    acc.extend(clock_change_notes(&schedule, from, &whole));
    Ok(acc)
}

fn outer_span(text: &str) -> Range<usize> {
    let blanks = [' ', '\t'];
    let start = text.len() - text.trim_start_matches(blanks).len();
    start..text.trim_end_matches(blanks).len()
}

/// Returns one note per field with names. The fix replaces the names with numbers.
fn name_notes(text: &str, names: &[(CronField, Range<usize>, u32)]) -> Vec<Note> {
    [CronField::Month, CronField::DayOfWeek]
        .into_iter()
        .filter_map(|field| {
            let of_field: Vec<_> = names.iter().filter(|(of, ..)| *of == field).collect();
            let span = word_around(text, of_field.first()?.1.clone());
            let mut numbers = String::new();
            let mut at = span.start;
            for (_, name, value) in of_field {
                numbers.push_str(&text[at..name.start]);
                numbers.push_str(&value.to_string());
                at = name.end;
            }
            numbers.push_str(&text[at..span.end]);
            let word = &text[span.clone()];
            Some(Note {
                kind: NoteKind::Names,
                message: format!("names in `{word}` are not portable").into(),
                help: format!("`{numbers}` for `{word}`").into(),
                fix: Some(Replacement {
                    title: "write numbers".into(),
                    span: span.clone(),
                    text: numbers.into(),
                }),
                span,
            })
        })
        .collect()
}

fn word_around(text: &str, part: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let start = text[..part.start].rfind(is_blank).map_or(0, |at| at + 1);
    let end = text[part.end..]
        .find(is_blank)
        .map_or(text.len(), |at| part.end + at);
    start..end
}

fn step_note((field, span, token, step): (CronField, Range<usize>, &str, u32)) -> Option<Note> {
    let size = field.last() - field.min() + 1;
    let (unit, whole) = match field {
        CronField::Minute => ("minutes", "hour"),
        CronField::Hour => ("hours", "day"),
        CronField::DayOfMonth => ("days", "month"),
        CronField::Month => ("months", "year"),
        CronField::DayOfWeek => ("days", "week"),
    };
    // Months differ in length, so no step of days divides them all.
    let is_even = step == 1 || (field != CronField::DayOfMonth && size.is_multiple_of(step));
    if is_even {
        return None;
    }
    let help = if step >= size {
        format!("it fires in one value of each {whole}, not every {step} {unit}")
    } else if field == CronField::DayOfMonth {
        format!("the gaps are {step} {unit}, and another at the end of each month")
    } else {
        format!(
            "the gaps are {step} {unit}, then {} at the end of each {whole}",
            size % step
        )
    };
    Some(Note {
        kind: NoteKind::UnevenStep,
        span,
        message: format!("`{token}` restarts each {whole}").into(),
        help: help.into(),
        fix: None,
    })
}

fn never_note(expr: CronExpr, span: Range<usize>) -> Note {
    let months = u32::from(expr.months);
    let month = months.trailing_zeros();
    let nearest = (1..=12)
        .filter(|month| months >> month & 1 != 0)
        .map(|month| longest_month(month).ilog2())
        .max()
        .expect("an expression lists a month");
    let valid = expr.with_day(nearest);
    Note {
        kind: NoteKind::NeverFires,
        span,
        message: format!(
            "no such date: {} {}",
            expr.days.trailing_zeros(),
            month_name(month)
        )
        .into(),
        help: format!("the nearest day that exists is {nearest}: `{valid}`").into(),
        fix: None,
    }
}

fn often_note(expr: CronExpr, span: Range<usize>) -> Option<Note> {
    if expr.minimum_gap().is_none_or(|minutes| minutes >= 5) {
        return None;
    }
    let per_day = expr.minutes.count_ones() * expr.hours.count_ones();
    Some(Note {
        kind: NoteKind::TooOften,
        span,
        message: "`schedule` fires more often than every 5 minutes".into(),
        help: format!("`*/5` would do; this makes up to {per_day} activations a day").into(),
        fix: None,
    })
}

impl CronExpr {
    /// Returns the smallest distance between two ticks in minutes, or `None` if ticks are always more
    /// than an hour apart.
    ///
    /// Changes of the clocks are not considered.
    ///
    /// # Examples
    ///
    /// ```
    /// use daemon_cron::CronExpr;
    ///
    /// // The last gap of each hour is shorter: 56, then 0.
    /// assert_eq!("*/7 * * * *".parse::<CronExpr>()?.minimum_gap(), Some(4));
    /// assert_eq!("0 9 * * *".parse::<CronExpr>()?.minimum_gap(), None);
    /// # Ok::<(), daemon_cron::Error>(())
    /// ```
    pub fn minimum_gap(&self) -> Option<u32> {
        let within = self.gap_within_hour();
        // From the last minute of one hour to the first of the next, which exists only if two
        // adjacent hours are listed or the day ends and begins with one.
        let (low, high) = (self.minutes.trailing_zeros(), self.minutes.ilog2());
        let around = 60 - high + low;
        let has_neighbour_hours = self.hours & (self.hours >> 1) != 0
            || (self.hours & 1 != 0 && self.hours >> 23 & 1 != 0 && self.fires_on_neighbour_days());
        let around = (has_neighbour_hours && !self.never_fires()).then_some(around);
        within.into_iter().chain(around).min()
    }

    fn gap_within_hour(&self) -> Option<u32> {
        (1..60).find(|gap| self.minutes & (self.minutes >> gap) != 0)
    }

    fn fires_on_neighbour_days(&self) -> bool {
        // Eight years contain every sequence of month lengths that matters, with two leap days.
        let start = day_number(2024, 1, 1);
        let ends_day =
            |day: u32| self.matches_minute(day * MINUTES_PER_DAY + 1380 + self.minutes.ilog2());
        let begins_day =
            |day: u32| self.matches_minute(day * MINUTES_PER_DAY + self.minutes.trailing_zeros());
        (start..start + 8 * 366).any(|day| ends_day(day) && begins_day(day + 1))
    }
}

fn either_note(schedule: &Schedule, from: Timestamp, span: Range<usize>) -> Option<Note> {
    if !schedule.expr().is_either_day() {
        return None;
    }
    let zone = schedule.zone().time_zone();
    let mut at = from;
    let mut times = Vec::new();
    for _ in 0..3 {
        let Some(tick) = schedule.next_after(at) else {
            break;
        };
        times.push(
            tick.to_zoned(zone.clone())
                .strftime("%a %Y-%m-%d %H:%M")
                .to_string(),
        );
        at = tick;
    }
    Some(Note {
        kind: NoteKind::EitherDay,
        span,
        message: "a day matching day-of-month or day-of-week fires, not only one matching both"
            .into(),
        help: format!(
            "the next three are {} ({})",
            times.join(", "),
            schedule.zone()
        )
        .into(),
        fix: None,
    })
}

/// Returns notes on the first skipped and the first repeated hour of the next two years that contain
/// a listed time.
fn clock_change_notes(schedule: &Schedule, from: Timestamp, span: &Range<usize>) -> Vec<Note> {
    const TWO_YEARS: i64 = 2 * 366 * 86_400;
    let expr = schedule.expr();
    // An interval that fires in every hour loses nothing of interest when one hour is skipped.
    if schedule.zone().is_fixed() || (!expr.is_fixed_time() && expr.hours.count_ones() == 24) {
        return Vec::new();
    }
    let Some(from) = second_of(from) else {
        return Vec::new();
    };
    let mut notes = [None, None];
    let mut at = from;
    loop {
        let stretch = schedule.zone().stretch_at(at);
        at = stretch.end;
        if at > (from + TWO_YEARS).min(LAST_SECOND) {
            return notes.into_iter().flatten().collect();
        }
        let change = ClockChange {
            at,
            before: stretch.offset,
            after: stretch.after,
        };
        let slot = &mut notes[usize::from(change.is_fold())];
        if slot.is_none() {
            *slot = change.note(schedule, span);
        }
    }
}

/// A change of the offset of a zone. All values are seconds.
struct ClockChange {
    at: i64,
    before: i64,
    after: i64,
}

impl ClockChange {
    fn is_fold(&self) -> bool {
        self.after < self.before
    }

    fn note(&self, schedule: &Schedule, span: &Range<usize>) -> Option<Note> {
        let expr = schedule.expr();
        let low = self.at + self.before.min(self.after);
        let high = self.at + self.before.max(self.after);
        let wall = expr.first_from(u32::try_from(low / 60).ok()?);
        if i64::from(wall) * 60 >= high {
            return None;
        }
        let date = jiff::civil::Date::from(
            Timestamp::from_second(i64::from(wall) * 60)
                .ok()?
                .to_zoned(jiff::tz::TimeZone::UTC),
        );
        let time = format!("{:02}:{:02}", wall % MINUTES_PER_DAY / 60, wall % 60);
        let zone = schedule.zone();
        let (kind, verb) = if self.is_fold() {
            (NoteKind::RepeatedHour, "comes twice")
        } else {
            (NoteKind::SkippedHour, "is skipped")
        };
        Some(Note {
            kind,
            span: span.clone(),
            message: format!("{time} {verb} on {date} in {zone}").into(),
            help: self.outcome(schedule).into(),
            fix: None,
        })
    }

    fn outcome(&self, schedule: &Schedule) -> String {
        if self.is_fold() {
            return match schedule.expr().is_fixed_time() {
                true => "it fires in the first pass only".to_owned(),
                false => "it fires in both passes".to_owned(),
            };
        }
        let made_up = schedule
            .next_after(timestamp(self.at - 1))
            .filter(|tick| *tick == timestamp(self.at) && schedule.expr().is_fixed_time());
        match made_up {
            Some(tick) => {
                let local = tick.to_zoned(schedule.zone().time_zone().clone());
                format!(
                    "it fires once as the gap ends, at {}",
                    local.strftime("%H:%M %Z")
                )
            }
            None => "the skipped times do not fire that day".to_owned(),
        }
    }
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("clock changes are within the domain")
}
