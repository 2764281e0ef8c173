//! Detects between two reads of the process table that the number of processes grows fast.

use std::fs;
use std::time::{Duration, Instant};

/// The interval at which the machine's threads are counted while a child runs; a count is one short read.
const INTERVAL: Duration = Duration::from_millis(20);
/// The minimum and maximum growth that requires a read of the process table.
const GROWTH: (usize, usize) = (4, 64);

/// The number of threads on the machine at the last read of the process table, and the growth that requires another.
#[derive(Debug)]
pub(crate) struct Census {
    next: Instant,
    n_threads: usize,
    growth: usize,
}

impl Census {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            next: now,
            n_threads: 0,
            growth: 0,
        }
    }

    /// Returns the time of the next count.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Starts over after a read of the process table; a child may have this many more processes.
    pub(crate) fn begin(&mut self, now: Instant, room: usize) {
        let (least, most) = GROWTH;
        self.next = now + INTERVAL;
        self.growth = (room / 2).clamp(least, most);
        // If the count fails, every read of the table is one that is due anyway.
        self.n_threads = n_threads().unwrap_or(usize::MAX);
    }

    /// Counts the threads if it is time to; returns whether the growth requires a read of the process table.
    pub(crate) fn has_grown(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + INTERVAL;
        n_threads().is_some_and(|n| n > self.n_threads.saturating_add(self.growth))
    }
}

/// Returns the number of threads on the machine.
fn n_threads() -> Option<usize> {
    of_load(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn of_load(load: &str) -> Option<usize> {
    let (_, all) = load.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_a_machine_are_counted() {
        assert_eq!(of_load("0.20 0.18 0.12 1/806 11206\n"), Some(806));
        assert_eq!(of_load("0.20 0.18\n"), None);
        assert!(n_threads().is_some_and(|n| n > 0));
    }
}
