//! Other wordings for conditions that are not `mapped`, from whoever knows some.
//!
//! A wording is somebody else's text: it exists only where this interpreter reads it as `mapped`, is short, stands on one
//! line and holds nothing that a terminal or a page would act on.

use daemon_spec::FieldList;
use daemon_validate::is_unseen;
use daemon_watch::{Clause, Interpretation, Status, interpret};

use crate::lint::Linted;

/// Most characters of a wording.
const LONGEST: usize = 240;
/// Most wordings that are kept for one condition.
const MOST: usize = 5;
/// Most characters of an author's line that are repeated.
const SHOWN: usize = 120;
/// Findings of secrets, which go to nobody.
const SECRETS: [u16; 2] = [700, 701];

/// A condition that is partial, vague or unmapped.
#[derive(Clone, Debug)]
pub struct Unclear {
    /// The path of its file, as it is shown.
    pub path: String,
    /// The daemon, where the file names one.
    pub daemon_id: Option<String>,
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its column, in characters from 1.
    pub column: usize,
    /// The author's words.
    pub condition: String,
    /// How they are read.
    pub meaning: Interpretation,
}

impl Unclear {
    /// Finds those of a file, in order; a condition that looks like a secret is none of them.
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

    /// Returns the author's words for a line of a report: cut, and without what a terminal acts on.
    pub(crate) fn shown(&self) -> String {
        let mut chars = self.condition.trim().chars();
        let shown: String = chars
            .by_ref()
            .take(SHOWN)
            .map(|c| if is_plain(c) { c } else { '\u{fffd}' })
            .collect();
        // A runner of workflows takes this for a command wherever it stands in a line.
        let shown = shown.replace("##[", "## [");
        match chars.next() {
            Some(_) => format!("{shown}…"),
            None => shown,
        }
    }
}

/// What a runner of workflows takes for a command in the output of a step.
const COMMANDS: [&str; 2] = ["::", "##["];

/// Whether a character is only ever shown: no control, no direction, no invisible one.
fn is_plain(c: char) -> bool {
    !c.is_control() && !is_unseen(c)
}

/// Another wording of a condition, read as `mapped`.
#[derive(Clone, Debug)]
pub struct Wording {
    text: String,
    meaning: Interpretation,
}

impl Wording {
    /// Takes somebody's text for a wording if it is one line, plain, short, and read as `mapped`.
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

    /// Returns how they are read.
    pub fn meaning(&self) -> &Interpretation {
        &self.meaning
    }

    /// Returns the reading, one line for each alternative.
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

/// What was suggested for one condition.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The condition.
    pub unclear: Unclear,
    wordings: Vec<Wording>,
}

impl Suggestion {
    /// Keeps of what somebody offered what is a wording, each meaning once, and not too many.
    pub fn new<'t>(unclear: Unclear, offered: impl IntoIterator<Item = &'t str>) -> Self {
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

/// What a provider suggested, and why it could not go on.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// For each condition that it was asked about.
    pub given: Vec<Suggestion>,
    /// What kept it from the others.
    pub failure: Option<SuggestionFailure>,
}

/// Why nothing, or nothing more, was suggested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestionFailure {
    /// The exit code that it asks for.
    pub exit: u8,
    /// A word in kebab case.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}
