//! Units, days, hours and counts of a line.

use super::DAYS;

const UNITS: &[&str] = &[
    "second",
    "minute",
    "min",
    "hour",
    "hr",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "sprint",
    "weekday",
    "workday",
    "night",
    "morning",
    "evening",
    "afternoon",
    "noon",
    "midnight",
    "fortnight",
    "weekend",
];

pub(super) fn split_half(word: &str) -> (&str, &str) {
    for half in ["am", "pm"] {
        if let Some(digits) = word
            .strip_suffix(half)
            .filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
        {
            return (digits, half);
        }
    }
    (word, "")
}

pub(super) fn once_per(unit: &str) -> Option<String> {
    let cron = match unit {
        "minute" => "* * * * *",
        "hour" => "0 * * * *",
        "day" | "morning" => "0 9 * * *",
        "night" | "midnight" => "0 0 * * *",
        "noon" => "0 12 * * *",
        "afternoon" => "0 14 * * *",
        "evening" => "0 18 * * *",
        "week" => "0 9 * * 1",
        "weekday" | "workday" => "0 9 * * 1-5",
        "weekend" => "0 9 * * 6",
        "month" => "0 9 1 * *",
        "quarter" => "0 9 1 */3 *",
        "year" => "0 9 1 1 *",
        _ => return None,
    };
    Some(cron.to_owned())
}

pub(super) fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

pub(super) fn is_unit(word: &str) -> bool {
    UNITS.contains(&singular(word)) || UNITS.contains(&word)
}

pub(super) fn is_plain_unit(word: &str) -> bool {
    matches!(
        singular(word),
        "second"
            | "minute"
            | "min"
            | "hour"
            | "hr"
            | "day"
            | "week"
            | "month"
            | "quarter"
            | "year"
            | "sprint"
            | "night"
            | "fortnight"
    ) || matches!(word, "business" | "working" | "full")
}

pub(super) fn is_day(word: &str) -> bool {
    DAYS.contains(&word)
        || DAYS.contains(&singular(word))
        || matches!(word, "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")
}

pub(super) fn is_clock(word: &str) -> bool {
    let (digits, half) = split_half(word);
    let parts: Vec<&str> = digits.split(':').collect();
    parts
        .iter()
        .all(|part| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()))
        && (parts.len() == 2 || !half.is_empty() || parts.len() == 1)
        || matches!(word, "o'clock" | "utc" | "am" | "pm" | "noon" | "midnight")
}

pub(super) fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "a"
            | "an"
            | "of"
            | "in"
            | "at"
            | "on"
            | "and"
            | "or"
            | "each"
            | "every"
            | "start"
            | "end"
            | "beginning"
            | "first"
            | "last"
            | "sharp"
            | "during"
            | "before"
            | "after"
            | "middle"
            | "close"
            | "begin"
            | "about"
            | "around"
            | "next"
            | "second"
            | "third"
            | "only"
            | "business"
            | "working"
            | "work"
            | "calendar"
            | "same"
            | "time"
            | "o'clock"
            | "early"
            | "late"
            | "to"
            | "through"
            | "from"
            | "between"
            | "by"
            | "fiscal"
            | "'s"
            | "new"
    )
}

/// `1st`, `15th`.
pub(super) fn is_ordinal(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    !digits.is_empty()
        && digits.len() < 3
        && digits.bytes().all(|b| b.is_ascii_digit())
        && matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th")
}

pub(super) fn is_count(word: &str) -> bool {
    number(word).is_some()
        || matches!(
            word,
            "a" | "an" | "several" | "many" | "few" | "some" | "couple"
        )
}

pub(super) fn number(word: &str) -> Option<u32> {
    const WORDS: &[&str] = &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    if let Ok(number) = word.parse::<u32>() {
        return Some(number).filter(|number| *number > 0);
    }
    let named = WORDS
        .iter()
        .position(|name| *name == word)
        .and_then(|at| u32::try_from(at).ok());
    named.or(match word {
        "fifteen" => Some(15),
        "twenty" => Some(20),
        "thirty" => Some(30),
        "sixty" => Some(60),
        _ => None,
    })
}
