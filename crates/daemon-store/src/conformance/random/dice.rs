//! Random choices that a seed repeats.

use super::DAEMONS;

/// A generator that needs no crate: SplitMix64.
#[derive(Clone, Copy)]
pub(in super::super) struct Dice(pub(in super::super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(in super::super) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    pub(in super::super) fn of<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        let n = u64::try_from(items.len()).expect("a length fits");
        if n == 0 {
            return None;
        }
        let place = usize::try_from(self.below(n)).expect("below a length");
        items.get(place).cloned()
    }

    pub(super) fn daemon(&mut self) -> &'static str {
        self.of(&DAEMONS).expect("there are some")
    }
}
