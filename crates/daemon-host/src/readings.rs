//! How conditions are read: each distinct line once, however many daemons have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use daemon_watch::{Interpretation, interpret};

/// How many lines are known before those that no daemon has any more are looked for.
const FEW: usize = 64;

/// The readings that somebody holds, by their lines.
///
/// Lines repeat from repository to repository, and a reading with its compiled patterns takes kilobytes.
#[derive(Debug, Default)]
pub struct Readings {
    known: Mutex<HashMap<Box<str>, Weak<Interpretation>>>,
}

impl Readings {
    /// Reads a line, or returns how it was read for another daemon.
    pub fn of(&self, line: &str) -> Arc<Interpretation> {
        let mut known = self.known.lock().expect("no holder panics");
        if let Some(reading) = known.get(line).and_then(Weak::upgrade) {
            return reading;
        }
        let reading = Arc::new(interpret(line));
        if known.len() >= FEW && known.len() == known.capacity() {
            known.retain(|_, reading| reading.strong_count() > 0);
        }
        known.insert(line.into(), Arc::downgrade(&reading));
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_once_for_as_long_as_somebody_has_it() {
        let readings = Readings::default();
        let line = "when a pull request is opened";
        let first = readings.of(line);
        assert!(Arc::ptr_eq(&first, &readings.of(line)));
        assert_eq!(*first, interpret(line));
        assert_ne!(*first, *readings.of("when an issue is opened"));
    }

    #[test]
    fn lines_that_nobody_has_are_forgotten() {
        let readings = Readings::default();
        let held = readings.of("when a pull request is opened");
        for n in 0..4 * FEW {
            readings.of(&format!("when files matching src/{n}/** are changed"));
        }
        let known = readings.known.lock().unwrap();
        assert!(known.len() <= 2 * FEW, "{}", known.len());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
