//! What a thing has, touches, says and targets.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Place, Says};
use super::formula::Formula;
use super::line::Line;
use super::people::OTHER_THAN;
use super::predicate::{Behind, HAS, TARGETS, TOUCHES, label_test};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `has the label X`, `does not have a description`, `carries neither A nor B`.
    pub(super) fn has_predicate(&mut self, behind: Behind) -> Option<Guard> {
        let mut negated = false;
        if self.eat_any(&["does", "do", "did"]) {
            self.eat("not").then_some(())?;
            negated = true;
        }
        let lacks = self.eat_any(&["lacks", "lack"]);
        if !lacks {
            self.eat_any(HAS).then_some(())?;
        }
        negated |= self.eat("not") | lacks;
        let found = self.having(behind)?;
        Some(if negated { found.not() } else { found })
    }

    /// What one can have: labels, texts, a base, assignees, changes to files.
    pub(super) fn having(&mut self, behind: Behind) -> Option<Guard> {
        let mut found = self.having_one(behind)?;
        while let Some((more, or)) = self.attempt(|line| {
            let or = line.eat("or");
            let and = !or && line.eat_phrase(&["and", "but"]);
            (or || and).then_some(())?;
            Some((line.having_one(behind)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    pub(super) fn having_one(&mut self, behind: Behind) -> Option<Guard> {
        let start = self.at;
        if let Some(found) = self.attempt(|line| {
            let no = line.eat("no");
            line.skip_any(&["any", "a", "an", "at", "least", "one"]);
            let field = if line.eat_any(&["labels", "label"]) {
                Field::Labels
            } else if line.eat_any(&["assignees", "assignee"]) {
                Field::Assignees
            } else {
                return None;
            };
            if line.starts_label() {
                return None;
            }
            let op = if no { Op::Absent } else { Op::Present };
            Some(line.says(Says::Test(Test::new(field, op, Vec::new())), start))
        }) {
            return Some(found);
        }
        self.attempt(|line| {
            let no = line.eat("no");
            let found = line.having_files().or_else(|| line.having_text(behind))?;
            Some(if no { found.not() } else { found })
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["a", "the", "as", "its"]);
                line.eat_phrase(&["base branch", "target branch", "base", "target"])
                    .then_some(())?;
                line.skip_any(&["of", "set", "to"]);
                line.branches()
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                let no = line.eat("no");
                let named = line.sees_label_word();
                let from = line.at;
                let found = line.labels(label_test)?;
                let ends = line.word_at(line.at.wrapping_sub(1));
                let is_data = (from..line.at).any(|at| {
                    matches!(
                        line.tokens.get(at).map(|token| token.kind),
                        Some(TokenKind::Quoted | TokenKind::Code)
                    )
                });
                let says_label = named || is_data || matches!(ends, "label" | "labels");
                says_label.then_some(if no { found.not() } else { found })
            })
        })
    }

    pub(super) fn sees_label_word(&mut self) -> bool {
        let at = self.at;
        self.skip_any(&["the", "a", "any", "an", "neither", "both"]);
        let sees = matches!(self.word(0), "label" | "labels");
        self.at = at;
        sees
    }

    pub(super) fn starts_label(&mut self) -> bool {
        let at = self.at;
        let named = matches!(self.kind(0), Some(TokenKind::Quoted | TokenKind::Code))
            || self.eat_phrase(OTHER_THAN)
            || !matches!(
                self.word(0),
                "" | "is" | "are" | "and" | "or" | "gets" | "but"
            ) && self.labels(label_test).is_some();
        self.at = at;
        named
    }

    /// `changes to docs/`, `changes under src/`
    pub(super) fn having_files(&mut self) -> Option<Guard> {
        self.attempt(|line| {
            line.skip_any(&["a", "any", "some", "new"]);
            if line.eat_phrase(&[
                "none in",
                "none under",
                "none to",
                "nothing in",
                "nothing under",
            ]) {
                return line.touched(false).map(Formula::not);
            }
            line.eat_any(&[
                "changes",
                "change",
                "commits",
                "files",
                "file",
                "modifications",
                "edits",
            ])
            .then_some(())?;
            if line.eat_any(&["touching", "changing", "that"]) {
                line.eat_any(TOUCHES);
            } else if !matches!(
                line.word(0),
                "to" | "in"
                    | "under"
                    | "outside"
                    | "matching"
                    | "inside"
                    | "within"
                    | "only"
                    | "other"
            ) {
                return None;
            }
            line.touched(false)
        })
    }

    /// `"crash" in the title`, `a title containing "x"`, `a commit message that mentions "x"`
    pub(super) fn having_text(&mut self, behind: Behind) -> Option<Guard> {
        self.attempt(|line| {
            let found = line.texts(None, Op::Contains)?;
            // Data before `label` is a label; a text stands in a named place, or in what is itself a text.
            let is_placed = !line.word_at(line.at - 1).is_empty() || is_text(behind.noun());
            (is_placed && !line.sees("label")).then_some(found)
        })
        .or_else(|| {
            self.attempt(|line| {
                let place = line.place_named()?;
                line.eat_any(&["that", "which"]);
                line.says_predicate(Some(place)).or_else(|| {
                    line.eat_any(&["containing", "mentioning", "including", "matching", "of"])
                        .then_some(())?;
                    line.texts(Some(place), Op::Contains)
                })
            })
        })
    }

    /// `touches only docs/`, `does not change src/`, `only touches G`
    pub(super) fn touch_predicate(&mut self) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        let only = self.eat_any(&["only", "just", "solely", "exclusively"]);
        self.eat_any(TOUCHES).then_some(())?;
        let found = self.touched(only)?;
        Some(if negated { found.not() } else { found })
    }

    /// `contains "x"`, `does not mention @y`, `starts with "z"`
    pub(super) fn says_predicate(&mut self, place: Option<Place>) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        let op = if self.eat_phrase(&[
            "starts with",
            "start with",
            "begins with",
            "begin with",
            "is prefixed with",
            "starting with",
            "beginning with",
        ]) {
            Op::Begins
        } else if self.eat_any(&[
            "contains",
            "contain",
            "mentions",
            "mention",
            "includes",
            "include",
            "says",
            "say",
            "containing",
        ]) {
            Op::Contains
        } else {
            return None;
        };
        let found = self.texts(place, op)?;
        Some(if negated { found.not() } else { found })
    }

    pub(super) fn targets_predicate(&mut self) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        self.eat("only");
        self.eat_phrase(TARGETS).then_some(())?;
        let found = self.branches()?;
        Some(if negated { found.not() } else { found })
    }

    /// `comes from a fork`, `does not come from a bot`
    pub(super) fn origin_predicate(&mut self) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        self.eat_any(&["comes", "come", "came", "originates"])
            .then_some(())?;
        let found = self.origin_modifier(Behind::Noun(Noun::PullRequest))?;
        Some(if negated { found.not() } else { found })
    }
}

/// Whether a noun is itself a text.
fn is_text(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment | Noun::ReviewComment | Noun::CommitComment | Noun::Review | Noun::Commit
    )
}
