//! Searches everything that was stored or sent for secrets, in every encoding.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use aho_corasick::AhoCorasick;
use serde_json::Value;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Escapes a string as JSON does, without the quotes.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted
        .get(1..quoted.len() - 1)
        .expect("it is quoted")
        .to_owned()
}

fn base64(text: &str, alphabet: &[u8; 64]) -> String {
    let groups = text.as_bytes().chunks(3);
    let characters = groups.flat_map(|group| {
        let byte = |at: usize| usize::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let shifts = [18, 12, 6, 0].into_iter().take(group.len() + 1);
        shifts.map(move |shift| char::from(alphabet[bits >> shift & 63]))
    });
    characters.collect()
}

/// Encodes a command of a shell in base64 without padding characters: blanks at its end take their place.
pub(crate) fn padded_base64(command: &str) -> String {
    let n_blanks = (3 - command.len() % 3) % 3;
    base64(&format!("{command}{}", " ".repeat(n_blanks)), STANDARD)
}

/// Returns a secret in every encoding that a search finds, as a program that leaks it on purpose would write it.
pub(crate) fn encodings(secret: &str) -> Vec<String> {
    let all = encoded(secret).into_iter();
    all.map(|(text, _)| text).collect()
}

/// Returns each encoding of a secret, and the part of it that does not depend on the bytes around the secret.
fn encoded(secret: &str) -> Vec<(String, String)> {
    let percent = |byte: u8| format!("%{byte:02x}");
    let every: String = secret.bytes().map(percent).collect();
    let needed: String = secret
        .bytes()
        .map(|byte| match byte {
            b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => percent(byte),
        })
        .collect();
    let unicode = secret
        .chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect();
    let capital = every.to_uppercase();
    let texts = [
        secret.to_owned(),
        escaped(secret),
        escaped(&escaped(secret)),
        unicode,
        needed,
        capital,
        every,
    ];
    let mut all: Vec<(String, String)> = texts.map(|text| (text.clone(), text)).to_vec();
    for alphabet in [STANDARD, URL_SAFE] {
        // Two, one or no bytes of the first group are others.
        for (other, n_shared) in [("", 0), ("x", 4), ("xy", 4)] {
            let text = base64(&format!("{other}{secret}z"), alphabet);
            let whole_groups = (other.len() + secret.len()) / 3 * 4;
            let part = text.get(n_shared..whole_groups).expect("it is longer");
            all.push((text.clone(), part.to_owned()));
        }
    }
    all
}

/// Looks for secrets in all their forms.
pub(crate) struct Search {
    forms: Vec<String>,
    automaton: AhoCorasick,
}

impl Search {
    pub(crate) fn of(secrets: &[impl AsRef<str>]) -> Self {
        let all = secrets.iter().flat_map(|secret| encoded(secret.as_ref()));
        let forms: Vec<String> = all.map(|(_, part)| part).collect();
        let automaton = AhoCorasick::new(&forms).expect("they fit its limits");
        Self { forms, automaton }
    }

    /// Returns the encodings of secrets that a string contains.
    pub(crate) fn leaks(&self, text: &str) -> Vec<String> {
        let found = self.automaton.find_overlapping_iter(text);
        let mut found: Vec<String> = found
            .map(|found| self.forms[found.pattern().as_usize()].clone())
            .collect();
        found.sort();
        found.dedup();
        found
    }
}

/// One file that was found.
pub(crate) struct Found {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) mode: u32,
}

/// Reads every file below a directory, except below directories of these names.
pub(crate) fn walk(directory: &Path, except: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it is readable") {
        let path = entry.expect("it is readable").path();
        let meta = fs::symlink_metadata(&path).expect("it is there");
        if meta.is_dir() {
            let name = path.file_name().unwrap_or_default();
            if !except.iter().any(|except| name == *except) {
                found.extend(walk(&path, except));
            }
        } else if meta.is_file() {
            let bytes = fs::read(&path).expect("it is readable");
            found.push(Found {
                path: path.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                mode: meta.permissions().mode() & 0o777,
            });
        }
    }
    found
}
