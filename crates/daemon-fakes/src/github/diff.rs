//! The changed files of a pull request, and which lines of them a review can name.

/// A changed file of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubFile {
    /// The path.
    pub path: String,
    /// `added`, `modified` or `removed`.
    pub status: String,
    /// The hunks of a unified diff, from the first `@@`.
    pub patch: String,
}

/// A line of a diff: its hunk, and its numbers before and after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DiffLine {
    hunk: usize,
    left: Option<u64>,
    right: Option<u64>,
}

/// Where a review comment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffPlace {
    /// The path of the file.
    pub path: String,
    /// The line, or the last of several.
    pub line: u64,
    /// `RIGHT` for the file after the change, `LEFT` for the one before.
    pub side: String,
    /// The first of several lines, and its side.
    pub start: Option<(u64, String)>,
}

impl GithubFile {
    /// Returns the numbers of added and removed lines.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let starting = |sign| {
            self.patch
                .lines()
                .filter(|line| line.starts_with(sign))
                .count()
        };
        (starting('+'), starting('-'))
    }

    fn lines(&self) -> Vec<DiffLine> {
        let mut acc = Vec::new();
        let (mut hunk, mut left, mut right) = (0, 0, 0);
        for text in self.patch.lines() {
            if let Some((begin_left, begin_right)) = hunk_header(text) {
                (hunk, left, right) = (hunk + 1, begin_left, begin_right);
                continue;
            }
            let (is_left, is_right) = match text.as_bytes().first() {
                Some(b'+') => (false, true),
                Some(b'-') => (true, false),
                Some(b'\\') => continue,
                _ => (true, true),
            };
            acc.push(DiffLine {
                hunk,
                left: is_left.then_some(left),
                right: is_right.then_some(right),
            });
            left += u64::from(is_left);
            right += u64::from(is_right);
        }
        acc
    }

    /// Returns the hunk that has this line.
    fn hunk_of(&self, line: u64, side: &str) -> Option<usize> {
        let lines = self.lines().into_iter();
        let number = |it: &DiffLine| if side == "LEFT" { it.left } else { it.right };
        lines
            .filter(|it| number(it) == Some(line))
            .map(|it| it.hunk)
            .next()
    }

    /// Returns whether a comment can be at this place: on lines of one hunk, the first before the last.
    pub(crate) fn has(&self, place: &DiffPlace) -> bool {
        let Some(hunk) = self.hunk_of(place.line, &place.side) else {
            return false;
        };
        place.start.as_ref().is_none_or(|(line, side)| {
            let is_before = *line < place.line || *side != place.side;
            is_before && self.hunk_of(*line, side) == Some(hunk)
        })
    }
}

/// Reads the first lines of `@@ -3,4 +5,6 @@`.
fn hunk_header(text: &str) -> Option<(u64, u64)> {
    let mut words = text.strip_prefix("@@ -")?.split(' ');
    let number = |word: &str| word.split(',').next()?.parse().ok();
    let left = number(words.next()?)?;
    Some((left, number(words.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_on_lines_of_one_hunk() {
        let file = GithubFile {
            path: "a.md".to_owned(),
            status: "modified".to_owned(),
            patch: "@@ -1,3 +1,3 @@ title\n one\n-two\n+2\n three\n\\ No newline\n@@ -10 +10,2 @@\n ten\n+11".to_owned(),
        };
        assert_eq!(file.counts(), (2, 1));
        let rows = [
            (1, "RIGHT", None, true),
            (2, "RIGHT", None, true),
            (2, "LEFT", None, true),
            (4, "RIGHT", None, false),
            (11, "RIGHT", None, true),
            (11, "LEFT", None, false),
            (3, "RIGHT", Some((1, "RIGHT")), true),
            (2, "RIGHT", Some((2, "LEFT")), true),
            (2, "RIGHT", Some((2, "RIGHT")), false),
            (1, "RIGHT", Some((3, "RIGHT")), false),
            (11, "RIGHT", Some((1, "RIGHT")), false),
            (11, "RIGHT", Some((7, "RIGHT")), false),
        ];
        for (line, side, start, expected) in rows {
            let place = DiffPlace {
                path: "a.md".to_owned(),
                line,
                side: side.to_owned(),
                start: start.map(|(line, side): (u64, &str)| (line, side.to_owned())),
            };
            assert_eq!(file.has(&place), expected, "{place:?}");
        }
    }
}
