//! Transition tables: what is not a row of a table is refused.

use crate::refusal::{IllegalTransition, RosterRefusal};

/// One row of a transition table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<S, E> {
    pub(crate) from: S,
    pub(crate) event: E,
    pub(crate) to: S,
}

/// A state machine: its name in messages and in the audit log, and its table.
#[derive(Debug)]
pub(crate) struct TransitionTable<S: 'static, E: 'static> {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step<S, E>],
}

/// A state or an event that is written as one word.
pub(crate) trait AsWord: Copy + Eq {
    fn word(self) -> &'static str;
}

impl<S: AsWord, E: AsWord> TransitionTable<S, E> {
    /// Returns the state that follows, or the refusal if the table has no such row.
    pub(crate) fn next(&self, from: S, event: E) -> Result<S, RosterRefusal> {
        let mut steps = self.steps.iter();
        let step = steps.find(|step| step.from == from && step.event == event);
        step.map(|step| step.to).ok_or_else(|| {
            RosterRefusal::IllegalTransition(IllegalTransition {
                machine: self.name,
                from: from.word(),
                event: event.word(),
            })
        })
    }
}

/// Declares the rows of a table, and the words of its events.
macro_rules! machine {
    (
        $(#[$doc:meta])* $table:ident of $state:ident named $name:literal,
        $(#[$event_doc:meta])* $event:ident { $($variant:ident => $word:literal),+ $(,)? }
        $($from:ident + $on:ident => $to:ident;)+
    ) => {
        $(#[$event_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $event { $($variant),+ }

        impl $crate::transition::AsWord for $event {
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl $crate::transition::AsWord for $state {
            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        $(#[$doc])*
        pub(crate) const $table: $crate::transition::TransitionTable<$state, $event> = $crate::transition::TransitionTable {
            name: $name,
            steps: &[$($crate::transition::Step {
                from: $state::$from,
                event: $event::$on,
                to: $state::$to,
            }),+],
        };
    };
}

pub(crate) use machine;
