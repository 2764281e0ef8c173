//! Conditions in slots that do not move, and patterns compiled from many of them.
//!
//! Removal only empties a slot: every reference to it finds nothing. When more slots are empty than used, one sweep
//! drops the references, so that removing all conditions visits each a constant number of times.

use std::sync::{Arc, OnceLock};

use crate::filter::Test;

/// One clause of one condition, under one key.
#[derive(Debug)]
pub(super) struct Entry<K> {
    pub(super) key: K,
    pub(super) condition: usize,
    pub(super) tests: Arc<[Test]>,
    /// Whether the same condition can be reported twice for an event, by another entry or another reference.
    pub(super) has_siblings: bool,
}

/// The number of a condition within its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u32);

impl Slot {
    fn index(self) -> usize {
        usize::try_from(self.0).expect("32 bits index an array here")
    }
}

#[derive(Debug)]
pub(super) struct Slots<K> {
    entries: Vec<Option<Entry<K>>>,
    /// Empty slots without references.
    free: Vec<Slot>,
    /// Empty slots that may still have references.
    left: Vec<Slot>,
}

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            left: Vec::new(),
        }
    }
}

/// Fewer empty slots than this are not worth a sweep.
const FEW: usize = 16;

impl<K> Slots<K> {
    pub(super) fn insert(&mut self, entry: Entry<K>) -> Slot {
        // A slot is reused only after a sweep: an old reference would find another condition.
        match self.free.pop() {
            Some(slot) => {
                self.entries[slot.index()] = Some(entry);
                slot
            }
            None => {
                let number = u32::try_from(self.entries.len());
                self.entries.push(Some(entry));
                Slot(number.expect("a bucket holds fewer than 2^32 conditions"))
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Entry<K>> {
        self.entries[slot.index()].as_ref()
    }

    pub(super) fn holds(&self, slot: Slot) -> bool {
        self.get(slot).is_some()
    }

    /// Returns the entries of those slots that are not empty.
    pub(super) fn each(&self, slots: &[Slot]) -> impl Iterator<Item = (Slot, &Entry<K>)> {
        slots
            .iter()
            .filter_map(|slot| Some((*slot, self.get(*slot)?)))
    }

    /// Notes that a condition has several references.
    pub(super) fn mark_siblings(&mut self, slot: Slot) {
        if let Some(entry) = &mut self.entries[slot.index()] {
            entry.has_siblings = true;
        }
    }

    /// Empties a slot; returns whether the empty ones should be swept.
    pub(super) fn remove(&mut self, slot: Slot) -> bool {
        self.entries[slot.index()] = None;
        self.left.push(slot);
        let n_held = self.entries.len() - self.free.len() - self.left.len();
        // At least half of the slots are empty then, so each removal pays for a constant part of the sweep.
        self.left.len() >= FEW && self.left.len() > n_held
    }

    /// Notes that empty slots have no references any more.
    pub(super) fn swept(&mut self) {
        self.free.append(&mut self.left);
    }
}

/// Conditions whose patterns are compiled at the first look-up; later ones wait until there are many.
#[derive(Debug)]
pub(super) struct Compiled<T> {
    slots: Vec<Slot>,
    /// How many of `slots` went into `product`.
    n_compiled: usize,
    product: OnceLock<T>,
}

impl<T> Default for Compiled<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            n_compiled: 0,
            product: OnceLock::new(),
        }
    }
}

impl<T> Compiled<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        self.slots.push(slot);
        // Compiling takes far longer than deciding a few conditions, so new ones wait until they are an eighth.
        let n_late = self.slots.len() - self.n_compiled;
        if self.product.get().is_none() || n_late > FEW.max(self.n_compiled / 8) {
            self.forget();
        }
    }

    /// Returns the compiled patterns.
    pub(super) fn get(&self, compile: impl FnOnce(&[Slot]) -> T) -> &T {
        self.product
            .get_or_init(|| compile(&self.slots[..self.n_compiled]))
    }

    /// Returns the conditions filed after the compilation, which are decided one by one.
    pub(super) fn late(&self) -> impl Iterator<Item = Slot> {
        self.slots[self.n_compiled..].iter().copied()
    }

    /// Returns every condition.
    pub(super) fn all(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().copied()
    }

    /// Drops references to removed conditions.
    pub(super) fn sweep<K>(&mut self, slots: &Slots<K>) {
        let n_slots = self.slots.len();
        self.slots.retain(|slot| slots.holds(*slot));
        // Patterns of removed conditions would still match and take time.
        if self.slots.len() != n_slots {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.product.take();
        self.n_compiled = self.slots.len();
    }
}
