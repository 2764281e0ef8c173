//! Clauses about comments and their content.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::actives::deed;
use super::atom::{Guard, Says, TextPlace};
use super::deeds::Event;
use super::formula::{Formula, is};
use super::line::Line;
use super::things::Thing;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `comments "/x" on a PR`, `leaves a comment saying "x" on it`, `replies to a review comment`
    pub(super) fn commenting(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        if self.eat_any(&["replies", "replied", "replying", "reply", "responds"]) {
            self.eat_any(&["to", "in", "on", "under"]).then_some(())?;
            let mut things = self.object()?;
            let is_parent = |thing: &Thing| matches!(thing.noun, Noun::PullRequest | Noun::Issue);
            if things.iter().all(is_parent) {
                return self.finish(&things, &deed(Verb::Comment, Formula::Always));
            }
            let at = self.at;
            for thing in &mut things {
                matches!(thing.noun, Noun::ReviewComment | Noun::ReviewThread).then_some(())?;
                // A bare thread may be one in Slack, so the line has to name the review, the diff or the code.
                let is_named = (thing.start..at).any(|at| {
                    matches!(
                        self.word_at(at),
                        "review" | "inline" | "diff" | "code" | "line"
                    )
                });
                (is_named || !thing.on.is_empty()).then_some(())?;
                thing.noun = Noun::ReviewComment;
                thing.on = vec![Noun::PullRequest];
                let reply = self.says(Says::Test(is(Field::Reply, &["true"])), start);
                thing.guard = thing.guard.clone().and(reply);
            }
            return self.finish(&things, &deed(Verb::Create, Formula::Always));
        }
        let writes = self.eat_any(&[
            "posts", "writes", "says", "posted", "writing", "post", "write", "leaves", "types",
            "issues", "uses", "enters", "runs", "invokes", "sends", "answers",
        ]);
        if !writes {
            self.eat_any(&["comments", "comment", "commenting", "commented", "remarks"])
                .then_some(())?;
        }
        let mut guard = Formula::Always;
        if let Some(text) = self.attempt(Self::said) {
            guard = guard.and(text);
        } else if writes {
            let wrote = self.word_at(self.at - 1);
            let is_plain =
                wrote.starts_with("post") || wrote.starts_with("wri") || wrote == "answers";
            (is_plain && matches!(self.word(0), "on" | "in" | "under")).then_some(())?;
        }
        // `posts "/x" as a top-level comment on`
        let is_top = self.attempt(|line| {
            line.eat("as").then_some(())?;
            line.skip_any(&["a", "an"]);
            let top = line.eat_any(&["top-level", "conversation"]);
            line.eat_any(&["comment", "reply"]).then_some(top)
        }) == Some(true);
        let mut on = Vec::new();
        if let Some((nouns, parent)) = self.attempt(|line| {
            line.eat_any(&["on", "in", "under", "upon", "to"])
                .then_some(())?;
            line.parents()
        }) {
            on = nouns;
            guard = guard.and(parent);
        }
        if let Some(text) = self.attempt(Self::said) {
            guard = guard.and(text);
        }
        if !on.is_empty() {
            self.last.clone_from(&on);
        }
        let mut thing = self.any_pull_request(start);
        thing.noun = match on.as_slice() {
            [Noun::Discussion] => Noun::DiscussionComment,
            [Noun::Commit] => Noun::CommitComment,
            _ => Noun::Comment,
        };
        thing.on = on;
        if is_top {
            thing.without = Some("pull_request_review_comment");
        }
        self.finish(&[thing], &deed(Verb::Create, guard))
    }

    /// The content of a comment: a command, or a string.
    pub(super) fn said(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["with", "saying", "containing", "of"]);
        self.eat_any(&["the", "a"]);
        self.eat_any(&["command", "text", "word", "words"]);
        let mut commands = Vec::new();
        let mut texts = Vec::new();
        loop {
            let is_quoted = self.kind(0) == Some(TokenKind::Quoted);
            let is_code = self.kind(0) == Some(TokenKind::Code) && self.value(0).starts_with('/');
            if !is_quoted && !is_code {
                break;
            }
            let value = self.value(0);
            self.at += 1;
            if value.starts_with('/') {
                commands.push(value);
            } else {
                texts.push(value);
            }
            let joined = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat("or");
                (comma || or).then_some(())?;
                matches!(line.kind(0), Some(TokenKind::Quoted | TokenKind::Code)).then_some(())
            });
            if joined.is_none() {
                break;
            }
        }
        if !commands.is_empty() {
            self.eat_any(&["command", "commands"]);
        }
        let text = |line: &Self, values| {
            line.says(Says::Text(TextPlace::Own, Op::Contains, values), start)
        };
        let command = |line: &Self, values| {
            line.says(
                Says::Test(Test::new(Field::Comment, Op::Command, values)),
                start,
            )
        };
        match (commands.is_empty(), texts.is_empty()) {
            (true, true) => None,
            (true, false) => Some(text(self, texts)),
            (false, true) => Some(command(self, commands)),
            (false, false) => Some(command(self, commands).or(text(self, texts))),
        }
    }
}
