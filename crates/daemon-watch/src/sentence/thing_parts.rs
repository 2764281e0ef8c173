//! Predicates of a part of a thing: its author, base, labels, title, files.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says, TextPlace, UserRole};
use super::clauses::BE;
use super::complements::the_label;
use super::formula::Formula;
use super::line::Line;
use super::literals::PREFIXED;
use super::people::OTHER_THAN;
use super::predicate::{Behind, label_test};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `(whose) title contains "x"`, `author is a bot`, `base is main`
    pub(super) fn part_predicate(&mut self, behind: Behind) -> Option<Guard> {
        self.attempt(|line| {
            line.skip_any(&["the", "its"]);
            let acts = line.eat_any(&[
                "commenter",
                "approver",
                "reviewer",
                "actor",
                "sender",
                "pusher",
                "committer",
            ]);
            if !acts {
                line.eat_phrase(&[
                    "author of it",
                    "author of the pull request",
                    "author of the pr",
                    "author",
                    "creator",
                    "authors",
                    "opener",
                ])
                .then_some(())?;
            }
            line.eat_any(BE).then_some(())?;
            let not = line.eat("not");
            let neg = not || line.eat_phrase(OTHER_THAN);
            let who = line.who(if acts {
                UserRole::Actor
            } else {
                UserRole::Author
            })?;
            Some(if neg { who.not() } else { who })
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["the", "its"]);
                line.eat_phrase(&["base branch", "target branch", "base", "target"])
                    .then_some(())?;
                line.branch_predicate()
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["the", "its"]);
                line.eat_phrase(&[
                    "head branch",
                    "source branch",
                    "branch name",
                    "head",
                    "branch",
                ])
                .then_some(())?;
                line.eat("name");
                let found = line.branch_predicate()?;
                line.as_head(found, behind)
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["the", "its"]);
                line.eat_any(&["labels", "label"]).then_some(())?;
                let negated = if line.eat_any(&["do", "does"]) {
                    line.eat("not").then_some(())?;
                    true
                } else {
                    false
                };
                line.eat_any(&["include", "includes", "contain", "contains", "is", "are"])
                    .then_some(())?;
                let is_one = line.word_at(line.at - 1) == "is";
                let negated = line.eat("not") || negated;
                let found = line.labels(label_test)?;
                let found = if is_one { the_label(&found)? } else { found };
                Some(if negated { found.not() } else { found })
            })
        })
        .or_else(|| self.attempt(Self::all_files))
        .or_else(|| self.attempt(|line| line.tag_predicate(behind)))
        .or_else(|| {
            self.attempt(|line| {
                let place = line.place_named()?;
                if let Some(found) = line.says_predicate(Some(place)) {
                    return Some(found);
                }
                let start = line.at;
                line.eat_any(&["is"]).then_some(())?;
                let not = line.eat("not");
                let found = match line.kind(0)? {
                    TokenKind::Quoted if place == TextPlace::Title => {
                        let value = line.value(0);
                        line.at += 1;
                        line.says(
                            Says::Test(Test::new(Field::Title, Op::Is, vec![value])),
                            start,
                        )
                    }
                    _ => return None,
                };
                Some(if not { found.not() } else { found })
            })
        })
    }

    /// `all of its files are under docs/`, `its changes are limited to docs/`
    pub(super) fn all_files(&mut self) -> Option<Guard> {
        let the_only = self.eat_phrase(&["the only", "its only"]);
        let all = the_only || self.eat_any(&["all", "every"]);
        self.skip_any(&[
            "of", "its", "the", "their", "changed", "touched", "modified",
        ]);
        self.eat_any(&["files", "file", "changes", "paths"])
            .then_some(())?;
        self.skip_any(&["it", "touches", "changes"]);
        self.eat_any(&["are", "is", "match", "matches", "lie", "lies", "live"])
            .then_some(())?;
        let not = self.eat("not");
        let limited = self.eat_phrase(&[
            "limited to",
            "confined to",
            "restricted to",
            "touched are in",
            "only in",
            "only under",
            "all in",
            "all under",
            "all within",
            "all inside",
            "only within",
        ]);
        (all || limited).then_some(())?;
        let found = self.touched(true)?;
        Some(if not { found.not() } else { found })
    }

    pub(super) fn tag_predicate(&mut self, behind: Behind) -> Option<Guard> {
        let noun = behind.noun();
        self.skip_any(&["its", "the"]);
        let is_tag =
            self.eat_phrase(&["tag name", "tag"]) || matches!(noun, Noun::Tag | Noun::Release);
        let is_named = self.eat("name") || is_tag;
        is_named.then_some(())?;
        if noun == Noun::Branch {
            return self.branch_predicate();
        }
        is_tag.then_some(())?;
        self.tag_says()
    }

    /// `starts with v`, `does not match v1.*`, `is not nightly`
    pub(super) fn tag_says(&mut self) -> Option<Guard> {
        let negated = self.eat_any(&["does", "do"]) && self.eat("not");
        if self.eat_phrase(PREFIXED) {
            let found = self.prefixes(Field::Tag)?;
            return Some(if negated { found.not() } else { found });
        }
        let is = self.eat_any(BE);
        let neither = is && self.eat("neither");
        let not = is && self.eat("not") || neither;
        let named = self.eat_any(&["named", "called", "like", "matching"]);
        (is || named || self.eat_any(&["matches", "match"])).then_some(())?;
        let found = self.tags(self.at)?;
        Some(if negated || not { found.not() } else { found })
    }

    /// `v1.*`, `"nightly"`: the names of tags.
    pub(super) fn tags(&mut self, start: usize) -> Option<Guard> {
        let mut values = vec![self.tag()?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            (line.eat_any(&["or", "nor", "and"]) || comma).then_some(())?;
            line.tag()
        }) {
            values.push(value);
        }
        let is_glob = values.iter().any(|value| value.contains(['*', '?', '{']));
        let op = if is_glob { Op::Matches } else { Op::Is };
        Some(self.says(Says::Test(Test::new(Field::Tag, op, values)), start))
    }

    fn tag(&mut self) -> Option<String> {
        let is_word = self.kind(0)? == TokenKind::Word
            && crate::lexicon::exact(self.word(0)).is_none_or(|sense| sense.is_value)
            && !matches!(self.word(0), "ones" | "one" | "nor" | "neither")
            && !self.sees_be();
        let is_data = matches!(self.kind(0)?, TokenKind::Quoted | TokenKind::Code);
        let value = (is_data || is_word).then(|| self.value(0))?;
        self.at += 1;
        Some(value)
    }

    /// `is main`, `is not develop`, `starts with hotfix/`, `matches release/*`
    pub(super) fn branch_predicate(&mut self) -> Option<Guard> {
        if self.eat_phrase(&["starts with", "begins with"]) {
            return self.prefixes(Field::Branch);
        }
        if self.eat_phrase(&["does not start with", "does not begin with"]) {
            return self.prefixes(Field::Branch).map(Formula::not);
        }
        let negated = self.eat("does not match");
        if !negated {
            self.eat_phrase(&["is set to", "is", "matches"])
                .then_some(())?;
        }
        let found = self.branches()?;
        Some(if negated { found.not() } else { found })
    }

    /// Replaces the base by the branch that a pull request comes from.
    pub(super) fn as_head(&self, guard: Guard, behind: Behind) -> Option<Guard> {
        if behind.noun() != Noun::PullRequest {
            return Some(guard);
        }
        guard.replace(false, &mut |atom: &super::atom::Atom, negated| {
            let Says::Branch(op, values) = &atom.says else {
                return None;
            };
            let mut atom = atom.clone();
            atom.says = Says::Test(Test::new(Field::Head, *op, values.clone()));
            let found = Formula::Atom(atom);
            Some(if negated { found.not() } else { found })
        })
    }
}
