//! The ids of runs and of groups of runs.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The id of a run, which is also the name of its folder: `em-<n>-<YYYYMMDD>-<HHMMSS>-<6 hex>`.
///
/// Ids are ordered by the start of their runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    // The derived order compares the fields in this order.
    started: DateTime,
    handle: Handle,
    random: [u8; 3],
}

/// The short name of a run, `em-<n>`. It is unique among the live runs of one parent only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub NonZeroU32);

/// The id of the runs that one call dispatched: `dg-<YYYYMMDD>-<HHMMSS>-<6 hex>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId {
    started: DateTime,
    random: [u8; 3],
}

/// The text is not the id of a run, a handle or the id of a group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` does not name a {what}")]
pub struct ParseIdError {
    what: &'static str,
    text: String,
}

impl RunId {
    /// Makes the id of a run that starts at `started`, which is cut to the second in UTC.
    ///
    /// `random` distinguishes runs with the same handle and second. A caller whose id is taken draws other bytes.
    pub fn new(handle: Handle, started: Timestamp, random: [u8; 3]) -> Self {
        Self {
            started: second(started),
            handle,
            random,
        }
    }

    /// Returns the short name.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the second in which the run started.
    pub fn started(&self) -> Timestamp {
        utc(self.started)
    }
}

impl GroupId {
    /// Makes the id of a group that is dispatched at `started`, which is cut to the second in UTC.
    pub fn new(started: Timestamp, random: [u8; 3]) -> Self {
        Self {
            started: second(started),
            random,
        }
    }
}

fn second(time: Timestamp) -> DateTime {
    let time = TimeZone::UTC.to_datetime(time);
    time.with()
        .subsec_nanosecond(0)
        .build()
        .expect("a time without nanoseconds is a time")
}

fn utc(time: DateTime) -> Timestamp {
    TimeZone::UTC
        .to_timestamp(time)
        .expect("the parser and the constructors accept only timestamps")
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "em-{}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.handle, Tail(self.started, self.random))
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dg-{}", Tail(self.started, self.random))
    }
}

/// The time and the random bytes that both kinds of id end with.
struct Tail(DateTime, [u8; 3]);

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(time, [a, b, c]) = self;
        write!(
            f,
            "{}-{a:02x}{b:02x}{c:02x}",
            time.strftime("%Y%m%d-%H%M%S")
        )
    }
}

impl Tail {
    fn parse(text: &str) -> Option<Self> {
        let (time, hex) = text.rsplit_once('-')?;
        // Checked before `strptime`, which also accepts signs and shorter numbers.
        let is_plain = time.len() == 15
            && time.bytes().enumerate().all(|(index, byte)| {
                if index == 8 {
                    byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            });
        let is_hex = hex.len() == 6
            && hex
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !is_plain || !is_hex {
            return None;
        }
        let time = DateTime::strptime("%Y%m%d-%H%M%S", time).ok()?;
        TimeZone::UTC.to_timestamp(time).ok()?;
        let number = u32::from_str_radix(hex, 16).ok()?;
        let [_, a, b, c] = number.to_be_bytes();
        // `strptime` accepts a leap second and reads it as the second before, which would give one id two spellings.
        Some(Self(time, [a, b, c])).filter(|tail| tail.to_string() == text)
    }
}

fn invalid(what: &'static str, text: &str) -> ParseIdError {
    ParseIdError {
        what,
        text: text.to_owned(),
    }
}

impl FromStr for Handle {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        text.strip_prefix("em-")
            // `u32::from_str` accepts a leading `+`.
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|digits| !digits.starts_with('0'))
            .and_then(|digits| digits.parse().ok())
            .map(Self)
            .ok_or_else(|| invalid("handle", text))
    }
}

impl FromStr for RunId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parse = || {
            let dash = text.strip_prefix("em-")?.find('-')? + 3;
            let Tail(started, random) = Tail::parse(&text[dash + 1..])?;
            Some(Self {
                started,
                handle: text[..dash].parse().ok()?,
                random,
            })
        };
        parse().ok_or_else(|| invalid("run", text))
    }
}

impl FromStr for GroupId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        text.strip_prefix("dg-")
            .and_then(Tail::parse)
            .map(|Tail(started, random)| Self { started, random })
            .ok_or_else(|| invalid("group", text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_consists_of_handle_start_and_random_bytes() {
        let started: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let id = RunId::new("em-5".parse().unwrap(), started, [0x0a, 0x1b, 0x2c]);
        assert_eq!(id.to_string(), "em-5-20260102-030405-0a1b2c");
        assert_eq!(id.started().to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(id.to_string().parse(), Ok(id));
        let group = "dg-20260102-030405-77aa01";
        assert_eq!(group.parse::<GroupId>().unwrap().to_string(), group);
    }

    #[test]
    fn a_later_run_is_greater_than_an_earlier_one_with_a_higher_handle() {
        let earlier: RunId = "em-9-20260102-030405-ffffff".parse().unwrap();
        let later: RunId = "em-1-20260102-030406-000000".parse().unwrap();
        assert!(earlier < later);
    }

    #[test]
    fn text_outside_the_grammar_is_rejected() {
        for text in [
            "",
            "em-0-20260102-030405-0a1b2c",
            "em-01-20260102-030405-0a1b2c",
            "em-+1-20260102-030405-0a1b2c",
            "em-1-20261302-030405-0a1b2c",
            "em-1-20260102-030460-0a1b2c",
            "em-1-20260102-030405-0A1B2C",
            "em-1-20260102-030405-0a1b2",
            "em-1-2026010-0030405-0a1b2c",
            "em-1-20260102-030405-0a1b2c/..",
            "em-1-20260102-030405-0a1b2c\n",
            "em-99999999999-20260102-030405-0a1b2c",
        ] {
            let error = text.parse::<RunId>().unwrap_err();
            assert_eq!(error.to_string(), format!("`{text}` does not name a run"));
        }
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_same_run(n in 1_u32.., seconds in 0_i64..4_000_000_000, random: [u8; 3]) {
            let started = Timestamp::from_second(seconds).unwrap();
            let id = RunId::new(Handle(NonZeroU32::new(n).unwrap()), started, random);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.started(), started);
        }

        #[test]
        fn the_parser_accepts_only_what_formatting_produces(text in "(em-|dg-)?[-0-9a-f\u{e9}]{0,30}") {
            if let Ok(id) = text.parse::<RunId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
