//! What a line says again in other words, and what its second half leaves out: "that is, a branch matching …", "likewise when one
//! to staging does".

use daemon_event::Field;
use daemon_event::vocabulary::{self, Noun, Verb};

use super::super::value::{Deed, Thing, Value};
use super::happens::all_done;
use super::{Call, Row};
use crate::filter::Test;
use crate::meaning::atom::{Atom, Guard, Says};
use crate::meaning::event::GuardedEvent;
use crate::meaning::formula::Formula;
use crate::meaning::topic::{Topic, topic};

pub(super) const TABLE: &[Row] = &[
    ("all-done", all_of_done),
    ("also-does", also_does),
    ("also-one-does", also_one_does),
    ("asked-too", asked_too),
    ("does-top", does_top),
    ("does-unsaid", does_unsaid),
    ("or-given-by", or_given_by),
    ("restated", restated),
    ("slack-only", slack_only),
    ("talk-of", talk_of),
    ("with-replies", with_replies),
];

/// "a deployment starts, i.e. a deployment is created": the second events, if they are among the first.
fn restated(call: &Call<'_>) -> Option<Value> {
    let mut lists = call.values.iter().filter_map(|value| match value {
        Value::Events(events, about) => Some((events.as_slice(), about.as_slice())),
        _ => None,
    });
    let (first, about) = lists.next()?;
    let said = match (lists.next(), call.deeds()) {
        (Some((events, _)), _) => events.to_vec(),
        (None, Some(deeds)) => all_done(about, deeds)?,
        (None, None) => return None,
    };
    // "is synchronized (new commits pushed)": pushes are what synchronizes a pull request.
    let brings = |event: &GuardedEvent| (event.noun, event.verb) == (Noun::Commit, Verb::Push);
    let is_synchronized =
        |event: &GuardedEvent| (event.noun, event.verb) == (Noun::PullRequest, Verb::Synchronize);
    if said.iter().all(brings) && first.iter().all(is_synchronized) {
        return Some(Value::Events(first.to_vec(), about.to_vec()));
    }
    let is_among = |event: &GuardedEvent| first.iter().any(|known| is_same(known, event));
    said.iter().all(is_among).then_some(())?;
    let with_first = |event: &GuardedEvent| {
        let known = first.iter().find(|known| is_same(known, event))?;
        let mut event = event.clone();
        event.source = event.source.or(known.source);
        if event.guard != known.guard {
            event.require(known.guard.clone());
        }
        Some(event)
    };
    let events: Option<Vec<GuardedEvent>> = said.iter().map(with_first).collect();
    Some(Value::Events(events?, about.to_vec()))
}

/// Whether two events have a row of the vocabulary in common.
fn is_same(one: &GuardedEvent, other: &GuardedEvent) -> bool {
    let source = one.source.or(other.source);
    one.noun == other.noun
        && one
            .source
            .is_none_or(|known| other.source.is_none_or(|source| source == known))
        && vocabulary::rows(one.noun).iter().any(|(kind, row)| {
            source.is_none_or(|source| source == kind.source)
                && row.verbs.contains(&one.verb)
                && row.verbs.contains(&other.verb)
        })
}

/// "or the check lint does on main": what happens on the left happens to other things, in another place if there is one.
fn also_does(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let left = call.events()?;
    let verb = left.first()?.verb;
    let names_person = |atom: &Atom| matches!(atom.says, Says::Person(..));
    let guard = call.guards();
    let is_plain = |event: &GuardedEvent| {
        let is_of_thing = call.about().iter().any(|thing| thing.guard == event.guard);
        event.raw.is_none()
            && event.verb == verb
            && !event.guard.mentions(&names_person)
            && (is_of_thing || !guard.is_always())
    };
    left.iter().all(is_plain).then_some(())?;
    let mut events = left.to_vec();
    events.extend(all_done(things, &[deed(verb, guard)])?);
    Some(Value::Events(events, things.to_vec()))
}

/// "likewise when one to staging does": the same happens where the guard says, instead of where it happens on the left.
fn also_one_does(call: &Call<'_>) -> Option<Value> {
    let guard = call.guards();
    let Formula::Atom(place) = &guard else {
        return None;
    };
    let is_same =
        |atom: &Atom| std::mem::discriminant(&atom.says) == std::mem::discriminant(&place.says);
    let is_other = |atom: &Atom| !is_same(atom);
    let mut events = call.events()?.to_vec();
    for left in call.events()? {
        (left.raw.is_none() && left.guard.mentions(&is_same)).then_some(())?;
        let mut event = left.clone();
        event.guard = left
            .guard
            .part(&is_other)
            .unwrap_or(Formula::Always)
            .and(guard.clone());
        events.push(event);
    }
    Some(Value::Events(events, call.about().to_vec()))
}

fn deed(verb: Verb, guard: Guard) -> Deed {
    Deed {
        verbs: vec![vec![verb]],
        guard,
        on: Vec::new(),
        source: None,
        has_own: false,
    }
}

/// "@kit is assigned to an issue or is asked to review a pull request": the assignee is the reviewer of the second event.
fn asked_too(call: &Call<'_>) -> Option<Value> {
    let lists = call.values.iter().filter_map(|value| match value {
        Value::Things(things) => Some(things.as_slice()),
        _ => None,
    });
    let lists: Vec<&[Thing]> = lists.collect();
    let is_pull = |thing: &&Thing| thing.noun == Noun::PullRequest;
    let (things, pulls): (&[Thing], Vec<Thing>) = match lists[..] {
        [things] => (things, things.iter().filter(is_pull).cloned().collect()),
        [things, pulls] => (things, pulls.to_vec()),
        _ => return None,
    };
    (!pulls.is_empty()).then_some(())?;
    let assignee = call.guard()?;
    let reviewer = super::guards::mapped(assignee, &mut |atom| match &atom.says {
        Says::Test(test) if test.field() == Field::Assignee => {
            let test = Test::new(Field::Reviewer, test.op(), test.values().to_vec());
            Some(Says::Test(test))
        }
        _ => None,
    })?;
    let mut events = all_done(things, &[deed(Verb::Assign, assignee.clone())])?;
    events.extend(all_done(&pulls, &[deed(Verb::RequestReview, reviewer)])?);
    Some(Value::Events(events, pulls))
}

/// "is opened with the label bug, or @kit puts that label on one": the label comes with the thing, or from the people.
fn or_given_by(call: &Call<'_>) -> Option<Value> {
    let guards = call.values.iter().filter_map(|value| match value {
        Value::Guard(guard) => Some(guard),
        _ => None,
    });
    let guards: Vec<&Guard> = guards.collect();
    let [label, people] = guards[..] else {
        return None;
    };
    let things = call.things()?;
    let mut events = all_done(things, &[deed(Verb::Create, label.clone())])?;
    let given = label.clone().and(people.clone());
    events.extend(all_done(things, &[deed(Verb::Label, given)])?);
    Some(Value::Events(events, things.to_vec()))
}

/// "the title of an issue, its description or its estimate is edited": each of the deeds.
fn all_of_done(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let deeds = call.values.iter().filter_map(|value| match value {
        Value::Deeds(deeds) => Some(deeds.as_slice()),
        _ => None,
    });
    let deeds: Vec<Deed> = deeds.flatten().cloned().collect();
    Some(Value::Events(all_done(things, &deeds)?, things.to_vec()))
}

/// "the author of a pull request comments in its conversation": a comment in the conversation, not on a line of the diff.
fn does_top(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        thing.is_top = true;
    }
    let things = Value::Things(things);
    let values: Vec<&Value> = call
        .values
        .iter()
        .map(|value| match value {
            Value::Things(_) => &things,
            other => *other,
        })
        .collect();
    super::deeds::does(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "the label bug is added": to things that the line does not name, so that no "it" behind it means them.
fn does_unsaid(call: &Call<'_>) -> Option<Value> {
    let Value::Events(events, _) = super::deeds::does(call)? else {
        return None;
    };
    Some(Value::Events(events, Vec::new()))
}

/// "in the conversation of a pull request": the comments there, as a place of words.
fn talk_of(call: &Call<'_>) -> Option<Value> {
    let mut comment = Thing::of(Noun::Comment, call.range.start);
    comment.is_top = true;
    let placed = super::things::placed(&comment, call.things()?)?;
    Some(Value::Things(placed))
}

/// "a user posts a message": every user of a workspace is a member, and of an organization only some are.
fn slack_only(call: &Call<'_>) -> Option<Value> {
    let events = call.events()?;
    let is_talk = |event: &GuardedEvent| topic(event.noun, event.source) == Some(Topic::Talk);
    events
        .iter()
        .all(is_talk)
        .then(|| Value::Events(events.to_vec(), call.about().to_vec()))
}

/// "a message in #general, thread reply or not": messages and replies.
fn with_replies(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    let replies: Vec<Thing> = things
        .iter()
        .filter(|thing| thing.noun == Noun::Message)
        .map(|thing| Thing {
            noun: Noun::Reply,
            ..thing.clone()
        })
        .collect();
    (!replies.is_empty()).then_some(())?;
    // A start of its own makes the reply another thing and not a sense of the message.
    things.extend(replies.into_iter().map(|reply| Thing {
        start: reply.start + 1,
        ..reply
    }));
    Some(Value::Things(things))
}
