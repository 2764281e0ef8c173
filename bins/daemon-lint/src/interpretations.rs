//! An interpreter that reads each condition once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use daemon_watch::{Interpretation, Interpreter, interpret};

// Bounds the memory for repositories in which every condition differs.
const MAX_REMEMBERED: usize = 1_024;

/// The grammar, with the interpretations of the conditions that it has read.
///
/// Daemons of one repository repeat conditions, and reading one takes longer than all other checks.
#[derive(Debug, Default)]
pub(crate) struct CachedInterpreter {
    known: Mutex<HashMap<String, Interpretation>>,
}

impl CachedInterpreter {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Interpretation>> {
        // Entries are inserted whole, so a panic of another thread leaves none half-written.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interpreter for CachedInterpreter {
    fn interpret(&self, condition: &str) -> Interpretation {
        if let Some(known) = self.known().get(condition) {
            return known.clone();
        }
        // Read without the lock: other threads continue meanwhile.
        let meaning = interpret(condition);
        let mut known = self.known();
        if known.len() < MAX_REMEMBERED {
            known.insert(condition.to_owned(), meaning.clone());
        }
        meaning
    }
}

#[cfg(test)]
mod tests {
    use daemon_watch::{Grammar, Interpreter as _};

    use super::{CachedInterpreter, MAX_REMEMBERED};

    #[test]
    fn a_remembered_condition_has_the_same_interpretation_and_the_memory_is_bounded() {
        let interpreter = CachedInterpreter::default();
        for condition in [
            "when a PR is opened",
            "when it rains",
            "when a PR is opened",
        ] {
            assert_eq!(
                format!("{:?}", interpreter.interpret(condition)),
                format!("{:?}", Grammar.interpret(condition))
            );
        }
        assert_eq!(interpreter.known().len(), 2);
        for n in 0..MAX_REMEMBERED {
            interpreter.interpret(&n.to_string());
        }
        assert_eq!(interpreter.known().len(), MAX_REMEMBERED);
    }
}
