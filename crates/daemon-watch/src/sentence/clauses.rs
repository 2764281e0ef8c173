//! Sentences: clauses joined by `or` and commas, and the guards that apply to them.

use daemon_event::vocabulary::Noun;

use super::atom::Guard;
use super::deeds::Event;
use super::formula::Formula;
use super::line::Line;
use super::predicate::{Behind, HAS, TOUCHES};
use super::things::Thing;
use crate::normalise::TokenKind;

/// Words at the beginning of a clause.
pub(super) const LEADS: &[&str] = &[
    "in the event that",
    "as soon as",
    "every time that",
    "each time that",
    "any time that",
    "every time",
    "each time",
    "any time",
    "the moment that",
    "the moment",
    "wake up when",
    "wake me when",
    "wake me up when",
    "wake when",
    "wake on",
    "run when",
    "run on",
    "trigger when",
    "trigger on",
    "fire when",
    "activate when",
    "activate on",
    "right after",
    "just after",
    "immediately after",
    "in case",
    "watch for",
    "listen for",
    "whenever",
    "when",
    "if",
    "once",
    "after",
    "upon",
    "on",
    "following",
    "github :",
    "github →",
];
/// Words before a required condition.
pub(super) const IFS: &[&str] = &[
    "if and only if",
    "but only when",
    "but only if",
    "but only while",
    "and only when",
    "and only if",
    "only when",
    "only if",
    "only while",
    "provided that",
    "provided",
    "on condition that",
    "on the condition that",
    "as long as",
    "so long as",
    "given that",
    "given",
    "assuming that",
    "assuming",
    "while",
    "if",
    "when",
    "where",
    "whenever",
    "in case",
];
/// Words before an excluded condition.
pub(super) const UNLESSES: &[&str] = &[
    "except in cases where",
    "except in case",
    "except when",
    "except while",
    "except if",
    "except where",
    "but not when",
    "but not if",
    "but not while",
    "but not where",
    "but never when",
    "but never if",
    "and not when",
    "and not if",
    "unless",
];
pub(super) const BE: &[&str] = &[
    "has been",
    "have been",
    "had been",
    "is being",
    "are being",
    "was being",
    "is",
    "are",
    "was",
    "were",
    "gets",
    "get",
    "got",
    "getting",
    "has",
    "have",
    "will be",
    "becomes",
    "being",
    "be",
];

impl Line<'_> {
    /// Reads the whole line, or returns `None` if a word of it is not understood.
    pub(super) fn sentence(&mut self) -> Option<Vec<Event>> {
        let mut events = self.opening()?;
        let mut clause_from = 0;
        while !self.is_done() {
            self.step(&mut events, &mut clause_from)?;
        }
        Some(events)
    }

    /// The first clause.
    pub(super) fn opening(&mut self) -> Option<Vec<Event>> {
        let fronted = self.attempt(Self::fronted);
        let on = self.leads();
        let mut first = self.clause(on)?;
        if let Some((nouns, guard)) = fronted {
            for event in &mut first {
                // A place before the clause is that of a comment; other events have no place.
                let is_comment = super::things::is_comment(event.noun) && event.on.is_empty();
                is_comment.then_some(())?;
                event.on.clone_from(&nouns);
                event.require(guard.clone());
            }
            self.last = nouns;
        }
        Some(first)
    }

    /// Reads the continuation of a clause: a guard of the words before it, or another clause.
    pub(super) fn step(&mut self, events: &mut Vec<Event>, clause_from: &mut usize) -> Option<()> {
        let noun = events.last()?.noun;
        if self.left_open(Behind::Noun(noun)).is_some() || self.restated(events).is_some() {
            return Some(());
        }
        if let Some((guard, all)) = self.attempt(|line| line.outer_guard(events)) {
            let from = if all { 0 } else { *clause_from };
            for event in &mut events[from..] {
                event.require(guard.clone());
            }
            return Some(());
        }
        let more = self.attempt(Self::next_clause)?;
        *clause_from = events.len();
        events.extend(more);
        Some(())
    }

    /// `on a pull request, …`: the place of a comment.
    fn fronted(&mut self) -> Option<(Vec<Noun>, Guard)> {
        self.eat_any(&["when", "whenever"]);
        self.eat_any(&["on", "in"]).then_some(())?;
        let found = self.parents()?;
        self.eat_mark(",").then_some(found)
    }

    pub(super) fn leads(&mut self) -> bool {
        let mut on = false;
        while self.eat_phrase(LEADS) || self.eat_mark(":") {
            // After `on`, a noun alone is an event: `on issue comments`.
            let word = self.word_at(self.at - 1);
            on = matches!(word, "on" | "upon" | "after" | "following" | "for");
        }
        on
    }

    /// `, or when …`, `or someone …`, `; on …`
    pub(super) fn next_clause(&mut self) -> Option<Vec<Event>> {
        let mark = self.eat_mark(",") || self.eat_mark(".");
        let or = self.eat_any(&["or", "plus"]);
        let and = !or && self.eat("and");
        (mark || or || and).then_some(())?;
        let at = self.at;
        let on = self.leads();
        let leads = self.at > at;
        // `opened and nobody reviews it` is a sequence, so `and` joins alternatives only if each has its own `when`.
        if and && !leads {
            return None;
        }
        self.clause(on)
    }

    /// Reads a guard of the words before it: all clauses after a comma or `unless`, else the last one.
    pub(super) fn outer_guard(&mut self, events: &[Event]) -> Option<(Guard, bool)> {
        let last = events.last()?;
        // The other sources have guards of their own, with channels, teams and severities.
        if super::sources::topic(last.noun, last.source).is_some() {
            return self.guard_elsewhere(events);
        }
        let noun = last.noun;
        let bracket = self.eat_mark("(");
        let comma = bracket || self.eat_mark(",");
        let start = self.at;
        if self.eat_phrase(&["and", "but"]) {
            let found = self
                .attempt(|line| line.guard_clause(Behind::Noun(noun)))
                .or_else(|| {
                    // `opened and merged by …` is a sequence and not a guard.
                    let is_sequel = matches!(self.word(0), "is" | "are" | "was" | "gets")
                        && matches!(
                            self.word(1),
                            "merged" | "closed" | "approved" | "reopened" | "open"
                        );
                    if is_sequel {
                        return None;
                    }
                    let clausal = self.sees_pronoun()
                        || self.sees_be()
                        || !matches!(self.kind(0), Some(TokenKind::Quoted));
                    clausal.then_some(())?;
                    self.attempt(|line| line.stative(Behind::Noun(noun)))
                });
            if let Some(found) = found {
                return Some((found, true));
            }
            self.at = start;
        }
        // `…, is not a draft, and changes docs/`
        // After a comma a verb of state is a guard; without one it may belong to a relative clause.
        if comma && (self.sees_stative() || matches!(self.word(0), "it" | "its" | "they")) {
            let found = self.attempt(|line| line.stative(Behind::Noun(noun)));
            if let Some(found) = found {
                return Some((found, true));
            }
        }
        let is_unless = UNLESSES.iter().any(|phrase| self.sees(phrase));
        let found = self
            .attempt(|line| line.guard_clause(Behind::Noun(noun)))
            .or_else(|| {
                self.attempt(|line| {
                    let found = line.modifiers(Behind::Verb(noun));
                    (!found.is_always()).then_some(found)
                })
            })?;
        if bracket {
            self.eat_mark(")").then_some(())?;
        }
        Some((found, comma || is_unless))
    }

    /// Whether a verb describes a state and not an event.
    fn sees_stative(&self) -> bool {
        let not = matches!(self.word(1), "not" | "neither");
        (self.sees_be() || matches!(self.word(0), "was" | "were")) && not
            || TOUCHES.contains(&self.word(0))
            || HAS.contains(&self.word(0)) && self.word(1) != "been"
            || self.word(0) == "targets"
    }

    /// `and the target is an issue rather than a pull request`: repeats what the event implies.
    fn restated(&mut self, events: &[Event]) -> Option<()> {
        let is_issue = |event: &Event| event.noun == Noun::Issue || event.on == [Noun::Issue];
        self.attempt(|line| {
            let bracket = line.eat_mark("(");
            line.eat_mark(",");
            line.eat_any(&["and", "but"]);
            let subject =
                line.eat_phrase(&["the target is", "the subject is", "it is", "the item is"]);
            let not = line.eat_phrase(&["not a", "not on a", "not an", "and not a", "never a"]);
            let other =
                !not && line.eat_phrase(&["an actual issue", "an issue", "a real issue"]) && {
                    line.eat_mark(",");
                    line.eat_phrase(&["rather than a", "and not a", "not a", "instead of a"])
                };
            (not || other).then_some(())?;
            line.eat_phrase(&["pull request", "pr", "merge request"])
                .then_some(())?;
            (subject || bracket || line.sees_end()).then_some(())?;
            if bracket {
                line.eat_mark(")").then_some(())?;
            }
            events.iter().all(is_issue).then_some(())
        })
    }

    pub(super) fn sees_pronoun(&self) -> bool {
        matches!(
            self.word(0),
            "it" | "the" | "its" | "they" | "does" | "whose"
        )
    }

    /// `it changes docs/`, `is not a draft`, `targets main`, `the author is a bot`
    pub(super) fn stative(&mut self, behind: Behind) -> Option<Guard> {
        self.attempt(|line| line.part_predicate(behind))
            .or_else(|| self.attempt(|line| line.comment_predicate(behind)))
            .or_else(|| {
                self.attempt(|line| {
                    if line.eat_any(&["the", "that"]) {
                        line.eat_sense(|sense| {
                            sense.nouns.contains(&behind.noun())
                                || sense.nouns.contains(&Noun::PullRequest)
                                || sense.nouns.contains(&Noun::Issue)
                        })?;
                    } else {
                        line.eat_any(&["it", "they"]);
                    }
                    line.predicates(behind)
                })
            })
    }

    /// `unless …`, `if …`, `while …`
    pub(super) fn guard_clause(&mut self, behind: Behind) -> Option<Guard> {
        let negated = self.eat_phrase(UNLESSES);
        if !negated {
            let after = self.eat("after") && self.word(0) == "it";
            (after || self.eat_phrase(IFS)).then_some(())?;
            // `if a bot did it` is about the actor, though it begins like another event.
            if let Some(found) = self.attempt(Self::somebody_did_it) {
                return Some(found);
            }
            // `when a review is requested` is another event, not a guard.
            if matches!(
                self.word(0),
                "a" | "an" | "any" | "someone" | "somebody" | "anyone" | "there" | "new"
            ) {
                return None;
            }
        }
        // `unless by X` is about the actor, even after a noun.
        let behind = if matches!(self.word(0), "by") {
            Behind::Verb(behind.noun())
        } else {
            behind
        };
        let found = match behind {
            Behind::Verb(_) => self.modifier(behind)?,
            Behind::Noun(_) => self.condition(behind)?,
        };
        Some(if negated { found.not() } else { found })
    }

    /// One clause, in any of its forms.
    pub(super) fn clause(&mut self, on: bool) -> Option<Vec<Event>> {
        type Form<'l> = fn(&mut Line<'l>, bool) -> Option<Vec<Event>>;
        let forms: [Form<'_>; 16] = [
            |line, _| line.label_of_repository(),
            |line, on| {
                line.goes_elsewhere
                    .then(|| line.clause_elsewhere(on))
                    .flatten()
            },
            |line, _| line.raw_clause(),
            |line, _| line.label_clause(),
            |line, _| line.part_clause(),
            |line, _| line.request_clause(),
            |line, _| line.person_clause(),
            |line, _| line.auto_merge_clause(),
            |line, _| line.thing_clause(false),
            |line, _| line.nominal_clause(),
            |line, _| line.thing_clause(true),
            |line, _| line.branch_clause(),
            |line, _| line.relative_clause(),
            |line, _| line.agent_clause(),
            Self::bare_or_gerund,
            |line, on| {
                (!line.goes_elsewhere)
                    .then(|| line.clause_elsewhere(on))
                    .flatten()
            },
        ];
        let start = self.at;
        let mut best: Option<(usize, Vec<Event>, Vec<Noun>)> = None;
        for form in forms {
            self.at = start;
            let Some(events) = self.attempt(|line| form(line, on)) else {
                continue;
            };
            // The first form that reaches a boundary wins; otherwise the one that reads furthest.
            let ends = self.sees_end()
                || self.is_mark(0, "(")
                || matches!(self.word(0), "and" | "but" | "provided" | "as");
            if best.as_ref().is_none_or(|(at, ..)| self.at > *at) {
                best = Some((self.at, events, self.last.clone()));
            }
            if ends {
                break;
            }
        }
        let (at, events, last) = best?;
        self.at = at;
        self.last = last;
        Some(events)
    }

    pub(super) fn bare_or_gerund(&mut self, on: bool) -> Option<Vec<Event>> {
        self.attempt(|line| line.bare_thing(on))
            .or_else(|| self.attempt(Self::gerund_clause))
    }

    pub(super) fn sees_end(&self) -> bool {
        self.is_done()
            || self.is_mark(0, ",")
            || matches!(
                self.word(0),
                "or" | "by" | "unless" | "if" | "while" | "when" | "except"
            )
    }

    /// Reads objects after a verb: `by` after them names the actor.
    pub(super) fn objects(&mut self) -> Option<Vec<Thing>> {
        let was = std::mem::replace(&mut self.is_object, true);
        let things = self.things();
        self.is_object = was;
        things
    }

    pub(super) fn any_pull_request(&self, start: usize) -> Thing {
        Thing {
            noun: Noun::PullRequest,
            guard: Formula::Always,
            behind: Formula::Always,
            on: Vec::new(),
            source: None,
            is_new: false,
            is_plural: false,
            without: None,
            start,
        }
    }
}
