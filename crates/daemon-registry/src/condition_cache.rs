//! Interpretations of conditions, shared by the daemons that have the same line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use daemon_watch::{Interpretation, interpret};

/// The number of lines below which unused ones are not searched for.
const PRUNE_FROM: usize = 64;

/// Interpretations that are in use, by their lines.
///
/// Lines repeat from repository to repository, and an interpretation with its compiled patterns takes kilobytes.
#[derive(Debug, Default)]
pub(crate) struct ConditionCache {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    // Weak, so that a line whose last daemon was removed is freed.
    lines: HashMap<Box<str>, Weak<Interpretation>>,
    /// How many lines were in use at the last search for unused ones.
    n_used: usize,
}

impl ConditionCache {
    /// Returns the interpretation of a line that another daemon holds, or interprets the line.
    pub(crate) fn get(&self, line: &str) -> Arc<Interpretation> {
        // Held while a line is interpreted: two daemons with a new line would otherwise interpret it twice.
        let mut known = self.known.lock().expect("no holder panics");
        if let Some(interpretation) = known.lines.get(line).and_then(Weak::upgrade) {
            return interpretation;
        }
        let interpretation = Arc::new(interpret(line));
        // Searching only when the lines have doubled keeps the cost of an insertion constant on average.
        if known.lines.len() >= PRUNE_FROM.max(2 * known.n_used) {
            known.lines.retain(|_, line| line.strong_count() > 0);
            known.n_used = known.lines.len();
        }
        known
            .lines
            .insert(line.into(), Arc::downgrade(&interpretation));
        interpretation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_interpreted_once_while_a_daemon_holds_it() {
        let cache = ConditionCache::default();
        let line = "when a pull request is opened";
        let first = cache.get(line);
        assert!(Arc::ptr_eq(&first, &cache.get(line)));
        assert_eq!(*first, interpret(line));
        assert_ne!(*first, *cache.get("when an issue is opened"));
    }

    #[test]
    fn lines_that_no_daemon_holds_are_pruned() {
        let cache = ConditionCache::default();
        let held = cache.get("when a pull request is opened");
        for n in 0..4 * PRUNE_FROM {
            cache.get(&format!("when files matching src/{n}/** are changed"));
        }
        let known = cache.known.lock().unwrap();
        assert!(known.lines.len() <= PRUNE_FROM, "{}", known.lines.len());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
