//! The type that YAML parsers give a value.

/// The type of a value in the front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// No value, `~` or `null`.
    Null,
    /// `true` or `false`, or one of the words that YAML 1.1 reads as such: `yes`, `no`, `on`, `off`.
    Boolean,
    /// An integer or a decimal number, `.inf` and `.nan` included.
    Number,
    /// A date such as `2026-01-31`.
    Date,
    /// A string.
    Text,
    /// A list.
    List,
    /// A mapping.
    Mapping,
    /// A value with a custom tag, such as `!include`.
    Tagged,
    /// A value that a syntax error hides. The error has its own diagnostic.
    Unreadable,
}

impl Shape {
    /// Returns the type with an article, for use in a sentence.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Date => "a date",
            Self::Text => "text",
            Self::List => "a list",
            Self::Mapping => "a mapping",
            Self::Tagged => "a tagged value",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Returns the type of an unquoted scalar.
///
/// A word is text only if YAML 1.1 and YAML 1.2 agree. A daemon file moves between runtimes, and `no`
/// is a boolean in YAML 1.1 and a string in YAML 1.2.
pub(crate) fn of_plain(text: &str) -> Shape {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Shape::Null,
        _ => {}
    }
    // No number or date begins with a letter, so the common case needs no further check.
    let first = text.as_bytes().first().copied().unwrap_or(b' ');
    if first.is_ascii_alphabetic() {
        return if is_boolean(text) {
            Shape::Boolean
        } else {
            Shape::Text
        };
    }
    if is_number(text) {
        Shape::Number
    } else if is_date(text) {
        Shape::Date
    } else {
        Shape::Text
    }
}

fn is_boolean(text: &str) -> bool {
    // YAML 1.1 knows three spellings of each word: lower case, upper case and capitalised.
    const WORDS: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];
    WORDS.iter().any(|word| {
        let (head, tail) = word.split_at(1);
        let is_capital = text
            .strip_prefix(&*head.to_ascii_uppercase())
            .is_some_and(|rest| rest == tail);
        text == *word || is_capital || text == word.to_ascii_uppercase()
    })
}

fn is_number(text: &str) -> bool {
    // YAML 1.1 also allows `_` between digits, so `1_000` is a number to some parsers.
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let is_radix = |prefix: &str, radix: u32| {
        unsigned.strip_prefix(prefix).is_some_and(|digits| {
            !digits.is_empty() && digits.chars().all(|c| c == '_' || c.is_digit(radix))
        })
    };
    is_radix("0x", 16) || is_radix("0o", 8) || is_radix("0b", 2) || is_decimal(unsigned)
}

fn is_decimal(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    is_exponent
        && has_digit
        && !mantissa.starts_with('_')
        && is_digits(whole)
        && is_digits(fraction)
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_day = bytes.len() >= 10
        && bytes
            .iter()
            .take(10)
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    let is_time = |rest: &[u8]| {
        matches!(rest.first(), Some(b'T' | b't' | b' '))
            && rest.get(1).is_some_and(u8::is_ascii_digit)
            && rest.iter().skip(1).all(|byte| {
                byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'Z' | b'+' | b'-' | b' ')
            })
    };
    is_day
        && bytes
            .get(10..)
            .is_some_and(|rest| rest.is_empty() || is_time(rest))
}
