//! Spans of time in configuration and parameters: `30s`, `10m`, `24h`, `14d`.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time that is not negative; a day has 24 hours.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Period(SignedDuration);

impl Period {
    /// Creates a period of whole seconds.
    pub const fn from_secs(seconds: u32) -> Self {
        Self(SignedDuration::from_secs(seconds as i64))
    }

    /// Returns the span as a signed duration, for arithmetic with instants.
    pub fn signed(self) -> SignedDuration {
        self.0
    }

    /// Returns the span as an unsigned duration, for timers.
    pub fn unsigned(self) -> std::time::Duration {
        self.0.unsigned_abs()
    }
}

/// The error for a string that is not a period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a span of time such as `30s`, `10m`, `24h` or `14d`")]
pub struct InvalidPeriod {
    text: String,
}

impl FromStr for Period {
    type Err = InvalidPeriod;

    fn from_str(text: &str) -> Result<Self, InvalidPeriod> {
        let refused = || InvalidPeriod {
            text: text.chars().take(40).collect(),
        };
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: i64 = number
            .parse()
            .ok()
            .filter(|n| *n <= 1_000_000_000)
            .ok_or_else(refused)?;
        let factor = match unit {
            "ms" => return Ok(Self(SignedDuration::from_millis(number))),
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return Err(refused()),
        };
        number
            .checked_mul(factor)
            .map(SignedDuration::from_secs)
            .map(Self)
            .ok_or_else(refused)
    }
}

impl TryFrom<String> for Period {
    type Error = InvalidPeriod;

    fn try_from(text: String) -> Result<Self, InvalidPeriod> {
        text.parse()
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        match millis {
            0 => f.write_str("0s"),
            m if m % 86_400_000 == 0 => write!(f, "{}d", m / 86_400_000),
            m if m % 3_600_000 == 0 => write!(f, "{}h", m / 3_600_000),
            m if m % 60_000 == 0 => write!(f, "{}m", m / 60_000),
            m if m % 1_000 == 0 => write!(f, "{}s", m / 1_000),
            m => write!(f, "{m}ms"),
        }
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}
