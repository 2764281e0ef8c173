//! Checks for forbidden code, words of unfinished work and paths of one machine.

use super::tree::{RepositoryFiles, TidyFinding};

/// A forbidden string with the reason.
struct Pattern {
    text: &'static str,
    why: &'static str,
}

/// Forbidden in Rust sources. Each is written in two parts, so that this table does not match itself.
const IN_SOURCES: [Pattern; 8] = [
    Pattern {
        text: concat!("to", "do!("),
        why: "finish it or leave the feature out",
    },
    Pattern {
        text: concat!("unimpl", "emented!("),
        why: "finish it or leave the feature out",
    },
    Pattern {
        text: concat!("#[ig", "nore"),
        why: "a test runs or is deleted",
    },
    Pattern {
        text: concat!("#[al", "low("),
        why: "use #[expect(lint, reason = \"...\")]",
    },
    Pattern {
        text: concat!("#![al", "low("),
        why: "use #![expect(lint, reason = \"...\")]",
    },
    Pattern {
        text: concat!("db", "g!("),
        why: "remove the debugging output",
    },
    Pattern {
        text: concat!("map_err", "(|_|"),
        why: "keep the source of the error",
    },
    Pattern {
        text: concat!("#[should_", "panic"),
        why: "assert the error value",
    },
];

/// Forbidden as words in sources and documents.
const WORDS: [Pattern; 3] = [
    Pattern {
        text: concat!("for ", "now"),
        why: "finish it, or describe what it does",
    },
    Pattern {
        text: concat!("FIX", "ME"),
        why: "correct it, or open an issue and name its number",
    },
    Pattern {
        text: concat!("HA", "CK:"),
        why: "name the constraint that forces it",
    },
];

/// Folders that exist on one machine only.
const HOMES: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Files about such folders: the rule against them, its page and its samples.
const ABOUT_HOMES: [&str; 4] = [
    "crates/daemon-validate/",
    "docs/errors/",
    "fixtures/",
    "bins/daemon-lint/tests/",
];

/// Checks the sources for forbidden code.
pub(crate) fn code(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut acc = Vec::new();
    for (path, text) in tree.sources() {
        for (number, line) in numbered(text) {
            for pattern in &IN_SOURCES {
                if line.contains(pattern.text) {
                    acc.push(found(path, number, pattern.text, pattern.why));
                }
            }
        }
    }
    acc
}

/// Checks sources and documents for words of unfinished work.
pub(crate) fn words(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut acc = Vec::new();
    for (path, text) in tree
        .texts()
        .filter(|(path, _)| is_ours(path) && !path.starts_with("fixtures/"))
    {
        for (number, line) in numbered(text) {
            for pattern in &WORDS {
                if holds_word(line, pattern.text) {
                    acc.push(found(path, number, pattern.text, pattern.why));
                }
            }
        }
    }
    acc
}

/// Checks that no file names a folder of one machine.
pub(crate) fn machine_paths(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut acc = Vec::new();
    let is_subject = |path: &str| ABOUT_HOMES.iter().any(|folder| path.starts_with(folder));
    for (path, text) in tree.texts().filter(|(path, _)| !is_subject(path)) {
        for (number, line) in numbered(text) {
            if let Some(home) = HOMES.iter().find(|home| names_folder_below(line, home)) {
                acc.push(found(
                    path,
                    number,
                    home,
                    "use a path from the repository's root",
                ));
            }
        }
    }
    acc
}

fn found(path: &str, line: usize, text: &str, why: &str) -> TidyFinding {
    TidyFinding::new(path, line, format!("`{text}`: {why}"))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

fn is_ours(path: &str) -> bool {
    path.starts_with(".ci/")
        || [".rs", ".md", ".toml", ".sh"]
            .iter()
            .any(|end| path.ends_with(end))
}

fn holds_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !joins(before) && !joins(after)
    })
}

/// A bare prefix is a pattern or a mount point; with a name behind it, it is the folder of a person.
fn names_folder_below(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + home.len()..)
            .and_then(|text| text.chars().next());
        let starts_path = !before.is_some_and(|c| c.is_alphanumeric() || "._-}*~/".contains(c));
        starts_path && after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(problems: &[TidyFinding]) -> Vec<(&str, usize)> {
        problems
            .iter()
            .map(|problem| (problem.path.as_str(), problem.line))
            .collect()
    }

    #[test]
    fn each_banned_piece_of_code_is_found_at_its_line() {
        for pattern in &IN_SOURCES {
            let text = format!("fn a() {{\n    {}\n}}\n", pattern.text);
            let tree = RepositoryFiles::from([
                ("a/src/a.rs", text.as_str()),
                ("README.md", text.as_str()),
            ]);
            assert_eq!(
                places(&code(&tree)),
                [("a/src/a.rs", 2)],
                "{}",
                pattern.text
            );
        }
    }

    #[test]
    fn words_of_unfinished_work_are_found_whole_and_outside_fixtures() {
        for pattern in &WORDS {
            let text = format!("// {} it works\n", pattern.text);
            let joined = format!("// x{}\n", pattern.text);
            let tree = RepositoryFiles::from([
                ("a/src/a.rs", text.as_str()),
                ("a/src/joined.rs", joined.as_str()),
                ("docs/a.md", text.as_str()),
                ("fixtures/daemons/a/DAEMON.md", text.as_str()),
            ]);
            assert_eq!(
                places(&words(&tree)),
                [("a/src/a.rs", 1), ("docs/a.md", 1)],
                "{}",
                pattern.text
            );
        }
    }

    #[test]
    fn folders_of_one_machine_are_found_and_relative_ones_are_not() {
        for home in HOMES {
            let named = format!("see {home}ada/x\n");
            let below = format!("docs{home}ada and {home} alone\n");
            let tree = RepositoryFiles::from([
                ("README.md", named.as_str()),
                ("docs/errors/D600.md", named.as_str()),
                ("docs/a.md", below.as_str()),
            ]);
            assert_eq!(places(&machine_paths(&tree)), [("README.md", 1)], "{home}");
        }
    }
}
