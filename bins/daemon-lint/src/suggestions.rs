//! Other wordings for conditions that are not `mapped`, as a provider suggests them.
//!
//! A wording comes from outside. It is accepted only if this interpreter reads it as `mapped`, if it is
//! one short line, and if it contains nothing that a terminal or a workflow runner would interpret.

use daemon_spec::FieldList;
use daemon_validate::is_unseen;
use daemon_watch::{Clause, Interpretation, Status, interpret};

use crate::lint::Linted;

/// The maximum number of characters of a wording.
const LONGEST: usize = 240;
/// The maximum number of wordings for a condition.
const MOST: usize = 5;
/// The maximum number of characters of an author's line in a report.
const SHOWN: usize = 120;
// Conditions with these codes contain a secret and are not sent to a provider.
const SECRETS: [u16; 2] = [700, 701];

/// A condition that is partial, vague or unmapped.
#[derive(Clone, Debug)]
pub struct UnclearCondition {
    /// The path of the file as in the report.
    pub path: String,
    /// The id of the daemon, or `None` if the file has no id.
    pub daemon_id: Option<String>,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The author's words.
    pub condition: String,
    /// The interpretation of the words.
    pub meaning: Interpretation,
}

impl UnclearCondition {
    /// Returns the unclear conditions of a file, in order, without those that contain a secret.
    pub(crate) fn of(linted: &Linted) -> Vec<Self> {
        let (Some(file), Some(source)) = (&linted.file, linted.source()) else {
            return Vec::new();
        };
        let conditions = file.watch().value().into_iter().flat_map(FieldList::texts);
        let is_secret = |condition: &daemon_spec::Text| {
            let secrets = linted.diagnostics.iter();
            secrets
                .filter(|found| SECRETS.contains(&found.code.number()))
                .any(|found| {
                    found.span.start < condition.span.end && condition.span.start < found.span.end
                })
        };
        conditions
            .filter(|condition| !condition.value.trim().is_empty() && !is_secret(condition))
            .filter_map(|condition| {
                let meaning = interpret(&condition.value);
                let place = source.position(condition.span.start);
                let is_unclear = matches!(
                    meaning.status,
                    Status::Partial | Status::Vague | Status::Unmapped
                );
                is_unclear.then(|| Self {
                    path: linted.path.clone(),
                    daemon_id: linted.daemon_id().map(str::to_owned),
                    line: place.line,
                    column: place.column,
                    condition: condition.value.clone(),
                    meaning,
                })
            })
            .collect()
    }

    /// Returns the author's words for a line of a report: shortened, without control characters.
    pub(crate) fn shown(&self) -> String {
        let mut chars = self.condition.trim().chars();
        let shown: String = chars
            .by_ref()
            .take(SHOWN)
            .map(|c| if is_plain(c) { c } else { '\u{fffd}' })
            .collect();
        // A workflow runner reads `##[` as a command anywhere in a line.
        let shown = shown.replace("##[", "## [");
        match chars.next() {
            Some(_) => format!("{shown}…"),
            None => shown,
        }
    }
}

/// The beginnings of commands that a workflow runner reads in the output of a step.
const COMMANDS: [&str; 2] = ["::", "##["];

/// Returns `true` for a visible character that does not control a terminal or the text direction.
fn is_plain(c: char) -> bool {
    !c.is_control() && !is_unseen(c)
}

/// Another wording of a condition, which the interpreter reads as `mapped`.
#[derive(Clone, Debug)]
pub struct Wording {
    text: String,
    meaning: Interpretation,
}

impl Wording {
    /// Creates a wording from `text`.
    ///
    /// Returns `None` unless it is one short line of visible characters that is read as `mapped`.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = text.chars().count() <= LONGEST
            && text.chars().all(is_plain)
            && !COMMANDS.iter().any(|command| text.contains(command));
        if text.is_empty() || !is_fit {
            return None;
        }
        let meaning = interpret(text);
        (meaning.status == Status::Mapped && meaning.contradiction().is_none()).then(|| Self {
            text: text.to_owned(),
            meaning,
        })
    }

    /// Returns the words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the interpretation of the words.
    pub fn meaning(&self) -> &Interpretation {
        &self.meaning
    }

    /// Returns the interpretation as text, with one line for each alternative.
    pub fn reading(&self) -> Vec<String> {
        let clauses = self.meaning.clauses.iter();
        clauses.map(|clause| self.clause(clause)).collect()
    }

    fn clause(&self, clause: &Clause) -> String {
        let events: Vec<String> = clause.events.iter().map(ToString::to_string).collect();
        let filters: Vec<String> = clause
            .filters
            .iter()
            .filter_map(|index| self.meaning.filters.get(*index))
            .map(|filter| filter.test.to_string())
            .collect();
        let events = events.join(" or ");
        if filters.is_empty() {
            events
        } else {
            format!("{events} if {}", filters.join(" and "))
        }
    }
}

/// The wordings that were suggested for a condition.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The condition to which the wordings belong.
    pub unclear: UnclearCondition,
    wordings: Vec<Wording>,
}

impl Suggestion {
    /// Creates a suggestion from the valid wordings among `offered`.
    ///
    /// Keeps the first wording of each meaning, and at most five.
    pub fn new<'t>(unclear: UnclearCondition, offered: impl IntoIterator<Item = &'t str>) -> Self {
        let mut wordings: Vec<Wording> = Vec::new();
        for wording in offered.into_iter().filter_map(Wording::new) {
            let is_new = wordings
                .iter()
                .all(|known| !known.meaning.means_the_same_as(&wording.meaning));
            if is_new && wordings.len() < MOST {
                wordings.push(wording);
            }
        }
        Self { unclear, wordings }
    }

    /// Returns the wordings, in the order in which they were offered.
    pub fn wordings(&self) -> &[Wording] {
        &self.wordings
    }
}

/// The suggestions of a provider, and the error that ended them.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// The suggestions for the conditions that the provider received.
    pub given: Vec<Suggestion>,
    /// The error that prevented further suggestions.
    pub failure: Option<SuggestionFailure>,
}

/// The error that prevented suggestions, or further suggestions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestionFailure {
    /// The minimum exit code of the run.
    pub exit: u8,
    /// The error code, a word in kebab case.
    pub code: String,
    /// The error message, in lower case without a trailing period.
    pub message: String,
    /// Advice for the user, in the imperative.
    pub help: Option<String>,
}
