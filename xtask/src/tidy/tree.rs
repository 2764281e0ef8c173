//! The tracked text of the repository, and what can be wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell;

/// The repository's text files by their path from the root, with `/` between parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    binaries: Vec<String>,
}

impl Tree {
    /// Reads every file that git tracks or would add.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root);
        let list = shell::capture(&mut git)?;
        let mut tree = Self::default();
        for path in list.split('\0').filter(|path| !path.is_empty()) {
            let file = root.join(path);
            // A file deleted but not yet committed is still listed; a symlink to a folder has no text.
            if !file.is_file() {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("failed to read `{path}`"))?;
            match String::from_utf8(bytes) {
                Ok(text) => drop(tree.files.insert(path.to_owned(), text)),
                Err(_not_text) => tree.binaries.push(path.to_owned()),
            }
        }
        Ok(tree)
    }

    /// Returns the text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Reports whether the path names a file or a folder of the repository.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path)
            || self
                .binaries
                .iter()
                .any(|file| file == path || file.starts_with(&folder))
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(file, _)| file.starts_with(&folder))
    }

    /// Iterates over all text files.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Iterates over the Rust sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Self {
            files: files.into(),
            binaries: Vec::new(),
        }
    }
}

/// Whether a problem stops the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Tidy fails.
    Error,
    /// Tidy only says so.
    Warning,
}

/// One finding at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The file, from the root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// Whether it stops the check.
    pub(crate) weight: Weight,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl Problem {
    /// Creates a finding that fails the check.
    pub(crate) fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            weight: Weight::Error,
            message: message.into(),
        }
    }

    /// Creates a finding that is only shown.
    pub(crate) fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            weight: Weight::Warning,
            ..Self::error(path, line, message)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
        };
        write!(f, "{}:{}: {word}: {}", self.path, self.line, self.message)
    }
}

/// Reports whether a Rust source holds only tests, examples or benchmarks.
pub(crate) fn is_test_source(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "tests.rs"
        || folder.split('/').any(|part| {
            matches!(
                part,
                "tests" | "examples" | "benches" | "fuzz" | "fuzz_targets"
            )
        })
}

/// Returns the lines before the first test module of a source.
pub(crate) fn code_before_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines
        .iter()
        .enumerate()
        .find(|(at, line)| line.starts_with("#[cfg(test)]") && opens_module(&lines, at + 1))
        .map_or(lines.len(), |(at, _)| at);
    lines
        .into_iter()
        .take(end)
        .enumerate()
        .map(|(at, line)| (at + 1, line))
}

fn opens_module(lines: &[&str], from: usize) -> bool {
    lines
        .iter()
        .skip(from)
        .find(|line| !line.starts_with('#'))
        .is_some_and(|line| line.starts_with("mod ") && line.trim_end().ends_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_ends_the_code_and_a_declaration_does_not() {
        let inline = "fn a() {}\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(
            code_before_tests(inline).collect::<Vec<_>>(),
            [(1, "fn a() {}")]
        );
        let declared = "#[cfg(test)]\nmod tests;\nfn a() {}\n";
        assert_eq!(code_before_tests(declared).count(), 3);
    }

    #[test]
    fn test_sources_are_told_by_their_place() {
        assert!(is_test_source("crates/a/tests/it/main.rs"));
        assert!(is_test_source("crates/a/src/parse/tests.rs"));
        assert!(is_test_source("crates/a/examples/embed.rs"));
        assert!(!is_test_source("crates/a/src/parse.rs"));
    }

    #[test]
    fn a_folder_is_held_when_a_file_lies_in_it() {
        let tree = Tree::from([("docs/errors/D000.md", "")]);
        assert!(tree.holds("docs/errors"));
        assert!(tree.holds("docs/errors/D000.md"));
        assert!(!tree.holds("docs/err"));
    }
}
