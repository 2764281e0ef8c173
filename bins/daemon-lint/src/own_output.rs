//! Whether a daemon's routines produce what one of its conditions wakes on.

use daemon_event::Field;
use daemon_watch::{Clause, EventPattern, Interpretation};

/// Events of one family, and words of a routine that say it produces them.
struct Family {
    kinds: &'static [&'static str],
    /// Empty for every action.
    actions: &'static [&'static str],
    words: &'static [&'static str],
}

const FAMILIES: [Family; 5] = [
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
        words: &["comment", "reply", "respond", "post a message"],
    },
    Family {
        kinds: &["pull_request"],
        actions: &["opened"],
        words: &[
            "open a pull request",
            "open a pr",
            "open pull requests",
            "create a pull request",
            "create pull requests",
        ],
    },
    Family {
        kinds: &["push", "pull_request"],
        actions: &["synchronize"],
        words: &["push", "commit"],
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
        ],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["labeled", "unlabeled"],
        words: &["label"],
    },
];

/// Filters that keep a daemon's own doings out.
const WHO: [Field; 4] = [
    Field::Actor,
    Field::ActorKind,
    Field::Author,
    Field::AuthorKind,
];

/// Reports whether an alternative without a word about who acted wakes on what `routines` produce.
///
/// `routines` are in lower case.
pub(crate) fn could_match_own_output(meaning: &Interpretation, routines: &[String]) -> bool {
    let names_who = |clause: &&Clause| {
        let filters = clause
            .filters
            .iter()
            .filter_map(|&index| meaning.filters.get(index));
        filters
            .map(|filter| filter.test.field())
            .any(|field| WHO.contains(&field))
    };
    let open = meaning.clauses.iter().filter(|clause| !names_who(clause));
    open.flat_map(|clause| &clause.events).any(|event| {
        FAMILIES
            .iter()
            .filter(|family| family.holds(event))
            .any(|family| {
                family
                    .words
                    .iter()
                    .any(|word| routines.iter().any(|routine| routine.contains(word)))
            })
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
