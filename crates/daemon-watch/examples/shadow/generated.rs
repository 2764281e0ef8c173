//! Generated lines: the readings that the shipped reader gives them are what the reader in shadow is compared with.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;

use daemon_watch::{Status, interpret, reader};

const NOUNS: &[(&str, &str)] = &[
    ("pull request", "opened"),
    ("pull request", "merged"),
    ("issue", "opened"),
    ("issue", "closed"),
    ("comment", "edited"),
    ("review", "submitted"),
];

const GUARDS: &[&str] = &[
    "by a human",
    "by @kit",
    "not by a bot",
    "labeled bug",
    "with the label \"needs review\"",
    "without the label wip",
    "targeting main",
    "not targeting release/*",
    "from a fork",
    "that touches docs/",
    "that does not touch src/**",
    "touching only *.md files",
    "with \"WIP\" in the title",
    "that is not a draft",
    "whose title contains \"fix\"",
];

/// Prints the lines that the readers read otherwise, by cause, and the counts.
pub(crate) fn print() -> Result<(), Box<dyn Error>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = std::io::stdout().lock();
    for line in lines() {
        let shipped = interpret(&line);
        let cause = match reader::interpret(&line) {
            None if shipped.status == Status::Mapped => "unread",
            None => "unread by either",
            Some(meaning) if meaning.means_the_same_as(&shipped) => "same",
            Some(meaning) if meaning.status == Status::Partial => "left over",
            Some(_) if shipped.status != Status::Mapped => "read by the shadow only",
            Some(_) => "differs",
        };
        if matches!(cause, "unread" | "left over" | "differs") {
            writeln!(out, "{cause} | {line}")?;
        }
        *counts.entry(cause).or_default() += 1;
    }
    writeln!(out, "{counts:?}")?;
    Ok(())
}

/// Each pair of guards with each noun: behind the noun, behind the verb, and one in each place.
fn lines() -> Vec<String> {
    let mut found = Vec::new();
    for (noun, verb) in NOUNS {
        for first in GUARDS {
            found.push(format!("when a {noun} {first} is {verb}"));
            found.push(format!("when a {noun} is {verb} {first}"));
            for second in GUARDS.iter().filter(|second| *second != first) {
                found.push(format!("when a {noun} {first} is {verb} {second}"));
                found.push(format!("when a {noun} is {verb} {first} and {second}"));
            }
        }
    }
    found
}
