//! Detection of conditions that match output of the daemon's own routines.

use daemon_event::Field;
use daemon_watch::{Clause, EventPattern, Interpretation, Op, Test};

/// A group of events, with the words of a routine that produces them.
struct Family {
    kinds: &'static [&'static str],
    /// Empty if every action belongs to the family.
    actions: &'static [&'static str],
    when: When,
    words: &'static [&'static str],
}

/// The filters of a clause with which a family applies.
enum When {
    /// Any filters.
    Always,
    /// No filter of these fields.
    Without(&'static [Field]),
    /// A filter by one of these fields.
    With(&'static [Field]),
    /// A filter that requires this value.
    Is(Field, &'static str),
}

/// The attribute of an issue that an update changes.
const CHANGES: &[Field] = &[Field::Changed, Field::LabelAdded, Field::LabelRemoved];

const FAMILIES: &[Family] = &[
    Family {
        kinds: &[
            "issue_comment",
            "pull_request_review_comment",
            "commit_comment",
            "discussion_comment",
            "Comment",
        ],
        actions: &[],
        when: When::Always,
        words: &["comment", "reply", "respond", "answer"],
    },
    Family {
        kinds: &["message"],
        actions: &[],
        when: When::Is(Field::MessageKind, "posted"),
        words: &[
            "post a message",
            "post one message",
            "send a message",
            "send one message",
        ],
    },
    Family {
        kinds: &["message"],
        actions: &[],
        when: When::Is(Field::MessageKind, "reply"),
        words: &["comment", "reply", "respond", "answer"],
    },
    Family {
        kinds: &["message"],
        actions: &[],
        when: When::Without(&[Field::MessageKind]),
        words: &[
            "comment",
            "reply",
            "respond",
            "answer",
            "post a message",
            "send a message",
        ],
    },
    Family {
        kinds: &["pull_request_review"],
        actions: &[],
        when: When::Always,
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
        when: When::Always,
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
        kinds: &["pull_request"],
        actions: &["synchronize"],
        when: When::Always,
        words: &["push", "commit"],
    },
    Family {
        kinds: &["push"],
        actions: &[],
        // Outputs go to branches of their own, and to those of pull requests.
        when: When::Without(&[Field::Branch, Field::OnDefaultBranch, Field::Tag]),
        words: &["push", "commit"],
    },
    Family {
        kinds: &["create"],
        actions: &[],
        when: When::Always,
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
        when: When::Always,
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
        when: When::Always,
        words: &["label"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["assigned", "unassigned"],
        when: When::Always,
        words: &["assign"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["edited"],
        when: When::Always,
        words: &["title", "description", "edit the"],
    },
    Family {
        kinds: &["issues", "pull_request"],
        actions: &["closed"],
        when: When::Always,
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
        when: When::Without(CHANGES),
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
        kinds: &["Issue"],
        actions: &["update"],
        when: When::With(&[Field::LabelAdded, Field::LabelRemoved]),
        words: &["label"],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        when: When::Is(Field::Changed, "priority"),
        words: &["priority"],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        when: When::Is(Field::Changed, "assignee"),
        words: &["assign"],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        when: When::Is(Field::Changed, "title"),
        words: &["title"],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        when: When::Is(Field::Changed, "description"),
        words: &["description", "append"],
    },
    Family {
        kinds: &["Issue"],
        actions: &["update"],
        when: When::Is(Field::Changed, "state"),
        words: &["status of", "state of", "close the"],
    },
    Family {
        kinds: &["release"],
        actions: &[],
        when: When::Always,
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
        when: When::Always,
        words: &[
            "open a discussion",
            "start a discussion",
            "create a discussion",
        ],
    },
    Family {
        kinds: &["reaction_added"],
        actions: &[],
        when: When::Always,
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
    let mut open = meaning.clauses.iter().filter(|clause| !is_narrowed(clause));
    open.any(|clause| {
        let filters = clause.filters.iter();
        let tests: Vec<&Test> = filters
            .filter_map(|&index| Some(&meaning.filters.get(index)?.test))
            .collect();
        let mut families = FAMILIES.iter().filter(|family| family.when.holds(&tests));
        families.any(|family| {
            let is_named = |word| routines.iter().any(|routine| says(routine, word));
            clause.events.iter().any(|event| family.holds(event))
                && family.words.iter().any(|word| is_named(word))
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

impl When {
    fn holds(&self, tests: &[&Test]) -> bool {
        match self {
            Self::Always => true,
            Self::Without(fields) => tests.iter().all(|test| !fields.contains(&test.field())),
            Self::With(fields) => tests.iter().any(|test| fields.contains(&test.field())),
            Self::Is(field, value) => tests.iter().any(|test| {
                test.field() == *field && test.op() == Op::Is && test.values() == [*value]
            }),
        }
    }
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
