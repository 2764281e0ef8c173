//! Writes one section: lines within a size limit, and fences around untrusted text.

use std::fmt::Write as _;

use crate::clean;

/// Bytes reserved for the line that counts what was left out.
const RESERVE: usize = 160;

/// A section being written.
#[derive(Debug)]
pub(crate) struct SectionWriter<'b> {
    text: String,
    limit: usize,
    boundary: &'b str,
    n_fences: usize,
    n_removed: u64,
}

/// Whether a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Written,
    Full,
}

impl<'b> SectionWriter<'b> {
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

    /// Writes a line of the runtime's own, regardless of the limit.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line if it fits.
    pub(crate) fn try_line(&mut self, line: &str) -> Fit {
        if line.len() + 1 > self.room() {
            return Fit::Full;
        }
        self.line(line);
        Fit::Written
    }

    /// Writes lines until one does not fit, then a line with the number of the missing ones.
    pub(crate) fn lines(&mut self, what: &str, lines: impl ExactSizeIterator<Item = String>) {
        let mut left = lines.len();
        for line in lines {
            if self.try_line(&line) == Fit::Full {
                self.line(&format!("({left} more {what} are not shown)"));
                return;
            }
            left -= 1;
        }
    }

    /// Returns the number of bytes left for lines.
    pub(crate) const fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len() + RESERVE)
    }

    /// Returns the number of bytes left for the content of a fence.
    pub(crate) fn fence_room(&self, name: &str) -> usize {
        let lines = self.opening("data", name).len() + self.closing("data", name).len();
        self.room().saturating_sub(lines)
    }

    /// Writes untrusted text between two lines with the boundary; each entry is a JSON string.
    pub(crate) fn fence(&mut self, name: &str, entries: &[String]) {
        self.text.push_str(&self.opening("data", name));
        for entry in entries {
            self.text.push_str(entry);
            self.text.push('\n');
        }
        self.text.push_str(&self.closing("data", name));
        self.n_fences += 1;
    }

    /// Writes the text of a file between two lines with the boundary, unescaped.
    pub(crate) fn file(&mut self, name: &str, text: &str) {
        self.text.push_str(&self.opening("file", name));
        self.line(text);
        self.text.push_str(&self.closing("file", name));
        self.n_fences += 1;
    }

    /// Cleans untrusted text and writes it as a JSON string of at most `limit` bytes. A cut string ends with a note of
    /// how many bytes are missing.
    pub(crate) fn quote(&mut self, text: &str, limit: usize) -> String {
        const NOTE: usize = 40;
        let cleaned = clean::text(text);
        self.n_removed += cleaned.n_removed;
        let whole = clean::quote(&cleaned.text, limit);
        if whole.n_taken == cleaned.text.len() {
            return whole.json;
        }
        // The note has to fit too, so the text is cut again, a little shorter.
        let mut json = clean::quote(&cleaned.text, limit.saturating_sub(NOTE)).json;
        let n_cut = cleaned.text.len() - whole.n_taken;
        json.truncate(json.len() - 1);
        write!(json, " … (over {n_cut} bytes more)\"").expect("writing to a string does not fail");
        json
    }

    /// Counts hidden characters that were removed elsewhere.
    pub(crate) const fn removed(&mut self, n_removed: u64) {
        self.n_removed += n_removed;
    }

    pub(crate) fn finish(mut self) -> RenderedSection {
        self.text.push('\n');
        RenderedSection {
            text: self.text,
            n_fences: self.n_fences,
            n_removed: self.n_removed,
        }
    }

    fn opening(&self, kind: &str, name: &str) -> String {
        format!("<<{kind} {name} {}\n", self.boundary)
    }

    fn closing(&self, kind: &str, name: &str) -> String {
        format!("{kind} {name} {}>>\n", self.boundary)
    }
}

/// A finished section.
#[derive(Debug)]
pub(crate) struct RenderedSection {
    pub(crate) text: String,
    pub(crate) n_fences: usize,
    pub(crate) n_removed: u64,
}
