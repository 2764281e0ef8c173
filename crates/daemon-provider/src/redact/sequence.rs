//! Texts that follow one another, each of which is told at once.

use std::collections::VecDeque;
use std::ops::Range;

use super::stream::border;
use super::{Redactor, merged, written};

/// The fewest bytes of a secret's beginning that are taken out at the end of a text: fewer are the end of a word.
const SHORTEST_HEAD: usize = 8;
/// How much of a word that may become a token is remembered.
const MAX_WORD: usize = 256;
/// How much of a long text is looked at again, at its beginning together with what came before, and at its end.
const WINDOW: usize = 32 * 1024;
/// How many of the newest texts a token is looked for from the beginning of.
const MAX_EDGES: usize = 4;
/// How much of a private key whose end has not come is remembered.
const MAX_KEY: usize = 16 * 1024;

/// Takes secrets out of texts that follow one another, also those that lie across an edge between two texts.
///
/// Unlike [`Stream`](super::Stream) it holds nothing back: each text is told when it comes. Of a secret that is cut at the end of
/// a text, at most 7 bytes are told there, and nothing of what follows them in the next.
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
    /// The end of the texts so far, as far as a secret may have begun there.
    before: String,
    /// Where the newest texts begin in it.
    edges: VecDeque<usize>,
}

impl Sequence {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            before: String::new(),
            edges: VecDeque::new(),
        }
    }

    /// Takes the next text and returns it without secrets.
    pub fn push(&mut self, text: &str) -> String {
        let n_before = self.before.len();
        let mut covered = self.redactor.covered(text);
        let (first, _) = text.split_at(border(text, WINDOW.min(text.len())));
        self.before.push_str(first);
        if n_before > 0 {
            let joined = self.redactor.covered(&self.before).into_iter();
            let joined = joined.chain(self.tokens());
            covered.extend(
                joined
                    .filter(|place| place.end > n_before)
                    .map(|place| place.start.saturating_sub(n_before)..place.end - n_before),
            );
        }
        self.edges.push_back(n_before);
        // Where the text begins in what is remembered, and what is remembered of a long one.
        let (mut begin, mut skipped) = (n_before, 0);
        if first.len() < text.len() {
            skipped = border(text, text.len() - WINDOW);
            begin = 0;
            self.edges.clear();
            text.get(skipped..)
                .unwrap_or_default()
                .clone_into(&mut self.before);
        }
        if let Some(head) = self.redactor.head_at_end(&self.before, SHORTEST_HEAD) {
            covered.push(skipped + head.saturating_sub(begin)..text.len());
        }
        self.forget();
        written(text, merged(covered)).into_owned()
    }

    /// Finds tokens that begin where a text does: behind the text before it they would be the middle of a word.
    fn tokens(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.edges.iter().flat_map(|edge| {
            let text = self.before.get(*edge..).unwrap_or_default();
            let found = daemon_validate::secret_ranges(text).into_iter();
            found.map(move |place| edge + place.start..edge + place.end)
        })
    }

    /// Forgets what no secret can begin with any more.
    fn forget(&mut self) {
        let text = self.before.as_str();
        let head = self.redactor.head_at_end(text, 1).unwrap_or(text.len());
        let word = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = word.max(text.len().saturating_sub(MAX_WORD));
        let key = text.rfind("-----BEGIN ").filter(|begin| {
            let key = text.get(*begin..).unwrap_or_default();
            key.len() <= MAX_KEY && !key.contains("-----END ")
        });
        let mut kept = head.min(word).min(key.unwrap_or(text.len()));
        while !text.is_char_boundary(kept) {
            kept -= 1;
        }
        self.before.drain(..kept);
        let left = self.edges.iter().filter_map(|edge| edge.checked_sub(kept));
        let left: VecDeque<usize> = left.collect();
        let n_old = left.len().saturating_sub(MAX_EDGES);
        self.edges = left.into_iter().skip(n_old).collect();
    }
}
