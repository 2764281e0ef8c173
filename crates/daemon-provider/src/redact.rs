//! Taking secrets out of what is kept and told.

mod forms;
mod json;
mod names;
mod sequence;
mod stream;
mod views;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::Value;

pub use json::secrets_of_arguments;
pub use names::is_secret_name;
pub use sequence::Sequence;
pub use stream::Stream;

pub(crate) use json::{arguments, secret_arguments};

/// What stands where a secret was.
pub const REDACTED: &str = "<redacted>";

/// The fewest bytes of a secret that are searched for in a text; shorter ones are words and numbers that stand anywhere.
const SHORTEST: usize = 5;
/// The fewest bytes of a secret's beginning that are taken out at the end of a text that was cut.
const SHORTEST_HEAD: usize = 4;
/// How far a token or a private key that is known by its looks alone reaches.
const TOKEN_REACH: usize = 32 * 1024;
/// The most bytes one byte of a secret takes in a text: a JSON escape inside JSON inside JSON.
const WIDEST: usize = 12;

/// Takes known secrets, and what looks like a token, out of texts.
///
/// A secret is found as it is, in base64 at any alignment, percent-encoded and escaped as JSON, up to three levels deep; of a
/// secret of several lines each line is one too. A value of less than 5 bytes is not searched for.
///
/// ```
/// use daemon_provider::redact::Redactor;
///
/// let redactor = Redactor::of(["hunter2/hunter2".to_owned()]);
/// assert_eq!(redactor.text("key=hunter2/hunter2;"), "key=<redacted>;");
/// assert_eq!(redactor.text("key=hunter2%2Fhunter2;"), "key=<redacted>;");
/// assert_eq!(redactor.text("Basic dXNlcjpodW50ZXIyL2h1bnRlcjI="), "Basic dXNlcjp<redacted>I=");
/// ```
#[derive(Clone, Default)]
pub struct Redactor {
    known: Option<Arc<Known>>,
}

struct Known {
    patterns: Vec<Vec<u8>>,
    automaton: AhoCorasick,
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_patterns = self.known.as_ref().map_or(0, |known| known.patterns.len());
        write!(f, "Redactor({n_patterns} patterns)")
    }
}

impl Redactor {
    /// Knows these secrets.
    pub fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut patterns: Vec<Vec<u8>> = secrets
            .into_iter()
            .flat_map(|secret| forms::patterns(&secret))
            .collect();
        patterns.sort();
        patterns.dedup();
        if patterns.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::new(&patterns)
            .expect("secrets of a few kilobytes fit every limit of the automaton");
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let known = Known {
            patterns,
            automaton,
            longest,
        };
        Self {
            known: Some(Arc::new(known)),
        }
    }

    /// Takes the secrets out of a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        written(text, self.covered(text))
    }

    /// Takes the secrets out of a text whose end is missing: the beginning of one may stand there.
    pub fn cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut covered = self.covered(text);
        if let Some(head) = self.head_at_end(text, SHORTEST_HEAD) {
            covered.push(head..text.len());
            covered = merged(covered);
        }
        written(text, covered)
    }

    /// Takes the secrets out of JSON: out of texts and keys, values of `env` and `headers`, credentials and queries of `url`,
    /// secret-named options among `args`, and what stands under a name of a secret.
    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        json::redacted(self, value)
    }

    /// Begins to take secrets out of a text that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// Begins to take secrets out of texts that follow one another and are each told at once.
    pub fn sequence(&self) -> Sequence {
        Sequence::new(self.clone())
    }

    /// Reports whether a text holds a secret.
    pub fn finds_in(&self, text: &str) -> bool {
        !self.covered(text).is_empty()
    }

    /// Returns how far apart the two ends of a secret can be in a text.
    fn reach(&self) -> usize {
        let longest = self.known.as_ref().map_or(0, |known| known.longest);
        TOKEN_REACH.max(longest * WIDEST)
    }

    /// Returns the places of secrets: in order, apart from each other.
    fn covered(&self, text: &str) -> Vec<Range<usize>> {
        let mut covered = daemon_validate::secret_ranges(text);
        if let Some(known) = &self.known {
            for view in views::of(text) {
                for found in known.automaton.find_overlapping_iter(view.bytes()) {
                    covered.push(view.place(found.range()));
                }
            }
        }
        merged(covered)
    }

    /// Finds where the beginning of a secret that a text ends with starts, if at least so many bytes of it stand there.
    fn head_at_end(&self, text: &str, shortest: usize) -> Option<usize> {
        let known = self.known.as_ref()?;
        let torn = views::torn_escapes(text);
        let views = torn.flat_map(views::of);
        let heads = views.filter_map(|view| {
            let bytes = view.bytes();
            let most = bytes.len().min(known.longest);
            let mut lengths = (shortest..=most).rev();
            let n_left = lengths.find(|n| {
                let head = bytes.get(bytes.len() - n..).unwrap_or_default();
                known.has_beginning(head)
            })?;
            Some(view.place(bytes.len() - n_left..bytes.len()).start)
        });
        heads.min()
    }
}

impl Known {
    /// Reports whether a secret begins with these bytes.
    fn has_beginning(&self, head: &[u8]) -> bool {
        // The patterns are sorted: the first that is not less begins with them if any does.
        let at = self
            .patterns
            .partition_point(|pattern| pattern.as_slice() < head);
        self.patterns
            .get(at)
            .is_some_and(|pattern| pattern.starts_with(head))
    }
}

/// Joins places that overlap or touch.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| place.start);
    let mut acc: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match acc.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => acc.push(place),
        }
    }
    acc
}

fn written(text: &str, covered: Vec<Range<usize>>) -> Cow<'_, str> {
    if covered.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut acc = String::with_capacity(text.len());
    let mut at = 0;
    for place in covered {
        acc.push_str(text.get(at..place.start).unwrap_or_default());
        acc.push_str(REDACTED);
        at = place.end;
    }
    acc.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(acc)
}

#[cfg(test)]
mod tests;
