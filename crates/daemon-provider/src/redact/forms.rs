//! The byte strings a secret is searched for as.

use super::SHORTEST;

/// The fewest characters of a base64 form that are searched for.
const SHORTEST_BASE64: usize = 6;
/// The fewest bytes of a line, or of a word of a header such as `Bearer …`, that is a secret by itself.
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
        for alignment in 0..3 {
            for alphabet in [STANDARD, URL_SAFE] {
                let form = base64(text.as_bytes(), alignment, alphabet);
                acc.extend(Some(form).filter(|form| form.len() >= SHORTEST_BASE64));
            }
        }
    }
    acc
}

/// Writes the characters of base64 that depend on `bytes` alone, when `alignment` other bytes of their group go before.
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
