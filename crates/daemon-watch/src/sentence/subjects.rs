//! Clauses with a thing as subject: passive and active verbs.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says, State};
use super::clauses::{BE, LEADS};
use super::deeds::{Deed, Event};
use super::formula::{Formula, is};
use super::idioms::Voice;
use super::line::Line;
use super::predicate::Behind;
use super::things::Thing;
use crate::lexicon::Forms;
use crate::resolve::has_row;

impl Line<'_> {
    /// A thing with its verb.
    pub(super) fn thing_clause(&mut self, is_headline: bool) -> Option<Vec<Event>> {
        let was = std::mem::replace(&mut self.is_headline, is_headline);
        let things = self.things();
        self.is_headline = was;
        let things = things?;
        self.last = things.iter().map(|thing| thing.noun).collect();
        self.last_source = things.first().and_then(|thing| thing.source);
        self.eat_mark(",");
        if is_headline {
            let mut events = self.participles(&things)?;
            self.more_of(&things, &mut events);
            return Some(events);
        }
        // `has the bug label and is merged`
        let noun = things.first()?.noun;
        let state = self.attempt(|line| {
            let found = line
                .attempt(|line| line.has_predicate(Behind::Noun(noun)))
                .or_else(|| line.attempt(Self::touch_predicate))
                .or_else(|| line.attempt(Self::targets_predicate))?;
            line.eat_phrase(&["and then", "and"]).then_some(())?;
            line.sees_be().then_some(found)
        });
        let mut events = self.verb_group(&things)?;
        if let Some(state) = state {
            for event in &mut events {
                event.require(state.clone());
            }
        }
        self.more_of(&things, &mut events);
        Some(events)
    }

    /// `any PR that gets edited`
    pub(super) fn relative_clause(&mut self) -> Option<Vec<Event>> {
        let was = std::mem::replace(&mut self.is_headline, true);
        let things = self.things();
        self.is_headline = was;
        let things = things?;
        let when = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["when", "whenever", "once"]).then_some(())?;
            line.eat_any(&["it", "they"]).then_some(())
        });
        if when.is_none() {
            self.eat_any(&["that", "which"]).then_some(())?;
        }
        let mut events = self.verb_group(&things)?;
        self.more_of(&things, &mut events);
        Some(events)
    }

    /// `main receives a push`, `the default branch gets new commits`
    pub(super) fn branch_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let branch = self.branches()?;
        let is_named = (start..self.at).any(|at| {
            let word = self.word_at(at);
            matches!(word, "branch" | "branches") || crate::lexicon::KNOWN_BRANCHES.contains(&word)
        });
        is_named.then_some(())?;
        if let Some(deed) = self.attempt(Self::branch_deed) {
            let mut thing = self.any_pull_request(start);
            thing.noun = Noun::Branch;
            thing.guard = branch;
            let behind = self.behind_verb(Noun::Branch);
            let deed = Deed::with(deed, behind);
            return self.done_to(&[thing], &deed);
        }
        let forced = self.branch_moves()?;
        let mut thing = self.any_pull_request(start);
        thing.noun = Noun::Commit;
        thing.guard = branch;
        let verb = if forced { Verb::ForcePush } else { Verb::Push };
        let behind = self.behind_verb(Noun::Commit);
        self.done_to(
            &[thing],
            &Deed {
                verbs: vec![verb],
                guard: behind,
                is_bare: false,
            },
        )
    }

    /// `is deleted`, `is created`
    pub(super) fn branch_deed(&mut self) -> Option<Verb> {
        self.eat_phrase(BE).then_some(())?;
        let verbs = self.eat_verb(Forms::PAST)?;
        let deeds = [Verb::Delete, Verb::Remove, Verb::Create];
        let deed = deeds.into_iter().find(|deed| verbs.contains(deed))?;
        has_row(Noun::Branch, deed).then_some(deed)
    }

    /// `gets new commits`, `is pushed to`, `moves`; whether by force.
    pub(super) fn branch_moves(&mut self) -> Option<bool> {
        if self.eat_any(&["moves", "advances", "changes"]) {
            self.eat_any(&["forward", "on", "ahead"]);
            return self.sees_end().then_some(false);
        }
        if self.eat_any(&["gets", "receives", "receive", "get", "has", "sees"])
            && !matches!(
                self.word(0),
                "updated" | "pushed" | "force-pushed" | "been" | "force"
            )
        {
            self.skip_any(&["a", "new", "any", "some", "pushed", "fresh", "more"]);
            let forced =
                self.eat_any(&["force-push"]) || self.eat_phrase(&["force push", "forced push"]);
            if !forced {
                self.eat_any(&["commits", "commit", "push", "pushes", "code"])
                    .then_some(())?;
                self.eat_phrase(&["through a push", "via a push", "by a push", "pushed to it"]);
            }
            return Some(forced);
        }
        let has = matches!(self.word_at(self.at.wrapping_sub(1)), "gets" | "has");
        self.eat("been");
        if !has {
            self.eat_phrase(BE).then_some(())?;
        }
        let forced = self.eat_any(&["force-pushed"]) || self.eat_phrase(&["force pushed"]);
        if forced {
            self.eat("to");
        } else {
            self.eat_phrase(&["pushed to", "updated by a push", "updated", "committed to"])
                .then_some(())?;
        }
        Some(forced)
    }

    /// Further verbs of the same subject: `or is edited by …`, `, or gets new commits`.
    pub(super) fn more_of(&mut self, things: &[Thing], events: &mut Vec<Event>) {
        while let Some(more) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            (comma || or).then_some(())?;
            if or {
                line.eat_phrase(LEADS);
                line.eat_any(&["it", "they"]);
            }
            let start = line.at;
            let whole = line.verb_group(things);
            let found = whole.or_else(|| {
                line.at = start;
                line.own_part(things)
            })?;
            (or || line.is_mark(0, ",") || line.word(0) == "or").then_some(found)
        }) {
            events.extend(more);
        }
    }

    /// `its title or description is edited`
    pub(super) fn own_part(&mut self, things: &[Thing]) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&["its", "their", "the"]).then_some(())?;
        let mut events = self.part_change(things, start)?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// One verb group behind its subject.
    pub(super) fn verb_group(&mut self, things: &[Thing]) -> Option<Vec<Event>> {
        let noun = things.first()?.noun;
        self.attempt(|line| {
            line.eat_phrase(BE).then_some(())?;
            line.eat_any(&["newly", "just"]);
            line.participles(things)
        })
        .or_else(|| self.attempt(|line| line.gains(things)))
        .or_else(|| {
            self.attempt(|line| {
                let deed = line.finite(noun, things)?;
                let mut events = line.done_to(things, &deed)?;
                if noun == Noun::Commit
                    && let Some(pulls) = line.arrives_on()
                {
                    events = super::deeds::synchronized(&events, &pulls);
                }
                let mut behind = line.behind_verb(noun);
                if let Some((on, parent)) = line.put_on(noun, things) {
                    super::deeds::place(&mut events, &on);
                    behind = behind.and(parent).and(line.behind_verb(noun));
                }
                events
                    .iter_mut()
                    .for_each(|event| event.require(behind.clone()));
                Some(events)
            })
        })
    }

    /// An idiom with the thing as subject: `comes in`, `makes it into main`.
    pub(super) fn happens(&mut self, noun: Noun) -> Option<Deed> {
        let start = self.at;
        let forms = Forms(Forms::THIRD.0 | Forms::BASE.0);
        let idiom = self.eat_idiom(noun, &[Voice::Itself, Voice::Onto], forms)?;
        let mut deed = self.deed_of(idiom, start);
        if idiom.voice == Voice::Onto {
            deed.guard = self.branches()?;
        } else if idiom.verb == Verb::Create {
            // `a pull request comes in that touches docs/`: words after the idiom narrow its subject.
            deed.guard = deed.guard.and(self.modifiers(Behind::Noun(noun)));
        }
        Some(deed)
    }

    /// A verb with the thing as subject: `merges`, `lands on main`, `becomes ready for review`.
    pub(super) fn finite(&mut self, noun: Noun, things: &[Thing]) -> Option<Deed> {
        let bare = |verbs: &[Verb], guard: Guard| Deed {
            verbs: verbs.to_vec(),
            guard,
            is_bare: false,
        };
        if noun == Noun::PullRequest {
            if self.eat_phrase(&[
                "changes to a draft",
                "changes to draft",
                "switches to draft",
            ]) {
                return Some(bare(&[Verb::ConvertToDraft], Formula::Always));
            }
            if self.eat_phrase(&[
                "changes to ready for review",
                "switches to ready for review",
            ]) {
                return Some(bare(&[Verb::ReadyForReview], Formula::Always));
            }
            let asked = self.attempt(|line| {
                line.eat_phrase(&[
                    "requests a review from",
                    "requests review from",
                    "asks for a review from",
                    "asks for review from",
                ])
                .then_some(())?;
                line.reviewer()
            });
            if let Some(asked) = asked {
                return Some(bare(&[Verb::RequestReview], asked));
            }
            if self.eat_phrase(&[
                "goes from draft to ready for review",
                "goes from draft to ready",
                "moves from draft to ready for review",
                "moves from draft to ready",
                "changes from draft to ready for review",
                "changes from draft to ready",
                "is no longer a draft",
                "leaves draft state",
                "leaves draft mode",
                "leaves the draft state",
                "comes out of draft",
                "stops being a draft",
                "switches from draft to ready",
            ]) {
                return Some(bare(&[Verb::ReadyForReview], Formula::Always));
            }
            if self.eat_phrase(&[
                "enters or leaves the merge queue",
                "joins or leaves the merge queue",
            ]) {
                return Some(bare(&[Verb::Enqueue, Verb::Dequeue], Formula::Always));
            }
            if self.eat_phrase(&[
                "goes back to draft",
                "goes back to being a draft",
                "returns to draft",
                "goes back into draft",
                "becomes a draft again",
                "becomes a draft",
            ]) {
                return Some(bare(&[Verb::ConvertToDraft], Formula::Always));
            }
            let is_past = |thing: &Thing| {
                thing.guard.mentions(&|atom| {
                    matches!(atom.says, Says::State(State::Merged | State::Closed))
                })
            };
            if !things.iter().any(is_past)
                && self.eat_any(&[
                    "touches", "changes", "modifies", "touch", "change", "modify", "updates",
                    "edits", "affects",
                ])
            {
                let found = self.touched(false)?;
                return Some(bare(&[Verb::Touch], found));
            }
        }
        if noun == Noun::Commit && self.eat_any(&["touches", "changes", "modifies"]) {
            let found = self.touched(false)?;
            return Some(bare(&[Verb::Push], found));
        }
        let start = self.at;
        if let Some(deed) = self.attempt(|line| line.happens(noun)) {
            return Some(deed);
        }
        if noun == Noun::Review {
            let state = if self.eat_phrase(&["requests changes", "asks for changes"]) {
                Some("changes_requested")
            } else if self.eat("approves") {
                self.attempt(Self::objects);
                Some("approved")
            } else {
                None
            };
            if let Some(state) = state {
                let said = self.says(Says::Test(is(Field::ReviewState, &[state])), start);
                return Some(bare(&[Verb::Create], said));
            }
        }
        if noun == Noun::Commit
            && let Some(found) = self.attempt(|line| {
                line.eat_any(&["contains", "includes", "brings"])
                    .then_some(())?;
                line.skip_any(&["a", "any", "at", "least", "one"]);
                line.eat_any(&["commit", "commits"]).then_some(())?;
                let found = line.modifiers(Behind::Noun(Noun::Commit));
                (!found.is_always()).then_some(found)
            })
        {
            return Some(bare(&[Verb::Push], found));
        }
        if super::things::is_comment(noun)
            && self.eat_any(&["says", "contains", "reads", "mentions"])
        {
            let is_said = matches!(self.word_at(start), "says" | "reads");
            let found = is_said.then(|| self.said()).flatten().or_else(|| {
                self.at = start;
                self.says_predicate(None)
            })?;
            return Some(bare(&[Verb::Create], found));
        }
        if matches!(self.word(0), "commits" | "commit") {
            return None;
        }
        let forms = Forms(Forms::THIRD.0 | Forms::BASE.0);
        let verbs = self.eat_verb(forms)?;
        let wanted: Vec<Verb> = verbs
            .iter()
            .copied()
            .filter(|verb| {
                matches!(
                    verb,
                    Verb::Merge
                        | Verb::Close
                        | Verb::Reopen
                        | Verb::ReadyForReview
                        | Verb::ConvertToDraft
                        | Verb::Enqueue
                        | Verb::Dequeue
                        | Verb::Push
                        | Verb::Publish
                        | Verb::Create
                ) && has_row(noun, *verb)
            })
            .take(1)
            .collect();
        // A thing does not create itself, so `create` needs an object here.
        if wanted == [Verb::Create] {
            return None;
        }
        (!wanted.is_empty()).then(|| bare(&wanted, Formula::Always))
    }
}
