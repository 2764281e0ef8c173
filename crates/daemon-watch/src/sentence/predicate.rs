//! Predicates of a thing: after `is` and `has`, with a verb, after its noun, in a guard.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, UserRole};
use super::formula::Formula;
use super::line::Line;
use super::people::OTHER_THAN;
use crate::filter::{Op, Test};

/// The word that a modifier follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// After a noun: a named user is its author.
    Noun(Noun),
    /// After a verb: a named user is the actor.
    Verb(Noun),
}

impl Behind {
    pub(super) fn noun(self) -> Noun {
        match self {
            Self::Noun(noun) | Self::Verb(noun) => noun,
        }
    }

    pub(super) fn role(self) -> UserRole {
        match self {
            Self::Noun(_) => UserRole::Author,
            Self::Verb(_) => UserRole::Actor,
        }
    }
}

/// Words for the author of a thing.
pub(super) const WRITTEN: &[&str] = &[
    "authored",
    "written",
    "opened",
    "raised",
    "created",
    "submitted",
    "filed",
    "made",
    "reported",
    "sent",
    "contributed",
    "started",
    "proposed",
    "posted",
    "left",
];
pub(super) const TOUCHING: &[&str] = &[
    "touching",
    "changing",
    "modifying",
    "affecting",
    "editing",
    "updating",
    "altering",
    "involving",
];
pub(super) const TOUCHES: &[&str] = &[
    "touches", "changes", "modifies", "affects", "edits", "updates", "alters", "touch", "change",
    "modify", "affect", "edit", "update", "alter", "touched", "changed", "modified",
];
pub(super) const TARGETING: &[&str] = &[
    "aimed at",
    "targeted at",
    "based on",
    "bound for",
    "headed for",
    "headed to",
    "going into",
    "going to",
    "destined for",
    "based off",
    "headed into",
    "heading for",
    "heading into",
    "heading to",
    "meant for",
    "intended for",
    "to be merged into",
    "to merge into",
    "to go into",
    "pointed at",
    "pointing at",
    "directed at",
    "aiming at",
    "aiming for",
    "aimed for",
    "based upon",
    "targeting",
    "against",
    "into",
    "onto",
];
pub(super) const TARGETS: &[&str] = &[
    "is going into",
    "should go into",
    "would go into",
    "will go into",
    "should be merged into",
    "would be merged into",
    "will be merged into",
    "is to be merged into",
    "should merge into",
    "would merge into",
    "will merge into",
    "wants to merge into",
    "is headed for",
    "is heading for",
    "is bound for",
    "is destined for",
    "is meant for",
    "is intended for",
    "is pointed at",
    "is targeted at",
    "points at",
    "aims at",
    "aims for",
    "heads for",
    "aim at",
    "goes into",
    "is based on",
    "targets",
    "target",
    "is aimed at",
    "is against",
];
pub(super) const LABELLED: &[&str] = &["labelled", "labeled", "tagged", "marked", "flagged"];
pub(super) const HAS: &[&str] = &["has", "have", "carries", "carry", "bears", "bear", "had"];
pub(super) const BE: &[&str] = &["is", "are", "was", "were", "be", "being", "been"];

pub(super) fn label_test(values: Vec<String>) -> Test {
    Test::new(Field::Labels, Op::Is, values)
}

impl Line<'_> {
    /// Reads all modifiers at this position, joined by commas, `and`, `but` and `or`.
    pub(super) fn modifiers(&mut self, behind: Behind) -> Guard {
        let mut found = Formula::Always;
        loop {
            if self.left_open(behind).is_some() {
                continue;
            }
            let more = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = !found.is_always() && line.eat("or");
                let but = !or && line.eat_phrase(&["but only", "and only", "and", "but"]);
                // After a comma or `but`, `by X` is about the actor and not about the author of the noun.
                let is_noun = matches!(behind, Behind::Noun(_));
                if is_noun && (comma || but) && line.sees_by() {
                    return None;
                }
                // `is opened labelled bug`
                if let (Behind::Verb(noun), false, false, false) = (behind, comma, or, but)
                    && matches!(noun, Noun::PullRequest | Noun::Issue)
                    && LABELLED.contains(&line.word(0))
                {
                    let was = std::mem::replace(&mut line.is_headline, false);
                    let found = line.label_modifier();
                    line.is_headline = was;
                    return found.map(|found| (found, false));
                }
                let more = line.modifier(behind)?;
                // A modifier that is always true would make the alternative admit everything.
                (!or || !more.is_always()).then_some((more, or))
            });
            let Some((more, or)) = more else { return found };
            found = if or { found.or(more) } else { found.and(more) };
        }
    }

    /// `by X`, `not by X`, `except by X`
    pub(super) fn sees_by(&self) -> bool {
        self.word(0) == "by"
            || self.word(1) == "by"
                && matches!(self.word(0), "not" | "only" | "except" | "but" | "never")
            || self.word(2) == "by" && self.word(0) == "other"
    }

    /// Reads one modifier.
    pub(super) fn modifier(&mut self, behind: Behind) -> Option<Guard> {
        self.attempt(|line| {
            (behind.noun() == Noun::Review).then_some(())?;
            line.review_says()
        })
        .or_else(|| self.attempt(|line| line.bracketed(behind)))
        .or_else(|| self.attempt(|line| line.left_out(behind)))
        .or_else(|| self.attempt(|line| line.relative(behind)))
        .or_else(|| self.attempt(|line| line.plain_modifier(behind)))
    }

    pub(super) fn bracketed(&mut self, behind: Behind) -> Option<Guard> {
        if !self.eat_mark("(") {
            return None;
        }
        let found = match self.attempt(|line| line.modifier(behind)) {
            Some(first) => first.and(self.modifiers(behind)),
            None => self.complement(behind)?,
        };
        self.eat_mark(")").then_some(found)
    }

    /// `except drafts`, `other than those by bots`, `but not from forks`, `unless it is a draft`.
    pub(super) fn left_out(&mut self, behind: Behind) -> Option<Guard> {
        if !self.eat_phrase(OTHER_THAN)
            && !self.eat_phrase(&["not", "non", "and not", "but never", "never"])
        {
            return None;
        }
        let mut found = self.one_left_out(behind)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor", "and"]).then_some(())?;
            if line.eat("not") || line.sees_be() {
                return None;
            }
            line.one_left_out(behind)
        }) {
            found = found.or(more);
        }
        Some(found.not())
    }

    pub(super) fn one_left_out(&mut self, behind: Behind) -> Option<Guard> {
        if let Some(forced) = self.forced(behind.noun()) {
            return Some(forced);
        }
        let review = self.attempt(|line| {
            (behind.noun() == Noun::Review).then_some(())?;
            line.review_says()
        });
        if review.is_some() {
            return review;
        }
        self.attempt(|line| {
            line.eat_any(&["for", "when", "if", "while"])
                .then_some(())?;
            line.condition(behind)
        })
        .or_else(|| {
            self.attempt(|line| {
                line.eat("for");
                line.skip_any(&["the", "any", "all"]);
                line.eat_any(&[
                    "those",
                    "ones",
                    "one",
                    "pull",
                    "pr",
                    "prs",
                    "issues",
                    "mrs",
                    "pushes",
                    "commits",
                    "comments",
                    "reviews",
                    "releases",
                    "branches",
                    "tags",
                    "approvals",
                ])
                .then_some(())?;
                line.eat_any(&["requests", "request"]);
                let found = line.modifiers(Behind::Noun(behind.noun()));
                (!found.is_always()).then_some(found)
            })
        })
        .or_else(|| self.attempt(|line| line.plain_modifier(behind)))
        .or_else(|| self.attempt(|line| line.complement_one(behind)))
        .or_else(|| {
            // `except nightly-* ones`
            self.attempt(|line| {
                let found = match behind.noun() {
                    Noun::Branch => line.branches()?,
                    Noun::Tag => line.tags(line.at)?,
                    _ => return None,
                };
                line.eat_any(&["ones", "branches", "tags"]).then_some(found)
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                // A thing is no user: the excluded user is the actor, and only verbs have one.
                let Behind::Verb(_) = behind else { return None };
                line.eat("for");
                line.who_joined(behind.role())
                    .filter(|who| !who.is_always())
            })
        })
        .or_else(|| self.attempt(Self::numbers))
    }

    /// `that touches docs/`, `whose title contains "x"`, `which is not a draft`.
    pub(super) fn relative(&mut self, behind: Behind) -> Option<Guard> {
        if self.eat("whose") {
            let mut found = self.part_predicate(behind)?;
            while let Some(more) = self.attempt(|line| {
                line.eat_mark(",");
                line.eat_any(&["and"]).then_some(())?;
                line.eat_any(&["whose", "its"]).then_some(())?;
                line.part_predicate(behind)
            }) {
                found = found.and(more);
            }
            return Some(found);
        }
        if self.eat("where") || self.eat("in which") {
            return self.condition(Behind::Noun(behind.noun()));
        }
        if let Some(wrote) = self.attempt(|line| line.that_somebody_wrote(behind)) {
            return Some(wrote);
        }
        self.eat_any(&["that", "which", "who"]).then_some(())?;
        self.predicates(Behind::Noun(behind.noun()))
    }

    /// Predicates joined by `and`, `or`, commas: `is open and targets main`.
    pub(super) fn predicates(&mut self, behind: Behind) -> Option<Guard> {
        let mut found = self.predicate(behind)?;
        loop {
            let more = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat("or");
                let and = !or && line.eat_phrase(&["and", "but"]);
                (comma || or || and).then_some(())?;
                line.eat_any(&["that", "which", "who", "it"]);
                Some((line.predicate(behind)?, or))
            });
            let Some((more, or)) = more else {
                return Some(found);
            };
            found = if or { found.or(more) } else { found.and(more) };
        }
    }

    /// One predicate with a verb of its own.
    pub(super) fn predicate(&mut self, behind: Behind) -> Option<Guard> {
        let review = self.attempt(|line| {
            (behind.noun() == Noun::Review).then_some(())?;
            line.review_says()
        });
        if review.is_some() {
            return review;
        }
        self.attempt(Self::targets_predicate)
            .or_else(|| self.attempt(|line| line.has_predicate(behind)))
            .or_else(|| self.attempt(Self::touch_predicate))
            .or_else(|| self.attempt(|line| line.adds_predicate(behind)))
            .or_else(|| {
                self.attempt(|line| {
                    line.eat_any(&["leaves", "leave"]).then_some(())?;
                    let found = line.touched(false)?;
                    line.eat_any(&["untouched", "unchanged", "alone"])
                        .then_some(found.not())
                })
            })
            .or_else(|| {
                self.attempt(|line| match behind.noun() {
                    Noun::Branch => line.branch_predicate(),
                    Noun::Commit => {
                        line.eat_phrase(&[
                            "updates", "update", "lands on", "land on", "goes to", "go to",
                            "reaches", "reach",
                        ])
                        .then_some(())?;
                        line.branches()
                    }
                    Noun::Tag => line.tag_says(),
                    _ => None,
                })
            })
            .or_else(|| self.attempt(|line| line.says_predicate(None)))
            .or_else(|| self.attempt(Self::origin_predicate))
            .or_else(|| self.attempt(|line| line.be_predicate(behind)))
    }
}
