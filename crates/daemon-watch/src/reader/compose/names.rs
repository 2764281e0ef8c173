//! Names of checks, jobs, workflows, branches, tags and releases, and what is done where.

use daemon_event::vocabulary::{self, Noun};
use daemon_event::{Field, Source};

use super::super::value::{Thing, Value, says_at};
use super::{Call, Row};
use super::{deeds, happens, things};
use crate::filter::{Op, Test};
use crate::meaning::atom::Says;
use crate::meaning::event::GuardedEvent;
use crate::meaning::facts::BEGINS;
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("words", words),
    ("called", called),
    ("name-is", name_is),
    ("name-not", name_not),
    ("begun", begun),
    ("also-on", also_on),
    ("mentioned-on", mentioned_on),
    ("called-noun", called_noun),
    ("called-done", called_done),
    ("self-named", self_named),
    ("titled", titled),
    ("emoji-name", emoji_name),
    ("scanner-does", scanner_does),
    ("done-by-scanner", done_by_scanner),
    ("deeds-on", deeds_on),
    ("deployed-to", deployed_to),
    ("in-tag", in_tag),
    ("tagged-does", tagged_does),
    ("milestone-named", milestone_named),
];

/// The fields in which events hold a name of their thing.
const NAMES: &[Field] = &[Field::Check, Field::Workflow, Field::Name, Field::Tag];

/// A name of several words.
fn words(call: &Call<'_>) -> Option<Value> {
    let words = call.values.iter().filter_map(|value| match value {
        Value::Strings(words) => Some(words.join(" ")),
        _ => None,
    });
    Some(Value::Strings(vec![words.collect::<Vec<_>>().join(" ")]))
}

/// Whether events of a noun hold its name. Pull requests and issues have titles, and no names.
pub(super) fn has_name(noun: Noun) -> bool {
    let rows = vocabulary::rows(noun);
    let holds = |kind: &vocabulary::EventKind| {
        kind.source != Source::Slack && NAMES.iter().any(|field| kind.can_hold(*field))
    };
    noun != Noun::Commit && noun != Noun::File && rows.iter().any(|(kind, _)| holds(kind))
}

/// Things by their name, or all but those.
fn called(call: &Call<'_>) -> Option<Value> {
    let strings = call.values.iter().filter_map(|value| match value {
        Value::Strings(strings) => Some(strings.clone()),
        _ => None,
    });
    let names: Vec<String> = strings.flatten().collect();
    let guard = says_at(Says::Name(names), &call.range);
    let guard = if call.word() == Some("not") {
        guard.not()
    } else {
        guard
    };
    let mut things = call.things()?.to_vec();
    things.retain(|thing| has_name(thing.noun));
    for thing in &mut things {
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(guard.clone());
    }
    (!things.is_empty()).then_some(Value::Things(things))
}

/// "lint fails on a pull request": a name alone, of the rule's noun.
fn called_noun(call: &Call<'_>) -> Option<Value> {
    let mut things = deeds::implied(call);
    let guard = says_at(Says::Name(call.strings()?), &call.range);
    for thing in &mut things {
        thing.start = call.range.start;
        thing.guard = guard.clone();
    }
    Some(Value::Things(things))
}

/// "`CI` fails as a workflow"
fn called_done(call: &Call<'_>) -> Option<Value> {
    of_called(call, deeds::done, |value| matches!(value, Value::Deeds(_)))
}

/// Composes the things of a name with what they do.
fn of_called(
    call: &Call<'_>,
    compose: impl FnOnce(&Call<'_>) -> Option<Value>,
    is_done: impl Fn(&Value) -> bool,
) -> Option<Value> {
    let things = called(call)?;
    let done = call.values.iter().copied().filter(|value| is_done(value));
    let values: Vec<&Value> = [&things].into_iter().chain(done).collect();
    compose(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "Cycle 9": a name that consists of the noun of its thing and a number.
fn self_named(call: &Call<'_>) -> Option<Value> {
    let strings = call.strings()?;
    let (noun, number) = strings.first()?.rsplit_once(' ')?;
    let noun = noun.to_lowercase();
    let is_numbered = number.bytes().all(|byte| byte.is_ascii_digit());
    let mut nouns = Noun::ALL.iter().copied();
    let named = nouns.find(|known| known.phrases()[0] == noun)?;
    (is_numbered && has_name(named)).then_some(())?;
    let mut thing = Thing::of(named, call.range.start);
    thing.guard = says_at(Says::Name(strings), &call.range);
    Some(Value::Things(vec![thing]))
}

/// "the document \"Glaze recipes\"": things that have a title and no name.
fn titled(call: &Call<'_>) -> Option<Value> {
    let is_titled = |thing: &Thing| {
        let mut rows = vocabulary::rows(thing.noun).iter();
        !has_name(thing.noun)
            && rows.all(|(kind, _)| kind.source == Source::Linear && kind.can_hold(Field::Title))
    };
    let mut things = call.things()?.to_vec();
    things.iter().all(is_titled).then_some(())?;
    let test = Test::new(Field::Title, Op::Is, call.strings()?);
    let guard = says_at(Says::Test(test), &call.range);
    for thing in &mut things {
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(guard.clone());
    }
    Some(Value::Things(things))
}

/// `:kiln:` is the emoji "kiln".
fn emoji_name(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?.into_iter();
    let names = names.map(|name| name.trim_matches(':').to_owned());
    Some(Value::Strings(names.collect()))
}

/// "CodeQL raises a code scanning alert": the scanner of the alert does it.
fn scanner_does(call: &Call<'_>) -> Option<Value> {
    let [Value::Things(scanners), verbs, alerts] = call.values else {
        return None;
    };
    let Value::Things(things) = alerts else {
        return None;
    };
    let is_own = |thing: &Thing| scanners.iter().any(|scanner| scanner.noun == thing.noun);
    things.iter().all(is_own).then_some(())?;
    deeds::does(&Call {
        values: &[verbs, alerts],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "a secret alert is raised by secret scanning": who raises an alert is its scanner, and who else acts is a person.
fn done_by_scanner(call: &Call<'_>) -> Option<Value> {
    match call.values {
        [
            alerts @ Value::Things(things),
            deeds,
            Value::Things(scanners),
        ] => {
            let found = Value::Things(scanned(things, scanners)?);
            let things = if things.iter().any(is_any_alert) {
                &found
            } else {
                alerts
            };
            deeds::done(&Call {
                values: &[things, deeds],
                arguments: call.arguments,
                range: call.range.clone(),
            })
        }
        [Value::Events(events, about), Value::Things(scanners)] => {
            let found = scanned(about, scanners)?;
            let of = |event: &GuardedEvent| {
                let is_any = is_any_alert(&Thing::of(event.noun, event.start));
                let nouns = found.iter().map(|scanner| scanner.noun);
                let nouns: Vec<Noun> = if is_any {
                    nouns.collect()
                } else {
                    vec![event.noun]
                };
                let event = event.clone();
                nouns.into_iter().map(move |noun| GuardedEvent {
                    noun,
                    ..event.clone()
                })
            };
            let events = events.iter().flat_map(of).collect();
            Some(Value::Events(events, found))
        }
        _ => None,
    }
}

/// Whether a thing is an alert of any scanner.
fn is_any_alert(thing: &Thing) -> bool {
    matches!(thing.noun, Noun::SecurityAlert | Noun::Alert)
}

/// Returns the alerts of the scanners, if those are the scanners of the things.
fn scanned(things: &[Thing], scanners: &[Thing]) -> Option<Vec<Thing>> {
    let is_own = |thing: &Thing| {
        is_any_alert(thing) || scanners.iter().any(|scanner| scanner.noun == thing.noun)
    };
    (!things.is_empty() && things.iter().all(is_own)).then(|| scanners.to_vec())
}

/// "it is the lint check": the name of what was spoken about.
fn name_is(call: &Call<'_>) -> Option<Value> {
    let guard = says_at(Says::Name(call.strings()?), &call.range);
    Some(Value::Guard(guard))
}

fn name_not(call: &Call<'_>) -> Option<Value> {
    let guard = says_at(Says::Name(call.strings()?), &call.range);
    Some(Value::Guard(guard.not()))
}

/// "… or a check fails on it": the things of the events on the left are the place.
fn also_on(call: &Call<'_>) -> Option<Value> {
    let about = call.about();
    (!about.is_empty()).then_some(())?;
    let mut deeds = call.deeds()?.to_vec();
    for deed in &mut deeds {
        deed.on = about.to_vec();
    }
    let mut events = call.events()?.to_vec();
    events.extend(happens::all_done(call.things()?, &deeds)?);
    Some(Value::Events(events, about.to_vec()))
}

/// "a comment mentions @kit on a pull request": what the comment says, and where it is.
fn mentioned_on(call: &Call<'_>) -> Option<Value> {
    let [things, says @ Value::Guard(_), parents] = call.values else {
        return None;
    };
    let with = |values: &[&Value], compose: fn(&Call<'_>) -> Option<Value>| {
        compose(&Call {
            values,
            arguments: &[],
            range: call.range.clone(),
        })
    };
    let placed = with(&[things, parents], things::put_on)?;
    with(&[&placed, says], deeds::is_created)
}

/// Names by their beginning.
fn begun(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?.into_iter();
    let begun = names.map(|name| format!("{BEGINS}{}", name.trim_end_matches('*')));
    Some(Value::Strings(begun.collect()))
}

/// "fails or times out on a pull request": the place belongs to all deeds of the list that have none.
fn deeds_on(call: &Call<'_>) -> Option<Value> {
    let parents = call.things()?;
    let mut found = call.deeds()?.to_vec();
    for deed in found.iter_mut().filter(|deed| deed.on.is_empty()) {
        deed.on = parents.to_vec();
    }
    Some(Value::Deeds(found))
}

/// "a production deployment"
fn deployed_to(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        matches!(thing.noun, Noun::Deployment | Noun::DeploymentStatus).then_some(())?;
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(call.guards());
    }
    Some(Value::Things(things))
}

/// "with rc in its tag"
fn in_tag(call: &Call<'_>) -> Option<Value> {
    let test = Test::new(Field::Tag, Op::Contains, call.strings()?);
    Some(Value::Guard(says_at(Says::Test(test), &call.range)))
}

/// "v2 is published as a release"
fn tagged_does(call: &Call<'_>) -> Option<Value> {
    of_called(call, deeds::does, |value| matches!(value, Value::Verbs(_)))
}

fn milestone_named(call: &Call<'_>) -> Option<Value> {
    let strings = call.values.iter().find_map(|value| match value {
        Value::Strings(strings) => Some(strings.clone()),
        Value::Guard(Formula::Atom(atom)) => match &atom.says {
            Says::TheLabel(names) => Some(names.clone()),
            _ => None,
        },
        _ => None,
    })?;
    let mut thing = Thing::of(Noun::Milestone, call.range.start);
    thing.guard = says_at(
        Says::Test(Test::new(Field::Milestone, Op::Is, strings)),
        &call.range,
    );
    Some(Value::Things(vec![thing]))
}
