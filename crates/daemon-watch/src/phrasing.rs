//! Phrases for each event of the vocabulary.

mod said;

use std::sync::LazyLock;

use daemon_event::vocabulary::{self, ActionRow, EventKind, Portability, RowGuard, Verb};

use crate::interpret::interpret;
use crate::interpretation::{EventPattern, Status};
use crate::portability::says;

/// An event of the vocabulary, and phrases that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrasing {
    /// The event that the phrases name.
    pub event: EventPattern,
    /// Conditions that must hold as well for the phrases to be true.
    pub guards: &'static [RowGuard],
    /// Whether the phrases say which files have to change.
    pub names_files: bool,
    /// Whole conditions, the usual one first, all of which are read as `mapped` to this event and these guards.
    pub phrases: Vec<String>,
    /// Whether the format itself gives no example of this event.
    pub is_beyond_the_format: bool,
}

/// Returns every event of the vocabulary with its phrases, by source and kind as the vocabulary lists them.
///
/// The first call interprets every phrase to check it, and takes longer than the others.
///
/// # Examples
/// ```
/// let opened = daemon_watch::phrasings()
///     .iter()
///     .find(|phrasing| phrasing.event.to_string() == "github pull_request.opened")
///     .ok_or("the vocabulary has pull requests")?;
/// assert_eq!(opened.phrases[0], "when a pull request is opened");
/// # Ok::<(), &str>(())
/// ```
pub fn phrasings() -> &'static [Phrasing] {
    &PHRASINGS
}

static PHRASINGS: LazyLock<Vec<Phrasing>> = LazyLock::new(|| {
    let mut acc: Vec<Phrasing> = Vec::new();
    for kind in vocabulary::kinds() {
        for row in kind.rows {
            let event = EventPattern {
                source: kind.source,
                kind: kind.name,
                action: row.action,
            };
            let names_files = names_files(row);
            let known = acc.iter().position(|known| {
                known.event == event
                    && known.guards == row.guards
                    && known.names_files == names_files
            });
            let at = known.unwrap_or_else(|| {
                acc.push(Phrasing {
                    event,
                    guards: row.guards,
                    names_files,
                    phrases: Vec::new(),
                    is_beyond_the_format: !is_of_the_format(kind, row),
                });
                acc.len() - 1
            });
            let phrasing = &mut acc[at];
            let ways = said::ways(kind.source, row).map(|phrases| phrasing.read(phrases));
            let phrases = ways.into_iter().find(|phrases| !phrases.is_empty());
            for phrase in phrases.into_iter().flatten() {
                if !phrasing.phrases.contains(&phrase) {
                    phrasing.phrases.push(phrase);
                }
            }
        }
    }
    for phrasing in &mut acc {
        if let (true, Some(action)) = (phrasing.phrases.is_empty(), phrasing.event.action) {
            let raw = format!("on {}.{action}", phrasing.event.kind);
            phrasing.phrases = phrasing.read(vec![raw]);
        }
    }
    acc
});

/// Whether the format names the event of a row, perhaps less narrowly.
fn is_of_the_format(kind: &EventKind, row: &ActionRow) -> bool {
    kind.rows.iter().any(|wider| {
        wider.portability == Portability::Common
            && wider.action == row.action
            && (names_files(row) || !names_files(wider))
            && wider.guards.iter().all(|guard| row.guards.contains(guard))
    })
}

impl Phrasing {
    /// Keeps the lines that name this event.
    fn read(&self, mut lines: Vec<String>) -> Vec<String> {
        lines.retain(|line| self.is_named_by(line));
        lines
    }

    /// Whether a line is `mapped`, and one of its alternatives is this event with its guards.
    fn is_named_by(&self, line: &str) -> bool {
        let meaning = interpret(line);
        meaning.status == Status::Mapped
            && meaning.clauses.iter().any(|clause| {
                let tests = || {
                    clause
                        .filters
                        .iter()
                        .map(|index| &meaning.filters[*index].test)
                };
                let holds = |guard: &RowGuard| tests().any(|test| says(test, guard));
                clause.events.contains(&self.event) && self.guards.iter().all(holds)
            })
    }
}

/// Whether a row is about the files that an event changes.
pub(crate) fn names_files(row: &ActionRow) -> bool {
    row.verbs.contains(&Verb::Touch)
}
