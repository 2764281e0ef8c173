//! Noun phrases.

use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::super::value::{Sense, Thing, Value, says_at};
use super::deeds::implied;
use super::guards::mapped;
use super::{Call, Row};
use crate::filter::{Op, Test};
use crate::meaning::atom::{Atom, Says, State, UserRole};
use crate::meaning::event::of_parent;
use crate::meaning::facts::has_row;
use crate::meaning::formula::Formula;

pub(super) const TABLE: &[Row] = &[
    ("narrow", narrow),
    ("narrow-all", narrow_all),
    ("on-diff-of", on_diff_of),
    ("in-talk-of", in_talk_of),
    ("new", new),
    ("of-source", of_source),
    ("put-on", put_on),
    ("noun", noun),
    ("numbered", numbered),
    ("labelled", labelled),
    ("top-level", top_level),
    ("of-sources", of_sources),
    ("placed-things", placed_things),
    ("said", said),
    ("tagged", tagged),
    ("commits", commits),
    ("not-thing", not_thing),
    ("fired-as", fired_as),
    ("was", was),
    ("by-author", by_author),
    ("on-diff", on_diff),
];

/// A thing under a guard.
fn narrow(call: &Call<'_>) -> Option<Value> {
    let guard = call.said()?.and(call.guards());
    let things = call.things()?.iter().cloned().map(|mut thing| {
        thing.guard = thing.guard.and(guard.clone());
        thing
    });
    Some(Value::Things(things.collect()))
}

/// Words behind joined nouns belong to all of them, unless one before the last has words behind it already.
fn narrow_all(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let last = things.last()?.start;
    let has_own = |thing: &Thing| {
        let is_behind = |atom: &Atom| atom.range.start > thing.start;
        thing.start != last && thing.guard.mentions(&is_behind)
    };
    // "a comment on a pull request authored by @kit": what is said behind a place is said of the place, except for strings.
    let is_of_place = call
        .guards()
        .mentions(&|atom| !matches!(atom.says, Says::Text(..)));
    let is_placed = |thing: &Thing| !thing.on.is_empty();
    // "a high alert or an alert of severity low": the first has a value already.
    let before = things.iter().filter(|thing| thing.start != last);
    let said = call.guards();
    let mut before = before.map(|thing| &thing.guard);
    let is_said = before.any(|guard| {
        said.mentions(&|behind| guard.mentions(&|front| same_fact(&front.says, &behind.says)))
    });
    if is_said || things.iter().any(has_own) || is_of_place && things.iter().any(is_placed) {
        return None;
    }
    narrow(call)
}

/// Whether two statements compare the same fact.
fn same_fact(one: &Says, other: &Says) -> bool {
    match (one, other) {
        (Says::Test(one), Says::Test(other)) => one.field() == other.field(),
        (Says::Value(Some(one), _), Says::Value(Some(other), _)) => one == other,
        _ => false,
    }
}

fn new(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    things.iter_mut().for_each(|thing| thing.is_new = true);
    Some(Value::Things(things))
}

pub(super) fn of_source(call: &Call<'_>) -> Option<Value> {
    let source = call.source()?;
    let mut things = call.things()?.to_vec();
    let is_other = |thing: &Thing| thing.source.is_some_and(|known| known != source);
    if things.iter().any(is_other) {
        return None;
    }
    // Of several senses, those of the source: a "Linear comment thread" is no thread of a review.
    let is_of = |thing: &Thing| {
        let mut rows = vocabulary::rows(thing.noun).iter();
        rows.any(|(kind, _)| kind.source == source)
    };
    if things.iter().any(is_of) {
        things.retain(is_of);
    }
    for thing in &mut things {
        thing.source = Some(source);
    }
    Some(Value::Things(things))
}

/// A comment or review on something: both are things, and the second is the parent unless the rule says otherwise.
pub(super) fn put_on(call: &Call<'_>) -> Option<Value> {
    let [Value::Things(first), Value::Things(second)] = call.values else {
        return None;
    };
    let (things, parents) = if call.word() == Some("parent-first") {
        (second, first)
    } else {
        (first, second)
    };
    let mut found = Vec::new();
    // Of the senses of a noun, those count that can be there: a "comment thread on an issue" has comments and no review.
    for senses in things.chunk_by(|one, next| one.start == next.start) {
        let placed: Vec<Thing> = senses
            .iter()
            .filter_map(|thing| placed(thing, parents))
            .flatten()
            .collect();
        (!placed.is_empty()).then_some(())?;
        found.extend(placed);
    }
    Some(Value::Things(found))
}

/// Returns a comment on its parents, one for each of their sources; `None` if it cannot be on them.
pub(super) fn placed(thing: &Thing, parents: &[Thing]) -> Option<Vec<Thing>> {
    let mut sources: Vec<Option<Source>> = parents.iter().map(|parent| parent.source).collect();
    sources.dedup();
    let of = |source: &Option<Source>| -> Option<Thing> {
        let parents = parents.iter().filter(|parent| parent.source == *source);
        placed_on(thing, &parents.cloned().collect::<Vec<_>>())
    };
    sources.iter().map(of).collect()
}

/// What runs for the commits of a pull request.
pub(super) const RUNS: &[Noun] = &[
    Noun::Check,
    Noun::CheckRun,
    Noun::CheckSuite,
    Noun::Status,
    Noun::Workflow,
    Noun::Ci,
];

fn placed_on(thing: &Thing, parents: &[Thing]) -> Option<Thing> {
    let is_on = |nouns: &[Noun]| parents.iter().all(|parent| nouns.contains(&parent.noun));
    let nouns: Vec<Noun> = parents.iter().map(|parent| parent.noun).collect();
    let first = parents.first()?;
    let mut thing = thing.clone();
    if !thing.on.is_empty() {
        // "a PR comment on an open PR" says the place twice.
        let is_same = thing.on == nouns && thing.noun == Noun::Comment;
        is_same.then_some(())?;
        thing.on = Vec::new();
    }
    match thing.noun {
        Noun::Comment if is_on(&[Noun::Discussion]) => thing.noun = Noun::DiscussionComment,
        Noun::Comment if is_on(&[Noun::Commit]) => thing.noun = Noun::CommitComment,
        Noun::Comment if is_on(&[Noun::PullRequest, Noun::Issue]) => thing.on = nouns,
        // Commits on a pull request are an event of it, and so are their guards.
        Noun::Commit if is_on(&[Noun::PullRequest]) => {
            thing.on = nouns;
            // A commit's author is a name in git, and the event has the user who pushed.
            let own = mapped(&thing.guard, &mut |atom| match &atom.says {
                Says::Person(_, who) => Some(Says::Person(UserRole::Actor, who.clone())),
                says => Some(says.clone()),
            })?;
            thing.guard = own.and(first.guard.clone());
            return (parents.len() == 1).then_some(thing);
        }
        Noun::Review | Noun::ReviewComment | Noun::ReviewThread if is_on(&[Noun::PullRequest]) => {
            thing.on = nouns;
        }
        noun if RUNS.contains(&noun) && is_on(&[Noun::PullRequest]) => {
            let test = Test::new(Field::PullRequests, Op::Present, Vec::new());
            let has_parent = says_at(Says::Test(test), &(thing.start..thing.start + 1));
            thing.guard = thing.guard.and(has_parent);
        }
        _ => return placed_elsewhere(thing, parents),
    }
    // Guards that differ between the parents would need one event each.
    if parents.iter().any(|parent| parent.guard != first.guard) {
        return None;
    }
    thing.guard = thing.guard.and(of_parent(&first.guard)?);
    thing.source = thing.source.or(first.source);
    Some(thing)
}

/// Returns a thing in a place whose facts it has as its own.
fn placed_elsewhere(mut thing: Thing, parents: &[Thing]) -> Option<Thing> {
    let is_on = |nouns: &[Noun]| parents.iter().all(|parent| nouns.contains(&parent.noun));
    let [first] = parents else { return None };
    match thing.noun {
        // What is in a message or a channel has their facts as its own.
        Noun::Message
        | Noun::Reply
        | Noun::Reaction
        | Noun::Mention
        | Noun::Pin
        | Noun::SharedFile
            if is_on(&[
                Noun::Message,
                Noun::Reply,
                Noun::Channel,
                Noun::PrivateChannel,
            ]) =>
        {
            thing.guard = thing.guard.and(first.guard.clone());
            thing.source = thing.source.or(first.source);
            Some(thing)
        }
        // No payload contains facts of the issue that these belong to.
        Noun::Attachment | Noun::Sla | Noun::CustomerNeed
            if is_on(&[Noun::Issue, Noun::Project]) =>
        {
            thing.source = thing.source.or(first.source);
            first.guard.is_always().then_some(thing)
        }
        Noun::Answer if is_on(&[Noun::Discussion]) => {
            thing.guard = thing.guard.and(first.guard.clone());
            Some(thing)
        }
        Noun::Job if is_on(&[Noun::Workflow]) => {
            // The name of the workflow, not that of the job.
            let named = mapped(&first.guard, &mut |atom| match &atom.says {
                Says::Name(names) => Some(Says::Test(Test::new(
                    Field::Workflow,
                    Op::Is,
                    names.clone(),
                ))),
                says => Some(says.clone()),
            })?;
            thing.guard = thing.guard.and(named);
            Some(thing)
        }
        _ => None,
    }
}

/// The nouns of the arguments, under the guards of the items.
fn noun(call: &Call<'_>) -> Option<Value> {
    let said = call.said()?.and(call.guards());
    let things = implied(call).into_iter().map(|mut thing| {
        thing.start = call.range.start;
        thing.guard = said.clone();
        thing
    });
    let things: Vec<Thing> = things.collect();
    (!things.is_empty()).then_some(Value::Things(things))
}

/// "#41", and "issue #41"
fn numbered(call: &Call<'_>) -> Option<Value> {
    let test = Test::new(Field::Number, Op::Is, call.strings()?);
    let guard = says_at(Says::Test(test), &call.range);
    let both = [Noun::PullRequest, Noun::Issue].map(|noun| Thing::of(noun, call.range.start));
    let mut things = call
        .things()
        .map_or_else(|| both.to_vec(), <[Thing]>::to_vec);
    for thing in &mut things {
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(guard.clone());
    }
    Some(Value::Things(things))
}

/// "a bug issue": a bare word before the noun is a label where the noun has labels.
fn labelled(call: &Call<'_>) -> Option<Value> {
    let guard = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::TheLabel(values) => {
            Some(Says::Test(Test::new(Field::Labels, Op::Is, values.clone())))
        }
        _ => None,
    })?;
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        matches!(thing.noun, Noun::PullRequest | Noun::Issue).then_some(())?;
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(guard.clone());
    }
    Some(Value::Things(things))
}

/// A comment in the conversation, not on a line of the diff.
fn top_level(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        // Messages in channels are no replies anyway.
        matches!(thing.noun, Noun::Comment | Noun::Message).then_some(())?;
        thing.is_top = thing.noun == Noun::Comment;
    }
    Some(Value::Things(things))
}

/// "a GitHub or Linear issue"
fn of_sources(call: &Call<'_>) -> Option<Value> {
    let sources = call.values.iter().filter_map(|value| match value {
        Value::Source(source) => Some(*source),
        _ => None,
    });
    let things = call.things()?;
    let of = |source| {
        things.iter().map(move |thing| Thing {
            source: Some(source),
            ..thing.clone()
        })
    };
    Some(Value::Things(sources.flat_map(of).collect()))
}

/// "issues in the Sentry project web": the source of the things, and what is said of them.
fn placed_things(call: &Call<'_>) -> Option<Value> {
    let Value::Things(mut things) = of_sources(call)? else {
        return None;
    };
    let guard = call.guards();
    for thing in &mut things {
        thing.guard = thing.guard.clone().and(guard.clone());
    }
    Some(Value::Things(things))
}

/// "an issue (not a pull request)": what the noun does not mean anyway, or the comments on lines of a diff.
fn not_thing(call: &Call<'_>) -> Option<Value> {
    let [Value::Things(things), Value::Things(others)] = call.values else {
        return None;
    };
    let mut things = things.clone();
    for thing in &mut things {
        for other in others {
            match (thing.noun, other.noun) {
                (Noun::Comment, Noun::ReviewComment) => thing.is_top = true,
                (noun, other) if noun == other => return None,
                _ => {}
            }
        }
    }
    Some(Value::Things(things))
}

/// Commits, as the object of a push.
fn commits(call: &Call<'_>) -> Option<Value> {
    let is_commit = |thing: &Thing| thing.noun == Noun::Commit;
    (call.things()?.iter().all(is_commit)).then_some(Value::Nothing)
}

/// A tag by its name.
fn tagged(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    let is_glob = names.iter().any(|name| name.contains('*'));
    let op = if is_glob { Op::Matches } else { Op::Is };
    let guard = says_at(Says::Test(Test::new(Field::Tag, op, names)), &call.range);
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        (thing.noun == Noun::Tag).then_some(())?;
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(guard.clone());
    }
    Some(Value::Things(things))
}

/// "escalating issues": the verb that the adjective says.
fn fired_as(call: &Call<'_>) -> Option<Value> {
    let verb = call.arguments.iter().find_map(|argument| match argument {
        Sense::Verb(verb) => Some(*verb),
        _ => None,
    })?;
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        // Alerts of other kinds have a level, and one event for all of them.
        (thing.noun != Noun::Alert && has_row(thing.noun, verb)).then_some(())?;
        thing.fired_as = Some(verb);
    }
    Some(Value::Things(things))
}

/// A string before a comment: `a "/merge" comment`.
fn said(call: &Call<'_>) -> Option<Value> {
    let things = call.things()?;
    let speaks = |thing: &Thing| {
        matches!(
            thing.noun,
            Noun::Comment
                | Noun::Review
                | Noun::ReviewComment
                | Noun::CommitComment
                | Noun::Message
                | Noun::Reply
        )
    };
    if things.iter().all(speaks) {
        narrow(call)
    } else {
        None
    }
}

/// "a submitted review": what happened to the thing before, which its state implies.
fn was(call: &Call<'_>) -> Option<Value> {
    let Some(Value::Verbs(verbs)) = call.values.first() else {
        return None;
    };
    let things = call.things()?;
    let is_implied = |thing: &Thing| {
        let mut senses = verbs.iter().flatten();
        matches!(
            thing.noun,
            Noun::Review | Noun::ReviewThread | Noun::Comment | Noun::ReviewComment | Noun::Release
        ) && senses.any(|verb| has_row(thing.noun, *verb))
    };
    things.iter().all(is_implied).then_some(())?;
    let is_published = |thing: &Thing| {
        thing.noun == Noun::Release && verbs.iter().flatten().any(|verb| *verb == Verb::Publish)
    };
    let mut found = things.to_vec();
    for thing in found.iter_mut().filter(|thing| is_published(thing)) {
        let not_draft = Formula::not(says_at(Says::State(State::Draft), &call.range));
        thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(not_draft);
    }
    Some(Value::Things(found))
}

/// "a bot pull request": things with an author.
fn by_author(call: &Call<'_>) -> Option<Value> {
    let is_written = |thing: &Thing| {
        let mut rows = vocabulary::rows(thing.noun).iter();
        rows.any(|(kind, _)| kind.source != Source::Sentry && kind.can_hold(Field::Author))
    };
    (call.things()?.iter().all(is_written)).then_some(())?;
    narrow(call)
}

/// "a comment on the diff of a pull request"
fn on_diff_of(call: &Call<'_>) -> Option<Value> {
    sorted_on(call, on_diff)
}

/// "a comment in the conversation of a pull request"
fn in_talk_of(call: &Call<'_>) -> Option<Value> {
    sorted_on(call, top_level)
}

/// Things of the sort that `sort` returns, on the second things.
fn sorted_on(call: &Call<'_>, sort: fn(&Call<'_>) -> Option<Value>) -> Option<Value> {
    let [things @ Value::Things(_), parents @ Value::Things(_)] = call.values else {
        return None;
    };
    let with = |values: &[&Value], compose: fn(&Call<'_>) -> Option<Value>| {
        compose(&Call {
            values,
            arguments: call.arguments,
            range: call.range.clone(),
        })
    };
    let sorted = with(&[things], sort)?;
    with(&[&sorted, parents], put_on)
}

/// "a comment on the diff"
fn on_diff(call: &Call<'_>) -> Option<Value> {
    let mut things = call.things()?.to_vec();
    for thing in &mut things {
        matches!(thing.noun, Noun::Comment | Noun::ReviewComment).then_some(())?;
        thing.noun = Noun::ReviewComment;
    }
    Some(Value::Things(things))
}
