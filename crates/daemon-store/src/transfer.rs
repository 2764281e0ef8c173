//! Rows on their way from one store into another, and the check that all of them arrived.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A value of a row, as both stores write it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A number, or a flag as 0 or 1.
    Integer(i64),
    /// An amount.
    Real(f64),
    /// A string without NUL characters: a store that cannot have them reads U+FFFD instead.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// Makes the cell of a string, without the NUL characters that some stores cannot have.
    pub fn text(text: &str) -> Self {
        Self::Text(text.replace('\0', "\u{FFFD}"))
    }

    /// Returns how many bytes the cell occupies, about.
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    fn hash_into(&self, hash: &mut Sha256) {
        // The kind and the length first, so that no two rows have the same bytes.
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Integer(n) => (1, &n.to_le_bytes()),
            Self::Real(n) => (2, &n.to_bits().to_le_bytes()),
            Self::Text(text) => (3, text.as_bytes()),
            Self::Bytes(bytes) => (4, bytes),
        };
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
}

/// The number of rows of a table and the sum of their hashes.
///
/// The order of the rows does not matter, because stores that sort strings differently read them in different orders.
///
/// ```
/// use daemon_store::transfer::{Cell, RowsDigest};
///
/// let (one, two) = ([Cell::Integer(1), Cell::Null], [Cell::text("b"), Cell::Null]);
/// let (mut digest, mut other) = (RowsDigest::default(), RowsDigest::default());
/// digest.add(&one);
/// digest.add(&two);
/// other.add(&two);
/// assert_ne!(digest, other);
/// other.add(&one);
/// assert_eq!(digest, other);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsDigest {
    /// How many rows were added.
    pub n_rows: u64,
    /// The sum of the SHA-256 hashes of the rows, as numbers of 256 bits.
    sum: [u64; 4],
}

impl RowsDigest {
    /// Adds a row.
    pub fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        for cell in row {
            cell.hash_into(&mut hash);
        }
        let hash = hash.finalize();
        let mut has_carry = false;
        for (part, bytes) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
            let bytes = bytes.try_into().expect("a chunk has eight bytes");
            let (sum, over) = part.overflowing_add(u64::from_le_bytes(bytes));
            let (sum, over_again) = sum.overflowing_add(u64::from(has_carry));
            *part = sum;
            has_carry = over || over_again;
        }
        self.n_rows += 1;
    }
}

/// The sum in 64 hexadecimal digits.
impl fmt::Display for RowsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum
            .iter()
            .rev()
            .try_for_each(|part| write!(f, "{part:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, RowsDigest};

    fn digest(rows: &[&[Cell]]) -> RowsDigest {
        let mut acc = RowsDigest::default();
        rows.iter().for_each(|row| acc.add(row));
        acc
    }

    #[test]
    fn rows_that_differ_have_other_digests() {
        let text = |text: &str| Cell::text(text);
        let rows: [&[Cell]; 7] = [
            &[text("ab"), text("c")],
            &[text("a"), text("bc")],
            &[text("ab"), Cell::Bytes(b"c".to_vec())],
            &[text("ab"), Cell::Null],
            &[Cell::Integer(1)],
            &[Cell::Real(1.0)],
            &[],
        ];
        for (n, row) in rows.iter().enumerate() {
            for other in &rows[n + 1..] {
                assert_ne!(digest(&[row]), digest(&[other]), "{row:?} {other:?}");
            }
        }
        // A row that is there twice is not one that is missing twice.
        assert_ne!(digest(&[rows[0], rows[0]]), digest(&[]));
        assert_ne!(
            digest(&[rows[0], rows[0]]).to_string(),
            digest(&[rows[0]]).to_string()
        );
    }

    #[test]
    fn a_digest_is_the_sum_of_the_hashes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let bytes = |n: usize| u8::from_str_radix(&empty[2 * n..2 * n + 2], 16).unwrap();
        let little_endian: String = (0..32).rev().map(|n| format!("{:02x}", bytes(n))).collect();
        let one = digest(&[&[]]);
        assert_eq!((one.n_rows, one.to_string()), (1, little_endian));
    }
}
