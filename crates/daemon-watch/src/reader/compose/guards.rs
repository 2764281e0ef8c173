//! Guards: conditions on things, and people as conditions on the actor.

use std::sync::LazyLock;

use daemon_event::Field;
use rustc_hash::FxHashMap;

use super::super::value::{Sense, Value, says_at};
use super::files::{FULL_REF, is_file};
use super::{Call, Row};
use crate::filter::{Op, Test};
use crate::meaning::atom::{Atom, Guard, Says, TextPlace, Who};
use crate::meaning::facts::{BEGINS, name_op};
use crate::meaning::formula::{Formula, is};
use crate::meaning::part::Part;

pub(super) const TABLE: &[Row] = &[
    ("not", not),
    ("and", and),
    ("and-not", and_not),
    ("nor", nor),
    ("and-nor", and_nor),
    ("and-not-files", and_not),
    ("says", says),
    ("no-participle", no_participle),
    ("nothing", nothing),
    ("nobody", says),
    ("first-guard", first_guard),
    ("begins", begins),
    ("milestone", milestone),
    ("branch", branch),
    ("full-ref", full_ref),
    ("head", head),
    ("label", label),
    ("label-words", label_words),
    ("team", team),
    ("text", text),
    ("own-text", own_text),
    ("mentions", mentions),
    ("command", command),
    ("as-field", as_field),
    ("field", field),
    ("one-of", one_of),
    ("any-of", any_of),
    ("value", value),
    ("reach", reach),
    ("joined", joined),
    ("names", names),
    ("of-a-source", of_a_source),
    ("changed", changed),
];

fn not(call: &Call<'_>) -> Option<Value> {
    let guard = call.guard()?.clone();
    // Every event has an actor, so the negation of any actor matches no event.
    (!guard.is_always()).then(|| Value::Guard(guard.not()))
}

fn and(call: &Call<'_>) -> Option<Value> {
    Some(Value::Guard(call.guards()))
}

/// "anyone other than a bot": the first guard without the second.
fn and_not(call: &Call<'_>) -> Option<Value> {
    let mut guards = call.values.iter().filter_map(|value| match value {
        Value::Guard(guard) => Some(guard),
        _ => None,
    });
    let (first, second) = (guards.next()?, guards.next()?);
    (!second.is_always()).then(|| Value::Guard(first.clone().and(second.clone().not())))
}

/// "neither open nor a draft"
fn nor(call: &Call<'_>) -> Option<Value> {
    let guards = call.values.iter().filter_map(|value| match value {
        Value::Guard(guard) => Some(guard.clone()),
        _ => None,
    });
    let all = guards.map(Formula::not).reduce(Formula::and)?;
    Some(Value::Guard(all))
}

/// "someone who is neither a bot nor a maintainer"
fn and_nor(call: &Call<'_>) -> Option<Value> {
    let [
        Value::Guard(first),
        Value::Guard(second),
        Value::Guard(third),
    ] = call.values
    else {
        return None;
    };
    let neither = second.clone().not().and(third.clone().not());
    Some(Value::Guard(first.clone().and(neither)))
}

/// The guard of the rule's arguments, with those of the items.
fn says(call: &Call<'_>) -> Option<Value> {
    Some(Value::Guard(call.said()?.and(call.guards())))
}

/// A bare word as a name: "a team mapped to …" names no team.
fn no_participle(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    let is_participle = |name: &String| name.ends_with("ed");
    (!names.iter().any(is_participle)).then_some(Value::Strings(names))
}

/// Words that only name what is spoken about already.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the table of compositions has one type"
)]
fn nothing(_call: &Call<'_>) -> Option<Value> {
    Some(Value::Nothing)
}

/// A guard next to a noun that adds nothing: "the main branch".
fn first_guard(call: &Call<'_>) -> Option<Value> {
    call.guard().cloned().map(Value::Guard)
}

fn branch(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    // No branch ends with a slash: that is a folder. A star before a dot selects files by their extension.
    let is_path = |name: &String| {
        let is_folder = name.ends_with('/') && !name.starts_with(BEGINS);
        is_folder
            || is_file(name)
            || name.starts_with(['#', '.'])
            || name.starts_with("*.")
            || name.contains("**/*.")
    };
    (!names.iter().any(is_path)).then_some(())?;
    // `refs/heads/main` is the full name of a branch.
    let short = |name: &String| name.strip_prefix(FULL_REF).unwrap_or(name).to_owned();
    let names: Vec<String> = names.iter().map(short).collect();
    let (op, names) = name_op(&names);
    let says = Says::Branch(op, names);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// A branch by its full name only: `refs/heads/main`.
fn full_ref(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    (names.iter().all(|name| name.starts_with(FULL_REF))).then_some(())?;
    branch(call)
}

/// Branches as the source of a pull request.
fn head(call: &Call<'_>) -> Option<Value> {
    let found = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::Branch(op, names) => Some(Says::Test(Test::new(Field::Head, *op, names.clone()))),
        _ => None,
    })?;
    Some(Value::Guard(found))
}

fn label(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    // The login of a bot is no label.
    (!names.iter().any(|name| name.ends_with("[bot]"))).then_some(())?;
    let says = Says::TheLabel(names);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// A label of several bare words: "the help wanted label".
fn label_words(call: &Call<'_>) -> Option<Value> {
    let words = call.values.iter().filter_map(|value| match value {
        Value::Strings(words) => Some(words.join(" ")),
        _ => None,
    });
    let says = Says::TheLabel(vec![words.collect::<Vec<_>>().join(" ")]);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// A team whose review is requested; of `@owner/team`, only the team is in payloads.
fn team(call: &Call<'_>) -> Option<Value> {
    let names = call
        .strings()?
        .into_iter()
        .map(|name| match name.rsplit_once('/') {
            Some((_, team)) => team.to_owned(),
            None => name,
        });
    let test = Test::new(Field::ReviewerTeam, Op::Is, names.collect());
    Some(Value::Guard(says_at(Says::Test(test), &call.range)))
}

/// Strings in named parts of a thing.
fn text(call: &Call<'_>) -> Option<Value> {
    let places = call.values.iter().find_map(|value| match value {
        Value::Places(places) => Some(places.as_slice()),
        _ => None,
    })?;
    let op = call.word().unwrap_or("contains");
    let op = Op::ALL.into_iter().find(|known| known.as_str() == op)?;
    said_in(call, op, places)
}

/// Strings in the thing itself.
fn own_text(call: &Call<'_>) -> Option<Value> {
    said_in(call, Op::Contains, &[TextPlace::Own])
}

fn begins(call: &Call<'_>) -> Option<Value> {
    said_in(call, Op::Begins, &[TextPlace::Own])
}

fn milestone(call: &Call<'_>) -> Option<Value> {
    let test = Test::new(Field::Milestone, Op::Is, call.strings()?);
    Some(Value::Guard(says_at(Says::Test(test), &call.range)))
}

/// "mentions @kit"
fn mentions(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?.into_iter().map(|name| format!("@{name}"));
    let names: Vec<String> = names.collect();
    let places = call.values.iter().find_map(|value| match value {
        Value::Places(places) => Some(places.as_slice()),
        _ => None,
    });
    let says =
        |place: &TextPlace| says_at(Says::Text(*place, Op::Contains, names.clone()), &call.range);
    let found = places.unwrap_or(&[TextPlace::Own]).iter().map(says);
    found.reduce(Formula::or).map(Value::Guard)
}

/// A string that a comment says: a command if it begins with a slash, else a part of the text.
fn command(call: &Call<'_>) -> Option<Value> {
    let strings = call.strings()?;
    let is_command = strings.iter().all(|string| string.starts_with('/'));
    // Words added to something may be a label as well.
    (is_command || call.word() != Some("slash")).then_some(())?;
    let op = if is_command { Op::Begins } else { Op::Contains };
    said_in(call, op, &[TextPlace::Own])
}

fn said_in(call: &Call<'_>, op: Op, places: &[TextPlace]) -> Option<Value> {
    let strings = call.strings()?;
    let says = |place: &TextPlace| says_at(Says::Text(*place, op, strings.clone()), &call.range);
    let found = places.iter().map(says).reduce(Formula::or)?;
    Some(Value::Guard(found))
}

/// Labels, people or branches, as values of the field that the argument names.
fn as_field(call: &Call<'_>) -> Option<Value> {
    let field = known_field(call.word()?)?;
    let found = mapped(call.guard()?, &mut |atom| {
        let kind = (field == Field::Assignee).then_some(Field::AssigneeKind);
        let (op, values) = match &atom.says {
            Says::Person(_, Who::Human) => return Some(Says::Test(is(kind?, &["human"]))),
            Says::Person(_, Who::Bot) => return Some(Says::Test(is(kind?, &["bot"]))),
            Says::TheLabel(values) | Says::Person(_, Who::Named(values)) => (Op::Is, values),
            Says::Branch(op, values) => (*op, values),
            _ => return None,
        };
        Some(Says::Test(Test::new(field, op, values.clone())))
    })?;
    Some(Value::Guard(found))
}

/// Strings as values of the field that the argument names.
fn field(call: &Call<'_>) -> Option<Value> {
    let field = known_field(call.word()?)?;
    let mut strings = call.strings()?;
    // "unless it changes tests/": a path is no state.
    let is_path = |name: &String| name.contains(['/', '*']) || name.starts_with('#');
    let is_word = matches!(field, Field::State | Field::Category);
    (!is_word || !strings.iter().any(is_path)).then_some(())?;
    if field == Field::StateReason {
        // Payloads spell "not planned" as one word.
        strings = strings
            .iter()
            .map(|name| name.replace([' ', '-'], "_"))
            .collect();
    }
    // Slack's own name of a channel: `C0123ABCD`.
    let is_id = |name: &String| {
        name.len() >= SHORTEST_ID
            && name.starts_with(['C', 'D', 'G'])
            && (name.bytes()).all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            && name.bytes().any(|b| b.is_ascii_digit())
    };
    let field = if field == Field::Channel && strings.iter().all(is_id) {
        Field::ChannelId
    } else {
        field
    };
    // A title is a sentence, and no star in a pattern of one stops at a slash.
    let begun = |title: &String| {
        let begun = title.strip_suffix('*').filter(|rest| !rest.contains('*'));
        begun.map(str::to_owned)
    };
    if field == Field::Title
        && let Some(begun) = strings.iter().map(begun).collect::<Option<Vec<String>>>()
    {
        let test = Test::new(field, Op::Begins, begun);
        return Some(Value::Guard(says_at(Says::Test(test), &call.range)));
    }
    let test = Test::new(field, glob_op(&strings), strings);
    Some(Value::Guard(says_at(Says::Test(test), &call.range)))
}

/// The length of Slack's shortest ids.
const SHORTEST_ID: usize = 9;

/// Strings as values of the first of the fields that the event can have.
fn one_of(call: &Call<'_>) -> Option<Value> {
    let field = |argument: &Sense| match argument {
        Sense::Word(name) => known_field(name),
        _ => None,
    };
    let fields: Option<Vec<Field>> = call.arguments.iter().map(field).collect();
    let names = call.strings()?;
    // A channel in quotes is neither a project nor a category.
    (!names.iter().any(|name| name.starts_with('#'))).then_some(())?;
    let says = Says::OneOf(fields?, names);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// Strings as values of any of some fields.
fn any_of(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    let of = |argument: &Sense| match argument {
        Sense::Word(name) => {
            let test = Test::new(known_field(name)?, Op::Is, names.clone());
            Some(says_at(Says::Test(test), &call.range))
        }
        _ => None,
    };
    let guards: Option<Vec<Guard>> = call.arguments.iter().map(of).collect();
    Some(Value::Guard(guards?.into_iter().reduce(Formula::or)?))
}

/// Strings as values of an attribute, in the field that the event has for it: the argument names the attribute.
fn value(call: &Call<'_>) -> Option<Value> {
    let part = match call.word() {
        Some(name) => Some(Part::of(name)?),
        None => None,
    };
    let says = Says::Value(part, call.strings()?);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// A value and those above or below it: the arguments are `from`, `above`, `to` or `below`, and the steps of the scale from
/// low to high, with names of one step joined by `|`.
fn reach(call: &Call<'_>) -> Option<Value> {
    let [Sense::Word(reach), Sense::Word(steps)] = call.arguments else {
        return None;
    };
    let values = call.strings()?;
    let steps: Vec<Vec<&str>> = steps
        .split(',')
        .map(|step| step.split('|').collect())
        .collect();
    let at = steps
        .iter()
        .position(|names| values.iter().any(|value| names.contains(&value.as_str())))?;
    let reached = match reach.as_str() {
        "from" => &steps[at..],
        "above" => &steps[at + 1..],
        "to" => &steps[..=at],
        "below" => &steps[..at],
        _ => return None,
    };
    let found: Vec<String> = reached.concat().into_iter().map(str::to_owned).collect();
    (!found.is_empty()).then_some(Value::Strings(found))
}

/// "Linear triage": the guard, for events of the source.
fn of_a_source(call: &Call<'_>) -> Option<Value> {
    let source = says_at(Says::Source(call.source()?), &call.range);
    Some(Value::Guard(call.guard()?.clone().and(source)))
}

/// The name of the thing next to the words.
fn names(call: &Call<'_>) -> Option<Value> {
    Some(Value::Guard(says_at(
        Says::Name(call.strings()?),
        &call.range,
    )))
}

/// Words of one name: "Rowan Pike".
fn joined(call: &Call<'_>) -> Option<Value> {
    let words = call.values.iter().filter_map(|value| match value {
        Value::Strings(words) => Some(words.join(" ")),
        _ => None,
    });
    Some(Value::Strings(vec![words.collect::<Vec<_>>().join(" ")]))
}

/// The event changes the named parts.
fn changed(call: &Call<'_>) -> Option<Value> {
    let places = call.values.iter().find_map(|value| match value {
        Value::Places(places) => Some(places.as_slice()),
        _ => None,
    })?;
    let name = |place: &TextPlace| match place {
        TextPlace::Title => Some("title".to_owned()),
        TextPlace::Body => Some("body".to_owned()),
        TextPlace::Own | TextPlace::Message => None,
    };
    let names: Vec<String> = places.iter().map(name).collect::<Option<_>>()?;
    let says = Says::Test(Test::new(Field::Changed, Op::Is, names));
    Some(Value::Guard(says_at(says, &call.range)))
}

/// The fields by their names.
static FIELDS: LazyLock<FxHashMap<&'static str, Field>> = LazyLock::new(|| {
    let fields = Field::ALL.iter().copied();
    fields.map(|field| (field.name(), field)).collect()
});

fn known_field(name: &str) -> Option<Field> {
    FIELDS.get(name).copied()
}

fn glob_op(names: &[String]) -> Op {
    if names.iter().any(|name| name.contains('*')) {
        Op::Matches
    } else {
        Op::Is
    }
}

/// Replaces what every statement of a guard says; `None` if one of them cannot be replaced.
pub(super) fn mapped(guard: &Guard, with: &mut impl FnMut(&Atom) -> Option<Says>) -> Option<Guard> {
    guard.replace(false, &mut |atom: &Atom, negated| {
        let says = with(atom)?;
        let found = Formula::Atom(Atom {
            says,
            of_parent: atom.of_parent,
            range: atom.range.clone(),
        });
        Some(if negated { found.not() } else { found })
    })
}
