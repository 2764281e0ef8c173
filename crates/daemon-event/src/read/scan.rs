//! Reads selected paths of a JSON body as services write it, faster than the parser.
//!
//! The scanner knows JSON on one line, with whole numbers at the paths. It returns `None` for everything else, valid or not, and
//! the parser then reads the body again and reports its errors. What the scanner accepts, the parser accepts with
//! the same values.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use super::tree::{PathTree, PathValue, mark_known};

/// The deepest value that is read; the stack holds a few frames for each level.
const MAX_DEPTH: usize = 128;
/// The most digits of a number that always fits into a `u64`.
const DIGITS: usize = 19;

/// Reads the values at the tree's paths; `None` if the parser has to read the body.
pub(crate) fn scan<'de>(tree: &PathTree, body: &'de str) -> Option<Vec<(usize, PathValue<'de>)>> {
    // Strings cannot contain control characters, and one check of all bytes is much faster than one for each string.
    // The sum has no early exit, so that the compiler vectorises the loop.
    let is_on_one_line = body
        .as_bytes()
        .chunks(1 << 12)
        .all(|bytes| !bytes.iter().fold(false, |acc, byte| acc | (*byte < b' ')));
    if !is_on_one_line {
        return None;
    }
    let mut scanner = Scanner {
        body,
        at: 0,
        backslash: backslash(body.as_bytes(), 0),
        found: Vec::with_capacity(64),
    };
    if scanner.next()? != b'{' {
        return None;
    }
    scanner.object(Some(tree), 1)?;
    scanner.skip_spaces();
    (scanner.at == body.len()).then_some(scanner.found)
}

/// Returns the offset of the next quote.
#[inline]
fn quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
    // Most keys end within two words, where a call of `memchr` would take longer.
    for _ in 0..2 {
        let Some(chunk) = bytes.get(at..)?.first_chunk() else {
            break;
        };
        let word = u64::from_le_bytes(*chunk) ^ QUOTES;
        // The lowest high bit that is set belongs to the first byte that is zero.
        let hits = word.wrapping_sub(ONES) & !word & HIGH;
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += chunk.len();
    }
    memchr(b'"', bytes.get(at..)?).map(|place| at + place)
}

/// Returns the offset of the next backslash, or the length if no other follows.
fn backslash(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..)
        .and_then(|rest| memchr(b'\\', rest))
        .map_or(bytes.len(), |place| at + place)
}

/// Returns the offset behind an escape, of which the backslash is read.
#[inline]
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// Returns the content of a string with its quotes, of which every escape was checked.
fn unescape(token: &str) -> Option<String> {
    let mut rest = token.get(1..token.len() - 1)?;
    let mut content = String::with_capacity(rest.len());
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        content.push_str(rest.get(..at)?);
        content.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            // Numbers of characters may come in pairs. The error of a wrong one is reported by the parser of the body.
            b'u' => return serde_json::from_str(token).ok(),
            same => char::from(*same),
        });
        rest = rest.get(at + 2..)?;
    }
    content.push_str(rest);
    Some(content)
}

struct Scanner<'de> {
    body: &'de str,
    /// The offset of the next byte.
    at: usize,
    /// The offset of the next backslash. Few strings have one, so that they are searched for quotes only.
    backslash: usize,
    found: Vec<(usize, PathValue<'de>)>,
}

/// Whether a string contains escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    Some,
}

impl<'de> Scanner<'de> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.body.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Takes the next byte that is not a space.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        self.skip_spaces();
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn report(&mut self, tree: Option<&PathTree>, value: &PathValue<'de>) {
        for leaf in tree.into_iter().flat_map(|tree| &tree.leaves) {
            self.found.push((*leaf, value.clone()));
        }
    }

    /// Reads a value; without a tree it is only checked.
    fn value(&mut self, tree: Option<&PathTree>, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => {
                if let Some(tree) = tree {
                    let text = self.text()?;
                    self.report(Some(tree), &PathValue::Text(text));
                } else {
                    self.string()?;
                }
            }
            b'{' => self.object(tree, depth + 1)?,
            b'[' => self.list(tree, depth + 1)?,
            b't' => self.literal("rue", tree, &PathValue::Flag(true))?,
            b'f' => self.literal("alse", tree, &PathValue::Flag(false))?,
            b'n' => self.literal("ull", tree, &PathValue::Null)?,
            first => self.number(first, tree)?,
        }
        Some(())
    }

    /// Skips a value.
    #[inline]
    fn skip(&mut self, depth: usize) -> Option<()> {
        self.skip_spaces();
        // Most values are strings.
        if self.peek() == Some(b'"') {
            self.at += 1;
            self.string()?;
            return Some(());
        }
        self.value(None, depth)
    }

    fn literal(
        &mut self,
        rest: &str,
        tree: Option<&PathTree>,
        value: &PathValue<'de>,
    ) -> Option<()> {
        let end = self.at + rest.len();
        if self.body.as_bytes().get(self.at..end)? != rest.as_bytes() {
            return None;
        }
        self.at = end;
        self.report(tree, value);
        Some(())
    }

    /// Reads the rest of an object.
    fn object(&mut self, tree: Option<&PathTree>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.report(tree, &PathValue::Container);
        let mut byte = self.next()?;
        if byte == b'}' {
            return Some(());
        }
        loop {
            if byte != b'"' {
                return None;
            }
            match tree {
                None => {
                    self.string()?;
                    self.colon()?;
                    self.skip(depth)?;
                }
                Some(tree) => self.entry(tree, depth)?,
            }
            match self.next()? {
                b',' => byte = self.next()?,
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads the rest of a key, and its value.
    fn entry(&mut self, tree: &PathTree, depth: usize) -> Option<()> {
        let start = self.at;
        let escapes = self.string()?;
        let content = start..self.at - 1;
        let child = match escapes {
            Escapes::None => tree.child(self.body.as_bytes().get(content.clone())?),
            Escapes::Some => tree.child(self.content(content.clone(), escapes)?.as_bytes()),
        };
        self.colon()?;
        match child {
            Some(child) => self.value(Some(child), depth)?,
            None => self.skip(depth)?,
        }
        if let Some(leaf) = tree.keys {
            let key = self.content(content, escapes)?;
            self.found.push((leaf, PathValue::Text(key)));
        }
        Some(())
    }

    #[inline]
    fn colon(&mut self) -> Option<()> {
        (self.next()? == b':').then_some(())
    }

    /// Reads the rest of a list.
    fn list(&mut self, tree: Option<&PathTree>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.report(tree, &PathValue::Container);
        let element = tree.and_then(|tree| tree.element.as_deref());
        if let Some(element) = element {
            mark_known(element, &mut self.found);
        }
        if self.next()? == b']' {
            return Some(());
        }
        self.at -= 1;
        loop {
            self.value(element, depth)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads the rest of a string, up to its closing quote.
    // Returns what fits into a register: the caller knows where the string began.
    #[inline]
    fn string(&mut self) -> Option<Escapes> {
        let end = quote(self.body.as_bytes(), self.at)?;
        if self.backslash < end {
            return self.escaped();
        }
        self.at = end + 1;
        Some(Escapes::None)
    }

    /// Reads the rest of a string that has an escape.
    #[cold]
    fn escaped(&mut self) -> Option<Escapes> {
        let bytes = self.body.as_bytes();
        let mut at = self.backslash;
        while bytes.get(at)? == &b'\\' {
            at = escape(bytes, at + 1)?;
            at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        }
        self.backslash = backslash(bytes, at);
        self.at = at + 1;
        Some(Escapes::Some)
    }

    /// Reads the rest of a string, and returns its content.
    #[inline]
    fn text(&mut self) -> Option<Cow<'de, str>> {
        let start = self.at;
        let escapes = self.string()?;
        self.content(start..self.at - 1, escapes)
    }

    /// Returns the content of a string that was read, whose range does not include its quotes.
    fn content(&self, range: Range<usize>, escapes: Escapes) -> Option<Cow<'de, str>> {
        match escapes {
            Escapes::None => self.body.get(range).map(Cow::Borrowed),
            Escapes::Some => {
                let token = self.body.get(range.start - 1..range.end + 1)?;
                unescape(token).map(Cow::Owned)
            }
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// Reads the rest of a number.
    fn number(&mut self, first: u8, tree: Option<&PathTree>) -> Option<()> {
        let start = self.at - 1;
        let is_negative = first == b'-';
        if !is_negative {
            self.at = start;
        }
        let first_digit = self.peek();
        let n_digits = self.digits();
        // A zero in front of other digits is not JSON.
        if n_digits == 0 || (n_digits > 1 && first_digit == Some(b'0')) {
            return None;
        }
        let is_whole = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if !is_whole {
            self.fraction()?;
        }
        if let Some(tree) = tree {
            if !is_whole || is_negative || n_digits > DIGITS {
                return None;
            }
            let number = self.body.get(start..self.at)?.parse().ok()?;
            self.report(Some(tree), &PathValue::Number(number));
        }
        Some(())
    }

    /// Skips the fraction and the exponent of a number.
    fn fraction(&mut self) -> Option<()> {
        if self.peek() == Some(b'.') {
            self.at += 1;
            (self.digits() > 0).then_some(())?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            (self.digits() > 0).then_some(())?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
