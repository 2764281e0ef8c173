//! The paths of a worktree, and the faults in its Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Repair};
use super::markdown::{Heading, outline};
use super::target::Target;

/// The most entries that are listed.
const MOST_ENTRIES: usize = 100_000;
/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// The paths of a worktree, from its root, with `/` between their parts.
#[derive(Debug, Default)]
pub(crate) struct WorktreeSurvey {
    root: PathBuf,
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
    by_name: BTreeMap<String, Vec<String>>,
    /// Where files were, by where they are, and the reverse.
    moved_from: BTreeMap<String, String>,
    moved_to: BTreeMap<String, String>,
    /// What the trigger named; empty means everything.
    named: BTreeSet<String>,
    pub(crate) is_cut_short: bool,
}

/// One Markdown file with what was found in it.
#[derive(Debug)]
pub(crate) struct CheckedMarkdown {
    pub(crate) findings: Vec<Finding>,
    /// The text with every repairable link repaired, if there is one.
    pub(crate) repaired: Option<String>,
}

impl WorktreeSurvey {
    /// Lists a worktree without following a symbolic link.
    pub(crate) fn take(
        root: &Path,
        files: &[PathBuf],
        renames: &[(PathBuf, PathBuf)],
    ) -> io::Result<Self> {
        let mut survey = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        survey.walk()?;
        for path in &survey.files {
            let name = path.rsplit('/').next().unwrap_or(path);
            survey
                .by_name
                .entry(name.to_owned())
                .or_default()
                .push(path.clone());
        }
        for (from, to) in renames {
            if let (Some(from), Some(to)) = (from.to_str(), to.to_str()) {
                survey.moved_from.insert(to.to_owned(), from.to_owned());
                survey.moved_to.insert(from.to_owned(), to.to_owned());
            }
        }
        survey.named = files
            .iter()
            .filter_map(|path| path.to_str())
            .map(str::to_owned)
            .collect();
        Ok(survey)
    }

    fn walk(&mut self) -> io::Result<()> {
        self.directories.insert(String::new());
        let mut pending = vec![String::new()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(self.root.join(&directory))? {
                let entry = entry?;
                if self.files.len() + self.directories.len() >= MOST_ENTRIES {
                    self.is_cut_short = true;
                    return Ok(());
                }
                // A link is UTF-8, so it cannot contain a name that is not.
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let separator = if directory.is_empty() { "" } else { "/" };
                let path = format!("{directory}{separator}{name}");
                if path == ".git" {
                    continue;
                }
                // `file_type` does not follow symbolic links, which could lead out of the worktree or into a cycle.
                if entry.file_type()?.is_dir() {
                    self.directories.insert(path.clone());
                    pending.push(path);
                } else {
                    self.files.insert(path);
                }
            }
        }
        Ok(())
    }

    /// Returns the Markdown files in the order of their paths.
    pub(crate) fn markdown(&self) -> Vec<String> {
        let is_markdown = |path: &&String| {
            let name = path.to_ascii_lowercase();
            name.ends_with(".md") || name.ends_with(".markdown")
        };
        self.files.iter().filter(is_markdown).cloned().collect()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Checks one Markdown file; `None` for what is no text file of a sensible size.
    pub(crate) fn check(&self, file: &str) -> io::Result<Option<CheckedMarkdown>> {
        let path = self.path(file);
        // A symbolic link is not read: its target may be outside the worktree.
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_file() || metadata.len() > LARGEST_FILE {
            return Ok(None);
        }
        Ok(String::from_utf8(fs::read(path)?)
            .ok()
            .map(|text| self.check_text(file, &text)))
    }

    fn check_text(&self, file: &str, text: &str) -> CheckedMarkdown {
        let outline = outline(text);
        let mut findings = Vec::new();
        let mut repaired = String::with_capacity(text.len());
        let mut copied = 0;
        for link in &outline.links {
            let written = &text[link.span.clone()];
            let Some(target) = Target::parse(file, written) else {
                continue;
            };
            if self.exists(&target.path) || !self.is_asked_about(file, &target.path) {
                continue;
            }
            let repair = match &*self.candidates(file, written, &target.path) {
                [] => Repair::Vanished,
                [path] if is_protected(file) => Repair::Protected { path: path.clone() },
                [path] => {
                    let link_text = target.rewritten(file, path);
                    repaired.push_str(&text[copied..link.span.start]);
                    repaired.push_str(&link_text);
                    copied = link.span.end;
                    Repair::Repairable { link: link_text }
                }
                paths => Repair::Ambiguous {
                    paths: paths.to_vec(),
                },
            };
            let written = written.to_owned();
            findings.push(Finding::Link {
                file: file.to_owned(),
                line: link.line,
                written,
                repair,
            });
        }
        if self.named.is_empty() || self.named.contains(file) {
            findings.extend(skipped_levels(file, &outline.headings));
        }
        findings.sort_by_key(Finding::line);
        repaired.push_str(&text[copied..]);
        CheckedMarkdown {
            findings,
            repaired: (copied > 0).then_some(repaired),
        }
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains(path) || self.directories.contains(path)
    }

    /// Whether the trigger is about this link: about its file, or about what it points to.
    fn is_asked_about(&self, file: &str, target: &str) -> bool {
        // After `a.md` moved, the broken links are in other files, which did not change.
        self.named.is_empty() || self.named.contains(file) || self.named.contains(target)
    }

    /// Returns the files a broken link may mean: what version control saw, else every file of the same name.
    fn candidates(&self, file: &str, written: &str, target: &str) -> Vec<String> {
        let moved = self
            .moved_to
            .get(target)
            .filter(|path| self.files.contains(*path))
            .cloned();
        let as_before = || {
            let before = self.moved_from.get(file)?;
            let path = Target::parse(before, written)?.path;
            self.files.contains(&path).then_some(path)
        };
        // A recorded move is certain. The same name elsewhere is only a guess, which repairs only if it is the one candidate.
        if let Some(path) = moved.or_else(as_before) {
            return vec![path];
        }
        let name = target.rsplit('/').next().unwrap_or(target);
        self.by_name.get(name).cloned().unwrap_or_default()
    }
}

/// Whether no output may change this file.
fn is_protected(file: &str) -> bool {
    // A change of these files is refused as an output, and one of them would have the whole branch refused.
    file.starts_with(".agents/") || file.starts_with(".github/workflows/")
}

fn skipped_levels(file: &str, headings: &[Heading]) -> Vec<Finding> {
    let pairs = headings.iter().zip(headings.iter().skip(1));
    pairs
        .filter(|(before, heading)| heading.level > before.level + 1)
        .map(|(before, heading)| Finding::Heading {
            file: file.to_owned(),
            line: heading.line,
            level: heading.level,
            after: before.level,
        })
        .collect()
}
