//! Generated lines: what the shipped reader makes of them is what the reader in shadow is compared with.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;

use daemon_watch::{Status, interpret, reader};

/// Nouns with a verb, and whether they have branches and files.
const NOUNS: &[(&str, &str, bool)] = &[
    ("a pull request", "opened", true),
    ("a pull request", "merged", true),
    ("a GitHub issue", "opened", false),
    ("a GitHub issue", "closed", false),
    ("a review", "submitted", true),
];

/// Guards, and whether only things with branches and files have them.
const GUARDS: &[(&str, bool)] = &[
    ("by a human", false),
    ("by @kit", false),
    ("not by a bot", false),
    ("labeled bug", false),
    ("with the label \"needs review\"", false),
    ("without the label wip", false),
    ("targeting main", true),
    ("not targeting release/*", true),
    ("from a fork", true),
    ("that touches docs/", true),
    ("that does not touch src/**", true),
    ("touching only *.md files", true),
    ("with \"WIP\" in the title", false),
    ("that is not a draft", true),
    ("whose title contains \"fix\"", false),
];

/// Lines with a value, each read with several literals.
const VALUES: &[&str] = &[
    "when the label {} is added to a pull request",
    "when the {} label is removed from a GitHub issue",
    "when a pull request with the label {} is merged",
    "when a pull request without the label {} is merged",
    "when a GitHub issue is labeled {}",
    "when a pull request labeled anything other than {} is merged",
    "when a commit is pushed to {}",
    "when a commit is pushed to a branch other than {}",
    "when a pull request targeting {} is opened",
    "when a pull request not targeting {} is opened",
    "when a pull request is merged into {}",
    "when a pull request from {} is opened",
    "when a pull request that touches {} is opened",
    "when a pull request that does not touch {} is opened",
    "when a pull request that touches only {} is opened",
    "when files matching {} change",
    "when a pull request with {} in the title is opened",
    "when a pull request whose body does not contain {} is opened",
    "when a comment containing {} is posted on an issue",
    "when a commit with {} in the message is pushed",
];

const LITERALS: &[&str] = &["\"release\"", "`v1.2`", "hotfix/*", "\"two words\""];

/// Phrases before an event that leave its meaning as it is.
const LEADS: &[&str] = &["whenever", "each time", "as soon as", "if", "after"];

/// Prints the lines that the readers read otherwise, by cause, and the counts.
pub(crate) fn print() -> Result<(), Box<dyn Error>> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut out = std::io::stdout().lock();
    for (kind, line) in lines() {
        let shipped = interpret(&line);
        let meaning = reader::interpret(&line);
        let cause = match (meaning.status, shipped.status) {
            _ if meaning.means_the_same_as(&shipped) => "same",
            (Status::Mapped, Status::Mapped) => "differs",
            (Status::Mapped, _) => "read by the shadow only",
            (Status::Partial, Status::Mapped) => "left over",
            (Status::Partial, _) => "left over by either",
            (_, Status::Mapped) => "unread",
            _ => "unread by either",
        };
        if matches!(cause, "unread" | "left over" | "differs") {
            writeln!(out, "{kind} | {cause} | {line}")?;
        }
        *counts.entry((kind, cause)).or_default() += 1;
    }
    for ((kind, cause), count) in counts {
        writeln!(out, "{kind}: {cause} {count}")?;
    }
    Ok(())
}

fn lines() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (noun, verb, has_files) in NOUNS {
        let mut guards = GUARDS.to_vec();
        guards.retain(|(_, needs_files)| *has_files || !needs_files);
        for (first, _) in &guards {
            found.push(("guard", format!("when {noun} {first} is {verb}")));
            found.push(("guard", format!("when {noun} is {verb} {first}")));
            for (second, _) in guards.iter().filter(|(second, _)| second != first) {
                found.push(("pair", format!("when {noun} {first} is {verb} {second}")));
                found.push((
                    "pair and",
                    format!("when {noun} is {verb} {first} and {second}"),
                ));
            }
        }
        for lead in LEADS {
            found.push(("lead", format!("{lead} {noun} is {verb} by a human")));
        }
    }
    for line in VALUES {
        for literal in LITERALS {
            found.push(("value", line.replace("{}", literal)));
        }
    }
    found
}
