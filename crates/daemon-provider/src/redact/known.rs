//! The byte strings to search for, and the search.

use std::ops::Range;

use super::forms;
use super::views::View;

/// The filter compares this many bytes; no pattern is shorter.
const WINDOW: usize = 4;
/// The filter has 2^16 bits: few entries collide, and its 8 KiB stay in the first-level cache.
const FILTER_BITS: u32 = 16;

/// The known secrets, in each form that is searched for.
pub(super) struct Known {
    /// Sorted; `+` is replaced by a blank, here and in the text, so that either matches the other.
    patterns: Vec<Vec<u8>>,
    filter: Filter,
    /// Whether a pattern begins with the byte.
    is_first: [bool; 256],
    longest: usize,
}

/// The starts of the earliest patterns that the end of the text cuts off.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heads {
    /// The earliest with at least one byte.
    pub(super) any: Option<usize>,
    /// The earliest with at least the requested number of bytes.
    pub(super) long: Option<usize>,
}

impl Heads {
    pub(super) fn add(&mut self, other: Self) {
        self.any = self.any.into_iter().chain(other.any).min();
        self.long = self.long.into_iter().chain(other.long).min();
    }

    pub(super) fn map(self, place: impl Fn(usize) -> usize) -> Self {
        Self {
            any: self.any.map(&place),
            long: self.long.map(&place),
        }
    }
}

/// The lengths to which patterns match at one position.
struct Followed {
    /// The length of the longest whole pattern.
    whole: Option<usize>,
    /// The most bytes that match the beginning of a pattern.
    n_begun: usize,
}

impl Followed {
    /// Returns `start` as the start of a cut-off pattern if the matched bytes reach an end of the view.
    fn heads(&self, start: usize, view: &View<'_>, least: usize) -> Heads {
        if start + self.n_begun < view.first_end() {
            return Heads::default();
        }
        let lengths = view.ends().filter_map(|end| end.checked_sub(start));
        let reached = lengths.filter(|length| (1..=self.n_begun).contains(length));
        let longest = reached.max();
        Heads {
            any: longest.map(|_| start),
            long: longest.filter(|length| *length >= least).map(|_| start),
        }
    }
}

impl Known {
    /// Prepares the search; returns `None` if no secret is long enough to search for.
    pub(super) fn of(secrets: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut patterns: Vec<Vec<u8>> = secrets
            .into_iter()
            .flat_map(|secret| forms::patterns(&secret))
            .collect();
        for byte in patterns.iter_mut().flatten() {
            *byte = canonical(*byte);
        }
        patterns.sort();
        patterns.dedup();
        let mut filter = Filter::default();
        let mut is_first = [false; 256];
        for pattern in &patterns {
            let first = *pattern.first_chunk::<WINDOW>()?;
            for spelled in spellings(first) {
                filter.add(u32::from_le_bytes(spelled));
                is_first[usize::from(spelled[0])] = true;
            }
        }
        let longest = patterns.iter().map(Vec::len).max()?;
        Some(Self {
            patterns,
            filter,
            is_first,
            longest,
        })
    }

    pub(super) fn n_patterns(&self) -> usize {
        self.patterns.len()
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Searches a view; skips the parts that are the same in the view it was made from.
    ///
    /// Calls `found` with the range of each whole pattern. Returns the starts of patterns that an end of the view cuts off;
    /// a long one has at least `least` bytes.
    pub(super) fn search(
        &self,
        view: &View<'_>,
        least: usize,
        mut found: impl FnMut(Range<usize>),
    ) -> Heads {
        let mut acc = Heads::default();
        let bytes = view.bytes();
        for starts in view.new_starts(self.longest) {
            let last = bytes.len().min(starts.end + WINDOW - 1);
            let text = bytes.get(starts.start..last).unwrap_or_default();
            // The filter rejects most positions, so patterns are compared only at the few that remain.
            let mut from = 0;
            while let Some(n) = self.filter.next(text, from) {
                from = n + 1;
                let start = starts.start + n;
                let followed = self.follow(bytes, start);
                if let Some(length) = followed.whole {
                    found(start..start + length);
                }
                acc.add(followed.heads(start, view, least));
            }
        }
        // The filter compares four bytes, so it cannot be used this close to an end.
        for start in view.first_end().saturating_sub(WINDOW - 1)..bytes.len() {
            if self.is_first[usize::from(bytes[start])] {
                acc.add(self.follow(bytes, start).heads(start, view, least));
            }
        }
        acc
    }

    /// Returns how far patterns match at `start`.
    fn follow(&self, bytes: &[u8], start: usize) -> Followed {
        let rest = bytes.get(start..).unwrap_or_default();
        let mut left = self.patterns.as_slice();
        let mut acc = Followed {
            whole: None,
            n_begun: 0,
        };
        loop {
            let n = acc.n_begun;
            // All patterns left share their first `n` bytes; the shortest is sorted first.
            if left.first().is_some_and(|pattern| pattern.len() == n) {
                acc.whole = Some(n).filter(|n| *n > 0);
                left = left.get(1..).unwrap_or_default();
            }
            let Some(byte) = rest.get(n).map(|byte| canonical(*byte)) else {
                return acc;
            };
            let from = left.partition_point(|pattern| pattern[n] < byte);
            left = left.get(from..).unwrap_or_default();
            let n_left = left.partition_point(|pattern| pattern[n] == byte);
            left = left.get(..n_left).unwrap_or_default();
            if left.is_empty() {
                return acc;
            }
            acc.n_begun += 1;
        }
    }
}

/// Replaces `+` by the blank it encodes in a web form.
fn canonical(byte: u8) -> u8 {
    if byte == b'+' { b' ' } else { byte }
}

/// Returns the beginning of a pattern with each of its blanks as a blank or as `+`.
fn spellings(first: [u8; WINDOW]) -> impl Iterator<Item = [u8; WINDOW]> {
    (0..1_u8 << WINDOW).map(move |chosen| {
        let mut acc = first;
        for (n, byte) in acc.iter_mut().enumerate() {
            if *byte == b' ' && chosen >> n & 1 == 1 {
                *byte = b'+';
            }
        }
        acc
    })
}

/// A Bloom filter of the first four bytes of patterns, with two hashes.
struct Filter(Box<[u64; 1 << (FILTER_BITS - 6)]>);

impl Default for Filter {
    fn default() -> Self {
        Self(Box::new([0; 1 << (FILTER_BITS - 6)]))
    }
}

impl Filter {
    fn add(&mut self, window: u32) {
        for factor in Self::FACTORS {
            let bit = Self::hash(window, factor);
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Returns the next place where a pattern may begin. Not inlined: alone, the loop keeps all its state in registers.
    #[inline(never)]
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let windows = text.get(from..)?.windows(WINDOW);
        let mut windows = windows.map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
        let next = windows.position(|bytes| {
            let window = u32::from_le_bytes(bytes);
            Self::FACTORS.iter().all(|factor| {
                let bit = Self::hash(window, *factor);
                self.0[bit / 64] >> (bit % 64) & 1 == 1
            })
        });
        next.map(|n| from + n)
    }

    /// Multipliers of the two hashes.
    const FACTORS: [u32; 2] = [0x9E37_79B1, 0x85EB_CA6B];

    fn hash(window: u32, factor: u32) -> usize {
        (window.wrapping_mul(factor) >> (u32::BITS - FILTER_BITS)) as usize
    }
}
