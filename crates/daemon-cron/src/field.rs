//! The five fields: their ranges and names of values.

use std::fmt;

/// One of the five fields of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CronField {
    /// Minute of the hour, 0–59.
    Minute,
    /// Hour of the day, 0–23.
    Hour,
    /// Day of the month, 1–31.
    DayOfMonth,
    /// Month of the year, 1–12 or JAN–DEC.
    Month,
    /// Day of the week, 0–7 or SUN–SAT; 0 and 7 are both Sunday.
    DayOfWeek,
}

impl CronField {
    pub(crate) const ALL: [Self; 5] = [
        Self::Minute,
        Self::Hour,
        Self::DayOfMonth,
        Self::Month,
        Self::DayOfWeek,
    ];

    /// Returns the smallest value the field accepts.
    pub const fn min(self) -> u32 {
        match self {
            Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
        }
    }

    /// Returns the largest value that the field accepts. For the day of the week it is 7, the second
    /// spelling of Sunday.
    pub const fn max(self) -> u32 {
        match self {
            Self::DayOfWeek => 7,
            _ => self.last(),
        }
    }

    /// Returns the largest distinct value. For the day of the week it is 6, Saturday.
    pub(crate) const fn last(self) -> u32 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 6,
        }
    }

    /// Returns the mask with every value of the field.
    pub(crate) const fn full(self) -> u64 {
        (1 << (self.last() + 1)) - (1 << self.min())
    }

    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    /// Returns the value of a three-letter name, ignoring case.
    pub(crate) fn named(self, token: &str) -> Option<u32> {
        let position = self
            .names()
            .iter()
            .position(|name| name.eq_ignore_ascii_case(token))?;
        u32::try_from(position)
            .ok()
            .map(|position| position + self.min())
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
        })
    }
}

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
