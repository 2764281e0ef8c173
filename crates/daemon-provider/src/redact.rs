//! Taking secrets out of what is kept and told.

mod forms;
mod json;
mod known;
mod names;
mod sequence;
mod stream;
mod views;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use self::known::{Heads, Known};
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
/// secret of several lines each line is one too. A `+` and a blank are the same. A value of less than 5 bytes is not searched
/// for. What looks like a token is found as it is and in base64. Base64 is found also where its lines were broken, with or
/// without indentation.
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

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_patterns = self.known.as_ref().map_or(0, |known| known.n_patterns());
        write!(f, "Redactor({n_patterns} patterns)")
    }
}

impl Redactor {
    /// Knows these secrets.
    pub fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: Known::of(secrets).map(Arc::new),
        }
    }

    /// Takes the secrets out of a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        written(text, self.covered(text))
    }

    /// Takes the secrets out of a text whose end is missing: the beginning of one may stand there.
    pub fn cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut covered = daemon_validate::secret_ranges(text);
        let known = self.known_in(text, SHORTEST_HEAD);
        covered.extend(known.covered);
        covered.extend(known.heads.long.map(|head| head..text.len()));
        written(text, merged(covered))
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
        let longest = self.known.as_ref().map_or(0, |known| known.longest());
        TOKEN_REACH.max(longest * WIDEST)
    }

    /// Returns the places of secrets: in order, apart from each other.
    fn covered(&self, text: &str) -> Vec<Range<usize>> {
        let mut covered = daemon_validate::secret_ranges(text);
        covered.extend(self.known_in(text, SHORTEST_HEAD).covered);
        merged(covered)
    }

    /// Searches for known secrets; of one that the end cuts off, at least `least` bytes make a long head.
    fn known_in(&self, text: &str, least: usize) -> Seen {
        let mut acc = Seen::default();
        if let Some(known) = &self.known {
            views::each(text, |view| acc.see(known, view, least));
        }
        acc
    }
}

/// Known secrets found in a text.
#[derive(Debug, Default)]
struct Seen {
    /// The places of whole ones, in no order.
    covered: Vec<Range<usize>>,
    /// The starts of those that the end of the text cuts off.
    heads: Heads,
}

impl Seen {
    fn see(&mut self, known: &Known, view: &views::View<'_>, least: usize) {
        let covered = &mut self.covered;
        let heads = known.search(view, least, |found| {
            covered.push(view.at(found.start)..view.end_at(found.end));
        });
        self.heads.add(heads.map(|head| view.at(head)));
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
