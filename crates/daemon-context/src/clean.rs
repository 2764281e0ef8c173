//! Untrusted text: removal of hidden characters, and quoting as a JSON string.

/// Whether a character is removed from untrusted text: control characters except newline and tab, and characters that
/// change the direction of text, have no width or hide text from a reader.
pub const fn is_removed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Bidirectional marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Zero-width spaces, joiners and invisible operators.
        '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => true,
        // Tag characters spell text that is not displayed.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Text without hidden characters.
#[derive(Debug, Default)]
pub(crate) struct Cleaned {
    pub(crate) text: String,
    /// The number of removed characters.
    pub(crate) n_removed: u64,
}

/// Removes hidden characters from plain text.
pub(crate) fn text(source: &str) -> Cleaned {
    let mut acc = Cleaned {
        text: String::with_capacity(source.len()),
        n_removed: 0,
    };
    for c in source.chars() {
        acc.push(c, c.encode_utf8(&mut [0; 4]));
    }
    acc
}

/// Removes hidden characters from JSON, including those written as escapes.
pub(crate) fn json(source: &str) -> Cleaned {
    let mut acc = Cleaned {
        text: String::with_capacity(source.len()),
        n_removed: 0,
    };
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let (meaning, length) = if c == '\\' {
            escape(rest)
        } else {
            (Some(c), c.len_utf8())
        };
        let (spelling, behind) = rest.split_at(length);
        match meaning {
            Some(meaning) => acc.push(meaning, spelling),
            None => acc.text.push_str(spelling),
        }
        rest = behind;
    }
    acc
}

impl Cleaned {
    fn push(&mut self, meaning: char, spelling: &str) {
        if is_removed(meaning) {
            self.n_removed += 1;
        } else {
            self.text.push_str(spelling);
        }
    }
}

/// Reads the escape at the start of `text`. Returns the character it denotes, if any, and its length.
fn escape(text: &str) -> (Option<char>, usize) {
    match text.as_bytes().get(1) {
        Some(b'u') => {}
        Some(b'b') => return (Some('\u{8}'), 2),
        Some(b'f') => return (Some('\u{c}'), 2),
        Some(b'r') => return (Some('\r'), 2),
        Some(byte) if byte.is_ascii() => return (None, 2),
        _ => return (None, 1),
    }
    let Some(high) = unit(text) else {
        return (None, 2);
    };
    // A lone surrogate denotes no character and is kept: the result has to stay valid JSON.
    if let Some(c) = char::from_u32(high) {
        return (Some(c), 6);
    }
    let pair = text
        .get(6..)
        .filter(|rest| rest.starts_with("\\u"))
        .and_then(unit);
    let c = pair.and_then(|low| {
        let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
        let code = is_pair.then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?;
        char::from_u32(code)
    });
    if c.is_some() { (c, 12) } else { (None, 6) }
}

/// Reads the four digits of a `\u` escape.
fn unit(text: &str) -> Option<u32> {
    let digits = text.get(2..6)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// A JSON string of limited size.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub(crate) json: String,
    /// How many bytes of the text it contains.
    pub(crate) n_taken: usize,
}

/// Writes cleaned text as a JSON string of at most `limit` bytes, cut between characters.
pub(crate) fn quote(text: &str, limit: usize) -> Quoted {
    let mut acc = Quoted {
        json: String::from("\""),
        n_taken: 0,
    };
    let mut buffer = [0; 4];
    for c in text.chars() {
        let spelling: &str = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\t' => "\\t",
            '\r' => "\\r",
            // Some readers take these separators for line ends.
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            c => c.encode_utf8(&mut buffer),
        };
        if acc.json.len() + spelling.len() + 1 > limit {
            break;
        }
        acc.json.push_str(spelling);
        acc.n_taken += c.len_utf8();
    }
    acc.json.push('"');
    acc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn removed_characters_are_shown_by_their_codes_elsewhere() {
        for c in ('\0'..=char::MAX).filter(|c| is_removed(*c)) {
            assert!(
                c.is_control() || daemon_validate::is_unseen(c),
                "U+{:04X}",
                u32::from(c)
            );
        }
    }

    #[test]
    fn hidden_characters_are_removed_and_counted() {
        for (source, expected, n_removed) in [
            ("plain\n\ttext é 🐞", "plain\n\ttext é 🐞", 0),
            ("a\u{1b}[31mb\r\n\0", "a[31mb\n", 3),
            ("c1\u{85}\u{9b}\u{7f}", "c1", 3),
            (
                "\u{202e}evil\u{202c} \u{2066}x\u{2069} \u{61c}\u{200f}",
                "evil x ",
                6,
            ),
            ("z\u{200b}w\u{200d}\u{feff}\u{2060}", "zw", 4),
            ("\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "", 4),
        ] {
            let cleaned = text(source);
            assert_eq!(
                (cleaned.text.as_str(), cleaned.n_removed),
                (expected, n_removed)
            );
        }
    }

    #[test]
    fn escapes_in_json_are_removed_like_the_characters_they_denote() {
        for (source, expected, n_removed) in [
            (r#"{"a":"b\nc\t\"\\"}"#, r#"{"a":"b\nc\t\"\\"}"#, 0),
            (r#""\u202eevil\u202C""#, r#""evil""#, 2),
            (r#""\\u202e""#, r#""\\u202e""#, 0),
            (r#""\udb40\udc41\ud83d\udc1e""#, r#""\ud83d\udc1e""#, 1),
            (r#""\r\b\f\u0000\u001B[0m""#, r#""[0m""#, 5),
            (r#""\ud83d lone \udc1e""#, r#""\ud83d lone \udc1e""#, 0),
            (r#""\u12"#, r#""\u12"#, 0),
            ("\\", "\\", 0),
            ("\\é\u{200b}", "\\é", 1),
        ] {
            let cleaned = json(source);
            assert_eq!(
                (cleaned.text.as_str(), cleaned.n_removed),
                (expected, n_removed),
                "{source}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_one_line_of_json_within_its_limit(source in any::<String>(), limit in 2..60_usize) {
            let cleaned = text(&source);
            prop_assert!(!cleaned.text.chars().any(is_removed));
            let quoted = quote(&cleaned.text, limit);
            prop_assert!(quoted.json.len() <= limit && !quoted.json.contains('\n'));
            let decoded: String = serde_json::from_str(&quoted.json).unwrap();
            prop_assert_eq!(decoded.as_str(), &cleaned.text[..quoted.n_taken]);
            let whole = quote(&cleaned.text, usize::MAX);
            prop_assert_eq!(whole.n_taken, cleaned.text.len());
        }

        #[test]
        fn cleaned_json_is_valid_json_without_hidden_characters(source in any::<String>()) {
            let body = serde_json::to_string(&source).unwrap();
            let cleaned = json(&body);
            let decoded: String = serde_json::from_str(&cleaned.text).unwrap();
            prop_assert_eq!(decoded, text(&source).text);
        }
    }
}
