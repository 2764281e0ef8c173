//! Redaction of text that arrives in pieces.

use super::{REDACTED, Redactor};

/// Bytes that are held back beyond the span of a secret, so that an escape is never read from its middle.
const MARGIN: usize = 64;

/// Removes secrets from text that arrives in pieces, independent of where the pieces are cut.
///
/// It holds back text that may be a part of a secret: about 32 KiB, or more for longer known secrets.
///
/// ```
/// use daemon_provider::redact::Redactor;
///
/// let mut stream = Redactor::of(["correct horse".to_owned()]).stream();
/// let shown = [stream.push("the key is correct"), stream.push(" horse."), stream.finish()];
/// assert_eq!(shown.concat(), "the key is <redacted>.");
/// ```
#[derive(Debug, Clone)]
pub struct Stream {
    redactor: Redactor,
    /// The context that is kept, then the text that is not decided yet.
    text: String,
    n_decided: usize,
    /// Whether the last decided byte belongs to a secret, for which a mark was written.
    is_inside: bool,
}

impl Stream {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            text: String::new(),
            n_decided: 0,
            is_inside: false,
        }
    }

    /// Adds a piece and returns the text that is decided.
    pub fn push(&mut self, piece: &str) -> String {
        self.text.push_str(piece);
        let reach = self.redactor.reach();
        // Looking again at each piece would cost the square of a long text.
        if self.text.len() - self.n_decided < 2 * reach {
            return String::new();
        }
        let decided = self.decide(border(&self.text, self.text.len() - reach));
        let kept = border(&self.text, self.n_decided.saturating_sub(reach + MARGIN));
        let kept = outside_escapes(&self.text, kept);
        self.text.drain(..kept);
        self.n_decided -= kept;
        decided
    }

    /// Ends the text and returns the rest of it.
    pub fn finish(mut self) -> String {
        self.decide(self.text.len())
    }

    /// Redacts and returns the text up to `end`.
    fn decide(&mut self, end: usize) -> String {
        let mut acc = String::new();
        let mut at = self.n_decided;
        for place in self.redactor.covered(&self.text) {
            let (start, stop) = (place.start.max(at), place.end.min(end));
            if start >= stop {
                continue;
            }
            if start > at {
                acc.push_str(self.text.get(at..start).unwrap_or_default());
                self.is_inside = false;
            }
            if !self.is_inside {
                acc.push_str(REDACTED);
            }
            self.is_inside = true;
            at = stop;
        }
        if at < end {
            acc.push_str(self.text.get(at..end).unwrap_or_default());
            self.is_inside = false;
        }
        self.n_decided = end.max(self.n_decided);
        acc
    }
}

/// Returns the border of a character at or before a byte.
pub(super) fn border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Moves a position back over preceding backslashes: an escape that is cut between them reads differently.
fn outside_escapes(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.trim_end_matches('\\').len()
}
