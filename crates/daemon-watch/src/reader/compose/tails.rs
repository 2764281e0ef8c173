//! What is left out of events, what alone counts, and what is said about a thing that they name.

use daemon_event::vocabulary::{Noun, Verb};

use super::super::value::{Thing, Value};
use super::happens::is_run_of_pull;
use super::things::RUNS;
use super::{Call, Row};
use crate::filter::Op;
use crate::meaning::atom::{Atom, Guard, Says};
use crate::meaning::event::{GuardedEvent, of_parent};
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("except-things", except_things),
    ("except-both", except_both),
    ("of-about", of_about),
    ("of-things", of_things),
    ("put-events-on", put_events_on),
    ("alone", alone),
    ("only-behind", only_behind),
    ("plain-name", plain_name),
];

/// "…, except PRs from forks": no event of one of the things.
fn except_things(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let mut events = call.events()?.to_vec();
    let mut is_met = vec![false; things.len()];
    for event in &mut events {
        for (thing, is_met) in things.iter().zip(&mut is_met) {
            // Comments on the lines of a diff are one of the events of a comment.
            if event.noun == Noun::Comment && thing.noun == Noun::ReviewComment {
                (thing.guard.is_always() && event.without.is_none()).then_some(())?;
                event.without = Some("pull_request_review_comment");
                *is_met = true;
            } else if let Some(guard) = guard_on(event, thing) {
                // A thing without a guard is all of the event.
                (!guard.is_always()).then_some(())?;
                event.require(guard.not());
                *is_met = true;
            }
        }
    }
    is_met.iter().all(|is_met| *is_met).then_some(())?;
    // "except drafts and PRs by bots"
    if let Some(guard) = call.guard() {
        require_not(&mut events, guard)?;
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "…, drafts and lint excluded": no event that one of the guards holds for.
fn except_both(call: &Call<'_>) -> Option<Value> {
    let mut events = call.events()?.to_vec();
    for value in call.values {
        if let Value::Guard(guard) = value {
            require_not(&mut events, guard)?;
        }
    }
    Some(Value::Events(events, call.about().to_vec()))
}

fn require_not(events: &mut [GuardedEvent], guard: &Guard) -> Option<()> {
    for event in events {
        (!guard.is_always() && has_facts(event, guard)).then_some(())?;
        event.require(guard.clone().not());
    }
    Some(())
}

/// "…, if the PR is open": what is said about a thing that each of the events names.
fn of_things(call: &Call<'_>) -> Option<Value> {
    let [thing] = call.things()? else { return None };
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        let guard = guard_on(event, thing)?;
        (!guard.is_always()).then_some(())?;
        event.require(if call.word() == Some("not") {
            guard.not()
        } else {
            guard
        });
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "…, unless its author is @kit": what is said about the thing that the events are about.
fn of_about(call: &Call<'_>) -> Option<Value> {
    let guard = call.guards();
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        let about = call.about().first().map(|thing| Thing {
            guard: guard.clone(),
            ..Thing::of(thing.noun, thing.start)
        });
        let guard = match about {
            Some(about) => guard_on(event, &about)?,
            None => guard.clone(),
        };
        event.require(if call.word() == Some("not") {
            guard.not()
        } else {
            guard
        });
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "a review is dismissed or a thread is resolved, on an open PR": the place of all events of the list.
fn put_events_on(call: &Call<'_>) -> Option<Value> {
    let [parent] = call.things()? else {
        return None;
    };
    let is_on = |noun: Noun| {
        matches!(
            noun,
            Noun::Comment | Noun::Review | Noun::ReviewComment | Noun::ReviewThread
        )
    };
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        (is_on(event.noun) && event.on.is_empty()).then_some(())?;
        event.on = vec![parent.noun];
        event.require(of_parent(&parent.guard)?);
    }
    let is_pull = parent.noun == Noun::PullRequest;
    is_pull.then(|| Value::Events(events, vec![parent.clone()]))
}

/// Whether an event is a review of a pull request, which has an author of its own.
pub(super) fn reviews(event: &GuardedEvent) -> bool {
    event.noun == Noun::PullRequest
        && matches!(
            event.verb,
            Verb::Review | Verb::Approve | Verb::RequestChanges
        )
}

/// Returns the guard of a thing as a guard of an event of it or on it.
fn guard_on(event: &GuardedEvent, thing: &Thing) -> Option<Guard> {
    if thing.noun == Noun::PullRequest && reviews(event) {
        return of_parent(&thing.guard);
    }
    let is_run = |noun: Noun| RUNS.contains(&noun);
    let is_of_pull = matches!(
        event.noun,
        Noun::Review | Noun::ReviewComment | Noun::ReviewThread
    ) || is_run_of_pull(event);
    if thing.noun == event.noun || is_run(thing.noun) && is_run(event.noun) {
        Some(thing.guard.clone())
    } else if event.on.contains(&thing.noun) || thing.noun == Noun::PullRequest && is_of_pull {
        of_parent(&thing.guard)
    } else {
        None
    }
}

/// "… only" behind an event, which its filters say already, except for files: "docs/ only" is no other file.
fn alone(call: &Call<'_>) -> Option<Value> {
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        event.guard = event.guard.replace(false, &mut |atom, negated| {
            let mut atom = atom.clone();
            if let Says::Files(op, _) = &mut atom.says {
                (!negated && *op == Op::Any).then(|| *op = Op::Only)?;
            }
            let found = Formula::Atom(atom);
            Some(if negated { found.not() } else { found })
        })?;
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// "into main only": a guard that excludes all others anyway, except one about files.
fn only_behind(call: &Call<'_>) -> Option<Value> {
    let guard = call.guard()?;
    let is_of_files = guard.mentions(&|atom| matches!(atom.says, Says::Files(..)));
    (!is_of_files).then(|| Value::Guard(guard.clone()))
}

/// A word as a name: a plural is a sort of things, such as "flakes", and neither an adverb nor a participle is a name.
fn plain_name(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    let is_other = |name: &String| ["s", "ly", "ed"].iter().any(|end| name.ends_with(end));
    (!names.iter().any(is_other)).then_some(Value::Strings(names))
}

/// Whether an event has what a guard behind it compares: tags have no branch, and pushes have no name.
pub(super) fn has_facts(event: &GuardedEvent, guard: &Guard) -> bool {
    let said = guard.replace(false, &mut |atom: &Atom, is_negated| {
        atom.is_said_of(event, is_negated)
            .then_some(Formula::<Atom>::Always)
    });
    said.is_some()
}
