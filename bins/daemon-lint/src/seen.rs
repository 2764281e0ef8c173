//! Text that a terminal shows: hidden characters are written as their codes.

use std::fmt::Write as _;

use daemon_validate::is_hidden;

/// Shows what of a text would steer a terminal or not be seen; line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    shown(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Shows what of one line of text, such as a path, would steer a terminal, end the line or not be seen.
pub(crate) fn visible_line(text: &str) -> String {
    shown(text, char::is_control)
}

fn shown(text: &str, steers: impl Fn(char) -> bool) -> String {
    let mut acc = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) || is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            write!(acc, "⟨U+{:04X}⟩", u32::from(c)).expect("a string takes any text");
        } else {
            acc.push(c);
        }
    }
    acc
}
