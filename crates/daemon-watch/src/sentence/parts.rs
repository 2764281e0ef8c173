//! Clauses with a part of a thing as subject: a label, its title, its base.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Says, TextPlace};
use super::clauses::BE;
use super::deeds::{Deed, Event, added, removed};
use super::formula::{Formula, is};
use super::line::Line;
use super::things::Thing;
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `the bug label is added to or removed from a PR`
    pub(super) fn label_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["a", "an", "any", "some", "new"]);
        let plain = self.attempt(|line| {
            line.eat_any(&["label", "labels"]).then_some(())?;
            (line.sees_be()).then_some(())
        });
        let labels = if plain.is_some() {
            None
        } else {
            self.at = start;
            self.skip_any(&["the"]);
            let at = self.at;
            self.labels(added)?;
            let quoted = self.kind(0).is_some()
                && matches!(
                    self.tokens.get(at).map(|token| token.kind),
                    Some(TokenKind::Quoted | TokenKind::Code)
                );
            let word = matches!(self.word_at(self.at - 1), "label" | "labels")
                || (at..self.at).any(|at| matches!(self.word_at(at), "label" | "labels"));
            (quoted
                || word
                || self.word_at(start) != "the"
                    && crate::lexicon::exact(self.word_at(at)).is_none()
                    && self.sees_be()
                || self.word_at(start) != "the" && self.tokens[at].text.contains('-'))
            .then_some(at)
        };
        if labels.is_none() && plain.is_none() {
            return None;
        }
        let end = self.at;
        let deeds = match self.attempt(Self::comes_or_goes) {
            Some(verb) => vec![verb],
            None => {
                self.eat_phrase(BE).then_some(())?;
                self.put_or_taken()?
            }
        };
        let things = self.objects()?;
        self.eat_phrase(&["as a label", "as labels"]);
        self.last = things.iter().map(|thing| thing.noun).collect();
        let behind_from = self.at;
        let mut events = Vec::new();
        for verb in deeds {
            let guard = match labels {
                None => Formula::Always,
                Some(at) => {
                    self.at = at;
                    (verb != Verb::Relabel).then_some(())?;
                    let found = if verb == Verb::Label {
                        self.labels(added)
                    } else {
                        self.labels(removed)
                    };
                    debug_assert_eq!(self.at, end, "the same labels are read again");
                    found?
                }
            };
            self.at = behind_from;
            events.extend(self.done_to(
                &things,
                &Deed {
                    verbs: vec![verb],
                    guard,
                    is_bare: false,
                },
            )?);
        }
        self.at = behind_from;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        self.more_of(&things, &mut events);
        Some(events)
    }

    /// `comes off`, `disappears from`, `lands on`
    fn comes_or_goes(&mut self) -> Option<Verb> {
        if self.eat_phrase(&[
            "is gone from",
            "comes off of",
            "comes off",
            "come off",
            "goes away from",
            "disappears from",
            "vanishes from",
            "drops off",
            "falls off",
            "leaves",
        ]) {
            return Some(Verb::Unlabel);
        }
        self.eat_phrase(&[
            "lands on",
            "goes on",
            "goes onto",
            "appears on",
            "shows up on",
            "ends up on",
            "is slapped on",
            "is slapped onto",
            "is stuck on",
            "is stuck onto",
        ])
        .then_some(Verb::Label)
    }

    /// `added to`, `removed from`, `added to or removed from`
    pub(super) fn put_or_taken(&mut self) -> Option<Vec<Verb>> {
        let one = |line: &mut Self| -> Option<Verb> {
            let verb = if line.eat_any(&["added", "applied", "attached", "put", "set"]) {
                Verb::Label
            } else if line.eat("changed") {
                Verb::Relabel
            } else if line.eat_any(&[
                "removed", "dropped", "stripped", "cleared", "taken", "pulled", "deleted",
            ]) {
                line.eat("off");
                Verb::Unlabel
            } else {
                return None;
            };
            Some(verb)
        };
        let mut verbs = vec![one(self)?];
        self.eat_phrase(&["as a label", "as labels"]);
        self.eat_any(&["to", "on", "onto", "from", "of", "off"]);
        while let Some(verb) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            (line.eat("or") || comma).then_some(())?;
            one(line)
        }) {
            verbs.push(verb);
            self.eat_any(&["to", "on", "onto", "from", "of", "off"]);
        }
        matches!(
            self.word_at(self.at - 1),
            "to" | "on" | "onto" | "from" | "of" | "off"
        )
        .then_some(verbs)
    }

    /// `the title of a PR is edited`, `a PR's title or body changes`, `the base branch of a PR is changed to main`
    pub(super) fn part_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        if let Some(events) = (self.attempt(Self::milestone_clause))
            .or_else(|| self.attempt(Self::conversation_clause))
            .or_else(|| self.attempt(Self::head_clause))
        {
            return Some(events);
        }
        let before = self.attempt(|line| {
            line.skip_any(&["the"]);
            let place = line.changed_part()?;
            line.eat("of").then_some(())?;
            Some((place, line.things()?))
        });
        let (part, things) = match before {
            Some(found) => found,
            None => {
                let things = self
                    .attempt(|line| {
                        let things = line.things()?;
                        line.eat("'s").then_some(things)
                    })
                    .or_else(|| {
                        self.attempt(|line| {
                            let things = line.things()?;
                            line.is_part(0).then_some(things)
                        })
                    })?;
                (self.changed_part()?, things)
            }
        };
        self.last = things.iter().map(|thing| thing.noun).collect();
        let mut events = self.change_of(&things, start, part)?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        self.more_of(&things, &mut events);
        Some(events)
    }

    pub(super) fn part_change(&mut self, things: &[Thing], start: usize) -> Option<Vec<Event>> {
        let part = self.changed_part()?;
        self.change_of(things, start, part)
    }

    /// `the conversation on a PR is locked`, `an issue's discussion gets unlocked`
    fn conversation_clause(&mut self) -> Option<Vec<Event>> {
        const TALK: &[&str] = &[
            "conversation",
            "discussion",
            "thread",
            "comments",
            "comment section",
        ];
        let start = self.at;
        let before = self.attempt(|line| {
            line.skip_any(&["the", "a", "further"]);
            line.eat_phrase(TALK).then_some(())?;
            if line.eat_any(&["on", "of", "in", "under", "for"]) {
                return line.objects();
            }
            let is_talk = line.word_at(line.at - 1) == "conversation";
            let happens =
                line.sees_be() || matches!(line.word(0), "resolved" | "locked" | "unlocked");
            (is_talk && happens).then(Vec::new)
        });
        let things = match before {
            Some(things) => things,
            None => {
                let things = self.things()?;
                self.eat("'s");
                self.eat_phrase(TALK).then_some(things)?
            }
        };
        self.eat_phrase(BE);
        let verb = if self.eat_any(&["locked"]) {
            self.eat("down");
            Verb::Lock
        } else if self.eat_any(&["unlocked"]) {
            Verb::Unlock
        } else {
            self.eat_phrase(&["resolved", "marked as resolved", "marked resolved"])
                .then_some(Verb::Resolve)?
        };
        let on = if things.is_empty() {
            self.attempt(|line| {
                line.eat_any(&["on", "in", "of"]).then_some(())?;
                line.objects()
            })
        } else {
            Some(things)
        };
        let things = on.unwrap_or_else(|| vec![self.any_pull_request(start)]);
        (things.iter())
            .all(|thing| matches!(thing.noun, Noun::PullRequest | Noun::Issue))
            .then_some(())?;
        let things = if verb == Verb::Resolve {
            let mut thread = self.any_pull_request(start);
            thread.noun = Noun::ReviewThread;
            thread.guard = super::things::of_parent(&things.first()?.guard)?;
            vec![thread]
        } else {
            things
        };
        let mut events = self.done_to(&things, &Deed::with(verb, Formula::Always))?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `the head of a PR moves`, `a PR's branch gets new commits`
    fn head_clause(&mut self) -> Option<Vec<Event>> {
        const HEAD: &[&str] = &[
            "head branch",
            "source branch",
            "head commit",
            "head",
            "branch",
        ];
        let before = self.attempt(|line| {
            line.skip_any(&["the", "a"]);
            line.eat_phrase(HEAD).then_some(())?;
            line.eat_any(&["of", "behind"]).then_some(())?;
            line.objects()
        });
        let things = match before {
            Some(things) => things,
            None => {
                let things = self.things()?;
                self.eat("'s");
                self.eat_phrase(HEAD).then_some(things)?
            }
        };
        let is_pull = things.iter().all(|thing| thing.noun == Noun::PullRequest);
        is_pull.then_some(())?;
        if self.eat_any(&["gets", "receives", "has", "sees"])
            && !matches!(self.word(0), "updated" | "pushed" | "been")
        {
            self.skip_any(&["a", "new", "more", "any", "some", "fresh", "additional"]);
            self.eat_any(&["commits", "commit", "push", "pushes"])
                .then_some(())?;
        } else if !self.eat_any(&["moves", "changes", "advances"]) {
            self.eat_phrase(BE);
            self.eat_phrase(&[
                "updated",
                "pushed to",
                "moved",
                "changed",
                "force-pushed",
                "pushed",
            ])
            .then_some(())?;
        }
        self.last = things.iter().map(|thing| thing.noun).collect();
        let mut events = self.done_to(&things, &Deed::with(Verb::Synchronize, Formula::Always))?;
        let behind = self.behind_verb(Noun::PullRequest);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        self.more_of(&things, &mut events);
        Some(events)
    }

    /// `a milestone is added to a PR`, `an issue's milestone changes`
    fn milestone_clause(&mut self) -> Option<Vec<Event>> {
        let deed = |verbs: &[Verb]| Deed {
            verbs: verbs.to_vec(),
            guard: Formula::Always,
            is_bare: false,
        };
        let passive = self.attempt(|line| {
            line.skip_any(&["a", "the", "any"]);
            line.eat("milestone").then_some(())?;
            line.eat_phrase(BE).then_some(())?;
            let verb = if line.eat_phrase(&["added to", "set on", "put on", "assigned to"]) {
                Verb::Milestone
            } else {
                line.eat_phrase(&["removed from", "cleared from", "taken off"])
                    .then_some(Verb::Demilestone)?
            };
            Some((deed(&[verb]), line.objects()?))
        });
        let (deed, things) = match passive {
            Some(found) => found,
            None => {
                let of = self.attempt(|line| {
                    line.skip_any(&["the", "a"]);
                    line.eat("milestone").then_some(())?;
                    line.eat_any(&["of", "on"]).then_some(())?;
                    line.objects()
                });
                let things = match of {
                    Some(things) => things,
                    None => {
                        let things = self.things()?;
                        self.eat("'s");
                        self.eat("milestone").then_some(things)?
                    }
                };
                self.eat_phrase(&["is changed", "changes", "gets changed", "is updated"])
                    .then_some(())?;
                (deed(&[Verb::Milestone, Verb::Demilestone]), things)
            }
        };
        let mut events = self.done_to(&things, &deed)?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `title`, `title or description`, `base branch`; the last one contains no string.
    pub(super) fn changed_part(&mut self) -> Option<Option<TextPlace>> {
        self.attempt(|line| {
            line.eat_phrase(&[
                "base branch",
                "target branch",
                "merge target",
                "base",
                "target",
            ])
            .then_some(None)
        })
        .or_else(|| {
            self.attempt(|line| {
                line.place_named()
                    .filter(|place| *place != TextPlace::Message)
                    .map(Some)
            })
        })
    }

    pub(super) fn change_of(
        &mut self,
        things: &[Thing],
        start: usize,
        part: Option<TextPlace>,
    ) -> Option<Vec<Event>> {
        let passive = self.eat_phrase(BE);
        self.eat_any(if passive {
            &[
                "edited",
                "reworded",
                "corrected",
                "replaced",
                "tweaked",
                "altered",
                "revised",
                "changed",
                "updated",
                "modified",
                "switched",
                "set",
                "rewritten",
                "amended",
            ]
        } else {
            &[
                "changes",
                "change",
                "changed",
                "edited",
                "updated",
                "reworded",
                "rewritten",
            ]
        })
        .then_some(())?;
        match part {
            Some(place) => self.edited_part(things, start, place),
            None => {
                let mut guard = self.says(Says::Test(is(Field::Changed, &["base"])), start);
                if self.eat_any(&["to"]) {
                    guard = guard.and(self.branches()?);
                }
                self.done_to(
                    things,
                    &Deed {
                        verbs: vec![Verb::Edit],
                        guard,
                        is_bare: false,
                    },
                )
            }
        }
    }
}
