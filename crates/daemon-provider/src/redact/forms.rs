//! The byte strings to search for, for one secret.

use super::SHORTEST;

/// The shortest base64 form that is searched for, in characters.
const SHORTEST_BASE64: usize = 6;
/// The shortest line, or word of a header such as `Bearer …`, that is searched for separately, in bytes.
const SHORTEST_PART: usize = 8;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns what to search for: the secret, its lines and words, and each of them in base64.
pub(super) fn patterns(secret: &str) -> Vec<Vec<u8>> {
    let secret = secret.trim();
    let lines = secret.lines().map(str::trim);
    let words = secret.split_whitespace();
    let parts = lines
        .chain(words)
        .filter(|part| part.len() >= SHORTEST_PART);
    let texts = std::iter::once(secret).chain(parts);
    let mut acc = Vec::new();
    for text in texts.filter(|text| text.len() >= SHORTEST) {
        acc.push(text.as_bytes().to_vec());
        // Base64 encodes groups of three bytes, so the form of a secret depends on the number of bytes before it.
        for alignment in 0..3 {
            for alphabet in [STANDARD, URL_SAFE] {
                let form = base64(text.as_bytes(), alignment, alphabet);
                acc.extend(Some(form).filter(|form| form.len() >= SHORTEST_BASE64));
            }
        }
    }
    acc
}

/// Returns the base64 characters that depend only on `bytes`, if `alignment` other bytes precede them in their group of three.
fn base64(bytes: &[u8], alignment: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first = (alignment * 8).div_ceil(6);
    let end = (alignment + bytes.len()) * 8 / 6;
    let bit = |index: usize| -> usize {
        let byte = bytes.get(index / 8 - alignment).copied().unwrap_or(0);
        usize::from(byte >> (7 - index % 8) & 1)
    };
    let character = |at: usize| {
        let sextet = (at * 6..at * 6 + 6).fold(0, |acc, index| acc << 1 | bit(index));
        alphabet[sextet]
    };
    (first..end).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_characters_of_base64_are_found_at_every_alignment() {
        let form = |bytes: &str, alignment| {
            String::from_utf8(base64(bytes.as_bytes(), alignment, STANDARD)).unwrap()
        };
        // `hunter2`, `:hunter2` and `u:hunter2`, each without the characters that its neighbours share.
        assert_eq!(form("hunter2", 0), "aHVudGVyM");
        assert_eq!(form("hunter2", 1), "h1bnRlcj");
        assert_eq!(form("hunter2", 2), "odW50ZXIy");
    }
}
