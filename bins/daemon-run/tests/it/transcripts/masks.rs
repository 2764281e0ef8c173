//! Placeholders for what no two runs share: ids, hashes, times, ports, paths.
//!
//! A placeholder replaces one type of word and, if it has a number, one word of that type: the first id of a section is
//! `[ID_1]` everywhere in the section, so that a transcript shows which ids are the same.

use std::cell::RefCell;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The words of one world and their placeholders.
pub(super) struct Masks {
    root: String,
    started: Timestamp,
    /// Words in the order in which they first occurred, each with its type and its number within the type.
    known: RefCell<Vec<(String, &'static str, usize)>>,
}

impl Masks {
    pub(super) fn new(root: String) -> Self {
        Self {
            root,
            // The clock of a file system is behind that of the process by up to a tick.
            started: Timestamp::now() - SignedDuration::from_secs(1),
            known: RefCell::default(),
        }
    }

    /// Replaces the words of an output by their placeholders.
    pub(super) fn masked(&self, text: &str) -> String {
        let text = text.replace(&self.root, "[ROOT]");
        let text = self.local_times_masked(&text);
        let text = by_word(&text, "-:.+", |word| self.time(word));
        let text = by_word(&text, "-", |word| self.id(word));
        seconds_masked(&ports_masked(&text))
    }

    /// Replaces the placeholders of a command by their words.
    pub(super) fn filled_in(&self, command: &str) -> Result<String, String> {
        let mut text = command.replace("[ROOT]", &self.root);
        for (word, name, number) in self.known.borrow().iter() {
            text = text.replace(&format!("[{name}_{number}]"), word);
        }
        for name in TYPES {
            if text.contains(&format!("[{name}_")) {
                return Err(format!("no output had this `[{name}_…]` before: {text}"));
            }
        }
        Ok(text)
    }

    /// Replaces an instant since the world was made. Other instants are part of what is tested.
    fn time(&self, word: &str) -> Option<String> {
        let time: Timestamp = word.parse().ok()?;
        let now = Timestamp::now();
        (self.started..=now)
            .contains(&time)
            .then(|| "[TIME]".to_owned())
    }

    /// Replaces such instants where they are written for people, as `Sat 2026-11-28 11:09:13 UTC`.
    fn local_times_masked(&self, text: &str) -> String {
        const ZONE: &str = " UTC";
        const LENGTH: usize = "Sat 2026-11-28 11:09:13".len();
        let mut parts = text.split(ZONE);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let start = out.len().saturating_sub(LENGTH);
            let written = out.get(start..).unwrap_or_default();
            let time = DateTime::strptime("%a %Y-%m-%d %H:%M:%S", written).ok();
            let time = time.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
            let second = SignedDuration::from_secs(1);
            // The fraction of the second is not written.
            let written_since = self.started - second..=Timestamp::now();
            if time.is_some_and(|time| written_since.contains(&time.timestamp())) {
                out.truncate(start);
                out.push_str("[TIME]");
            } else {
                out.push_str(ZONE);
            }
            out.push_str(part);
        }
        out
    }

    fn id(&self, word: &str) -> Option<String> {
        let name = type_of(word)?;
        let mut known = self.known.borrow_mut();
        let number = known
            .iter()
            .find(|(other, ..)| other == word)
            .map(|found| found.2);
        let number = number.unwrap_or_else(|| {
            let number = 1 + known.iter().filter(|(_, other, _)| *other == name).count();
            known.push((word.to_owned(), name, number));
            number
        });
        Some(format!("[{name}_{number}]"))
    }
}

const TYPES: [&str; 7] = ["RUN", "GROUP", "ID", "SHA256", "COMMIT", "HEX", "KEY"];

/// Returns the type of a word, if it is an id or a hash.
fn type_of(word: &str) -> Option<&'static str> {
    let all = |is: fn(&u8) -> bool| word.as_bytes().iter().all(is);
    let is_hex = all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    // A hash of one repeated digit was written by a test, not by the program.
    let is_hash = is_hex
        && word
            .bytes()
            .any(|byte| Some(&byte) != word.as_bytes().first());
    match word.len() {
        26 if word.starts_with("01")
            && all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) =>
        {
            Some("ID")
        }
        26 if all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()) => Some("KEY"),
        64 if is_hash => Some("SHA256"),
        40 if is_hash => Some("COMMIT"),
        16 if is_hash => Some("HEX"),
        _ => type_of_parts(word),
    }
}

/// Returns the type of a word of a form such as `em-N-YYYYMMDD-HHMMSS-HEX`.
fn type_of_parts(word: &str) -> Option<&'static str> {
    let (start, random) = word.rsplit_once('-')?;
    let (start, time) = start.rsplit_once('-')?;
    let (name, date) = start.rsplit_once('-')?;
    let lengths = [date.len(), time.len(), random.len()];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_drawn = is_number(date) && is_number(time) && lengths == [8, 6, 6];
    match name.split_once('-') {
        Some(("em", number)) if is_drawn && is_number(number) => Some("RUN"),
        None if is_drawn && name == "dg" => Some("GROUP"),
        _ => None,
    }
}

/// Replaces words of ASCII letters, digits and some more characters.
fn by_word(text: &str, more: &str, mut replace: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // A full stop or a colon after a word is not part of it.
        let bare = word.trim_end_matches(['.', ':']);
        match replace(bare) {
            Some(placeholder) => {
                out.push_str(&placeholder);
                out.push_str(&word[bare.len()..]);
            }
            None => out.push_str(word),
        }
        let next = after.find(is_part).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

/// Replaces the ports that the system chose for loopback listeners.
fn ports_masked(text: &str) -> String {
    const LOOPBACK: &str = "127.0.0.1:";
    let mut parts = text.split(LOOPBACK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        // No system chooses a port that low; a test or a message names it.
        let is_chosen = part[..end].parse::<u16>().is_ok_and(|port| port >= 10_000);
        out.push_str(LOOPBACK);
        out.push_str(if is_chosen { "[PORT]" } else { &part[..end] });
        out.push_str(&part[end..]);
    }
    out
}

/// Replaces durations such as `0.172 s`, which the program prints with a fraction if it measured them.
fn seconds_masked(text: &str) -> String {
    let mut parts = text.split(" s").peekable();
    let mut out = String::new();
    while let Some(part) = parts.next() {
        if let Some(next) = parts.peek() {
            let number = part
                .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
                .next()
                .unwrap_or_default();
            let is_end = next
                .chars()
                .next()
                .is_none_or(|c| !c.is_ascii_alphanumeric());
            let is_duration = is_end && number.contains('.') && number.parse::<f64>().is_ok();
            let kept = if is_duration {
                part.len() - number.len()
            } else {
                part.len()
            };
            out.push_str(&part[..kept]);
            out.push_str(if is_duration { "[SECONDS]" } else { " s" });
        } else {
            out.push_str(part);
        }
    }
    out
}
