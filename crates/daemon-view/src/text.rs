//! Formats strings of untrusted users, numbers and instants for pages.

use std::fmt::Write as _;

use daemon_validate::{is_unseen, push_code};
use jiff::Timestamp;
use serde_json::Value;

/// Replaces control characters, direction marks and characters without width by their codes.
///
/// Line ends and tabs are kept, and so are the joiners that some scripts and emoji need.
pub fn visible(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{200c}' | '\u{200d}' => acc.push(c),
            '\n' | '\t' => acc.push(c),
            c if c.is_control() || is_unseen(c) => push_code(&mut acc, c),
            c => acc.push(c),
        }
    }
    acc
}

/// Shortens a string to one line of at most `most` characters, with hidden characters made visible.
pub fn short(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut head: String = chars
        .by_ref()
        .take(most)
        .map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c })
        .collect();
    if chars.next().is_some() {
        head.push('…');
    }
    visible(&head)
}

/// Shortens an id to its first and last characters.
///
/// The first ones of a time-ordered id say when it was made, and its last ones are random: ids of one page differ in them.
pub fn short_id(id: &str) -> String {
    let chars: Vec<char> = id.chars().collect();
    match chars.len() {
        0..=14 => visible(id),
        n => {
            let (head, tail): (String, String) =
                (chars[..5].iter().collect(), chars[n - 6..].iter().collect());
            visible(&format!("{head}…{tail}"))
        }
    }
}

/// Formats a JSON value for people.
pub fn shown(value: &Value, most: usize) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => short(text, most),
        Value::Array(values) if values.is_empty() => "–".to_owned(),
        Value::Array(values) => {
            let all: Vec<String> = values
                .iter()
                .take(20)
                .map(|value| shown(value, most))
                .collect();
            all.join(", ")
        }
        other => short(&other.to_string(), most),
    }
}

/// Formats an instant to the second, in UTC as on all pages.
pub fn moment(text: &str) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => short(text, 40),
    }
}

/// Formats a duration in seconds.
pub fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = whole(seconds);
    match (whole / 3_600, whole % 3_600 / 60, whole % 60) {
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Returns the whole seconds of a duration.
pub fn whole(seconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration is not negative, and none takes 2^64 seconds"
    )]
    let whole = seconds as u64;
    whole
}

/// Formats how long ago something was.
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Formats a number with separators between thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut acc = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            acc.push(',');
        }
        acc.push(digit);
    }
    acc
}

/// Formats an amount of US dollars.
pub fn usd(usd: f64) -> String {
    let exact = format!("{usd:.4}");
    // At least two decimals, as amounts of money have.
    let short = exact.trim_end_matches('0');
    let kept = short.len().max(exact.len() - 2);
    format!("{} USD", &exact[..kept])
}

/// Percent-encodes a string as part of a URL.
pub fn encoded(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                acc.push(char::from(byte));
            }
            byte => write!(acc, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::{ago, encoded, grouped, moment, seconds, short, usd, visible};

    #[test]
    fn control_and_hidden_characters_are_shown_by_their_codes() {
        for (text, seen) in [
            ("plain — ünï\n\tcode", "plain — ünï\n\tcode"),
            ("\u{1b}[31mred\u{1b}[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"),
            (
                "a\r\nb\0\u{7f}\u{9b}",
                "a⟨U+000D⟩\nb⟨U+0000⟩⟨U+007F⟩⟨U+009B⟩",
            ),
            ("\u{202e}evil\u{2069}", "⟨U+202E⟩evil⟨U+2069⟩"),
            ("z\u{200b}w\u{feff}\u{e0041}", "z⟨U+200B⟩w⟨U+FEFF⟩⟨U+E0041⟩"),
            ("a\u{2028}b\u{ad}c", "a⟨U+2028⟩b⟨U+00AD⟩c"),
            (
                "👩\u{200d}💻 می\u{200c}خواهم",
                "👩\u{200d}💻 می\u{200c}خواهم",
            ),
            ("<b>&\"'", "<b>&\"'"),
        ] {
            assert_eq!(visible(text), seen);
        }
        assert_eq!(short("a\nb\u{1b}cdef", 4), "a b⟨U+001B⟩…");
    }

    #[test]
    fn numbers_and_instants_are_formatted_for_people() {
        let spans = [0.04, 59.94, 60.0, 3_599.9, 3_600.0, 7_265.0].map(seconds);
        assert_eq!(
            spans,
            [
                "0.0 s",
                "59.9 s",
                "1 min",
                "59 min 59 s",
                "1 h",
                "2 h 1 min"
            ]
        );
        let ages = [0, 59, 60, 3_599, 3_600, 172_799, 172_800].map(ago);
        assert_eq!(
            ages,
            ["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d"]
        );
        let numbers = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            moment("2026-01-02T03:04:05.678Z"),
            "2026-01-02 03:04:05 UTC"
        );
        assert_eq!(moment("\u{202e}soon"), "⟨U+202E⟩soon");
        assert_eq!(encoded("a/b?c=d&é \"'"), "a%2Fb%3Fc%3Dd%26%C3%A9%20%22%27");
    }

    #[test]
    fn money_has_two_decimals_and_more_if_they_are_not_zero() {
        let written = [0.0, 1.0, 0.5, 0.0123, 10.12, 0.000_04].map(usd);
        assert_eq!(
            written,
            [
                "0.00 USD",
                "1.00 USD",
                "0.50 USD",
                "0.0123 USD",
                "10.12 USD",
                "0.00 USD"
            ]
        );
    }
}
