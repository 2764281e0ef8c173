//! The clock of a fake, and times as text.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// 2026-01-01T00:00:00Z.
const FIRST: u64 = 1_767_225_600;
const DAY: u64 = 86_400;

/// Returns the time since the Unix epoch.
#[derive(Clone)]
pub struct FakeClock {
    read: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl fmt::Debug for FakeClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeClock").finish_non_exhaustive()
    }
}

impl Default for FakeClock {
    /// Returns a clock that starts at 2026-01-01T00:00:00Z and goes one second ahead whenever it is read.
    fn default() -> Self {
        let seconds = AtomicU64::new(FIRST);
        Self::new(move || Duration::from_secs(seconds.fetch_add(1, Ordering::Relaxed)))
    }
}

impl FakeClock {
    /// Creates a clock from a function that returns the time since the Unix epoch.
    pub fn new(read: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            read: Arc::new(read),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        (self.read)()
    }
}

/// Returns a time as GitHub writes it: `2026-01-01T00:00:00Z`.
pub(crate) fn to_seconds_text(time: Duration) -> String {
    let (days, seconds) = (time.as_secs() / DAY, time.as_secs() % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns a time as Linear writes it: `2026-01-01T00:00:00.000Z`.
pub(crate) fn to_milliseconds_text(time: Duration) -> String {
    let seconds = to_seconds_text(time);
    let seconds = seconds.trim_end_matches('Z');
    format!("{seconds}.{:03}Z", time.subsec_millis())
}

/// Reads `2026-01-01T00:00:00Z`, with or without a fraction, in UTC or with an offset.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let (date, rest) = (
        text.get(..10)?,
        text.get(10..)?.strip_prefix(['T', 't', ' '])?,
    );
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let at_zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(at_zone);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let seconds = days(year, month, day)? * DAY + seconds_of(clock)?;
    let offset = match zone.split_at(1) {
        ("+" | "-", offset) => seconds_of(offset)?,
        _ => 0,
    };
    let seconds = if zone.starts_with('-') {
        seconds + offset
    } else {
        seconds.checked_sub(offset)?
    };
    let nanoseconds: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(Duration::new(seconds, nanoseconds))
}

/// Reads `23:59` or `23:59:59`.
fn seconds_of(clock: &str) -> Option<u64> {
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    Some(hour * 3600 + minute * 60 + second)
}

/// Returns the date of a day since the epoch. Years begin in March here, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The inverse of [`civil`]; `None` for a year before 1970 or a month that does not exist.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let (era, year) = (year / 400, year % 400);
    let of_era = year * 365 + year / 4 - year / 100 + of_year;
    Some(era * 146_097 + of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_written_and_read_back() {
        for day in (0..80_000).step_by(7) {
            let time = Duration::from_secs(day * DAY + 86_399);
            assert_eq!(parse(&to_seconds_text(time)), Some(time));
        }
    }

    #[test]
    fn times_are_read_in_each_form() {
        let at = |seconds, milliseconds| Some(Duration::from_millis(seconds * 1000 + milliseconds));
        let rows = [
            ("2026-01-01T00:00:00Z", at(FIRST, 0)),
            ("2026-01-01T01:00:00+01:00", at(FIRST, 0)),
            ("2025-12-31T19:00:00.250-05:00", at(FIRST, 250)),
            ("2024-02-29T00:00:00.5Z", at(1_709_164_800, 500)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-01", None),
            ("yesterday", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_clock_goes_ahead_at_each_reading() {
        let clock = FakeClock::default();
        assert_eq!(
            (clock.now().as_secs(), clock.now().as_secs()),
            (FIRST, FIRST + 1)
        );
    }
}
