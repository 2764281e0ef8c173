//! The newest requests that a fake received.

use std::collections::VecDeque;

/// The most requests that are kept.
const MAX_KEPT: usize = 10_000;
/// The most bytes of bodies that are kept: a demonstration runs for days and is open to every local program.
const MAX_BYTES: usize = 64 << 20;

/// Keeps the newest items, and counts all.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    items: VecDeque<(usize, T)>,
    n_bytes: usize,
    n_all: usize,
}

// `derive` would require that `T` has a default.
impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            n_bytes: 0,
            n_all: 0,
        }
    }
}

impl<T: Clone> Recent<T> {
    /// Adds an item of this size and returns its number, from 1.
    pub(crate) fn push(&mut self, item: T, n_bytes: usize) -> usize {
        self.items.push_back((n_bytes, item));
        self.n_bytes += n_bytes;
        self.n_all += 1;
        // The newest item is kept in any case.
        while self.items.len() > MAX_KEPT || self.n_bytes > MAX_BYTES && self.items.len() > 1 {
            let oldest = self.items.pop_front();
            self.n_bytes -= oldest.map_or(0, |(n_bytes, _)| n_bytes);
        }
        self.n_all
    }

    /// Returns the kept items, the oldest first.
    pub(crate) fn to_vec(&self) -> Vec<T> {
        self.items.iter().map(|(_, item)| item.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_items_are_kept_and_all_are_counted() {
        let mut recent = Recent::default();
        for n in 1..=MAX_KEPT + 5 {
            assert_eq!(recent.push(n, 0), n);
        }
        assert_eq!(recent.to_vec(), (6..=MAX_KEPT + 5).collect::<Vec<_>>());
    }

    #[test]
    fn bytes_are_limited_and_the_newest_item_stays() {
        let mut recent = Recent::default();
        recent.push("small", 1);
        recent.push("half", MAX_BYTES / 2);
        recent.push("rest", MAX_BYTES / 2);
        assert_eq!(recent.to_vec(), ["half", "rest"]);
        recent.push("huge", MAX_BYTES + 1);
        assert_eq!(recent.to_vec(), ["huge"]);
    }
}
