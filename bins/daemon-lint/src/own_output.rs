//! Detection of conditions that match output of the daemon's own routines.

use daemon_event::Field;
use daemon_watch::{Clause, EventPattern, Interpretation, Op};

/// A group of events, with the words of a routine that produces them.
struct Family {
    kinds: &'static [&'static str],
    /// Empty if every action belongs to the family.
    actions: &'static [&'static str],
    words: &'static [&'static str],
}

const FAMILIES: &[Family] = &[
    Family {
        kinds: &[
            "issue_comment",
            "pull_request_review_comment",
            "commit_comment",
            "discussion_comment",
            "Comment",
            "message",
        ],
        actions: &[],
        words: &["comment", "reply", "respond", "answer", "post a message"],
    },
    Family {
        kinds: &["pull_request_review"],
        actions: &[],
        words: &[
            "submit a review",
            "leave a review",
            "review the",
            "review each",
            "approve",
        ],
    },
    Family {
        kinds: &["pull_request"],
        actions: &["opened"],
        words: &[
            "open a pull request",
            "open a pr",
            "open pull requests",
            "open prs",
            "create a pull request",
            "create a pr",
            "create pull requests",
            "raise a pull request",
        ],
    },
    Family {
        kinds: &["push", "pull_request"],
        actions: &["synchronize"],
        words: &["push", "commit"],
    },
    Family {
        kinds: &["create"],
        actions: &[],
        words: &[
            "create a branch",
            "push a branch",
            "create a tag",
            "push a tag",
            "tag the",
        ],
    },
    Family {
        kinds: &["issues", "Issue"],
        actions: &["opened", "create"],
        words: &[
            "open an issue",
            "create an issue",
            "file an issue",
            "open issues",
            "create issues",
            "file issues",
            "create a linear issue",
        ],
    },
    Family {
        kinds: &["issues", "pull_request", "discussion"],
        actions: &["labeled", "unlabeled"],
        words: &["label"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["assigned", "unassigned"],
        words: &["assign"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["edited"],
        words: &["title", "description", "edit the"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["closed"],
        words: &[
            "close the",
            "close each",
            "close issues",
            "close pull requests",
        ],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        words: &[
            "priority",
            "assign",
            "label",
            "status of",
            "title",
            "description",
            "close the",
        ],
    },
    Family {
        kinds: &["release"],
        actions: &[],
        words: &[
            "publish a release",
            "create a release",
            "cut a release",
            "draft a release",
        ],
    },
    Family {
        kinds: &["discussion"],
        actions: &["created"],
        words: &[
            "open a discussion",
            "start a discussion",
            "create a discussion",
        ],
    },
    Family {
        kinds: &["reaction_added"],
        actions: &[],
        words: &["react"],
    },
];

/// Filters that exclude the daemon's own actions.
const WHO: [Field; 4] = [
    Field::Actor,
    Field::ActorKind,
    Field::Author,
    Field::AuthorKind,
];

/// Returns `true` if an alternative of the condition matches events that `routines` produce.
///
/// An alternative that filters by actor, or that requires a command, does not match them. `routines` are
/// in lower case.
pub(crate) fn could_match_own_output(meaning: &Interpretation, routines: &[String]) -> bool {
    let is_narrowed = |clause: &&Clause| {
        let mut filters = clause
            .filters
            .iter()
            .filter_map(|&index| meaning.filters.get(index));
        // A daemon does not begin its own comments with the command that wakes it.
        filters.any(|filter| WHO.contains(&filter.test.field()) || filter.test.op() == Op::Command)
    };
    let open = meaning.clauses.iter().filter(|clause| !is_narrowed(clause));
    open.flat_map(|clause| &clause.events).any(|event| {
        FAMILIES
            .iter()
            .filter(|family| family.holds(event))
            .any(|family| {
                family
                    .words
                    .iter()
                    .any(|word| routines.iter().any(|routine| says(routine, word)))
            })
    })
}

/// Returns `true` if a routine contains `words` at the beginning of a word.
fn says(routine: &str, words: &str) -> bool {
    // Only the beginning is checked, so that `label` also matches `labels` and `labelled`.
    routine.match_indices(words).any(|(at, _)| {
        let before = routine[..at].chars().next_back();
        !before.is_some_and(char::is_alphanumeric)
    })
}

impl Family {
    fn holds(&self, event: &EventPattern) -> bool {
        self.kinds.contains(&event.kind)
            && (self.actions.is_empty()
                || event
                    .action
                    .is_none_or(|action| self.actions.contains(&action)))
    }
}
