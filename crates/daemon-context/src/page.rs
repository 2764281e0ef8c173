//! A section while it is written: lines within a bound, and fences.

use std::fmt::Write as _;

use crate::clean;

/// Kept free for the line that says how much was left out.
const RESERVE: usize = 160;

/// One section being written.
#[derive(Debug)]
pub(crate) struct Page<'b> {
    text: String,
    limit: usize,
    boundary: &'b str,
    n_fences: usize,
    n_removed: u64,
}

/// Whether a piece found room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Taken,
    Full,
}

impl<'b> Page<'b> {
    pub(crate) fn new(heading: &str, limit: usize, boundary: &'b str) -> Self {
        let text = format!("# {heading}\n\n");
        Self {
            text,
            limit,
            boundary,
            n_fences: 0,
            n_removed: 0,
        }
    }

    /// Writes a line of the runtime's own, whatever the bound.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line if it fits.
    pub(crate) fn try_line(&mut self, line: &str) -> Room {
        if line.len() + 1 > self.room() {
            return Room::Full;
        }
        self.line(line);
        Room::Taken
    }

    /// Writes lines until one does not fit, then says how many are missing.
    pub(crate) fn lines(&mut self, what: &str, lines: impl ExactSizeIterator<Item = String>) {
        let mut left = lines.len();
        for line in lines {
            if self.try_line(&line) == Room::Full {
                self.line(&format!("({left} more {what} are not shown)"));
                return;
            }
            left -= 1;
        }
    }

    /// Returns the bytes free for more lines.
    pub(crate) const fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len() + RESERVE)
    }

    /// Returns the bytes free for a fence's content.
    pub(crate) fn fence_room(&self, name: &str) -> usize {
        self.room()
            .saturating_sub(self.opening(name).len() + self.closing(name).len())
    }

    /// Writes untrusted text between lines that bear the boundary; each entry is a JSON string.
    pub(crate) fn fence(&mut self, name: &str, entries: &[String]) {
        self.text.push_str(&self.opening(name));
        for entry in entries {
            self.text.push_str(entry);
            self.text.push('\n');
        }
        self.text.push_str(&self.closing(name));
        self.n_fences += 1;
    }

    /// Cleans text from outside and writes it as a JSON string of at most `limit` bytes, which says
    /// itself how much of it is missing.
    pub(crate) fn quote(&mut self, text: &str, limit: usize) -> String {
        const NOTE: usize = 40;
        let cleaned = clean::text(text);
        self.n_removed += cleaned.n_removed;
        let whole = clean::quote(&cleaned.text, limit);
        if whole.n_taken == cleaned.text.len() {
            return whole.json;
        }
        let mut json = clean::quote(&cleaned.text, limit.saturating_sub(NOTE)).json;
        let n_cut = cleaned.text.len() - whole.n_taken;
        json.truncate(json.len() - 1);
        write!(json, " … (over {n_cut} bytes more)\"").expect("writing to a string does not fail");
        json
    }

    pub(crate) const fn removed(&mut self, n_removed: u64) {
        self.n_removed += n_removed;
    }

    pub(crate) fn finish(mut self) -> Written {
        self.text.push('\n');
        Written {
            text: self.text,
            n_fences: self.n_fences,
            n_removed: self.n_removed,
        }
    }

    fn opening(&self, name: &str) -> String {
        format!("<<data {name} {}\n", self.boundary)
    }

    fn closing(&self, name: &str) -> String {
        format!("data {name} {}>>\n", self.boundary)
    }
}

/// A section as written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) n_fences: usize,
    pub(crate) n_removed: u64,
}
