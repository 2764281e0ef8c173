//! Hidden characters, and the escapes that are shown in their place.

use std::fmt::Write as _;

use crate::rules::hidden_text::is_hidden;

/// Returns `true` if a character that is not a control has no width, hides text, or changes the
/// direction of text.
///
/// These are more characters than those that are an error in a daemon file ([`is_hidden`]). Fillers,
/// line separators and unassigned tags do no harm in a file, but mislead the reader of a path or a
/// message.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let is_more = matches!(
        c,
        '\u{34f}' | '\u{2028}' | '\u{2029}' | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    );
    is_more || is_hidden(c) && !c.is_control()
}

/// Escapes control and hidden characters. Line ends and tabs stay.
///
/// # Examples
///
/// ```
/// assert_eq!(daemon_validate::visible("a\u{202e}b\n"), "a⟨U+202E⟩b\n");
/// assert_eq!(daemon_validate::visible_line("a\u{202e}b\n"), "a⟨U+202E⟩b⟨U+000A⟩");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    shown(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Escapes control and hidden characters of a line, such as a path, including line ends and tabs.
#[must_use]
pub fn visible_line(text: &str) -> String {
    shown(text, char::is_control)
}

/// Escapes control and hidden characters except those of terminal colours. Line ends and tabs stay.
#[must_use]
pub fn visible_styled(text: &str) -> String {
    shown(text, |c| {
        c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}')
    })
}

/// Removes control and hidden characters. Line ends and tabs stay, and the joiners that some scripts and emoji need.
///
/// ```
/// assert_eq!(daemon_validate::without_unseen("a\u{202e}b\r\u{1b}[m\u{200d}c\n"), "ab[m\u{200d}c\n");
/// ```
#[must_use]
pub fn without_unseen(text: &str) -> String {
    let is_kept = |c: &char| match c {
        '\n' | '\t' | '\u{200c}' | '\u{200d}' => true,
        c => !c.is_control() && !is_unseen(*c),
    };
    text.chars().filter(is_kept).collect()
}

fn shown(text: &str, steers: impl Fn(char) -> bool) -> String {
    let mut acc = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) || is_unseen(c) {
            push_code(&mut acc, c);
        } else {
            acc.push(c);
        }
    }
    acc
}

/// Appends the escape of a character, such as `⟨U+202E⟩`.
pub fn push_code(acc: &mut String, c: char) {
    write!(acc, "⟨U+{:04X}⟩", u32::from(c)).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_distinguished_from_visible_ones() {
        let hidden = "\u{202e}\u{2066}\u{200b}\u{200d}\u{200e}\u{feff}\u{ad}\u{e0041}\u{e0100}\u{2060}\u{61c}\u{3164}\
                      \u{34f}\u{e0080}\u{e01f0}\u{2028}";
        for c in hidden.chars() {
            assert!(is_unseen(c), "U+{:04X}", u32::from(c));
        }
        for c in "a \n\t\u{1b}é✓⟨中\u{fe0f}👩\u{a0}".chars() {
            assert!(!is_unseen(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn every_character_that_is_an_error_in_a_file_is_escaped() {
        for c in ('\0'..=char::MAX).filter(|c| is_hidden(*c)) {
            let shown = format!("⟨U+{:04X}⟩", u32::from(c));
            assert_eq!(visible(&c.to_string()), shown);
        }
    }

    #[test]
    fn colours_stay_only_in_styled_text() {
        let text = "\u{1b}[31m\u{9b}a\tb\n\u{34f}";
        assert_eq!(visible_styled(text), "\u{1b}[31m⟨U+009B⟩a\tb\n⟨U+034F⟩");
        assert_eq!(visible(text), "⟨U+001B⟩[31m⟨U+009B⟩a\tb\n⟨U+034F⟩");
    }
}
