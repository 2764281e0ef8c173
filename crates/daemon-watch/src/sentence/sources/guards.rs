//! Guards of the other sources: `that is not …`, `except …`, `unless …`, `whose severity is …`.

use daemon_event::vocabulary::Noun;

use super::subject::is_elsewhere;
use super::topic::{Scope, Topic, topic};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, UserRole};
use crate::sentence::clauses::{IFS, UNLESSES};
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;
use crate::sentence::people::OTHER_THAN;
use crate::sentence::predicate::{BE, HAS, WRITTEN};

/// Words after an excluded thing: `thread replies excluded`.
const LEFT_OUT: &[&str] = &[
    "are excluded",
    "is excluded",
    "excluded",
    "are ignored",
    "ignored",
    "excepted",
    "are not counted",
    "do not count",
    "does not count",
    "not included",
    "are not included",
    "aside",
    "not counted",
    "are left out",
    "left out",
    "omitted",
];
/// Words for the actor.
pub(super) const DOERS: &[&str] = &[
    "author",
    "sender",
    "poster",
    "commenter",
    "reporter",
    "creator",
    "actor",
    "triggerer",
];

impl Line<'_> {
    /// A guard behind a clause: all of the sentence behind a comma or `unless`, else the last clause.
    pub(in crate::sentence) fn guard_elsewhere(
        &mut self,
        events: &[Event],
    ) -> Option<(Guard, bool)> {
        let last = events.last()?;
        let scope = Scope {
            noun: last.noun,
            topic: topic(last.noun, last.source)?,
            is_verb: true,
        };
        let bracket = self.eat_mark("(");
        let comma = bracket || self.eat_mark(",") || self.eat_mark(";");
        let joined = self.eat_phrase(&["and", "but"]);
        let is_unless = UNLESSES.iter().any(|phrase| self.sees(phrase));
        let mut on = Vec::new();
        let found = self
            .attempt(|line| line.clause_guard(scope))
            .or_else(|| {
                joined.then_some(())?;
                self.attempt(|line| {
                    line.again(scope).then_some(())?;
                    line.predicates_elsewhere(scope)
                })
                .or_else(|| self.attempt(|line| line.part_said(scope)))
                .or_else(|| {
                    self.attempt(|line| {
                        line.eat("only").then_some(())?;
                        line.plainly(scope)
                    })
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    let start = line.at;
                    let found = line.narrowings(scope, &mut on);
                    (line.at > start).then_some(found)
                })
            })?;
        if bracket {
            self.eat_mark(")").then_some(())?;
        }
        Some((found, comma || is_unless))
    }

    /// `unless …`, `if …`, `but only when …`.
    pub(super) fn clause_guard(&mut self, scope: Scope) -> Option<Guard> {
        let negated = self.eat_phrase(UNLESSES);
        if !negated {
            self.eat_phrase(IFS).then_some(())?;
            let is_event = matches!(
                self.word(0),
                "a" | "an" | "any" | "someone" | "somebody" | "anyone" | "there" | "new"
            );
            if is_event {
                return None;
            }
        }
        let found = self.conditions(scope)?;
        Some(if negated { found.not() } else { found })
    }

    /// Conditions joined by `and`, `or` and commas.
    fn conditions(&mut self, scope: Scope) -> Option<Guard> {
        let mut found = self.one_condition(scope)?;
        while let Some((more, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            let and = !or && line.eat_phrase(&["and", "but"]);
            (comma || or || and).then_some(())?;
            line.skip_any(&["if", "unless"]);
            Some((line.one_condition(scope)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    fn one_condition(&mut self, scope: Scope) -> Option<Guard> {
        self.attempt(|line| line.part_said(scope))
            .or_else(|| self.attempt(|line| line.who_did(scope)))
            .or_else(|| {
                self.attempt(|line| {
                    line.again(scope);
                    line.predicates_elsewhere(scope)
                })
            })
            .or_else(|| self.attempt(|line| line.complements(scope)))
    }

    /// `it`, `the message`, `that one`.
    fn again(&mut self, scope: Scope) -> bool {
        if self.eat_any(&["it", "they", "that", "this"]) {
            self.eat_sense(|sense| sense.nouns.contains(&scope.noun));
            return true;
        }
        self.attempt(|line| {
            line.eat_any(&["the", "its"]).then_some(())?;
            line.eat_sense(|sense| sense.source.is_some());
            line.eat_sense(|sense| {
                sense.nouns.iter().any(|noun| {
                    *noun == scope.noun
                        || topic(*noun, None).is_some_and(|other| other == scope.topic)
                        || matches!(scope.topic, Topic::Ticket | Topic::Trouble)
                            && *noun == Noun::Issue
                        || scope.topic == Topic::Remark && *noun == Noun::Comment
                })
            })
        })
        .is_some()
    }

    /// `a bot posted it`, `dependabot triggered it`.
    fn who_did(&mut self, scope: Scope) -> Option<Guard> {
        let who = self.who(UserRole::Actor).filter(|who| !who.is_always())?;
        let wrote = self.eat_any(WRITTEN)
            || self.eat_any(&[
                "triggered",
                "started",
                "caused",
                "sent",
                "wrote",
                "did",
                "moved",
                "changed",
                "added",
                "cancelled",
                "closed",
                "resolved",
                "dismissed",
                "deleted",
                "posts",
                "creates",
                "opens",
            ]);
        wrote.then_some(())?;
        let object = self.eat_any(&["it", "them", "so", "that"]) || self.again(scope);
        object.then_some(who)
    }

    /// `that is not in #eng`, `which mentions "x"`, `whose severity is high`.
    pub(super) fn relative_elsewhere(&mut self, scope: Scope) -> Option<Guard> {
        self.eat_mark(",");
        if self.eat("whose") {
            let mut found = self.part_said(scope)?;
            while let Some((more, or)) = self.attempt(|line| {
                let or = line.eat("or");
                (or || line.eat("and")).then_some(())?;
                line.eat_any(&["whose", "its"]).then_some(())?;
                Some((line.part_said(scope)?, or))
            }) {
                found = if or { found.or(more) } else { found.and(more) };
            }
            return Some(found);
        }
        if self.eat_any(&["where"]) {
            return self.conditions(scope);
        }
        self.eat_any(&["that", "which"]).then_some(())?;
        let wrote = self.attempt(|line| {
            let who = line.who(UserRole::Author)?;
            line.eat_any(WRITTEN).then_some(who)
        });
        if wrote.is_some() {
            return wrote;
        }
        self.predicates_elsewhere(scope)
    }

    fn predicates_elsewhere(&mut self, scope: Scope) -> Option<Guard> {
        let mut found = self.predicate_elsewhere(scope)?;
        while let Some((more, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            let and = !or && line.eat_phrase(&["and", "but"]);
            (comma || or || and).then_some(())?;
            line.eat_any(&["that", "which", "it"]);
            Some((line.predicate_elsewhere(scope)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    /// Reads one predicate with a verb of its own; a finite verb of the event itself is not a predicate.
    fn predicate_elsewhere(&mut self, scope: Scope) -> Option<Guard> {
        self.attempt(|line| {
            line.eat_any(BE).then_some(())?;
            line.eat_any(&["been"]);
            line.complements(scope)
        })
        .or_else(|| {
            self.attempt(|line| {
                let negated = line.eat_any(&["does", "do", "did"]) && line.eat("not");
                let found = line.has_or_says(scope)?;
                Some(if negated { found.not() } else { found })
            })
        })
    }

    fn has_or_says(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        if self.eat_any(HAS) {
            let neither = self.eat("neither");
            let found = self.had(scope, start)?;
            return Some(if neither { found.not() } else { found });
        }
        if self.eat_any(&["lacks", "lack"]) {
            return self.had(scope, start).map(Formula::not);
        }
        if self.eat_phrase(&["comes from", "come from", "came from", "originates from"]) {
            return self.who(UserRole::Actor).filter(|who| !who.is_always());
        }
        if self.eat_phrase(&["belongs to", "belong to", "is part of"]) {
            return self.teams(start).or_else(|| {
                self.at -= 1;
                self.place(scope)
            });
        }
        if self.eat_phrase(&[
            "runs", "run", "ran", "happens", "happen", "occurs", "occur", "goes", "go", "ended",
            "ends", "end",
        ]) {
            return self.plainly(scope);
        }
        if scope.topic == Topic::Deployment && self.eat_any(&["targets", "target"]) {
            return self.valued_complement(scope, start, "to");
        }
        self.says_predicate(None)
    }

    /// `except by bots`, `other than "Nightly"`, `but not in #random`, `thread replies excluded`.
    pub(super) fn excepting(&mut self, scope: Scope) -> Option<Guard> {
        let lead = self.eat_phrase(OTHER_THAN)
            || self.eats_but_before_data()
            || self.eat_phrase(&[
                "and not",
                "but never",
                "not",
                "never",
                "without counting",
                "with no",
                "without any",
                "no",
            ]);
        let mut found = self.left_out_elsewhere(scope, lead)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor", "and"]).then_some(())?;
            if line.eat("not") || line.sees_be() {
                return None;
            }
            line.left_out_elsewhere(scope, lead)
        }) {
            found = found.or(more);
        }
        let said = self.eat_phrase(LEFT_OUT);
        (lead || said).then_some(found.not())
    }

    /// `but :bug:`, `but #random`.
    fn eats_but_before_data(&mut self) -> bool {
        let is_data = !matches!(self.kind(1), None | Some(TokenKind::Word | TokenKind::Mark));
        is_data && self.eat("but")
    }

    fn left_out_elsewhere(&mut self, scope: Scope, is_led: bool) -> Option<Guard> {
        self.attempt(|line| {
            line.eat_any(&["for", "when", "if", "while", "where"])
                .then_some(())?;
            line.conditions(scope)
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["for"]);
                line.skip_any(&["the", "any", "all", "those"]);
                let is_again = matches!(line.word_before(), "those")
                    || line.eat_any(&["ones", "one"])
                    || line
                        .eat_sense(|sense| {
                            sense.nouns.contains(&scope.noun)
                                || scope.topic == Topic::Talk
                                    && sense.nouns.contains(&Noun::Message)
                        })
                        .is_some();
                is_again.then_some(())?;
                let mut on = Vec::new();
                let start = line.at;
                let found = line.narrowings(
                    Scope {
                        is_verb: false,
                        ..scope
                    },
                    &mut on,
                );
                (line.at > start && on.is_empty() && !found.is_always()).then_some(found)
            })
        })
        .or_else(|| {
            // `except on draft pull requests`
            self.attempt(|line| {
                is_led.then_some(())?;
                line.on_pull_request(scope, &mut Vec::new())
            })
        })
        .or_else(|| self.attempt(|line| line.complement_elsewhere(scope)))
        .or_else(|| {
            self.attempt(|line| {
                line.eat("for");
                let by = line.eat("by");
                let who = line
                    .who_joined(UserRole::Actor)
                    .filter(|who| !who.is_always())?;
                let is_subject = line.sees_be() && !LEFT_OUT.iter().any(|phrase| line.sees(phrase));
                (by || is_led || LEFT_OUT.iter().any(|phrase| line.sees(phrase))).then_some(())?;
                (!is_subject).then_some(who)
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                line.skip_any(&["the", "any"]);
                (matches!(line.kind(0), Some(TokenKind::Channel)) && scope.topic == Topic::Talk)
                    .then_some(())?;
                let at = line.at;
                line.channels(at)
            })
        })
        .or_else(|| {
            self.attempt(|line| {
                let start = line.at;
                let found = line.valued_complement(scope, start, "")?;
                line.eat_any(&["ones", "one"]);
                line.eat_sense(|sense| {
                    sense.nouns.contains(&scope.noun) || is_elsewhere(sense) && sense.plural
                });
                Some(found)
            })
        })
    }
}
