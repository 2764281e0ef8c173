//! Units, days, hours and counts of a line.

use super::lexicon::{Kind, is, sense};

/// Splits `9am` into the hour and its half of the day.
pub(super) fn split_half(word: &str) -> (&str, &str) {
    let half = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    let digits = &word[..word.len() - half.len()];
    if !digits.is_empty() && is(half, Kind::Half) {
        (digits, half)
    } else {
        (word, "")
    }
}

pub(super) fn once_per(unit: &str) -> Option<String> {
    sense(unit, Kind::Unit).map(str::to_owned)
}

pub(super) fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

pub(super) fn is_unit(word: &str) -> bool {
    is(singular(word), Kind::Unit) || is(word, Kind::Unit)
}

pub(super) fn is_plain_unit(word: &str) -> bool {
    is(singular(word), Kind::Span) || is(word, Kind::Span)
}

pub(super) fn is_day(word: &str) -> bool {
    is(singular(word), Kind::Day) || is(word, Kind::Day)
}

pub(super) fn is_clock(word: &str) -> bool {
    let (digits, half) = split_half(word);
    let parts: Vec<&str> = digits.split(':').collect();
    parts
        .iter()
        .all(|part| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()))
        && (parts.len() == 2 || !half.is_empty() || parts.len() == 1)
        || is(word, Kind::Clock)
        || is_zone(word)
}

/// `Europe/Berlin`
fn is_zone(word: &str) -> bool {
    let region = word
        .split_once('/')
        .map(|(region, _)| region.to_lowercase());
    region.is_some_and(|region| is(&region, Kind::Region))
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
    number(word).is_some() || is(word, Kind::Count)
}

pub(super) fn number(word: &str) -> Option<u32> {
    let digits = sense(word, Kind::Number).unwrap_or(word);
    // Zero counts nothing.
    digits.parse::<u32>().ok().filter(|number| *number > 0)
}

/// `72h`, `14d`: a number and its unit in one word.
pub(super) fn is_span(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && is(unit, Kind::Suffix)
}
