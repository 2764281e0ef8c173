//! Conditions at numbers that stay theirs, and what is compiled from many of them.
//!
//! Taking one out only empties its slot: everything that leads to it finds nothing there. When more slots are
//! empty than are held, one sweep forgets them, so that taking out all conditions costs a few looks at each.

use std::sync::{Arc, OnceLock};

use crate::filter::Test;

/// One clause of one condition, under one key.
#[derive(Debug)]
pub(super) struct Entry<K> {
    pub(super) key: K,
    pub(super) condition: usize,
    pub(super) tests: Arc<[Test]>,
    /// Whether another entry, or another way to this one, can report the same condition for the same event.
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
    /// Empty slots that nothing leads to.
    free: Vec<Slot>,
    /// Empty slots that something may still lead to.
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

    /// Returns those of some conditions that are still there.
    pub(super) fn each(&self, slots: &[Slot]) -> impl Iterator<Item = (Slot, &Entry<K>)> {
        slots
            .iter()
            .filter_map(|slot| Some((*slot, self.get(*slot)?)))
    }

    /// Notes that several ways lead to a condition.
    pub(super) fn mark_siblings(&mut self, slot: Slot) {
        if let Some(entry) = &mut self.entries[slot.index()] {
            entry.has_siblings = true;
        }
    }

    /// Empties a slot; tells whether it is time to forget the empty ones everywhere.
    pub(super) fn remove(&mut self, slot: Slot) -> bool {
        self.entries[slot.index()] = None;
        self.left.push(slot);
        let n_held = self.entries.len() - self.free.len() - self.left.len();
        self.left.len() >= FEW && self.left.len() > n_held
    }

    /// Notes that nothing leads to an empty slot any more.
    pub(super) fn swept(&mut self) {
        self.free.append(&mut self.left);
    }
}

/// Conditions from which something is compiled when an event first asks; later ones wait until they are many.
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
        let n_late = self.slots.len() - self.n_compiled;
        if self.product.get().is_none() || n_late > FEW.max(self.n_compiled / 8) {
            self.forget();
        }
    }

    /// Returns what was compiled.
    pub(super) fn get(&self, compile: impl FnOnce(&[Slot]) -> T) -> &T {
        self.product
            .get_or_init(|| compile(&self.slots[..self.n_compiled]))
    }

    /// Returns the conditions that came later, which have to be decided one by one.
    pub(super) fn late(&self) -> impl Iterator<Item = Slot> {
        self.slots[self.n_compiled..].iter().copied()
    }

    /// Returns every condition.
    pub(super) fn all(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().copied()
    }

    /// Forgets the conditions that are gone.
    pub(super) fn sweep<K>(&mut self, slots: &Slots<K>) {
        let n_slots = self.slots.len();
        self.slots.retain(|slot| slots.holds(*slot));
        if self.slots.len() != n_slots {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.product.take();
        self.n_compiled = self.slots.len();
    }
}
