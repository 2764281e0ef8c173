//! Predicates of a thing: its labels, files, content and target.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says, TextPlace};
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

    /// Reads the object of `has`: labels, strings, a base, assignees, changed files.
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
            let mut no = line.eat("no");
            line.skip_any(&["any", "a", "an", "at", "least", "one"]);
            no |= line.eat_any(&["empty", "blank"]);
            let field = line.field_owned()?;
            if line.starts_label() {
                return None;
            }
            // `a description that says …` has content, so it is more than a description that exists.
            let goes_on = matches!(field, Field::Body | Field::Milestone)
                && !(line.sees_end()
                    || matches!(line.word(0), "is" | "are" | "and" | "gets" | "but"));
            if goes_on {
                return None;
            }
            let op = if no { Op::Absent } else { Op::Present };
            Some(line.says(Says::Test(Test::new(field, op, Vec::new())), start))
        }) {
            return Some(found);
        }
        if let Some(found) = self.attempt(Self::text_in_tag) {
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
            // `main as its base branch`
            self.attempt(|line| {
                let found = line.branches()?;
                line.eat("as").then_some(())?;
                line.skip_any(&["the", "its", "a"]);
                line.eat_phrase(&["base branch", "target branch", "base", "target"])
                    .then_some(found)
            })
        })
        .or_else(|| {
            // `Cargo.lock among its changed files`
            self.attempt(|line| {
                let found = line.touched(false)?;
                line.among_the_changes().then_some(found)
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                let carries = matches!(
                    line.word_at(line.at.wrapping_sub(1)),
                    "carries" | "carry" | "carrying" | "bears" | "bear" | "bearing"
                ) || line.sees("neither");
                let no = line.eat("no");
                let named = carries || line.sees_label_word();
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
                line.eat_phrase(&[
                    "on it",
                    "attached to it",
                    "applied to it",
                    "attached",
                    "applied",
                ]);
                says_label.then_some(if no { found.not() } else { found })
            })
        })
    }

    /// `"rc" in its tag`
    fn text_in_tag(&mut self) -> Option<Guard> {
        let start = self.at;
        (self.kind(0)? == TokenKind::Quoted).then_some(())?;
        let value = self.value(0);
        self.at += 1;
        self.eat("in").then_some(())?;
        self.eat_any(&["its", "the"]);
        self.eat_phrase(&["tag name", "tag"]).then_some(())?;
        Some(self.says(
            Says::Test(Test::new(Field::Tag, Op::Contains, vec![value])),
            start,
        ))
    }

    /// A field that is set or not set.
    pub(super) fn field_owned(&mut self) -> Option<Field> {
        Some(if self.eat_any(&["labels", "label"]) {
            Field::Labels
        } else if self.eat_any(&["assignees", "assignee"]) {
            Field::Assignees
        } else if self.eat_any(&["description", "body"]) {
            Field::Body
        } else {
            self.eat_any(&["milestone", "milestones"])
                .then_some(Field::Milestone)?
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
            // Literals before `label` are labels. A string needs a named part, or a noun that is text itself.
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

    /// `among the changed files`
    pub(super) fn among_the_changes(&mut self) -> bool {
        self.attempt(|line| {
            line.eat_any(&["among", "amongst", "in"]).then_some(())?;
            line.skip_any(&["the", "its", "list", "of", "set"]);
            line.eat_phrase(&[
                "changed files",
                "touched files",
                "modified files",
                "files changed",
                "files touched",
                "files it changes",
                "files it touches",
                "changes",
                "diff",
            ])
            .then_some(())
        })
        .is_some()
    }

    /// `touches only docs/`, `does not change src/`, `only touches G`
    pub(super) fn touch_predicate(&mut self) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        let only = self.eat_any(&["only", "just", "solely", "exclusively"]);
        let holds = self.eat_any(&["contains", "contain", "includes", "include"]);
        // `contains "x"`: a quotation after `contains` is a string, not a path.
        if holds && self.kind(0) == Some(TokenKind::Quoted) {
            return None;
        }
        if !holds && !self.eat_any(TOUCHES) {
            return None;
        }
        let found = self.touched(only)?;
        Some(if negated { found.not() } else { found })
    }

    /// `adds files in docs/`, `deletes src/lib.rs`: a push contains added and removed files separately.
    pub(super) fn adds_predicate(&mut self, behind: Behind) -> Option<Guard> {
        let start = self.at;
        matches!(behind.noun(), Noun::Commit | Noun::Branch).then_some(())?;
        let negated = self.eat_any(&["does", "do", "did"]) && self.eat("not");
        let field = if self.eat_any(&["adds", "add", "creates", "introduces", "added", "adding"]) {
            Field::AddedFiles
        } else {
            self.eat_any(&[
                "removes", "remove", "deletes", "delete", "removed", "deleted", "deleting",
                "removing",
            ])
            .then_some(Field::RemovedFiles)?
        };
        self.eat_any(&["new"]);
        let found = self.touched(false)?;
        let found = found.replace(false, &mut |atom: &super::atom::Atom, is_not| {
            let Says::Files(op, globs) = &atom.says else {
                return None;
            };
            let said = self.says(Says::Test(Test::new(field, *op, globs.clone())), start);
            Some(if is_not { said.not() } else { said })
        })?;
        Some(if negated { found.not() } else { found })
    }

    /// `the comment starts with "/x"`, `its text is not a "/x" command`
    pub(super) fn comment_predicate(&mut self, behind: Behind) -> Option<Guard> {
        is_text(behind.noun()).then_some(())?;
        self.eat_any(&["the", "its", "that", "this"]);
        self.eat_any(&[
            "comment", "review", "text", "commit", "message", "reply", "remark",
        ])
        .then_some(())?;
        self.eat("'s");
        self.eat_any(&["text", "body", "message"]);
        if let Some(found) = self.attempt(|line| line.says_predicate(None)) {
            return Some(found);
        }
        self.eat_any(&["is", "was"]).then_some(())?;
        let not = self.eat("not");
        self.skip_any(&["a", "the"]);
        self.eat_any(&["just", "only"]);
        let mut found = self.said()?;
        self.eat_any(&["command", "commands"]);
        while let Some(more) = self.attempt(|line| {
            line.eat_any(&["or", "nor"]).then_some(())?;
            line.skip_any(&["a", "the"]);
            let more = line.said()?;
            line.eat_any(&["command", "commands"]);
            Some(more)
        }) {
            found = found.or(more);
        }
        Some(if not { found.not() } else { found })
    }

    /// `contains "x"`, `does not mention @y`, `starts with "z"`
    pub(super) fn says_predicate(&mut self, place: Option<TextPlace>) -> Option<Guard> {
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
        let found = (self.attempt(Self::that_branch)).or_else(|| self.branches())?;
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

/// Whether a noun is text itself, such as a comment.
fn is_text(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment | Noun::ReviewComment | Noun::CommitComment | Noun::Review | Noun::Commit
    )
}
