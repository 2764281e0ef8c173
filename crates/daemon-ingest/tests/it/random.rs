//! Numbers of a seed, so that a failure can be repeated.

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number below `n`, which is not zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let n = u64::try_from(n).unwrap();
        usize::try_from((z ^ (z >> 31)) % n).unwrap()
    }

    pub(crate) fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// Returns fewer than `most` bytes of any value.
    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        let n = self.below(most);
        (0..n)
            .map(|_| u8::try_from(self.below(256)).unwrap())
            .collect()
    }
}
