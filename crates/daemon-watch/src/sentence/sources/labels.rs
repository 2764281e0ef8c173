//! Quotations, labels and content.

use super::topic::Scope;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::line::Line;
use crate::sentence::predicate::{LABELLED, label_test};
use daemon_event::Field;
use daemon_event::vocabulary::Noun;

impl Line<'_> {
    pub(super) fn quoted_names(&mut self, is_led: bool) -> Option<Vec<String>> {
        let mut values = vec![self.quoted_name(is_led)?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            (comma || or).then_some(())?;
            line.quoted_name(is_led && or)
        }) {
            values.push(value);
        }
        Some(values)
    }

    pub(super) fn quoted_name(&mut self, is_led: bool) -> Option<String> {
        if is_led
            && self.kind(0) == Some(TokenKind::Word)
            && self.kind(1) == Some(TokenKind::Mark)
            && self.written(1) == "/"
        {
            // `ci/build`, of two plain words.
            let range = self.at..self.at + 3;
            self.at = range.end;
            return Some(self.span(&range).of(self.text).to_owned());
        }
        let is_name = match self.kind(0)? {
            TokenKind::Quoted => true,
            TokenKind::Code => {
                is_led || self.value(0).contains('/') && !self.value(0).contains('*')
            }
            TokenKind::Word => {
                is_led
                    && (self.word_sense(0).is_none()
                        || self.written(0).starts_with(char::is_uppercase))
            }
            TokenKind::Channel
            | TokenKind::User
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => false,
        };
        is_name.then_some(())?;
        let value = self.value(0);
        self.at += 1;
        Some(value)
    }

    /// `labelled Bug`, `with the Bug label`, `without a label`.
    pub(super) fn labelled(&mut self, scope: Scope) -> Option<Guard> {
        matches!(
            scope.noun,
            Noun::Issue | Noun::PullRequest | Noun::Discussion
        )
        .then_some(())?;
        let start = self.at;
        let is_joined = matches!(self.word_before(), "or" | "and" | "");
        if !(scope.is_verb && is_joined) && self.eat_any(LABELLED) {
            self.skip_any(&["with", "as"]);
            return self.labels(label_test);
        }
        let without = self.eat_any(&["without", "lacking", "missing"]);
        (without || self.eat_any(&["with", "carrying", "bearing", "having"])).then_some(())?;
        let found = self.had(scope, start)?;
        Some(if without { found.not() } else { found })
    }

    /// Attributes of a ticket: labels, a description, an assignee, a priority, a due date.
    pub(super) fn had(&mut self, scope: Scope, start: usize) -> Option<Guard> {
        let no = self.eat("no");
        let bare = self.attempt(|line| {
            line.skip_any(&["any", "a", "an", "its"]);
            let field = if line.eat_any(&["labels", "label"]) {
                Field::Labels
            } else if line.eat_any(&["assignee", "assignees"]) {
                Field::Assignees
            } else if line.eat_any(&["description", "body"]) {
                Field::Body
            } else if line.eat_phrase(&["due date", "deadline"]) {
                Field::DueDate
            } else if line.eat_any(&["estimate"]) {
                Field::Estimate
            } else if line.eat_any(&["project"]) {
                Field::Project
            } else if line.eat_any(&["cycle"]) {
                Field::Cycle
            } else if line.eat_any(&["milestone"]) {
                Field::Milestone
            } else {
                return None;
            };
            let ends = line.is_done()
                || line.is_mark(0, ",")
                || line.is_mark(0, ")")
                || line.sees_be()
                || matches!(
                    line.word(0),
                    "or" | "and"
                        | "but"
                        | "gets"
                        | "moves"
                        | "enters"
                        | "in"
                        | "by"
                        | "unless"
                        | "if"
                );
            ends.then(|| line.says(Says::Test(Test::new(field, Op::Present, Vec::new())), start))
        });
        let found = bare
            .or_else(|| self.attempt(|line| line.valued_complement(scope, start, "with")))
            .or_else(|| {
                self.attempt(|line| {
                    let before = line.sees_label_word();
                    let found = line.labels(label_test)?;
                    (before || matches!(line.word_before(), "label" | "labels")).then_some(found)
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    line.having_text(crate::sentence::predicate::Behind::Noun(scope.noun))
                })
            })?;
        Some(if no { found.not() } else { found })
    }

    /// `containing "x"`, `mentioning @mira`, `with the text "x"`, `with :eyes:`.
    pub(super) fn saying(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        if matches!(scope.noun, Noun::Reaction | Noun::Message | Noun::Emoji) {
            let emoji = self.attempt(|line| {
                line.eat_any(&["with", "using"]);
                line.skip_any(&["a", "an", "the", "either"]);
                let excluded = line.other_than() || line.eat("but");
                Some((line.emojis()?, excluded))
            });
            if let Some((names, true)) = emoji {
                let test = Test::new(Field::Reaction, Op::Is, names);
                return Some(self.says(Says::Test(test), start).not());
            }
            if let Some((names, false)) = emoji {
                return Some(
                    self.says(Says::Test(Test::new(Field::Reaction, Op::Is, names)), start),
                );
            }
        }
        if self.eat_phrase(&[
            "starting with",
            "beginning with",
            "that starts with",
            "that begins with",
        ]) {
            return self.texts(None, Op::Begins);
        }
        self.eat_phrase(&[
            "containing",
            "mentioning",
            "including",
            "saying",
            "reading",
            "with the text",
            "with the words",
            "with the word",
            "with the phrase",
            "with text",
            "about",
        ])
        .then_some(())?;
        if self.word_before() == "about" {
            return None;
        }
        self.texts(None, Op::Contains)
    }

    /// `:eyes:`, `:eyes: or :tada:`.
    pub(super) fn emojis(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.emoji()?];
        while let Some(name) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            (comma || or).then_some(())?;
            line.skip_any(&["a", "an", "the", "with"]);
            line.emoji()
        }) {
            names.push(name);
        }
        self.eat_any(&["reaction", "reactions", "emoji", "emojis"]);
        Some(names)
    }

    pub(super) fn emoji(&mut self) -> Option<String> {
        let written = self.written(0);
        let is_emoji =
            self.kind(0) == Some(TokenKind::Code) && written.starts_with(':') && written.len() > 2;
        is_emoji.then_some(())?;
        self.at += 1;
        Some(written.trim_matches(':').to_owned())
    }
}
