//! Removes secrets from everything that is stored, logged or published.

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

/// The replacement of a secret.
pub const REDACTED: &str = "<redacted>";

/// The shortest secret that is searched for, in bytes. Shorter ones are words and numbers that occur everywhere.
const SHORTEST: usize = 5;
/// The shortest beginning of a secret, in bytes, that is removed at the end of truncated text.
const SHORTEST_HEAD: usize = 4;
/// The longest token or private key, in bytes, that is recognised by its shape.
const TOKEN_REACH: usize = 32 * 1024;
/// The most bytes of text that encode one byte of a secret: a JSON escape inside JSON inside JSON.
const WIDEST: usize = 12;

/// Replaces known secrets, and strings with the shape of a token, by `<redacted>`.
///
/// A secret is found as it is, in base64 at any alignment, percent-encoded, and escaped as JSON up to three levels deep. Each
/// line of a secret with several lines is a secret too. `+` matches a space. Values of less than 5 bytes are not searched for.
/// Tokens are found as they are and in base64, and base64 also with line breaks and indentation in it.
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
        // The secrets must not reach a log through `{:?}`.
        let n_patterns = self.known.as_ref().map_or(0, |known| known.n_patterns());
        write!(f, "Redactor({n_patterns} patterns)")
    }
}

impl Redactor {
    /// Makes a redactor for these secrets.
    pub fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: Known::of(secrets).map(Arc::new),
        }
    }

    /// Replaces the secrets in a string.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        written(text, self.covered(text))
    }

    /// Replaces only the secrets that the redactor was made for, and not what looks like one.
    ///
    /// ```
    /// use daemon_provider::redact::Redactor;
    ///
    /// let redactor = Redactor::of(["hunter2/hunter2".to_owned()]);
    /// let text = "hunter2%2Fhunter2 ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8";
    /// assert_eq!(redactor.known_text(text), "<redacted> ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8");
    /// assert_eq!(redactor.text(text), "<redacted> <redacted>");
    /// ```
    pub fn known_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let covered = self.known_in(text, SHORTEST_HEAD).covered;
        written(text, merged(covered))
    }

    /// Replaces the secrets in truncated text, including the beginning of one at its end.
    pub fn cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut covered = daemon_validate::secret_ranges(text);
        let known = self.known_in(text, SHORTEST_HEAD);
        covered.extend(known.covered);
        covered.extend(known.heads.long.map(|head| head..text.len()));
        written(text, merged(covered))
    }

    /// Replaces the secrets in JSON: in strings and keys, values of `env` and `headers`, credentials and queries of `url`,
    /// secret-named options in `args`, and values of members with the name of a secret.
    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        json::redacted(self, value)
    }

    /// Starts the redaction of text that arrives in pieces. It holds back what may be the beginning of a secret.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// Starts the redaction of successive strings that are each returned at once.
    pub fn sequence(&self) -> Sequence {
        Sequence::new(self.clone())
    }

    /// Returns whether a string contains a secret.
    pub fn finds_in(&self, text: &str) -> bool {
        !self.covered(text).is_empty()
    }

    /// Returns the most bytes of text between the two ends of a secret.
    fn reach(&self) -> usize {
        let longest = self.known.as_ref().map_or(0, |known| known.longest());
        TOKEN_REACH.max(longest * WIDEST)
    }

    /// Returns the ranges of secrets, in order and without overlap.
    fn covered(&self, text: &str) -> Vec<Range<usize>> {
        let mut covered = daemon_validate::secret_ranges(text);
        covered.extend(self.known_in(text, SHORTEST_HEAD).covered);
        merged(covered)
    }

    /// Searches for known secrets. A secret that the end cuts off counts as a long head from `least` bytes on.
    fn known_in(&self, text: &str, least: usize) -> Seen {
        let mut acc = Seen::default();
        if let Some(known) = &self.known {
            views::each(text, |view| acc.see(known, view, least));
        }
        acc
    }
}

/// Known secrets found in a string.
#[derive(Debug, Default)]
struct Seen {
    /// The ranges of whole secrets, in no order.
    covered: Vec<Range<usize>>,
    /// The starts of secrets that the end of the string cuts off.
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

/// Joins ranges that overlap or touch.
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
