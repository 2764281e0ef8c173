//! Events that are said not to count: "title edits do not matter", "new ones do not count".

use daemon_event::Field;
use daemon_event::vocabulary::{self, ActionRow, EventKind, Noun, Verb};

use super::super::value::{Thing, Value, says_at};
use super::happens::all_done;
use super::{Call, Row};
use crate::filter::{Op, Test};
use crate::meaning::atom::{Guard, Says, UserRole, Who};
use crate::meaning::event::GuardedEvent;
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("except-deeds", except_deeds),
    ("except-events", except_events),
    ("except-labels", except_labels),
];

/// What is done to the things that the events are about and does not count.
fn except_deeds(call: &Call<'_>) -> Option<Value> {
    let about = call.about().iter().cloned().map(|thing| Thing {
        guard: Formula::Always,
        is_new: false,
        ..thing
    });
    let about: Vec<Thing> = about.collect();
    (!about.is_empty()).then_some(())?;
    let out = all_done(&about, call.deeds()?)?;
    // "opened, not labelled bug" names a state of the thing, unless being labelled is one of the events.
    let is_participle = call.word() == Some("participle");
    if is_participle && out.iter().any(|event| leaves_state(event.verb)) {
        let is_met = |out: &GuardedEvent| {
            let mut events = call.events().unwrap_or_default().iter();
            events.any(|event| event.verb == out.verb)
        };
        out.iter().all(is_met).then_some(())?;
    }
    // "fails, except when it was triggered by @kit" is no exception among the failures.
    let strays = |out: &GuardedEvent| {
        let gone = rows(out, out.verb);
        let mut events = call.events().unwrap_or_default().iter();
        !out.guard.is_always()
            && !events.any(|event| {
                let all = rows(event, event.verb);
                all.iter()
                    .any(|row| gone.iter().any(|other| is_same(row, other)))
            })
            && !call
                .events()
                .unwrap_or_default()
                .iter()
                .any(|event| as_synchronized(event, out).is_some())
    };
    (!out.iter().any(strays)).then_some(())?;
    minus(call, &out)
}

/// Events that do not count, named as such: "comments by bots do not count".
fn except_events(call: &Call<'_>) -> Option<Value> {
    let mut lists = call.values.iter().filter_map(|value| match value {
        Value::Events(events, _) => Some(events.as_slice()),
        _ => None,
    });
    let (_, out) = (lists.next()?, lists.next()?);
    minus(call, out)
}

/// Labels whose arrival or loss does not count.
fn except_labels(call: &Call<'_>) -> Option<Value> {
    let labels = call.guard()?;
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        let field = match event.verb {
            Verb::Label => Field::LabelAdded,
            Verb::Unlabel => Field::LabelRemoved,
            _ => return None,
        };
        let of_field = super::guards::mapped(labels, &mut |atom| match &atom.says {
            Says::TheLabel(names) => Some(Says::Test(Test::new(field, Op::Is, names.clone()))),
            _ => None,
        })?;
        event.require(of_field.not());
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// The first events without the others, which are events of the same nouns.
fn minus(call: &Call<'_>, out: &[GuardedEvent]) -> Option<Value> {
    let mut left = call.events()?.to_vec();
    for out in out {
        out.raw.is_none().then_some(())?;
        if !left.iter().any(|event| is_related(event, out)) {
            // "a tag is removed, but not when a branch is removed" takes nothing away.
            let is_same = |event: &GuardedEvent| event.raw.is_none() && event.verb == out.verb;
            left.iter().all(is_same).then_some(())?;
            continue;
        }
        let each: Option<Vec<Vec<GuardedEvent>>> = left
            .iter()
            .cloned()
            .map(|event| without(event, out))
            .collect();
        let rest = each?.concat();
        // "a check fails, unless it was opened by a bot": an exception that takes nothing away means something else.
        (rest != left || out.guard.is_always()).then_some(())?;
        left = rest;
    }
    (!left.is_empty()).then(|| Value::Events(left, call.about().to_vec()))
}

/// Whether what is done to a thing can be seen on it afterwards.
fn leaves_state(verb: Verb) -> bool {
    !matches!(
        verb,
        Verb::Create
            | Verb::Add
            | Verb::Post
            | Verb::Edit
            | Verb::Update
            | Verb::Change
            | Verb::Delete
            | Verb::Remove
            | Verb::Reopen
            | Verb::Synchronize
            | Verb::Push
    )
}

fn is_related(event: &GuardedEvent, out: &GuardedEvent) -> bool {
    event.raw.is_none() && (event.noun == out.noun || as_synchronized(event, out).is_some())
}

/// Pushes, as events of a pull request that gets new commits.
fn as_synchronized(event: &GuardedEvent, out: &GuardedEvent) -> Option<GuardedEvent> {
    let is_push = out.noun == Noun::Commit && matches!(out.verb, Verb::Push);
    (event.noun == Noun::PullRequest && is_push).then_some(())?;
    let guard = super::guards::mapped(&out.guard, &mut |atom| match &atom.says {
        Says::Person(UserRole::Author, who) => Some(Says::Person(UserRole::Actor, who.clone())),
        Says::Person(_, Who::TheAuthor | Who::TheWriter) => None,
        says => Some(says.clone()),
    })?;
    Some(GuardedEvent {
        noun: Noun::PullRequest,
        verb: Verb::Synchronize,
        guard,
        ..out.clone()
    })
}

/// A kind of event with one of its rows.
type Place = (&'static EventKind, &'static ActionRow);

/// Returns the rows of an event.
fn rows(event: &GuardedEvent, verb: Verb) -> Vec<Place> {
    let rows = vocabulary::rows(event.noun).iter();
    let rows = rows.filter(|(kind, row)| {
        row.verbs.contains(&verb)
            && event.source.is_none_or(|source| source == kind.source)
            && event.without != Some(kind.name)
    });
    rows.map(|(kind, row)| (*kind, *row)).collect()
}

fn is_same(one: &Place, other: &Place) -> bool {
    std::ptr::eq(one.1, other.1)
}

/// Returns an event without those of another, or `None` if that cannot be said.
fn without(event: GuardedEvent, out: &GuardedEvent) -> Option<Vec<GuardedEvent>> {
    let out = &as_synchronized(&event, out).unwrap_or_else(|| out.clone());
    if event.raw.is_some() || event.noun != out.noun {
        return Some(vec![event]);
    }
    // A comment on one thing is no comment on another.
    if event.on != out.on && !out.on.is_empty() {
        return None;
    }
    let (all, gone) = (rows(&event, event.verb), rows(out, out.verb));
    let is_gone = |row: &Place| gone.iter().any(|other| is_same(row, other));
    let kept: Vec<&Place> = all.iter().filter(|row| !is_gone(row)).collect();
    if kept.len() == all.len() {
        let more = narrower(&all, &gone, out.start);
        return Some(vec![match more {
            Some(more) => super::happens::with(event, &more.and(out.guard.clone()).not()),
            None => event,
        }]);
    }
    let mut found = Vec::new();
    for row in &kept {
        let is_kept = |place: &Place| kept.iter().any(|row| is_same(row, place));
        let mut verbs = row.1.verbs.iter();
        let verb = verbs.find(|verb| rows(&event, **verb).iter().all(is_kept))?;
        let other = GuardedEvent {
            verb: *verb,
            ..event.clone()
        };
        if !found.contains(&other) {
            found.push(other);
        }
    }
    if !out.guard.is_always() {
        let verb = if kept.is_empty() {
            event.verb
        } else {
            out.verb
        };
        let rest = GuardedEvent { verb, ..event };
        found.push(super::happens::with(rest, &out.guard.clone().not()));
    }
    Some(found)
}

/// Returns what the events that are gone have in addition to those of the same action: "regressions" are reopened issues.
fn narrower(all: &[Place], gone: &[Place], start: usize) -> Option<Guard> {
    let tests = all.iter().flat_map(|(kind, row)| {
        let same = gone.iter().filter(move |(other, narrow)| {
            std::ptr::eq(*other, *kind) && row.action == narrow.action && row.guards.is_empty()
        });
        same.filter_map(|(_, narrow)| narrow.guards.first())
    });
    let guards = tests.map(|guard| says_at(Says::Test(guard.into()), &(start..start + 1)));
    guards.reduce(Formula::or)
}
