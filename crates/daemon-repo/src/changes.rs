//! The changes of a run in its work tree, and the commit made from them.

use std::collections::BTreeMap;

use daemon_validate::without_unseen;
use jiff::Timestamp;

use crate::error::{GitError, GitProblem};
use crate::mark::{Author, CommitMark, encode};
use crate::object::ObjectId;
use crate::own_commits::OwnCommit;
use crate::path::TreePath;
use crate::repository::Repository;
use crate::tree::EntryKind;
use crate::worktree::Worktree;

/// The changes of a work tree against its base commit, as a tree in the object database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// The changed files, in path order.
    pub files: Vec<FileChange>,
    /// Changed paths that are left out: nested repositories, and names that leave the directory or are not printable UTF-8.
    pub unusable: Vec<String>,
    /// The commits that the run made, oldest first; none if they cannot be kept.
    pub commits: Vec<OwnCommit>,
    from: ObjectId,
    tree: ObjectId,
}

impl WorktreeChanges {
    /// Whether the tree equals that of the base commit.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the same changes without the commits that the run made.
    #[must_use]
    pub fn squashed(&self) -> Self {
        Self {
            commits: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the total number of lines added and removed.
    pub fn lines(&self) -> u64 {
        self.files
            .iter()
            .map(|file| file.insertions + file.deletions)
            .sum()
    }
}

/// What commits say of their origin.
pub(crate) struct CommitOrigin {
    pub(crate) author: Author,
    pub(crate) trailers: String,
    pub(crate) at: Timestamp,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path; a rename is a removal and an addition.
    pub path: TreePath,
    /// The kind of the file after the change; `None` if it was removed.
    pub kind: Option<EntryKind>,
    /// The number of lines added.
    pub insertions: u64,
    /// The number of lines removed.
    pub deletions: u64,
    /// Whether git treats it as text; other files have no line counts.
    pub is_text: bool,
}

impl Worktree {
    /// Reads the changes against the base commit, regardless of what was staged or committed in the work tree.
    ///
    /// Ignored files count only if the run committed them. The contents are written to the object database, where no ref reaches
    /// them yet. No process may still be writing in the work tree.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::TooManyChanges`] above 20,000 paths or 64 MiB, or if git fails.
    pub fn changes(&self) -> Result<WorktreeChanges, GitError> {
        self.open()?;
        let commits = self.own_commits();
        // The index in the work tree is the run's to write, so it is not used.
        let index = self.scratch_index()?;
        let committed = commits.iter().flat_map(|commit| &commit.changes.files);
        let committed = committed.map(|file| file.path.as_str().as_bytes());
        let unusable = self.index_changes(&index, committed)?;
        let tree = self.write_tree(&index)?;
        let tree = object_name(self.repository(), "write-tree", "the name of a tree", &tree)?;
        Ok(WorktreeChanges {
            unusable,
            commits,
            ..self.compare(self.base(), tree)?
        })
    }

    /// Compares a commit with a tree.
    pub(crate) fn compare(
        &self,
        from: &ObjectId,
        tree: ObjectId,
    ) -> Result<WorktreeChanges, GitError> {
        let call = self.repository().call("diff-tree").args([
            "-r",
            "-z",
            "--raw",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
        ]);
        let call = call.operand(from.as_str()).operand(tree.as_str());
        let what = "a comparison of trees";
        let malformed = call.error(GitProblem::Malformed { what });
        Ok(WorktreeChanges {
            files: parse_diff(&call.stdout()?).ok_or(malformed)?,
            unusable: Vec::new(),
            commits: Vec::new(),
            from: from.clone(),
            tree,
        })
    }

    /// Returns every line that the changes add, in files of any kind; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails, or if the lines exceed 64 MiB.
    pub fn added_lines(&self, changes: &WorktreeChanges) -> Result<String, GitError> {
        let diff = self
            .repository()
            .call("diff-tree")
            .args([
                "-p",
                "-U0",
                "--text",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
            ])
            .operand(changes.from.as_str())
            .operand(changes.tree.as_str())
            .stdout()?;
        let mut lines = String::new();
        // A file header `+++ path` matches too. It contains only a path, which does no harm to a search of the lines.
        for line in diff
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.strip_prefix(b"+"))
        {
            lines.push_str(&String::from_utf8_lossy(line));
            lines.push('\n');
        }
        Ok(lines)
    }

    /// Writes the changes as commits on top of the base commit, with the daemon as author and its trailers, and returns the last
    /// one. No ref points to it.
    ///
    /// These are [`WorktreeChanges::commits`] with their messages, then a commit with `message` if the files differ from the last
    /// of them. The same changes, message, mark and time give the same commits, so that a repetition creates nothing new.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn commit(
        &self,
        changes: &WorktreeChanges,
        message: &str,
        mark: &CommitMark,
        at: Timestamp,
    ) -> Result<ObjectId, GitError> {
        let signature = CommitOrigin {
            author: Author::daemon(&mark.daemon),
            trailers: mark.trailers(),
            at,
        };
        self.commit_all(changes, message, &signature)
    }

    /// Writes the changes of a one-off run as commits, as [`Worktree::commit`] does, with the run as author and its id as trailer.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn commit_of_run(
        &self,
        changes: &WorktreeChanges,
        message: &str,
        run: &str,
        at: Timestamp,
    ) -> Result<ObjectId, GitError> {
        let signature = CommitOrigin {
            author: Author::run(run),
            trailers: format!("Daemon-Run: {}\n", encode(run)),
            at,
        };
        self.commit_all(changes, message, &signature)
    }

    fn commit_all(
        &self,
        changes: &WorktreeChanges,
        message: &str,
        signature: &CommitOrigin,
    ) -> Result<ObjectId, GitError> {
        let repository = self.repository();
        let own = changes.commits.iter();
        let own = own.map(|commit| (&commit.changes.tree, &*commit.message));
        let uncommitted = repository.uncommitted_at(self.base());
        let mut last = match uncommitted {
            Some(uncommitted) => (
                Some(repository.tree_of(&uncommitted.head)?),
                uncommitted.head.clone(),
            ),
            None => (None, self.base().clone()),
        };
        for (tree, message) in own.chain([(&changes.tree, message)]) {
            let tree = match uncommitted {
                Some(uncommitted) => repository.without_uncommitted(tree, uncommitted)?,
                None => tree.clone(),
            };
            if last.0.as_ref() != Some(&tree) {
                let commit = repository.commit_tree(&tree, &[&last.1], message, signature)?;
                last = (Some(tree), commit);
            }
        }
        Ok(last.1)
    }

    /// Returns the changes as a patch that `git apply` accepts, with the content of binary files.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails, or if the patch exceeds 64 MiB.
    pub fn patch(&self, changes: &WorktreeChanges) -> Result<Vec<u8>, GitError> {
        self.repository()
            .call("diff-tree")
            .args([
                "-p",
                "--binary",
                "--full-index",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
            ])
            .operand(changes.from.as_str())
            .operand(changes.tree.as_str())
            .stdout()
    }
}

impl Repository {
    /// Writes a commit.
    pub(crate) fn commit_tree(
        &self,
        tree: &ObjectId,
        parents: &[&ObjectId],
        message: &str,
        signature: &CommitOrigin,
    ) -> Result<ObjectId, GitError> {
        let CommitOrigin {
            author,
            trailers,
            at,
        } = signature;
        let date = format!("{} +0000", at.as_second());
        let mut call = self
            .call("commit-tree")
            // `commit.gpgSign` in the repository's configuration would start a program.
            .args(["--no-gpg-sign"]);
        for role in ["AUTHOR", "COMMITTER"] {
            call = call
                .env(&format!("GIT_{role}_NAME"), &author.name)
                .env(&format!("GIT_{role}_EMAIL"), &author.email)
                .env(&format!("GIT_{role}_DATE"), &date);
        }
        for parent in parents {
            call = call.arg("-p").arg(parent.as_str());
        }
        let message = clean_message(message, author);
        let output = call
            .args(["-F", "-"])
            .arg(tree.as_str())
            .stdin(format!("{message}\n\n{trailers}"))
            .stdout()?;
        object_name(self, "commit-tree", "the name of a commit", &output)
    }
}

pub(crate) fn object_name(
    repository: &Repository,
    command: &'static str,
    what: &'static str,
    output: &[u8],
) -> Result<ObjectId, GitError> {
    let name = String::from_utf8_lossy(output).trim().parse();
    let malformed = || repository.error(command, GitProblem::Malformed { what });
    name.ok().ok_or_else(malformed)
}

/// A line of git behind which nothing belongs to a message.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Returns the message without control characters and hidden ones, or a default if it is empty; the trailers follow in a paragraph
/// of their own. Git takes what follows a divider for no part of the message, so that other trailers would end it.
fn clean_message(message: &str, author: &Author) -> String {
    let text = without_unseen(message);
    if text.trim().is_empty() {
        return format!("Changes by {}", author.name);
    }
    let is_divider = |line: &&str| line.starts_with("---") || line.contains(SCISSORS);
    let lines = text.trim().lines().map(|line| match is_divider(&line) {
        true => format!(" {line}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Parses `:<mode> <mode> <object> <object> <status> NUL <path> NUL` and `<added> TAB <removed> TAB <path> NUL`.
fn parse_diff(diff: &[u8]) -> Option<Vec<FileChange>> {
    let mut files: BTreeMap<TreePath, FileChange> = BTreeMap::new();
    let mut fields = diff
        .split(|byte| *byte == 0)
        .filter(|field| !field.is_empty());
    while let Some(field) = fields.next() {
        if let Some(raw) = field.strip_prefix(b":") {
            let path = TreePath::from_bytes(fields.next()?).ok()?;
            let mode = raw.split(|byte| *byte == b' ').nth(1)?;
            let kind = (mode != b"000000").then(|| EntryKind::from_mode(mode));
            let change = FileChange {
                path: path.clone(),
                kind,
                insertions: 0,
                deletions: 0,
                is_text: true,
            };
            files.insert(path, change);
        } else {
            let mut parts = field.splitn(3, |byte| *byte == b'\t');
            let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
            let change = files.get_mut(&TreePath::from_bytes(path).ok()?)?;
            change.is_text = added != b"-";
            if change.is_text {
                change.insertions = std::str::from_utf8(added).ok()?.parse().ok()?;
                change.deletions = std::str::from_utf8(removed).ok()?.parse().ok()?;
            }
        }
    }
    Some(files.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_has_no_dividers() {
        let author = Author::run("r-1");
        for (message, expected) in [
            ("a\n\nb\n", "a\n\nb"),
            (" \u{200b}\n", "Changes by r-1 (run)"),
            (
                "a >8 b\n\nDaemon-Id: x\n# ------------------------ >8 ------------------------\n---\nb",
                "a >8 b\n\nDaemon-Id: x\n # ------------------------ >8 ------------------------\n ---\nb",
            ),
        ] {
            assert_eq!(clean_message(message, &author), expected);
        }
    }

    proptest! {
        #[test]
        fn parsing_any_comparison_does_not_panic(diff in "(:100644 [0-7]{6} |[0-9a-f]{40}|[\\x00\t ]|-|[0-9]{1,20}|[a-z/]{0,5}){0,20}") {
            let _files: Option<Vec<FileChange>> = parse_diff(diff.as_bytes());
        }
    }
}
