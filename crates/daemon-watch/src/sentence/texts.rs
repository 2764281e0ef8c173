//! Strings, the parts that contain them, and numbers.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says, TextPlace};
use super::formula::Formula;
use super::line::Line;
use crate::filter::{Op, Test};
use crate::lexicon::Part;
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `containing "x"`, after the verb: the strings and their place.
    pub(super) fn texts(&mut self, place: Option<TextPlace>, op: Op) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            line.skip_any(&["the", "a", "either"]);
            line.eat_any(&[
                "text", "word", "words", "phrase", "string", "command", "prefix",
            ]);
            let neither = line.eat("neither");
            let mut values = vec![line.text_value().or_else(|| line.bare_text())?];
            let mut is_all = false;
            while let Some((value, all)) = line.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or", "nor"]);
                let and = !or && line.eat("and");
                let value = line.text_value()?;
                (or || and || comma).then_some((value, and))
            }) {
                values.push(value);
                is_all |= all;
            }
            let place = match (place, line.attempt(Self::in_place)) {
                (_, Some(place)) => place,
                (Some(place), None) => place,
                (None, None) => TextPlace::Own,
            };
            let one = |values: Vec<String>| line.text_test(place, op, values, start);
            if neither {
                return Some(one(values).not());
            }
            Some(if is_all {
                let each = values.into_iter().map(|value| one(vec![value]));
                each.fold(Formula::Always, Formula::and)
            } else {
                one(values)
            })
        })
    }

    pub(super) fn text_test(
        &self,
        place: TextPlace,
        op: Op,
        values: Vec<String>,
        start: usize,
    ) -> Guard {
        self.says(Says::Text(place, op, values), start)
    }

    /// A single word without another function at the end: `mentions lint`.
    pub(super) fn bare_text(&mut self) -> Option<String> {
        self.attempt(|line| {
            let is_said = matches!(
                line.word_at(line.at.wrapping_sub(1)),
                "mentions"
                    | "mention"
                    | "says"
                    | "say"
                    | "contains"
                    | "contain"
                    | "mentioning"
                    | "saying"
                    | "containing"
                    | "word"
            );
            is_said.then_some(())?;
            (line.kind(0)? == TokenKind::Word && line.is_free_word(0)).then_some(())?;
            let value = line.value(0);
            line.at += 1;
            (line.sees_end() || line.word(0) == "in").then_some(value)
        })
    }

    pub(super) fn text_value(&mut self) -> Option<String> {
        let value = match self.kind(0)? {
            TokenKind::Quoted => self.value(0),
            TokenKind::Code if self.value(0).starts_with('/') => self.value(0),
            TokenKind::User => format!("@{}", self.value(0)),
            TokenKind::Code
            | TokenKind::Word
            | TokenKind::Channel
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => return None,
        };
        self.at += 1;
        Some(value)
    }

    /// `in its title or body`, `in the commit message`
    pub(super) fn in_place(&mut self) -> Option<TextPlace> {
        self.eat_any(&["in", "anywhere"]).then_some(())?;
        self.eat("in");
        if self.eat_any(&["it", "them"]) {
            return Some(TextPlace::Own);
        }
        self.place_named()
    }

    /// `the title or the description`
    pub(super) fn place_named(&mut self) -> Option<TextPlace> {
        self.skip_any(&["its", "the", "their", "a", "commit", "comment"]);
        let first = self.place_word()?;
        let second = self.attempt(|line| {
            line.eat_any(&["or", "and"]).then_some(())?;
            line.skip_any(&["its", "the", "in"]);
            line.place_word()
        });
        match second {
            None => Some(first),
            Some(second) if second != first => Some(TextPlace::Own),
            Some(_) => None,
        }
    }

    pub(super) fn place_word(&mut self) -> Option<TextPlace> {
        let sense = self.eat_sense(|sense| {
            matches!(sense.part, Some(Part::Title | Part::Body))
                || sense.nouns.contains(&Noun::Message)
        })?;
        Some(match sense.part {
            Some(Part::Title) => TextPlace::Title,
            Some(_) => TextPlace::Body,
            None => TextPlace::Message,
        })
    }

    /// `#41`, `#41 or #42`
    pub(super) fn numbers(&mut self) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            line.eat("number");
            let mut values = Vec::new();
            loop {
                let is_number = line.kind(0) == Some(TokenKind::Reference)
                    || line.kind(0) == Some(TokenKind::Number)
                        && (!values.is_empty()
                            || matches!(
                                line.word_at(line.at.wrapping_sub(1)),
                                "number"
                                    | "numbers"
                                    | "issue"
                                    | "issues"
                                    | "pr"
                                    | "prs"
                                    | "request"
                                    | "requests"
                            ));
                if !is_number {
                    break;
                }
                values.push(line.value(0));
                line.at += 1;
                let goes_on = line.attempt(|line| {
                    line.eat_mark(",");
                    line.eat_any(&["or", "and"]);
                    let joined = !line.word_at(line.at - 1).is_empty();
                    let is_number = line.kind(0) == Some(TokenKind::Reference)
                        || joined && line.kind(0) == Some(TokenKind::Number);
                    is_number.then_some(())
                });
                if goes_on.is_none() {
                    break;
                }
            }
            let test = Test::new(Field::Number, Op::Is, values.clone());
            (!values.is_empty()).then(|| line.says(Says::Test(test), start))
        })
    }
}
