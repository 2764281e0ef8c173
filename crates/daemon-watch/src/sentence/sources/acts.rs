//! Clauses about the other sources: things with their verbs, users with theirs, and events
//! named by nouns.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::narrow::flag;
use super::subject::Matter;
use super::topic::{Scope, Topic, topic};
use crate::lexicon::{Class, Forms};
use crate::sentence::atom::{Guard, Says, UserRole};
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;

pub(super) const DOES: Forms = Forms(Forms::THIRD.0 | Forms::BASE.0 | Forms::PAST.0);

impl Line<'_> {
    /// A clause in any of its forms.
    pub(in crate::sentence) fn clause_elsewhere(&mut self, on: bool) -> Option<Vec<Event>> {
        self.attempt(|line| line.fronted_place(on))
            .or_else(|| self.attempt(|line| line.plain_clause(on)))
    }

    /// `in #eng, …`, `on main, …`: a place before the clause.
    fn fronted_place(&mut self, on: bool) -> Option<Vec<Event>> {
        let start = self.at;
        if !on {
            matches!(self.word(0), "in" | "on" | "for" | "outside" | "within").then_some(())?;
        } else {
            self.at -= 1;
        }
        let place = self.attempt(Self::channel_place).or_else(|| {
            self.attempt(|line| {
                let scope = Scope {
                    noun: Noun::Check,
                    topic: Topic::Run,
                    is_verb: true,
                };
                line.place(scope)
            })
        })?;
        self.eat_mark(",").then_some(())?;
        let mut events = self.plain_clause(false)?;
        let is_channel = place.mentions(
            &|atom| matches!(&atom.says, Says::Test(test) if test.field() == Field::Channel),
        );
        for event in &mut events {
            let fits = match topic(event.noun, event.source)? {
                Topic::Talk => is_channel,
                Topic::Run | Topic::Deployment => !is_channel,
                _ => false,
            };
            fits.then_some(())?;
            event.require(place.clone());
            event.start = event.start.min(start);
        }
        Some(events)
    }

    fn plain_clause(&mut self, on: bool) -> Option<Vec<Event>> {
        type Form<'l> = fn(&mut Line<'l>, bool) -> Option<Vec<Event>>;
        let forms: [Form<'_>; 11] = [
            |line, _| line.part_of_matter(),
            |line, _| line.matter_clause(),
            |line, _| line.someone_acts(),
            |line, _| line.source_acts(),
            |line, _| line.app_is_told(),
            |line, _| line.place_gains(),
            |line, _| line.place_happens(),
            |line, _| line.headline_elsewhere(),
            Self::told_by_noun,
            |line, _| line.label_on_ticket(),
            |line, _| line.doing_elsewhere(),
        ];
        let start = self.at;
        let mut best: Option<(usize, Vec<Event>)> = None;
        for (n, form) in forms.into_iter().enumerate() {
            self.at = start;
            // The first two begin with a thing, the others with a user who acts on it.
            let was = std::mem::replace(&mut self.is_object, n > 1);
            let found = self.attempt(|line| form(line, on));
            self.is_object = was;
            let Some(events) = found else {
                continue;
            };
            if best.as_ref().is_none_or(|(at, _)| self.at > *at) {
                best = Some((self.at, events));
            }
            if self.is_done() {
                break;
            }
        }
        let (at, events) = best?;
        self.at = at;
        let last = events.last()?;
        self.last = vec![last.noun];
        self.last_source = last.source;
        Some(events)
    }

    /// A thing with its verb.
    fn matter_clause(&mut self) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        // `a failed check`: the conclusion is the event, unless another verb follows.
        self.eat_mark(",");
        let is_ticket = |matter: &Matter| matter.nouns == [Noun::Issue];
        if matters.iter().all(is_ticket) && matters.iter().any(|matter| matter.ended.is_some()) {
            // `a completed issue is reopened`: the event ends the state before it.
            let events = self.happenings(&matters)?;
            let is_undone = |event: &Event| {
                matches!(
                    event.verb,
                    Verb::Reopen
                        | Verb::Unresolve
                        | Verb::Regress
                        | Verb::Unarchive
                        | Verb::Escalate
                )
            };
            return events.iter().all(is_undone).then_some(events);
        }
        if matters.iter().any(|matter| matter.ended.is_some()) {
            self.eat_phrase(&[
                "appears",
                "shows up",
                "comes in",
                "is reported",
                "turns up",
                "pops up",
                "occurs",
                "happens",
                "arrives",
            ])
            .then_some(())?;
            let mut events = Vec::new();
            for matter in &matters {
                events.extend(matter.events(&[matter.ended?])?);
            }
            let scope = matters.first()?.scope()?.behind_verb();
            self.told_behind(scope, &mut events);
            return Some(events);
        }
        let mut events = self.happenings(&matters)?;
        // GitHub sends no webhook for a reaction: `a reaction is left on an issue on GitHub`.
        let is_reaction = matches!(matters.first()?.scope()?.noun, Noun::Reaction | Noun::Emoji);
        if is_reaction && matches!(self.word(0), "on" | "to") {
            return None;
        }
        // An emoji that is put on a message is a reaction.
        let names_message = (0..self.tokens.len())
            .any(|at| matches!(self.word_at(at), "message" | "messages" | "post"));
        let on_message = |event: &Event| event.noun == Noun::Emoji && names_message;
        for event in events.iter_mut().filter(|event| on_message(event)) {
            event.noun = Noun::Reaction;
            event.source = Some(Source::Slack);
        }
        Some(events)
    }

    /// `check failed on main`, `Linear issue moved to Done`: without an auxiliary.
    fn headline_elsewhere(&mut self) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        let happening = self
            .attempt(|line| line.by_topic_passive(scope))
            .or_else(|| self.attempt(|line| line.verb_of(scope, Forms::PAST)))?;
        self.all_done_to(&matters, &happening)
    }

    /// `a failed deployment to production`, `a new message in #eng`, `failure of the CI workflow on main`.
    fn told_by_noun(&mut self, on: bool) -> Option<Vec<Event>> {
        self.attempt(Self::happening_of).or_else(|| {
            let matters = self.matters()?;
            let mut events = Vec::new();
            // `deployment failure`, `workflow failures on main`
            let nominal = self.attempt(|line| line.eat_verb(Forms::NOMINAL));
            for matter in &matters {
                match nominal {
                    Some(verbs) => {
                        matter.behind.is_always().then_some(())?;
                        events.extend(matter.events(verbs)?);
                    }
                    None => events.extend(matter.events(&told_verbs(matter, on)?)?),
                }
            }
            let scope = matters.first()?.scope()?.behind_verb();
            self.told_behind(scope, &mut events);
            Some(events)
        })
    }

    pub(super) fn told_behind(&mut self, scope: Scope, events: &mut [Event]) {
        let mut on = Vec::new();
        let behind = self.behind_happening(scope, &mut on);
        for event in events {
            event.require(behind.clone());
            event.on.extend(on.iter().copied());
        }
    }

    /// `failure of the CI workflow`, `completion of a deployment`, `creation of a Linear issue`.
    fn happening_of(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["a", "an", "the", "any", "every", "each"]);
        let verbs = if self.eat("reassignment") {
            &[Verb::Reassign]
        } else {
            self.eat_verb(Forms::NOMINAL)?
        };
        self.eat_any(&["of", "in"]).then_some(())?;
        let matters = self.matters()?;
        let mut events = Vec::new();
        for matter in &matters {
            events.extend(matter.events(verbs)?);
        }
        let scope = matters.first()?.scope()?.behind_verb();
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// A user who acts: `a human posts in #eng`, `somebody moves a Linear issue to Done`.
    fn someone_acts(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let newcomer = self.attempt(|line| {
            (line.eat_anyone() && line.eat("new")).then_some(())?;
            line.goes_to_channel()
        });
        if newcomer.is_some() {
            return newcomer;
        }
        let who = self.who(UserRole::Actor)?;
        let source = self.attempt(|line| {
            line.eat_any(&["in", "on"]).then_some(())?;
            line.eat_sense(|sense| sense.source.is_some())?.source
        });
        self.eat_mark(",");
        self.eat_any(&["has", "have"]);
        let mut events = self.deed_elsewhere(DOES, source)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.deed_elsewhere(DOES, source)
        }) {
            events.extend(more);
        }
        // `Dependabot opens an alert`: who finds it says which alert it is.
        if self.word_at(start) == "dependabot"
            && events.iter().any(|event| event.noun == Noun::Alert)
        {
            return None;
        }
        for event in &mut events {
            event.require(who.clone());
            event.start = event.start.min(start);
        }
        Some(events)
    }

    /// `posting in #eng`, `cancelling a workflow run`.
    fn doing_elsewhere(&mut self) -> Option<Vec<Event>> {
        self.deed_elsewhere(Forms::GERUND, None)
    }

    fn deed_elsewhere(&mut self, forms: Forms, source: Option<Source>) -> Option<Vec<Event>> {
        self.attempt(Self::talks)
            .or_else(|| self.attempt(Self::reacts))
            .or_else(|| self.attempt(Self::mentions_app))
            .or_else(|| self.attempt(Self::goes_to_channel))
            .or_else(|| self.attempt(Self::handles_ticket))
            .or_else(|| self.attempt(Self::remarks))
            .or_else(|| self.attempt(|line| line.does_to_matter(forms, source)))
    }

    /// `comments on a Linear issue`.
    fn remarks(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&["comments", "remarks", "comment", "commenting"])
            .then_some(())?;
        let mut guard = Formula::Always;
        if let Some(said) = self.attempt(Self::said) {
            guard = said;
        }
        self.eat_any(&["on", "in", "under"]).then_some(())?;
        let matters = self.matters()?;
        let [matter] = matters.as_slice() else {
            return None;
        };
        (matter.nouns == [Noun::Issue] && matter.guard.is_always()).then_some(())?;
        let mut remark = matter.clone();
        remark.nouns = vec![Noun::Comment];
        remark.start = start;
        remark.guard = guard;
        self.finished(&remark, &[Verb::Create])
    }

    /// Any verb of the vocabulary with its object: `posts a message in #eng`, `cancels a workflow run`.
    fn does_to_matter(&mut self, forms: Forms, source: Option<Source>) -> Option<Vec<Event>> {
        let makes = self.attempt(|line| {
            line.eat_any(&["makes", "made", "making"]).then_some(())?;
            line.sees_sense(|sense| sense.is(Class::Article))
                .then_some(&[Verb::Create][..])
        });
        let first = match makes {
            Some(makes) => makes,
            None => self.eat_verb(forms)?,
        };
        let mut verbs = vec![first];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.eat_verb(forms)
        }) {
            verbs.push(more);
        }
        let mut matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        if source.is_some() {
            for matter in &mut matters {
                matter.source = matter.source.or(source);
            }
        }
        let mut events = Vec::new();
        for verbs in verbs {
            for matter in &matters {
                let takes_value = scope.topic == Topic::Ticket
                    && verbs
                        .iter()
                        .any(|verb| matches!(verb, Verb::Move | Verb::Label | Verb::Unlabel));
                (!takes_value && matter.ended.is_none()).then_some(())?;
                // A run ends without an actor, so its conclusions are not actions of a user.
                let acts: Vec<Verb> = verbs
                    .iter()
                    .copied()
                    .filter(|verb| !matches!(verb, Verb::Fail | Verb::Succeed | Verb::Complete))
                    .collect();
                let in_thread = matter.nouns == [Noun::Message] && says_reply(&matter.guard);
                let mut matter = matter.clone();
                let begins = matter.is_new
                    && matches!(matter.nouns.as_slice(), [Noun::Project | Noun::Initiative]);
                if begins && acts.contains(&Verb::Start) {
                    events.extend(matter.events(&[Verb::Create])?);
                    continue;
                }
                if in_thread {
                    matter.nouns = vec![Noun::Reply];
                }
                events.extend(matter.events(&acts)?);
            }
        }
        self.told_behind(scope, &mut events);
        Some(events)
    }
}

/// Whether the guard requires a reply.
fn says_reply(guard: &Guard) -> bool {
    match guard {
        Formula::Atom(atom) => atom.says == flag(Field::Reply),
        Formula::All(all) => all.iter().any(says_reply),
        Formula::Always | Formula::Not(_) | Formula::Any(_) => false,
    }
}

/// The verbs of a noun by itself: its conclusion, or its creation.
fn told_verbs(matter: &Matter, on: bool) -> Option<Vec<Verb>> {
    if let Some(ended) = matter.ended {
        return Some(vec![ended]);
    }
    let scope = matter.scope()?;
    let is_said = matches!(
        scope.noun,
        Noun::Message
            | Noun::Reply
            | Noun::Mention
            | Noun::DirectMessage
            | Noun::Reaction
            | Noun::Comment
    );
    let told = matter.is_new
        || matter.is_plural && scope.topic == Topic::Alert && !matter.guard.is_always()
        || on && (is_said || matches!(scope.topic, Topic::Alert | Topic::Trouble))
        || is_said && matter.is_plural;
    let tells_each = matches!(scope.noun, Noun::DeploymentStatus | Noun::Status);
    if tells_each && on {
        return Some(vec![Verb::Change]);
    }
    told.then(|| {
        vec![
            Verb::Create,
            Verb::Post,
            Verb::Add,
            Verb::Fire,
            Verb::Publish,
        ]
    })
}
