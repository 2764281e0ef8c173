//! Events of things under guards, before the vocabulary has named their kinds.

use daemon_event::Source;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Atom, Guard, Says, TextPlace};
use super::formula::Formula;

/// One event of one kind of thing, under a guard.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GuardedEvent {
    pub(crate) noun: Noun,
    pub(crate) verb: Verb,
    pub(crate) on: Vec<Noun>,
    pub(crate) guard: Guard,
    pub(crate) source: Option<Source>,
    pub(crate) without: Option<&'static str>,
    /// A raw name: the kind and the action.
    pub(crate) raw: Option<(&'static str, Option<&'static str>)>,
    pub(crate) start: usize,
}

impl GuardedEvent {
    pub(crate) fn require(&mut self, guard: Guard) {
        self.guard = std::mem::replace(&mut self.guard, Formula::Always).and(guard);
    }
}

/// Applies a guard to the parent of the event's noun.
pub(crate) fn of_parent(guard: &Guard) -> Option<Guard> {
    guard.replace(false, &mut |atom: &Atom, negated| {
        let mut atom = atom.clone();
        // A string without a named part is in the comment itself, not in its parent.
        atom.of_parent = !matches!(atom.says, Says::Text(TextPlace::Own, ..));
        let found = Formula::Atom(atom);
        Some(if negated { found.not() } else { found })
    })
}
