//! A seeded generator that needs no crate: SplitMix64.

/// Draws numbers that depend only on the seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws from 0 to `n` − 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n.max(1)
    }

    /// Draws from `low` to `high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low + 1).expect("high is not below low");
        low + i64::try_from(self.below(span)).expect("the span fits")
    }

    /// Returns `true` about once in `n` draws.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.place_in(items)]
    }

    /// Draws a place in a list.
    pub(crate) fn place_in<T>(&mut self, items: &[T]) -> usize {
        let n = u64::try_from(items.len()).expect("a length fits");
        usize::try_from(self.below(n)).expect("below a length")
    }

    /// Draws a waiting time in seconds, memoryless with the given mean.
    pub(crate) fn wait(&mut self, mean: i64) -> i64 {
        // The sum of two uniform draws is near enough, and exact on every machine.
        self.between(1, mean) + self.between(0, mean)
    }
}
