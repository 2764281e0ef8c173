//! Events that a phrase has already: their sources, their guards, and others on their right.

use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::super::value::{Deed, Sense, Thing, Value};
use super::deeds::{can_touch, is_created};
use super::happens::{all_done, is_run_of_pull, with};
use super::tails::{has_facts, reviews};
use super::{Call, Row};
use crate::meaning::atom::{Atom, Guard, Says, State, UserRole};
use crate::meaning::event::{GuardedEvent, of_parent};
use crate::meaning::facts::{has_row, name_op};
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("also", also),
    ("also-one", also_one),
    ("also-same", also_same),
    ("also-things", also_things),
    ("done-by", done_by),
    ("including", including),
    ("is-described", is_described),
    ("narrow-events", narrow_events),
    ("only-source", only_source),
    ("raw-action", raw_action),
    ("raw-named", raw_named),
    ("raw-on", raw_on),
    ("source-events", source_events),
    ("placed-events", placed_events),
    ("there", there),
];

/// "pull_request.closed for pull requests against main": the guards of the things apply to the raw event.
fn raw_on(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let mut found = Vec::new();
    for event in call.events()? {
        for thing in things.iter().filter(|thing| thing.noun == event.noun) {
            found.push(with(event.clone(), &thing.guard));
        }
        // "`issue_comment` on a pull request" is the event of a comment in that place.
        let is_comment = event.noun == Noun::Comment;
        for thing in things.iter().filter(|_| is_comment) {
            let place = match thing.noun {
                Noun::PullRequest => "test:comment_on is pull_request",
                Noun::Issue => "test:comment_on is issue",
                _ => continue,
            };
            let place = Sense::parse(place)?.guard(&call.range)?;
            found.push(with(event.clone(), &place.and(of_parent(&thing.guard)?)));
        }
    }
    (!found.is_empty()).then_some(Value::Events(found, things.to_vec()))
}

/// "the pull_request event with action opened or reopened"
fn raw_action(call: &Call<'_>) -> Option<Value> {
    let actions = call.strings()?;
    let mut found = Vec::new();
    for event in call.events()? {
        let (kind, _) = event.raw?;
        let kind = vocabulary::kind(Source::Github, kind)?;
        for action in &actions {
            let mut rows = kind.rows.iter();
            let row = rows.find(|row| row.action == Some(action.as_str()))?;
            let mut event = event.clone();
            event.raw = Some((kind.name, row.action));
            found.push(event);
        }
    }
    Some(Value::Events(found, Vec::new()))
}

/// "github: pull request opened"
fn source_events(call: &Call<'_>) -> Option<Value> {
    let sources = call.values.iter().filter_map(|value| match value {
        Value::Source(source) => Some(*source),
        _ => None,
    });
    let events = call.events()?;
    let named = call.arguments.iter().filter_map(|argument| match argument {
        Sense::Source(source) => Some(*source),
        _ => None,
    });
    let sources: Vec<Source> = sources.chain(named).collect();
    // "opened on GitHub or created in Linear": the last source is not that of the first event.
    let is_elsewhere = |source: Source| !sources.contains(&source);
    (!events
        .iter()
        .any(|event| event.source.is_some_and(is_elsewhere)))
    .then_some(())?;
    let of = |source: &Source| {
        let source = *source;
        events.iter().map(move |event| GuardedEvent {
            source: Some(source),
            ..event.clone()
        })
    };
    let events: Vec<GuardedEvent> = sources.iter().flat_map(of).collect();
    Some(Value::Events(events, call.about().to_vec()))
}

/// "is created in the Sentry project web": the source of the events, and what is said of them.
fn placed_events(call: &Call<'_>) -> Option<Value> {
    let Value::Events(mut events, about) = source_events(call)? else {
        return None;
    };
    let guard = call.guards();
    for event in &mut events {
        has_facts(event, &guard).then_some(())?;
        event.require(guard.clone());
    }
    Some(Value::Events(events, about))
}

/// The events of the source that is named.
fn only_source(call: &Call<'_>) -> Option<Value> {
    let source = call.source()?;
    let is_of = |event: &&GuardedEvent| event.source == Some(source);
    let found: Vec<GuardedEvent> = call.events()?.iter().filter(is_of).cloned().collect();
    (!found.is_empty()).then_some(Value::Events(found, Vec::new()))
}

/// "… or a new fatal one is created": other things of the kind on the left, under guards of their own.
fn also_one(call: &Call<'_>) -> Option<Value> {
    let guard = call.guards();
    let mut others = call.about().to_vec();
    others
        .iter_mut()
        .for_each(|thing| thing.guard = guard.clone());
    let mut events = call.events()?.to_vec();
    events.extend(all_done(&others, call.deeds()?)?);
    (!others.is_empty()).then_some(Value::Events(events, others))
}

/// "… or is edited there": the things of the events on the left, in the same place and under the same guards.
fn also_same(call: &Call<'_>) -> Option<Value> {
    let mut events = call.events()?.to_vec();
    let names_person = |atom: &Atom| matches!(atom.says, Says::Person(..));
    for left in call.events()? {
        left.raw.is_none().then_some(())?;
        // Who did the one is not known to have done the other.
        (!left.guard.mentions(&names_person)).then_some(())?;
        for deed in call.deeds()? {
            deed.on.is_empty().then_some(())?;
            for senses in &deed.verbs {
                let verb = senses.iter().find(|verb| has_row(left.noun, **verb))?;
                let mut event = with(left.clone(), &deed.guard);
                event.verb = *verb;
                events.push(event);
            }
        }
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "… or a metric alert is": what happens on the left happens to other things.
fn also_things(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let mut events = call.events()?.to_vec();
    let verbs: Vec<Verb> = events.iter().map(|event| event.verb).collect();
    let is_plain = |event: &GuardedEvent| event.raw.is_none() && event.guard.is_always();
    events.iter().all(is_plain).then_some(())?;
    let deeds = verbs.into_iter().map(|verb| Deed {
        verbs: vec![vec![verb]],
        guard: Formula::Always,
        on: Vec::new(),
        source: None,
        has_own: false,
    });
    let mut deeds: Vec<Deed> = deeds.collect();
    deeds.dedup_by(|one, other| one.verbs == other.verbs);
    events.extend(all_done(things, &deeds)?);
    Some(Value::Events(events, things.to_vec()))
}

/// "Linear `Comment` `create` event": a name of an event and its action, as payloads of a source spell them.
fn raw_named(call: &Call<'_>) -> Option<Value> {
    let source = call.source()?;
    let strings = call.values.iter().filter_map(|value| match value {
        Value::Strings(strings) => Some(strings.as_slice()),
        _ => None,
    });
    let strings: Vec<&[String]> = strings.collect();
    let [[name], actions] = strings[..] else {
        return None;
    };
    let kind = vocabulary::kind(source, name)?;
    let mut found = Vec::new();
    for action in actions {
        let mut rows = kind.rows.iter();
        let row = rows.find(|row| row.action == Some(action.as_str()))?;
        let thing = Thing {
            source: Some(source),
            ..Thing::of(row.noun, call.range.start)
        };
        let deed = Deed {
            verbs: vec![row.verbs.first().map(|verb| vec![*verb])?],
            guard: Formula::Always,
            on: Vec::new(),
            source: None,
            has_own: false,
        };
        found.extend(all_done(&[thing], &[deed])?);
    }
    Some(Value::Events(found, Vec::new()))
}

/// "unless an integration moved it": the people as the actor, where the verb is that of the events, or as the author.
fn done_by(call: &Call<'_>) -> Option<Value> {
    let said = super::deeds::verbs(call)?;
    let said: Vec<Verb> = said.into_iter().flatten().collect();
    let guard = call.guards();
    let is_same = |event: &GuardedEvent| {
        said.contains(&event.verb)
            || vocabulary::rows(event.noun).iter().any(|(_, row)| {
                row.verbs.contains(&event.verb) && said.iter().any(|verb| row.verbs.contains(verb))
            })
    };
    let mut events = call.events()?.to_vec();
    // The payload of a check has no author of its pull request.
    (!events.iter().any(is_run_of_pull)).then_some(())?;
    let is_on_it = events.iter().all(|event| is_on_it(event, call.about()));
    let is_actor = events
        .iter()
        .all(|event| event.raw.is_none() && is_same(event));
    // What one writes on a pull request is the comment, and what one opens is the pull request.
    let guard = if is_on_it && said.contains(&Verb::Create) && !said.contains(&Verb::Post) {
        of_parent(&super::people::author_of(&guard)?)?
    } else if is_actor {
        guard
    } else if said.contains(&Verb::Create) {
        super::people::author_of(&guard)?
    } else {
        return None;
    };
    (!guard.is_always()).then_some(())?;
    let guard = if call.word() == Some("not") {
        guard.not()
    } else {
        guard
    };
    for event in &mut events {
        event.require(guard.clone());
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "…, threads included": the rule's noun in addition to that of the events.
fn including(call: &Call<'_>) -> Option<Value> {
    let mut events = call.events()?.to_vec();
    let others = super::deeds::implied(call);
    for left in call.events()? {
        for other in &others {
            match left.noun {
                // Comments are replies too.
                Noun::Comment => {}
                Noun::Message => {
                    has_row(other.noun, left.verb).then_some(())?;
                    let noun = other.noun;
                    events.push(GuardedEvent {
                        noun,
                        ..left.clone()
                    });
                }
                _ => return None,
            }
        }
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "… or is mentioned there": the place and the source of the events on the left.
fn there(call: &Call<'_>) -> Option<Value> {
    let mut lists = call.values.iter().filter_map(|value| match value {
        Value::Events(events, about) => Some((events, about)),
        _ => None,
    });
    let ((left, _), (right, about)) = (lists.next()?, lists.next()?);
    // Without a subject of its own, the second verb has the people of the first one.
    let has_people = call.word() == Some("same");
    let is_shared =
        |atom: &Atom| is_place(atom) || has_people && matches!(atom.says, Says::Person(..));
    let place = left.iter().find_map(|event| {
        event
            .guard
            .part(&is_shared)
            .or_else(|| created_branch(event))
    });
    let source = left.iter().find_map(|event| event.source);
    (place.is_some() || source.is_some()).then_some(())?;
    let mut events = left.clone();
    for event in right {
        let mut event = event.clone();
        event.source = event.source.or(source);
        if let Some(place) = &place {
            event.require(place.clone());
        }
        events.push(event);
    }
    Some(Value::Events(events, about.clone()))
}

/// "a release/* branch is created, or someone pushes to one": the name of the branch as that of the place.
fn created_branch(event: &GuardedEvent) -> Option<Guard> {
    (event.noun == Noun::Branch).then_some(())?;
    let named = event
        .guard
        .part(&|atom| matches!(atom.says, Says::Name(..)))?;
    super::guards::mapped(&named, &mut |atom| match &atom.says {
        Says::Name(names) => {
            let (op, names) = name_op(names);
            Some(Says::Branch(op, names))
        }
        _ => None,
    })
}

/// Whether a statement says where something happens.
fn is_place(atom: &Atom) -> bool {
    match &atom.says {
        Says::Test(test) => test.field() == Field::Channel,
        Says::Branch(..) => true,
        _ => false,
    }
}

/// Whether a thing consists of words.
fn consists_of_words(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Review
            | Noun::Message
            | Noun::Reply
            | Noun::DirectMessage
            | Noun::Mention
            | Noun::ProjectUpdate
            | Noun::InitiativeUpdate
    )
}

/// A thing with words about what it says: "a message describes an outage".
fn is_described(call: &Call<'_>) -> Option<Value> {
    // A release or an alert that "feels slow" is a quality, and what is written has a content.
    let speaks = |thing: &Thing| thing.is_new || consists_of_words(thing.noun);
    call.things()?
        .iter()
        .all(speaks)
        .then(|| is_created(call))?
}

fn narrow_events(call: &Call<'_>) -> Option<Value> {
    let guard = call.said()?.and(call.guards());
    let mut events = call.events()?.to_vec();
    let names_person = guard.mentions(&|atom| matches!(atom.says, Says::Person(..)));
    for event in &mut events {
        (!names_person || !is_run_of_pull(event)).then_some(())?;
        has_facts(event, &guard).then_some(())?;
        // "closed, but only if they were merged": a merge closes a pull request as well.
        let closes = (event.noun, event.verb) == (Noun::PullRequest, Verb::Close);
        if closes && event.raw.is_none() && is_merged(&guard) {
            event.verb = Verb::Merge;
        }
        let is_on_it = is_on_it(event, call.about());
        event.require(guard.replace(false, &mut |atom, negated| {
            let found = Formula::Atom(author_of_it(atom, is_on_it));
            Some(if negated { found.not() } else { found })
        })?);
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// Whether a guard requires that the pull request is merged.
pub(super) fn is_merged(guard: &Guard) -> bool {
    match guard {
        Formula::Atom(atom) => atom.says == Says::State(State::Merged),
        Formula::All(all) => all.iter().any(is_merged),
        Formula::Always | Formula::Not(_) | Formula::Any(_) => false,
    }
}

/// Whether "it" is what the event is on: the pull request of a review, or of a comment.
fn is_on_it(event: &GuardedEvent, about: &[Thing]) -> bool {
    let on = |thing: &Thing| event.on.contains(&thing.noun) && thing.noun != event.noun;
    reviews(event) || about.last().is_some_and(on)
}

/// Returns a statement with the author of "it" as the author that the event holds.
fn author_of_it(atom: &Atom, is_on_it: bool) -> Atom {
    match &atom.says {
        Says::Person(UserRole::AuthorOfIt, who) => Atom {
            says: Says::Person(UserRole::Author, who.clone()),
            of_parent: is_on_it,
            range: atom.range.clone(),
        },
        _ => atom.clone(),
    }
}

/// "… or comments on it": the deeds happen to the things of the events on the left.
fn also(call: &Call<'_>) -> Option<Value> {
    let about = call.about();
    can_touch(about, call.deeds()?).then_some(())?;
    let mut events = call.events()?.to_vec();
    events.extend(all_done(about, call.deeds()?)?);
    (!about.is_empty()).then(|| Value::Events(events, about.to_vec()))
}
