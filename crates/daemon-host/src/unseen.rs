//! Characters that people do not see: they have no width, or turn the direction of the text around them.

use std::fmt::Write as _;

/// Reports whether a character that is no control has no width, hides text, or changes the direction of text.
pub fn is_unseen(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{2065}' | '\u{206a}'..='\u{206f}' => true,
        // Fillers are blank in every font, and variation selectors are not seen by themselves.
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0080}'..='\u{e0fff}' => true,
        c => !c.is_control() && daemon_context::is_removed(c),
    }
}

/// Shows what of a text would steer a terminal or not be seen; line ends and tabs stay.
pub fn visible(text: &str) -> String {
    shown(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Shows what of a text would not be seen, and leaves in it what colours it.
pub fn visible_styled(text: &str) -> String {
    shown(text, |c| {
        c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}')
    })
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

/// Appends what is shown in place of a character that would not be seen.
pub(crate) fn push_code(acc: &mut String, c: char) {
    write!(acc, "⟨U+{:04X}⟩", u32::from(c)).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::is_unseen;

    #[test]
    fn what_hides_is_known_from_what_is_read() {
        for c in "\u{202e}\u{2066}\u{200b}\u{200d}\u{200e}\u{feff}\u{ad}\u{e0041}\u{e0100}\u{2060}\u{61c}\u{3164}".chars() {
            assert!(is_unseen(c), "U+{:04X}", u32::from(c));
        }
        for c in "a \n\t\u{1b}é✓⟨中\u{fe0f}👩\u{a0}".chars() {
            assert!(!is_unseen(c), "U+{:04X}", u32::from(c));
        }
    }
}
