//! Notes for the author about default readings.

use daemon_event::vocabulary::{Noun, Verb};

/// The note about removed labels of Linear, whose payload has an id and no name.
pub(crate) const LABEL_BY_ID: &str =
    "Linear reports a removed label by its id: without its name the condition does not wake";

/// The note about a line that is refused whole.
pub(crate) const TOO_LONG: &str = "too long to be read as one condition";

/// The note about the default reading of a noun and a verb.
pub(crate) fn default_note(
    noun: Noun,
    verb: Verb,
    is_named: bool,
    n_sources: usize,
    says_merge_request: bool,
) -> Option<&'static str> {
    Some(match noun {
        Noun::PullRequest if says_merge_request => "`merge request` is read as a pull request",
        Noun::PullRequest if verb == Verb::Change => {
            "`changes` is read as new commits, or an edited title, body or base"
        }
        Noun::PullRequest if verb == Verb::Merge && !is_named => {
            "a merge that git shows on the default branch counts as well"
        }
        Noun::Issue if !is_named => "`issue` is read as an issue of GitHub or Linear",
        Noun::Comment if n_sources > 2 && !is_named => {
            "`comment` is read as a comment on GitHub or in Linear"
        }
        Noun::File if !is_named => {
            "changed files are met on the default branch and in pull requests"
        }
        Noun::Alert if !is_named => "`alert` is read as an alert of Sentry",
        _ => return None,
    })
}
