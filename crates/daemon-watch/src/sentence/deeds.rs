//! Events of things: participles and verbs, with the words that belong to them.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says, TextPlace};
use super::formula::{Formula, is};
use super::line::Line;
use super::predicate::Behind;
use super::things::{CONVERSATION_OF, Thing, comment_on, is_comment, of_parent};
use crate::filter::{Op, Test};
pub(super) use crate::meaning::event::GuardedEvent as Event;
use crate::resolve::has_row;

impl Event {
    pub(super) fn of(thing: &Thing, verb: Verb) -> Self {
        let mut event = Self {
            noun: thing.noun,
            verb,
            on: thing.on.clone(),
            guard: thing.guard.clone(),
            source: thing.source,
            without: thing.without,
            raw: None,
            start: thing.start,
        };
        // Guards of a pull request apply to the parent of the review, which is the event.
        if matches!(verb, Verb::Review | Verb::Approve | Verb::RequestChanges)
            && thing.noun == Noun::PullRequest
        {
            event.guard = of_parent(&event.guard).unwrap_or(event.guard);
        }
        event
    }
}

/// The parent of a comment.
pub(super) struct On {
    pub(super) nouns: Vec<Noun>,
    /// In the conversation, not on a line of the diff.
    pub(super) is_top: bool,
}

/// A verb with the filters of its own words.
#[derive(Clone)]
pub(super) struct Deed {
    pub(super) verbs: Vec<Verb>,
    pub(super) guard: Guard,
    /// Its values follow the next verb: `labelled or unlabelled bug`.
    pub(super) is_bare: bool,
}

impl Deed {
    pub(super) fn plain(verbs: &[Verb]) -> Self {
        Self {
            verbs: verbs.to_vec(),
            guard: Formula::Always,
            is_bare: true,
        }
    }

    pub(super) fn with(verb: Verb, guard: Guard) -> Self {
        Self {
            verbs: vec![verb],
            guard,
            is_bare: false,
        }
    }
}

pub(super) fn added(values: Vec<String>) -> Test {
    Test::new(Field::LabelAdded, Op::Is, values)
}

pub(super) fn removed(values: Vec<String>) -> Test {
    Test::new(Field::LabelRemoved, Op::Is, values)
}

impl Line<'_> {
    /// Returns the events of a verb for each thing, or `None` if one of the things does not have it.
    pub(super) fn done_to(&self, things: &[Thing], deed: &Deed) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for thing in things {
            for event in events_of(thing, &deed.verbs)? {
                let mut event = event;
                event.require(deed.guard.clone());
                events.push(event);
            }
        }
        Some(events)
    }

    /// Reads participles joined by commas and `or`, each with its own words. The words after the last of a list of
    /// three apply to all that have none of their own.
    pub(super) fn participles(&mut self, things: &[Thing]) -> Option<Vec<Event>> {
        let noun = things.first()?.noun;
        let mut groups: Vec<(Vec<Event>, bool)> = Vec::new();
        let mut commas = 0;
        loop {
            let joined = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or", "and/or"]);
                let and = !or && comma && line.eat("and");
                (groups.is_empty() || comma || or).then_some(())?;
                line.eat("newly");
                let deed = line.participle(noun)?;
                Some((deed, comma, or || and))
            });
            let Some((deed, comma, or)) = joined else {
                break;
            };
            commas += usize::from(comma);
            // Two participles separated by a comma are two statements; three are a list.
            let is_apart = comma && or && commas == 1;
            let mut events = self.done_to(things, &deed)?;
            if noun == Noun::Commit
                // `commits are pushed to a pull request` is an event of the pull request.
                && let Some(pulls) = self.arrives_on()
            {
                events = synchronized(&events, &pulls);
                self.last = vec![Noun::PullRequest];
            }
            let mut behind = self.behind_verb(noun);
            if let Some((on, parent)) = self.put_on(noun, things) {
                behind = behind.and(parent).and(self.behind_verb(noun));
                place(groups.iter_mut().flat_map(|(events, _)| events), &on);
                place(&mut events, &on);
            }
            let has_own = !behind.is_always();
            for event in &mut events {
                event.require(behind.clone());
            }
            // `opened, or edited by a bot`: the words after the second belong to it alone.
            if has_own && !(is_apart && groups.len() == 1) {
                for (events, own) in groups.iter_mut().rev() {
                    if *own {
                        break;
                    }
                    *own = true;
                    events
                        .iter_mut()
                        .for_each(|event| event.require(behind.clone()));
                }
            }
            if !deed.is_bare {
                share_values(&mut groups, &deed);
            }
            groups.push((events, has_own));
        }
        (!groups.is_empty()).then(|| groups.into_iter().flat_map(|(events, _)| events).collect())
    }

    /// `on a PR`, after the verb of a comment without a place.
    pub(super) fn put_on(&mut self, noun: Noun, things: &[Thing]) -> Option<(On, Guard)> {
        if !is_comment(noun) || things.iter().any(|thing| !thing.on.is_empty()) {
            return None;
        }
        let found = self.attempt(|line| {
            line.eat_any(&["on", "in", "to", "for", "against", "under"])
                .then_some(())?;
            let top = line.eat_phrase(CONVERSATION_OF);
            let was = std::mem::replace(&mut line.is_object, true);
            let found = line.parents();
            line.is_object = was;
            let (on, guard) = found?;
            Some((
                On {
                    nouns: on,
                    is_top: top,
                },
                guard,
            ))
        })?;
        self.last.clone_from(&found.0.nouns);
        Some(found)
    }

    /// Reads the words that narrow a verb: the actor, the target, and relative clauses about its subject.
    pub(super) fn behind_verb(&mut self, noun: Noun) -> Guard {
        let mut found = Formula::Always;
        loop {
            let start = self.at;
            found = found.and(self.modifiers(Behind::Verb(noun)));
            if let Some(guard) = self.attempt(|line| line.inner_guard(noun)) {
                found = found.and(guard);
            }
            if self.at == start {
                return found;
            }
        }
    }

    /// Reads a guard without a comma before it: `while open and non-draft`.
    pub(super) fn inner_guard(&mut self, noun: Noun) -> Option<Guard> {
        self.guard_clause(Behind::Noun(noun))
    }

    /// The parts and the actor of an edit: `its title or description is edited`.
    pub(super) fn edited_part(
        &mut self,
        things: &[Thing],
        start: usize,
        place: TextPlace,
    ) -> Option<Vec<Event>> {
        let names: &[&str] = match place {
            TextPlace::Title => &["title"],
            TextPlace::Body => &["body"],
            TextPlace::Own => &["title", "body"],
            TextPlace::Message => return None,
        };
        let changed = self.says(Says::Test(is(Field::Changed, names)), start);
        things
            .iter()
            .map(|thing| {
                // The payload of an edited release does not contain the edited part.
                let guard = if thing.noun == Noun::Release {
                    Formula::Always
                } else {
                    changed.clone()
                };
                let verb = Verb::Edit;
                has_row(thing.noun, verb).then(|| {
                    let mut event = Event::of(thing, verb);
                    event.require(guard.clone());
                    event
                })
            })
            .collect()
    }

    pub(super) fn by_agent(&self, who: &Guard, events: &mut [Event]) {
        for event in events {
            event.require(who.clone());
        }
    }
}

/// Sets the parents of comments.
pub(super) fn place<'e>(events: impl IntoIterator<Item = &'e mut Event>, on: &On) {
    for event in events {
        event.on.clone_from(&on.nouns);
        event.noun = comment_on(event.noun, &on.nouns);
        if on.is_top {
            event.without = Some("pull_request_review_comment");
        }
    }
}

/// `labelled or unlabelled bug`: the value belongs to both.
fn share_values(groups: &mut [(Vec<Event>, bool)], deed: &Deed) {
    let of_labels = deed.verbs == [Verb::Label] || deed.verbs == [Verb::Unlabel];
    if !of_labels {
        return;
    }
    for (events, _) in groups.iter_mut() {
        for event in events.iter_mut() {
            let field = match event.verb {
                Verb::Label => Field::LabelAdded,
                Verb::Unlabel => Field::LabelRemoved,
                _ => continue,
            };
            let moved = deed
                .guard
                .replace(false, &mut |atom: &super::atom::Atom, negated| {
                    let Says::Test(test) = &atom.says else {
                        return None;
                    };
                    let mut atom = atom.clone();
                    atom.says = Says::Test(Test::new(field, test.op(), test.values().to_vec()));
                    let found = Formula::Atom(atom);
                    Some(if negated { found.not() } else { found })
                });
            let of_labels = |atom: &super::atom::Atom| matches!(&atom.says, Says::Test(test) if matches!(test.field(), Field::LabelAdded | Field::LabelRemoved));
            // `labelled bug or unlabelled wip`: each has its own label.
            let has_own = event.guard.mentions(&of_labels);
            if let Some(moved) = moved.filter(|_| !has_own) {
                event.require(moved);
            }
        }
    }
}

/// Commits pushed to pull requests.
pub(super) fn synchronized(events: &[Event], pulls: &[Thing]) -> Vec<Event> {
    let each = events.iter().flat_map(|event| {
        pulls.iter().map(|pull| {
            let mut found = Event::of(pull, Verb::Synchronize);
            found.require(event.guard.clone());
            found.start = event.start;
            found
        })
    });
    each.collect()
}

/// Whether this grammar reads a verb of a noun.
pub(super) fn is_deed_of(noun: Noun, verb: Verb) -> bool {
    match (noun, verb) {
        // Other rules read these with their objects.
        (Noun::PullRequest | Noun::Issue | Noun::Discussion | Noun::Commit, Verb::Comment) => true,
        (Noun::PullRequest, Verb::Push | Verb::Touch | Verb::Retarget | Verb::Milestone) => false,
        (Noun::PullRequest, Verb::RequestReview) => true,
        (Noun::Repository, Verb::Change) => false,
        (_, Verb::Touch | Verb::Move) => false,
        _ => has_row(noun, verb),
    }
}

/// Returns the events of verbs for a thing.
pub(super) fn events_of(thing: &Thing, verbs: &[Verb]) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    for verb in verbs {
        if *verb == Verb::Comment {
            let noun = match thing.noun {
                Noun::Discussion => Noun::DiscussionComment,
                Noun::Commit => Noun::CommitComment,
                _ => Noun::Comment,
            };
            let mut event = Event::of(thing, Verb::Create);
            event.noun = noun;
            event.on = vec![thing.noun];
            event.guard = of_parent(&thing.guard)?;
            events.push(event);
            continue;
        }
        let brings_commits = matches!(verb, Verb::Push | Verb::Add | Verb::Create);
        if thing.noun == Noun::Commit && thing.on == [Noun::PullRequest] && brings_commits {
            let mut event = Event::of(thing, Verb::Synchronize);
            event.noun = Noun::PullRequest;
            event.on = Vec::new();
            events.push(event);
            continue;
        }
        // The push of a new branch creates it, and the creation is an event of its own.
        if thing.noun == Noun::Branch && thing.is_new && *verb == Verb::Push {
            events.push(Event::of(thing, Verb::Create));
            continue;
        }
        if !has_row(thing.noun, *verb) {
            return None;
        }
        // Only comments have a parent that filters can name.
        if !thing.on.is_empty() && !is_comment(thing.noun) {
            return None;
        }
        events.push(Event::of(thing, *verb));
    }
    (!events.is_empty()).then_some(events)
}
