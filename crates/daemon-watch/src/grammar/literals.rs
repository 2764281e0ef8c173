//! Lists of literals: labels, branches, states.

use crate::grammar::reader::Reader;

/// Words before `branch` that describe it and are not its name.
pub(crate) const NOT_A_BRANCH: &[&str] = &[
    "protected",
    "feature",
    "topic",
    "long-lived",
    "own",
    "working",
    "source",
    "personal",
    "stale",
    "unmerged",
    "old",
    "different",
    "other",
    "same",
    "important",
    "unprotected",
    "temporary",
    "short-lived",
    "hotfix-like",
];

use crate::lexicon::{Class, KNOWN_BRANCHES, WORKFLOW_STATES};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads literals joined by `or`, `and` and commas; `accepts` decides which units can be one.
    pub(crate) fn list(
        &self,
        from: usize,
        accepts: impl Fn(&Self, usize) -> Option<(String, usize)>,
    ) -> Option<(Vec<String>, usize)> {
        let mut values = Vec::new();
        let mut at = self.skip(from, &[Class::Article]);
        let mut end = from;
        while let Some((value, after)) = accepts(self, at) {
            values.push(value);
            end = after;
            let mut next = after;
            while self.unit(next).is_some_and(|unit| unit.is_mark(","))
                || self.is_any(next, &[Class::Or, Class::And])
            {
                next += 1;
            }
            if next == after {
                break;
            }
            let is_apart = !(after..next).any(|at| self.is_any(at, &[Class::Or, Class::And]))
                && self.unit(next).is_some_and(|unit| unit.text == "the");
            if is_apart {
                // `on main, the "CI" workflow …`: a comma before another noun phrase joins nothing.
                break;
            }
            next = self.skip(next, &[Class::Article, Class::To, Class::Into, Class::On]);
            at = next;
        }
        (!values.is_empty()).then_some((values, end))
    }

    /// A branch: quoted, code, a known name, or a word before `branch`.
    pub(crate) fn branch(&self, at: usize) -> Option<(String, usize)> {
        use daemon_event::vocabulary::Noun;
        let unit = self.unit(at)?;
        let is_ordinary = NOT_A_BRANCH.contains(&unit.text.as_str());
        let next_is_branch = self
            .sense(at + 1)
            .is_some_and(|sense| sense.nouns.contains(&Noun::Branch));
        let is_known = unit.is_word()
            && KNOWN_BRANCHES.contains(&unit.text.as_str())
            && unit
                .sense
                .is_none_or(|sense| sense.is_value || next_is_branch || sense.nouns.is_empty());
        let is_literal = matches!(unit.kind, TokenKind::Quoted | TokenKind::Code)
            || (unit.kind == TokenKind::Word
                && unit.sense.is_none()
                && unit.text.contains(['-', '_']))
            || (unit.kind == TokenKind::Word && next_is_branch && unit.sense.is_none());
        let is_version = unit.kind == TokenKind::Number;
        // `a stale branch` is a judgement, and no branch is named `stale`.
        (!is_ordinary).then_some(())?;
        // A number names a branch only before the word: `the 2.0 branch`.
        (is_known || is_literal || (is_version && next_is_branch))
            .then(|| (self.value(at), at + 1 + usize::from(next_is_branch)))
    }

    /// A label: quoted, code or words without a sense, up to `label`.
    pub(crate) fn label(&self, at: usize) -> Option<(String, usize)> {
        let unit = self.unit(at)?;
        match unit.kind {
            TokenKind::Quoted | TokenKind::Code | TokenKind::User => Some((self.value(at), at + 1)),
            TokenKind::Word
                if unit.sense.is_some_and(|sense| {
                    (sense.is_value || sense.is(Class::NotPlanned)) && !sense.is_verb()
                }) =>
            {
                Some((self.value(at), at + 1))
            }
            TokenKind::Word if unit.sense.is_none() => {
                let mut end = at + 1;
                while self.kind(end) == Some(TokenKind::Word) && self.sense(end).is_none() {
                    end += 1;
                }
                Some((self.words(at, end), end))
            }
            TokenKind::Word
            | TokenKind::Channel
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => None,
        }
    }

    /// The author's words from one unit to another.
    pub(crate) fn words(&self, from: usize, to: usize) -> String {
        self.span(&(from..to)).of(self.line).to_owned()
    }

    /// A label before the word `label`, of up to four words: `the ready to merge label`.
    pub(crate) fn label_before_word(&self, from: usize) -> Option<(Vec<String>, usize)> {
        let is_label = |at: usize| {
            self.sense(at)
                .is_some_and(|sense| sense.part == Some(crate::lexicon::Part::Label))
        };
        let mut values: Vec<String> = Vec::new();
        let mut at = from;
        let mut begin = from;
        loop {
            let unit = self.unit(at)?;
            if is_label(at) && at > from {
                if at > begin {
                    values.push(self.literal_words(begin, at));
                }
                return (!values.is_empty()).then_some((values, at + 1));
            }
            let joins = unit.is(Class::Or) || unit.is(Class::And) || unit.is_mark(",");
            if joins && at > begin {
                values.push(self.literal_words(begin, at));
                begin = at + 1;
            } else if joins {
                begin = at + 1;
            }
            let in_label = joins
                || matches!(unit.kind, TokenKind::Quoted | TokenKind::Code)
                || (unit.kind == TokenKind::Word
                    && (unit.sense.is_none()
                        || unit.sense.is_some_and(|sense| sense.is_value)
                        || (at > begin && unit.is(Class::To))
                        || is_label_word(unit.text.as_str())
                        || at == begin && is_label(at + 1) && self.may_be_label(at)));
            // The bound keeps a sentence from becoming the name of a label that is mentioned at its end.
            if !in_label || at >= begin + 4 || at - from > 12 {
                return None;
            }
            at += 1;
        }
    }

    /// A word of the lexicon that names a label where a label is named: `the report label`.
    pub(crate) fn may_be_label(&self, at: usize) -> bool {
        let is_open = |unit: &crate::grammar::reader::Unit| {
            unit.kind == TokenKind::Word
                && unit.sense.is_some_and(|sense| {
                    sense.classes.is_empty()
                        && sense.source.is_none()
                        && !sense.is_foreign
                        && sense.part.is_none()
                })
        };
        self.unit(at).is_some_and(is_open)
    }

    /// A label behind `labelled`, where any word may name one that ends the phrase.
    pub(crate) fn label_behind(&self, at: usize) -> Option<(String, usize)> {
        let ends = |at: usize| {
            self.unit(at)
                .is_none_or(|unit| unit.kind == TokenKind::Mark)
                || self.is_any(at, &[Class::Or, Class::And, Class::Be, Class::Get])
        };
        self.label(at)
            .or_else(|| (self.may_be_label(at) && ends(at + 1)).then(|| (self.value(at), at + 1)))
    }

    fn literal_words(&self, from: usize, to: usize) -> String {
        if to == from + 1 {
            self.value(from)
        } else {
            self.words(from, to)
        }
    }

    /// Reads a workflow state: quoted, or a well-known name, of several words.
    pub(crate) fn state(&self, at: usize) -> Option<(String, usize)> {
        let unit = self.unit(at)?;
        if matches!(unit.kind, TokenKind::Quoted) {
            let is_named = self.part(at + 1).is_some();
            return Some((self.value(at), at + 1 + usize::from(is_named)));
        }
        let longest = (1..=3).rev().find_map(|n_units| {
            let end = at + n_units;
            if end > self.units.len() {
                return None;
            }
            let words = self.words(at, end).to_lowercase();
            WORKFLOW_STATES
                .contains(&words.as_str())
                .then(|| (self.words(at, end), end))
        });
        let written = self.written(at);
        let named = || {
            let is_capital =
                unit.is_word() && unit.sense.is_none() && written.starts_with(char::is_uppercase);
            is_capital.then(|| (written.to_owned(), at + 1))
        };
        let (value, end) = longest.or_else(named)?;
        let is_named = self
            .part(end)
            .is_some_and(|part| part == crate::lexicon::Part::Status);
        // `to the Platform team`, `to the Q3 project`: no state.
        let names_other = self.part(end) == Some(crate::lexicon::Part::Team)
            || self.sense(end).is_some_and(|sense| {
                use daemon_event::vocabulary::Noun;
                sense.nouns.iter().any(|noun| {
                    matches!(
                        noun,
                        Noun::Project
                            | Noun::Cycle
                            | Noun::Milestone
                            | Noun::Initiative
                            | Noun::Repository
                    )
                })
            });
        (!names_other).then_some((value, end + usize::from(is_named)))
    }

    /// A value word such as `high` or `timed_out`, or a quoted one.
    pub(crate) fn value_word(&self, at: usize) -> Option<(String, usize)> {
        let unit = self.unit(at)?;
        let is_value = unit.sense.is_some_and(|sense| sense.is_value);
        is_value.then(|| (self.words(at, at + 1), at + 1))
    }
}

/// Words with a sense that are names of labels far more often, directly before `label`.
fn is_label_word(word: &str) -> bool {
    matches!(
        word,
        "bug"
            | "ready"
            | "release"
            | "documentation"
            | "merge"
            | "review"
            | "deploy"
            | "draft"
            | "security"
            | "breaking"
            | "change"
            | "backport"
            | "urgent"
            | "stale"
            | "needs"
            | "build"
            | "ci"
            | "in"
            | "first"
            | "link"
            | "test"
            | "code"
            | "api"
            | "major"
            | "minor"
            | "patch"
            | "stable"
            | "fix"
            | "project"
            | "package"
            | "error"
            | "issue"
            | "good"
    )
}
