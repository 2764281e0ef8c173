//! Compositions: the functions by which rules make the meaning of a phrase of the meanings of its parts.

mod deeds;
mod events;
mod files;
mod guards;
mod happens;
mod minus;
mod names;
mod people;
mod restated;
mod tails;
mod things;

use std::ops::Range;

use daemon_event::{Source, vocabulary};

use super::value::{Deed, Sense, Thing, Value};
use crate::meaning::atom::{Atom, Guard};
use crate::meaning::event::GuardedEvent;
use crate::meaning::formula::Formula;

/// One application of a rule.
pub(super) struct Call<'c> {
    /// The meanings of the items, without those that only mark structure.
    pub(super) values: &'c [&'c Value],
    pub(super) arguments: &'c [Sense],
    pub(super) range: Range<usize>,
}

/// How a rule composes its meaning.
#[derive(Clone, Copy)]
pub(super) enum Composition {
    /// The meaning of its only item that has one.
    Same,
    By(fn(&Call<'_>) -> Option<Value>),
}

/// Returns the composition that the grammar names.
pub(super) fn composition(name: &str) -> Option<Composition> {
    if name == "same" {
        return Some(Composition::Same);
    }
    let tables = [
        COMMON,
        guards::TABLE,
        people::TABLE,
        files::TABLE,
        things::TABLE,
        deeds::TABLE,
        events::TABLE,
        names::TABLE,
        tails::TABLE,
        minus::TABLE,
        restated::TABLE,
    ];
    let mut rows = tables.into_iter().flatten();
    let found = rows.find(|(known, _)| *known == name);
    found.map(|(_, function)| Composition::By(*function))
}

/// A composition with its name.
type Row = (&'static str, fn(&Call<'_>) -> Option<Value>);

const COMMON: &[Row] = &[("any", any), ("all", all)];

impl Call<'_> {
    pub(super) fn guard(&self) -> Option<&Guard> {
        self.values.iter().find_map(|value| match value {
            Value::Guard(guard) => Some(guard),
            _ => None,
        })
    }

    /// Returns the guards of all items, joined by "and".
    pub(super) fn guards(&self) -> Guard {
        let guards = self.values.iter().filter_map(|value| match value {
            Value::Guard(guard) => Some(guard.clone()),
            _ => None,
        });
        guards.fold(Formula::Always, Formula::and)
    }

    pub(super) fn things(&self) -> Option<&[Thing]> {
        self.values.iter().find_map(|value| match value {
            Value::Things(things) => Some(things.as_slice()),
            _ => None,
        })
    }

    pub(super) fn deeds(&self) -> Option<&[Deed]> {
        self.values.iter().find_map(|value| match value {
            Value::Deeds(deeds) => Some(deeds.as_slice()),
            _ => None,
        })
    }

    pub(super) fn events(&self) -> Option<&[GuardedEvent]> {
        self.values.iter().find_map(|value| match value {
            Value::Events(events, _) => Some(events.as_slice()),
            _ => None,
        })
    }

    /// Returns the things that the events are about.
    pub(super) fn about(&self) -> &[Thing] {
        let mut about = self.values.iter().filter_map(|value| match value {
            Value::Events(_, about) => Some(about.as_slice()),
            _ => None,
        });
        about.next().unwrap_or_default()
    }

    pub(super) fn strings(&self) -> Option<Vec<String>> {
        self.values.iter().find_map(|value| match value {
            Value::Strings(strings) => Some(strings.clone()),
            _ => None,
        })
    }

    pub(super) fn source(&self) -> Option<Source> {
        self.values.iter().find_map(|value| match value {
            Value::Source(source) => Some(*source),
            _ => None,
        })
    }

    /// Returns the first argument that is a word.
    pub(super) fn word(&self) -> Option<&str> {
        self.arguments.iter().find_map(|argument| match argument {
            Sense::Word(word) => Some(word.as_str()),
            _ => None,
        })
    }

    /// Returns the guard that the arguments say.
    pub(super) fn said(&self) -> Option<Guard> {
        let is_guard = |one: &&Sense| {
            matches!(
                one,
                Sense::State(_) | Sense::Test(_) | Sense::Who(_) | Sense::Not(_)
            )
        };
        let mut guards = self.arguments.iter().filter(is_guard);
        guards.try_fold(Formula::Always, |acc, one| {
            Some(Formula::and(acc, one.guard(&self.range)?))
        })
    }
}

/// One of the items.
fn any(call: &Call<'_>) -> Option<Value> {
    joined(call, either)
}

/// One of two guards; two values of the same fact are one comparison.
fn either(one: Guard, other: Guard) -> Guard {
    if let (Formula::Atom(one), Formula::Atom(other)) = (&one, &other)
        && one.of_parent == other.of_parent
        && let Some(says) = one.says.or(&other.says)
    {
        let range = one.range.start.min(other.range.start)..one.range.end.max(other.range.end);
        return Formula::Atom(Atom {
            says,
            of_parent: one.of_parent,
            range,
        });
    }
    one.or(other)
}

/// All items; alternatives of things and events stay alternatives.
fn all(call: &Call<'_>) -> Option<Value> {
    joined(call, Formula::and)
}

fn joined(call: &Call<'_>, join: fn(Guard, Guard) -> Guard) -> Option<Value> {
    let mut values = call.values.iter();
    let mut found = (*values.next()?).clone();
    for value in values {
        match (&mut found, *value) {
            (Value::Guard(guard), Value::Guard(other)) => {
                let before = std::mem::replace(guard, Formula::Always);
                *guard = join(before, other.clone());
            }
            (Value::Things(things), Value::Things(more)) => {
                things.extend(more.iter().cloned());
                share(things);
            }
            (Value::Deeds(deeds), Value::Deeds(more)) => deeds.extend(more.iter().cloned()),
            (Value::Events(events, about), Value::Events(more, also)) => {
                events.extend(more.iter().cloned());
                // "it" is the nearest thing on its left.
                about.clone_from(also);
            }
            (Value::Strings(strings), Value::Strings(more)) => strings.extend(more.iter().cloned()),
            (Value::Places(places), Value::Places(more)) => places.extend(more.iter().copied()),
            (Value::Verbs(verbs), Value::Verbs(more)) => verbs.extend(more.iter().cloned()),
            _ => return None,
        }
    }
    Some(found)
}

/// "a GitHub issue or pull request": the source of the first noun holds for those that are joined to it, if it has them.
fn share(things: &mut [Thing]) {
    let Some(source) = things.first().and_then(|thing| thing.source) else {
        return;
    };
    for thing in things.iter_mut() {
        let mut rows = vocabulary::rows(thing.noun).iter();
        if rows.any(|(kind, _)| kind.source == source) {
            thing.source = thing.source.or(Some(source));
        }
    }
}
