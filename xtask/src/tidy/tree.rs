//! The files of the repository, and findings in them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell;

/// The repository's text files by their path from the root, with `/` between parts.
#[derive(Debug, Default)]
pub(crate) struct RepositoryFiles {
    files: BTreeMap<String, String>,
    binaries: Vec<String>,
}

impl RepositoryFiles {
    /// Reads every file that git tracks or would add.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            // New files count before they are added, so that tidy sees them before the commit.
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
                // Binary files are kept by path, so that links to them resolve.
                Err(_not_text) => tree.binaries.push(path.to_owned()),
            }
        }
        Ok(tree)
    }

    /// Returns the text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Reports whether a file or a folder of this path exists.
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
impl<const N: usize> From<[(&str, &str); N]> for RepositoryFiles {
    fn from(files: [(&str, &str); N]) -> Self {
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Self {
            files: files.into(),
            binaries: Vec::new(),
        }
    }
}

/// One finding at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TidyFinding {
    /// The file, from the root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The problem and the remedy.
    pub(crate) message: String,
}

impl TidyFinding {
    /// Creates a finding.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: error: {}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_if_a_file_is_in_it() {
        let tree = RepositoryFiles::from([("docs/errors/D000.md", "")]);
        assert!(tree.holds("docs/errors"));
        assert!(tree.holds("docs/errors/D000.md"));
        assert!(!tree.holds("docs/err"));
    }
}
