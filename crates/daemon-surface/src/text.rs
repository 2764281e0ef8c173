//! What is written around the text of a run, and what is made plain in it.

mod closed;
mod defuse;
mod mark;

pub(crate) use defuse::{defused, message};
pub(crate) use mark::OutputMark;

/// The longest body that a service takes, in characters: GitHub's limit for a comment.
pub(crate) const MAX_TEXT: usize = 65_536;
/// What is written where a string is cut.
const CUT: &str = "…";

/// Cuts a string to a number of characters.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(CUT.chars().count());
    text.chars().take(kept).chain(CUT.chars()).collect()
}
