//! Redaction of successive strings, each of which is returned at once.

use std::collections::VecDeque;
use std::ops::Range;

use daemon_validate::{MAX_KEY_BYTES, ends_in_key_beginning, is_base64, open_key};

use super::stream::border;
use super::{Redactor, Seen, merged, views, written};

/// The shortest beginning of a secret, in bytes, that is removed at the end of a string. Shorter ones also end ordinary words.
const SHORTEST_HEAD: usize = 8;
/// The most bytes kept of a last word that contains the beginning of a token.
const MAX_WORD: usize = 256;
/// The bytes kept of any other last word: it may end with a part of such a beginning, also in base64.
const MAX_BEGINNING: usize = 40;
/// The most bytes of a string that are searched for the rest of a token from an earlier string.
const MAX_TOKEN: usize = 8 * 1024;
/// The number of newest strings from whose beginning a token is searched.
const MAX_EDGES: usize = 4;

/// Removes secrets from successive strings, including secrets that are split between two of them.
///
/// Unlike [`Stream`](super::Stream) it holds nothing back: each string is returned at once, so that a quiet run can be watched. If a
/// secret is split, the first string shows at most 7 bytes of it, and the next one nothing. A private key ends with its last
/// line; in base64 it also ends with the first string that contains other characters, and after 16 KiB at the latest.
///
/// ```
/// use daemon_provider::redact::Redactor;
///
/// let mut texts = Redactor::of(["correct horse".to_owned()]).sequence();
/// assert_eq!(texts.push("the key is correct h"), "the key is <redacted>");
/// assert_eq!(texts.push("orse."), "<redacted>.");
/// ```
#[derive(Debug, Clone)]
pub struct Sequence {
    redactor: Redactor,
    /// The end of the strings so far, from where a secret may have begun.
    before: String,
    /// The starts of the newest strings in it.
    edges: VecDeque<usize>,
    /// The start of an unfinished private key in base64 in it.
    open_key: Option<usize>,
    /// Whether it ends with a long beginning of a known secret.
    has_head: bool,
}

impl Sequence {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            before: String::new(),
            edges: VecDeque::new(),
            open_key: None,
            has_head: false,
        }
    }

    /// Returns the next string without secrets.
    pub fn push(&mut self, text: &str) -> String {
        match text.split_at(self.indentation(text)) {
            ("", text) => self.push_joined(text),
            (indentation, rest) => format!("{indentation}{}", self.push_joined(rest)),
        }
    }

    /// Returns the number of leading blanks of a string that only indent a line of base64 begun in an earlier string.
    fn indentation(&self, text: &str) -> usize {
        let rest = text.trim_start_matches([' ', '\t']);
        let n_blank = text.len() - rest.len();
        if n_blank == 0
            || !self
                .before
                .as_bytes()
                .last()
                .is_some_and(|byte| is_base64(*byte))
        {
            return 0;
        }
        let n_before = self.before.len();
        let crosses = |joined: &str| {
            let seen = self.redactor.known_in(joined, 1);
            let ends = seen.covered.iter();
            ends.map(|place| (place.start, place.end))
                .chain(seen.heads.any.map(|head| (head, joined.len())))
                .any(|(start, end)| start < n_before && end > n_before)
        };
        let goes_on = (self.has_head && crosses(&[&self.before, rest].concat()))
            || daemon_validate::may_begin_secret(&self.before);
        // Another secret may continue, or begin, with the blanks.
        let is_secret = || {
            let own = self.redactor.known_in(text, 1).covered;
            crosses(&[&self.before, text].concat()) || own.iter().any(|place| place.start < n_blank)
        };
        if goes_on && !is_secret() { n_blank } else { 0 }
    }

    fn push_joined(&mut self, text: &str) -> String {
        let n_before = self.before.len();
        let mut covered = daemon_validate::secret_ranges(text);
        self.before.push_str(text);
        let mut seen = Seen::default();
        let mut is_split = false;
        if let Some(known) = &self.redactor.known {
            views::each(&self.before, |view| {
                seen.see(known, view, SHORTEST_HEAD);
                is_split |= !view.has_border(n_before);
            });
        }
        if is_split {
            // Bytes on both sides of the edge look like one escape, which may be a coincidence.
            covered.extend(self.redactor.known_in(text, SHORTEST_HEAD).covered);
        }
        let tokens: Vec<Range<usize>> = self.tokens(n_before).collect();
        let own = covered
            .iter()
            .map(|place| place.start + n_before..place.end + n_before);
        self.open_key = self.open_key_among(own.chain(tokens.iter().cloned()));
        let joined = seen.covered.into_iter().chain(tokens);
        let joined = joined.chain(seen.heads.long.map(|head| head..self.before.len()));
        covered.extend(
            joined
                .filter(|place| place.end > n_before)
                .map(|place| place.start.saturating_sub(n_before)..place.end - n_before),
        );
        // The last bits of a line may belong to a byte that the next one completes.
        let open_key = self.open_key.filter(|_| !text.is_empty());
        covered.extend(open_key.map(|start| start.saturating_sub(n_before)..text.len()));
        self.edges.push_back(n_before);
        self.has_head = seen.heads.long.is_some();
        self.forget(seen.heads.any);
        written(text, merged(covered)).into_owned()
    }

    /// Returns the start of the first private key in base64 that continues after the strings so far.
    fn open_key_among(&self, tokens: impl Iterator<Item = Range<usize>>) -> Option<usize> {
        // A line break, or the first bits of a byte, may follow it.
        let end = self.before.trim_end_matches(['\n', '\r']).len();
        let last = tokens.filter(|place| place.end + 1 >= end);
        let is_open = |start: &usize| {
            let key = self.before.get(*start..);
            key.is_some_and(daemon_validate::is_open_key_in_base64)
        };
        last.map(|place| place.start).filter(is_open).min()
    }

    /// Finds tokens that cross the newest edge, including those that begin exactly at an older edge, where the joined text
    /// looks like the middle of a word.
    fn tokens(&self, edge: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (before, text) = self.before.split_at(edge);
        let is_key_open =
            self.open_key.is_some() || open_key(before).is_some() || ends_in_key_beginning(before);
        let most = border(
            text,
            text.len().min(if is_key_open {
                MAX_KEY_BYTES
            } else {
                MAX_TOKEN
            }),
        );
        let text = text.get(..most).unwrap_or_default();
        // Only private keys contain whitespace.
        let first_word = text.find(char::is_whitespace).filter(|_| !is_key_open);
        let end = edge + first_word.unwrap_or(text.len());
        let at_edges = self.edges.iter().filter(move |_| edge > 0);
        let at_edges = at_edges.filter_map(move |start| {
            let text = self.before.get(*start..end)?;
            Some(*start..start + daemon_validate::secret_at_start(text)?)
        });
        let joined = Some(self.before.get(..end).unwrap_or_default()).filter(|_| edge > 0);
        at_edges.chain(joined.into_iter().flat_map(daemon_validate::secret_ranges))
    }

    /// Drops everything that cannot be part of a secret cut off at the end; one of the known secrets starts at `head`.
    fn forget(&mut self, head: Option<usize>) {
        let text = self.before.as_str();
        let tail = border(text, text.len().saturating_sub(MAX_WORD));
        let last = text.get(tail..).unwrap_or_default();
        let mut word = last
            .rfind(char::is_whitespace)
            .map_or(tail, |at| tail + at + 1);
        let rest = text.get(word..).unwrap_or_default();
        if rest.len() > MAX_BEGINNING && !daemon_validate::may_begin_secret(rest) {
            word = border(text, text.len() - MAX_BEGINNING);
        }
        let kept = [head, Some(word), open_key(text), self.open_key];
        let mut kept = kept.into_iter().flatten().min().unwrap_or(text.len());
        while !text.is_char_boundary(kept) {
            kept -= 1;
        }
        self.before.drain(..kept);
        self.before.shrink_to(MAX_KEY_BYTES + 2 * MAX_TOKEN);
        while self.edges.len() > MAX_EDGES || self.edges.front().is_some_and(|edge| *edge < kept) {
            self.edges.pop_front();
        }
        for place in self.edges.iter_mut().chain(&mut self.open_key) {
            *place -= kept;
        }
    }
}
