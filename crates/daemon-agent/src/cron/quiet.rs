//! Quiet hours: a time of each local day, which may begin on the day before.

use jiff::civil::Time;

/// From a time of day until another one, which is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuietHours {
    start: Time,
    end: Time,
}

impl QuietHours {
    /// Parses both times, or neither.
    ///
    /// # Errors
    /// If only one is given, one is no time, or both are equal.
    pub(super) fn parse(start: Option<&str>, end: Option<&str>) -> Result<Option<Self>, String> {
        let (start, end) = match (start, end) {
            (None, None) => return Ok(None),
            (Some(start), Some(end)) => (time("quiet_start", start)?, time("quiet_end", end)?),
            (Some(_), None) => return Err("`quiet_end` is missing".to_owned()),
            (None, Some(_)) => return Err("`quiet_start` is missing".to_owned()),
        };
        if start == end {
            return Err("`quiet_start` and `quiet_end` are equal".to_owned());
        }
        Ok(Some(Self { start, end }))
    }

    /// Reports whether a time of day is quiet.
    pub(super) fn has(self, time: Time) -> bool {
        if self.start < self.end {
            self.start <= time && time < self.end
        } else {
            self.start <= time || time < self.end
        }
    }
}

fn time(key: &str, text: &str) -> Result<Time, String> {
    let part = |text: &str, most: i8| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<i8>().ok().filter(|_| is_plain);
        number.filter(|number| *number <= most)
    };
    let parts = text.split_once(':');
    let parts = parts.and_then(|(hour, minute)| part(hour, 23).zip(part(minute, 59)));
    let time = parts.map(|(hour, minute)| Time::constant(hour, minute, 0, 0));
    time.ok_or_else(|| format!("`{key}` must be a time such as `23:00`"))
}
