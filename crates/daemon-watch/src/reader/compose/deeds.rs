//! Verbs, with the things that they happen to.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::super::value::{Deed, Sense, Senses, Thing, Value};
use super::guards::mapped;
use super::happens::all_done;
use super::things::placed;
use super::{Call, Row};
use crate::filter::Op;
use crate::meaning::atom::{Says, TextPlace, UserRole, Who};
use crate::meaning::facts::has_row;
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("deed", deed),
    ("own-deed", own_deed),
    ("also-verb", also_verb),
    ("deed-in", deed_in),
    ("ended", ended),
    ("narrow-deed", narrow_deed),
    ("pushed-to", deed_on),
    ("posted-on", deed_on),
    ("does-on", does_on),
    ("does-only", does_only),
    ("gets", gets),
    ("done", done),
    ("done-as", done_as),
    ("does", does),
    ("narrow-deeds", narrow_deeds),
    ("does-act", does_act),
    ("does-for", does_for),
    ("does-in", does_in),
    ("does-but", does_but),
    ("mentioned", mentioned),
    ("says-in", does),
    ("is-created", is_created),
    ("is-created-so", is_created_so),
    ("new-on", new_on),
    ("verb", verb),
    ("syncs", syncs),
    ("sync-verb", sync_verb),
    ("also-does-on", also_does_on),
];

/// The verbs of the item or the arguments, with the guards of both.
fn deed(call: &Call<'_>) -> Option<Value> {
    Some(Value::Deeds(vec![one_deed(call, false)?]))
}

/// The same, with words behind it that belong to it alone.
fn own_deed(call: &Call<'_>) -> Option<Value> {
    Some(Value::Deeds(vec![one_deed(call, true)?]))
}

fn one_deed(call: &Call<'_>, has_own: bool) -> Option<Deed> {
    Some(Deed {
        verbs: verbs(call)?,
        guard: call.said()?.and(call.guards()),
        on: Vec::new(),
        source: None,
        has_own,
    })
}

/// "created in a state or moved to it": the verb of the item and those of the rule, under the same guard.
fn also_verb(call: &Call<'_>) -> Option<Value> {
    let only_items = Call {
        values: call.values,
        arguments: &[],
        range: call.range.clone(),
    };
    let mut deed = one_deed(call, true)?;
    let said = verbs(&only_items)?;
    deed.verbs.splice(..0, said);
    Some(Value::Deeds(vec![deed]))
}

/// What a check does that is known by its name alone: "`lint` fails", and not "a conflict shows up".
fn ended(call: &Call<'_>) -> Option<Value> {
    let deed = one_deed(call, false)?;
    let begins = deed
        .verbs
        .iter()
        .flatten()
        .any(|verb| *verb == Verb::Create);
    (!begins).then(|| Value::Deeds(vec![deed]))
}

/// "created in Linear", one of several verbs that each have a source.
fn deed_in(call: &Call<'_>) -> Option<Value> {
    let source = call.source()?;
    let mut deeds = call.deeds()?.to_vec();
    for deed in &mut deeds {
        deed.source.is_none().then_some(())?;
        deed.source = Some(source);
    }
    Some(Value::Deeds(deeds))
}

/// Returns the verbs of the rule, else those that the items say.
pub(super) fn verbs(call: &Call<'_>) -> Option<Vec<Senses>> {
    let said = call.arguments.iter().filter_map(|argument| match argument {
        Sense::Verb(verb) => Some(vec![*verb]),
        _ => None,
    });
    let said: Vec<Senses> = said.collect();
    if !said.is_empty() {
        return Some(said);
    }
    let joined = call.values.iter().filter_map(|value| match value {
        Value::Verbs(verbs) => Some(verbs.clone()),
        _ => None,
    });
    let joined: Vec<Senses> = joined.flatten().collect();
    (!joined.is_empty()).then_some(joined)
}

/// Deeds under guards. Words behind a list belong to those of it that have none of their own.
fn narrow_deed(call: &Call<'_>) -> Option<Value> {
    let guard = call.said()?.and(call.guards());
    let mut deeds = call.deeds()?.to_vec();
    let is_single = deeds.len() == 1;
    // "added to zqaa" is no pull request that is opened against a branch.
    let is_added = |deed: &Deed| {
        let mut senses = deed.verbs.iter();
        senses.any(|verbs| verbs.contains(&Verb::Add) && verbs.contains(&Verb::Create))
    };
    let names_branch = guard.mentions(&|atom| matches!(atom.says, Says::Branch(..)));
    (!names_branch || !deeds.iter().any(is_added)).then_some(())?;
    // Words behind a place belong to the place, unless they name people or quote words.
    let is_of_place =
        guard.mentions(&|atom| !matches!(atom.says, Says::Person(..) | Says::Text(..)));
    if is_of_place && deeds.iter().any(|deed| !deed.on.is_empty()) {
        return None;
    }
    for deed in deeds.iter_mut().filter(|deed| is_single || !deed.has_own) {
        deed.guard = std::mem::replace(&mut deed.guard, Formula::Always).and(guard.clone());
        deed.has_own = true;
    }
    Some(Value::Deeds(deeds))
}

/// All deeds of a list under guards.
fn narrow_deeds(call: &Call<'_>) -> Option<Value> {
    let guard = call.guards();
    let mut deeds = call.deeds()?.to_vec();
    for deed in &mut deeds {
        deed.guard = std::mem::replace(&mut deed.guard, Formula::Always).and(guard.clone());
    }
    Some(Value::Deeds(deeds))
}

/// "@kit is mentioned in a comment"
fn mentioned(call: &Call<'_>) -> Option<Value> {
    let guard = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::Person(_, Who::Named(names)) => Some(Says::Text(
            TextPlace::Own,
            Op::Contains,
            names.iter().map(|name| format!("@{name}")).collect(),
        )),
        _ => None,
    })?;
    let values = [Value::Things(call.things()?.to_vec()), Value::Guard(guard)];
    is_created(&Call {
        values: &values.iter().collect::<Vec<_>>(),
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "posted on a pull request"
fn deed_on(call: &Call<'_>) -> Option<Value> {
    let mut deed = one_deed(call, true)?;
    deed.on = call.things()?.to_vec();
    Some(Value::Deeds(vec![deed]))
}

/// "posts a comment on a pull request": the second things are the parents of the first.
fn does_on(call: &Call<'_>) -> Option<Value> {
    let mut lists = call.values.iter().filter_map(|value| match value {
        Value::Things(things) => Some(things),
        _ => None,
    });
    let (things, parents) = (lists.next()?, lists.next()?);
    let mut deed = one_deed(call, false)?;
    deed.on.clone_from(parents);
    all_done(things, &[deed]).map(|events| Value::Events(events, parents.clone()))
}

/// "only touches docs/"
fn does_only(call: &Call<'_>) -> Option<Value> {
    let only = super::files::only_files(call)?;
    let values: Vec<&Value> = (call.values.iter().copied())
        .filter(|value| !matches!(value, Value::Guard(_)))
        .chain([&only])
        .collect();
    does(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "touches src/ but not docs/"
fn does_but(call: &Call<'_>) -> Option<Value> {
    let [things, verbs, first, Value::Guard(second)] = call.values else {
        return None;
    };
    let not = Value::Guard(second.clone().not());
    does(&Call {
        values: &[things, verbs, first, &not],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "an issue gets a comment"
fn gets(call: &Call<'_>) -> Option<Value> {
    let [Value::Things(parents), Value::Things(things)] = call.values else {
        return None;
    };
    let placed: Option<Vec<Vec<Thing>>> =
        things.iter().map(|thing| placed(thing, parents)).collect();
    let things = Value::Things(placed?.concat());
    is_created(&Call {
        values: &[&things],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// Things, and what happens to them.
pub(super) fn done(call: &Call<'_>) -> Option<Value> {
    let (things, deeds) = (call.things()?, call.deeds()?);
    can_touch(things, deeds).then_some(())?;
    let said = call.said()?;
    let mut events = all_done(things, deeds)?;
    for event in &mut events {
        event.require(said.clone());
    }
    Some(Value::Events(events, things.to_vec()))
}

/// "an alert fires, be it an issue alert or a metric alert": the second things are the sorts of the first that count.
fn done_as(call: &Call<'_>) -> Option<Value> {
    let lists = call.values.iter().filter_map(|value| match value {
        Value::Things(things) => Some(things.as_slice()),
        _ => None,
    });
    let lists: Vec<&[Thing]> = lists.collect();
    let [[first], sorts] = lists[..] else {
        return None;
    };
    let of = |sort: &Thing| Thing {
        guard: first.guard.clone().and(sort.guard.clone()),
        source: sort.source.or(first.source),
        ..sort.clone()
    };
    let events = all_done(&sorts.iter().map(of).collect::<Vec<_>>(), call.deeds()?)?;
    (sorts.len() > 1).then(|| Value::Events(events, sorts.to_vec()))
}

/// "is updated" is an event of files by itself, and of other things with files only.
pub(super) fn can_touch(things: &[Thing], deeds: &[Deed]) -> bool {
    let touches = |deed: &Deed| deed.verbs.iter().flatten().any(|verb| *verb == Verb::Touch);
    let is_file = |thing: &Thing| thing.noun == Noun::File;
    things.iter().all(is_file) || !deeds.iter().any(touches)
}

/// The verbs of the items or arguments, done to the things.
pub(super) fn does(call: &Call<'_>) -> Option<Value> {
    let deed = one_deed(call, false)?;
    // "requests changes": the rule names the thing that the words leave out.
    let implied = implied(call);
    let things = call.things().unwrap_or(&implied);
    let events = all_done(things, &[deed])?;
    (!events.is_empty()).then(|| Value::Events(events, things.to_vec()))
}

/// "a merged pull request touches docs/": the first verb happens, and the second is a guard of it.
fn does_act(call: &Call<'_>) -> Option<Value> {
    let first = (call.values.iter()).position(|value| matches!(value, Value::Verbs(_)))?;
    let is_kept =
        |(at, value): &(usize, &&Value)| *at == first || !matches!(value, Value::Verbs(_));
    let values: Vec<&Value> = (call.values.iter().enumerate())
        .filter(is_kept)
        .map(|(_, value)| *value)
        .collect();
    does(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "Sentry opens an issue": the source does it.
fn does_for(call: &Call<'_>) -> Option<Value> {
    let things = super::things::of_source(call)?;
    let verbs = call
        .values
        .iter()
        .filter(|value| matches!(value, Value::Verbs(_)));
    let values: Vec<&Value> = verbs.copied().chain([&things]).collect();
    does(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// "reacts with :eyes: to a message in #general": the rule's noun, in the place of the things.
fn does_in(call: &Call<'_>) -> Option<Value> {
    let parents = call.things()?;
    let placed: Option<Vec<Vec<Thing>>> = implied(call)
        .iter()
        .map(|thing| placed(thing, parents))
        .collect();
    let things = Value::Things(placed?.concat());
    let guard = Value::Guard(call.guards());
    does(&Call {
        values: &[&things, &guard],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// Returns the things that the rule names, of the source that it names.
pub(super) fn implied(call: &Call<'_>) -> Vec<Thing> {
    let source = call.arguments.iter().find_map(|argument| match argument {
        Sense::Source(source) => Some(*source),
        _ => None,
    });
    let thing = |argument: &Sense| match argument {
        Sense::Noun(noun) => Some(Thing {
            source,
            ..Thing::of(*noun, 0)
        }),
        _ => None,
    };
    call.arguments.iter().filter_map(thing).collect()
}

/// Nouns that name their event: a comment on an issue, a push to a branch.
const EVENTS: &[Noun] = &[
    Noun::Comment,
    Noun::Commit,
    Noun::CommitComment,
    Noun::DiscussionComment,
    Noun::Release,
    Noun::Review,
    Noun::ReviewComment,
    Noun::Message,
    Noun::Reply,
    Noun::DirectMessage,
    Noun::Mention,
    Noun::Reaction,
    Noun::Alert,
    Noun::IssueAlert,
    Noun::MetricAlert,
    Noun::ErrorEvent,
    Noun::DeploymentStatus,
    Noun::Status,
    Noun::CodeScanningAlert,
    Noun::DependabotAlert,
    Noun::SecretAlert,
    Noun::SecurityAlert,
    Noun::ProjectUpdate,
    Noun::InitiativeUpdate,
];

/// A thing that is named as its event: "a new pull request", "a comment on an issue".
pub(super) fn is_created(call: &Call<'_>) -> Option<Value> {
    let mut events = Vec::new();
    for thing in call.things()? {
        let is_event = thing.is_new || thing.fired_as.is_some() || EVENTS.contains(&thing.noun);
        is_event.then_some(())?;
        let verb = match thing.noun {
            Noun::Commit => Verb::Push,
            Noun::Release | Noun::Package => Verb::Publish,
            _ => Verb::Create,
        };
        let deed = Deed {
            verbs: vec![vec![verb]],
            guard: call.guards(),
            on: Vec::new(),
            source: None,
            has_own: false,
        };
        events.extend(all_done(std::slice::from_ref(thing), &[deed])?);
    }
    Some(Value::Events(events, call.things()?.to_vec()))
}

/// "fatal Sentry issues": things with facts that they have from the beginning are named as they are created. Behind a command
/// ("any"), things without a guard are named so too.
fn is_created_so(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        let is_native = |says: &Says| match says {
            Says::Person(role, _) => *role == UserRole::Author,
            Says::Value(..) | Says::Branch(..) => true,
            Says::Test(test) => NATIVE.contains(&test.field()),
            _ => false,
        };
        let is_plain = call.word() == Some("any") && has_row(thing.noun, Verb::Create);
        let is_named = is_plain || !thing.guard.is_always();
        (is_named && !thing.guard.mentions(&|atom| !is_native(&atom.says))).then_some(())?;
        thing.is_new = true;
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
    is_created(&Call {
        values: &values,
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// Facts that a thing has from the beginning and that are not expected to change.
const NATIVE: &[Field] = &[
    Field::Author,
    Field::AuthorKind,
    Field::Fork,
    Field::Level,
    Field::Project,
    Field::Team,
];

/// "comments inline on a pull request": a thing of the rule's noun is put on the things.
fn new_on(call: &Call<'_>) -> Option<Value> {
    let implied = implied(call);
    let things = placed(implied.first()?, call.things()?)?;
    let guard = Value::Guard(call.guards());
    is_created(&Call {
        values: &[&Value::Things(things), &guard],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// The verbs that the rule names, such as those of "pushes to".
fn verb(call: &Call<'_>) -> Option<Value> {
    let only = Call {
        values: &[],
        arguments: call.arguments,
        range: call.range.clone(),
    };
    verbs(&only).map(Value::Verbs)
}

/// "pushes to a pull request", which has no event for forced pushes alone.
fn syncs(call: &Call<'_>) -> Option<Value> {
    sync_verb(call)?;
    does(call)
}

fn sync_verb(call: &Call<'_>) -> Option<Value> {
    let is_forced = |value: &&Value| match value {
        Value::Verbs(verbs) => verbs.iter().flatten().any(|verb| *verb == Verb::ForcePush),
        _ => false,
    };
    if call.values.iter().any(is_forced) {
        return None;
    }
    verb(call)
}

/// "… or dismisses a review on one"
fn also_does_on(call: &Call<'_>) -> Option<Value> {
    let about = call.about();
    (!about.is_empty()).then_some(())?;
    let mut deed = one_deed(call, false)?;
    deed.on = about.to_vec();
    let mut events = call.events()?.to_vec();
    events.extend(all_done(call.things()?, &[deed])?);
    Some(Value::Events(events, about.to_vec()))
}
