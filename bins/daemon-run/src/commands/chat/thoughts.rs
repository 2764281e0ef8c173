//! The thoughts of a model, which come in pieces, as lines.

/// The characters after which a line is shown that has not ended.
const LONG: usize = 200;

/// The thoughts that are not shown yet.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    begun: String,
}

impl Thoughts {
    /// Adds a piece, and returns the lines that are complete.
    pub(super) fn add(&mut self, piece: &str) -> Vec<String> {
        self.begun.push_str(piece);
        let mut lines = Vec::new();
        while let Some(end) = self.end() {
            let rest = self.begun.split_off(end);
            lines.push(std::mem::replace(&mut self.begun, rest));
        }
        filled(lines)
    }

    /// Returns the line that was begun.
    pub(super) fn finish(&mut self) -> Vec<String> {
        filled(vec![std::mem::take(&mut self.begun)])
    }

    /// Finds the end of the first line: behind its line feed, or where it is long behind a space.
    fn end(&self) -> Option<usize> {
        let line_feed = self.begun.find('\n').map(|at| at + 1);
        line_feed.or_else(|| {
            let (at, _) = self.begun.char_indices().nth(LONG)?;
            let space = self.begun[..at].rfind(' ');
            Some(space.map_or(at, |space| space + 1))
        })
    }
}

/// Removes the ends of lines, and lines without text.
fn filled(lines: Vec<String>) -> Vec<String> {
    let lines = lines.iter().map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_lines_and_long_ones_are_divided_at_a_space() {
        let mut thoughts = Thoughts::default();
        assert_eq!(thoughts.add("First, the "), [""; 0]);
        assert_eq!(
            thoughts.add("index.\n\n  Then\nthe rest"),
            ["First, the index.", "  Then"]
        );
        assert_eq!(thoughts.finish(), ["the rest"]);
        assert_eq!(thoughts.finish(), [""; 0]);
        let word = "é".repeat(150);
        assert_eq!(thoughts.add(&format!("{word} {word}")), [word.as_str()]);
        assert_eq!(thoughts.finish(), [word.as_str()]);
        let long = thoughts.add(&"x".repeat(450));
        let lengths: Vec<_> = long.iter().map(String::len).collect();
        assert_eq!(
            (lengths, thoughts.finish()),
            (vec![200, 200], vec!["x".repeat(50)])
        );
    }
}
