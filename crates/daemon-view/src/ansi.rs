//! Colour codes of terminals: the text between them, with the class of its style.

use crate::text::visible;

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The CSS classes; empty for plain text.
    pub class: String,
    /// The text without hidden characters.
    pub text: String,
}

/// Returns a line without its colours.
pub fn plain(line: &str) -> String {
    let pieces = AnsiStyle::default().pieces(line).into_iter();
    pieces.map(|piece| piece.text).collect()
}

/// The style of a terminal, which lasts from line to line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsiStyle {
    /// A colour from 0 to 15.
    colour: Option<u8>,
    is_bold: bool,
    is_faint: bool,
}

impl AnsiStyle {
    /// Cuts a line where its style changes. Codes that move the cursor or erase are left out; all other hidden characters are
    /// shown by their codes.
    pub fn pieces(&mut self, line: &str) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            let (text, after) = match rest.find("\u{1b}[") {
                Some(at) => (&rest[..at], &rest[at..]),
                None => (rest, ""),
            };
            self.push(&mut pieces, text);
            rest = match code(after) {
                Some((parameters, last, after)) => {
                    if last == 'm' {
                        self.apply(parameters);
                    }
                    after
                }
                None => {
                    // The first character begins no whole code.
                    let n = after.chars().next().map_or(0, char::len_utf8);
                    self.push(&mut pieces, &after[..n]);
                    &after[n..]
                }
            };
        }
        pieces
    }

    fn push(self, pieces: &mut Vec<Piece>, text: &str) {
        if text.is_empty() {
            return;
        }
        let class = self.class();
        match pieces.last_mut().filter(|last| last.class == class) {
            Some(last) => last.text.push_str(&visible(text)),
            None => pieces.push(Piece {
                class,
                text: visible(text),
            }),
        }
    }

    fn class(self) -> String {
        let colour = self.colour.map(|colour| format!("c{colour}"));
        let bold = self.is_bold.then(|| "bold".to_owned());
        let faint = self.is_faint.then(|| "faint".to_owned());
        let all: Vec<String> = [colour, bold, faint].into_iter().flatten().collect();
        all.join(" ")
    }

    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters
            .split(';')
            .map(|number| number.parse::<u8>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                22 => (self.is_bold, self.is_faint) = (false, false),
                30..=37 => self.colour = Some(number - 30),
                90..=97 => self.colour = Some(number - 90 + 8),
                39 => self.colour = None,
                38 | 48 => {
                    let kind = numbers.next();
                    let first = numbers.next();
                    if kind == Some(2) {
                        // Any colour of a screen: it could not be read on both grounds.
                        numbers.nth(1);
                    } else if number == 38 {
                        self.colour = first.filter(|colour| *colour < 16);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Splits a code at the beginning of a string into its parameters and its last character, and returns what follows it.
fn code(text: &str) -> Option<(&str, char, &str)> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | ';' | '?' | ':'))?;
    let last = rest[end..]
        .chars()
        .next()
        .filter(|last| matches!(last, '@'..='~'))?;
    Some((&rest[..end], last, &rest[end + last.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use super::AnsiStyle;

    fn check(lines: &[&str], expected: &[&str]) {
        let mut style = AnsiStyle::default();
        let shown = lines.iter().map(|line| {
            let pieces = style.pieces(line).into_iter();
            let pieces = pieces.map(|piece| match piece.class.as_str() {
                "" => piece.text,
                class => format!("<{class}|{}>", piece.text),
            });
            pieces.collect::<String>()
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn colours_become_classes_and_last_until_they_are_reset() {
        check(&["\u{1b}[31mred\u{1b}[0m plain"], &["<c1|red> plain"]);
        check(
            &["\u{1b}[1;92mok", "still\u{1b}[m."],
            &["<c10 bold|ok>", "<c10 bold|still>."],
        );
        check(
            &["\u{1b}[38;5;4mx\u{1b}[38;2;1;2;3my\u{1b}[39mz"],
            &["<c4|xy>z"],
        );
        check(
            &["\u{1b}[2Ka\u{1b}[?25lb\u{1b}[2mc\u{1b}[22md"],
            &["ab<faint|c>d"],
        );
    }

    #[test]
    fn what_is_no_whole_code_stays_visible() {
        check(
            &["a\u{1b}[31", "\u{1b}]0;title\u{7}"],
            &["a⟨U+001B⟩[31", "⟨U+001B⟩]0;title⟨U+0007⟩"],
        );
        check(&["\u{1b}[3\u{202e}1m"], &["⟨U+001B⟩[3⟨U+202E⟩1m"]);
        check(&["<b>\u{1b}[31m<script>"], &["<b><c1|<script>>"]);
    }
}
