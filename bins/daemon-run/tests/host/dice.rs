//! Numbers of a seed, so that a failure can be repeated.

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    /// Begins with a seed.
    pub(crate) fn of_seed(seed: u32) -> Self {
        Self(seed.into())
    }

    /// Returns a number below a limit.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % most
    }

    /// Returns one of some things.
    pub(crate) fn one_of<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        let at = self.below(things.len() as u64);
        &things[usize::try_from(at).expect("it is small")]
    }

    /// Returns bytes of any value.
    pub(crate) fn bytes(&mut self, most: u64) -> Vec<u8> {
        let n = self.below(most);
        (0..n).map(|_| self.below(256) as u8).collect()
    }
}
