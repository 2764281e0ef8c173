//! What a run changed in its work tree, and the commit that holds it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::error::{GitError, Problem};
use crate::mark::Mark;
use crate::object::ObjectId;
use crate::path::TreePath;
use crate::tree::EntryKind;
use crate::worktree::Worktree;

/// The most paths a run may change before its changes are not read.
const MAX_CHANGED_PATHS: usize = 20_000;
/// The most bytes of changed files that are taken into the object database.
const MAX_CHANGED_BYTES: u64 = 64 << 20;

/// The changes of a work tree against the commit it was made from, as a tree in the object database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The changed files, in path order.
    pub files: Vec<FileChange>,
    /// Changed paths that are left out: other repositories, and names that leave the directory or are not printable UTF-8.
    pub unusable: Vec<String>,
    tree: ObjectId,
}

impl Changes {
    /// Whether the tree equals that of the base commit.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of lines added and removed, in all.
    pub fn lines(&self) -> u64 {
        self.files
            .iter()
            .map(|file| file.insertions + file.deletions)
            .sum()
    }
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path; a rename is a removal and an addition.
    pub path: TreePath,
    /// What it is afterwards; `None` when it went.
    pub kind: Option<EntryKind>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Whether git takes it for text; other files have no lines.
    pub is_text: bool,
}

impl Worktree {
    /// Reads what changed against the base commit, whatever was staged or committed in the work tree meanwhile.
    ///
    /// Ignored files do not count. The contents go into the object database, reachable from nothing yet. No process may be
    /// writing in the work tree any more.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::TooManyChanges`] over 20,000 paths or 64 MiB, or when git fails.
    pub fn changes(&self) -> Result<Changes, GitError> {
        let mut name = self.dir().as_os_str().to_owned();
        name.push(".index");
        let index = ScratchIndex(PathBuf::from(name));
        self.call("read-tree", &index.0)
            .operand(self.base().as_str())
            .stdout()?;
        let listing = self
            .call("ls-files", &index.0)
            .args([
                "-z",
                "--modified",
                "--deleted",
                "--others",
                "--exclude-standard",
            ])
            .stdout()?;
        let (paths, unusable) = self.usable(&listing)?;
        self.call("update-index", &index.0)
            .args(["-z", "--add", "--remove", "--replace", "--stdin"])
            .stdin(paths)
            .stdout()?;
        let tree = self.call("write-tree", &index.0).stdout()?;
        let malformed = |what| {
            self.repository()
                .error("write-tree", Problem::Malformed { what })
        };
        let tree: ObjectId = String::from_utf8_lossy(&tree)
            .trim()
            .parse()
            .ok()
            .ok_or_else(|| malformed("the name of a tree"))?;
        let diff = self
            .repository()
            .call("diff-tree")
            .args([
                "-r",
                "-z",
                "--raw",
                "--numstat",
                "--no-renames",
                "--no-ext-diff",
            ])
            .operand(self.base().as_str())
            .operand(tree.as_str())
            .stdout()?;
        let files = parse_diff(&diff).ok_or_else(|| malformed("a comparison of trees"))?;
        Ok(Changes {
            files,
            unusable,
            tree,
        })
    }

    /// Sorts a listing into the paths to take, each ended by NUL, and those to leave out.
    fn usable(&self, listing: &[u8]) -> Result<(Vec<u8>, Vec<String>), GitError> {
        let (mut taken, mut unusable) = (Vec::new(), Vec::new());
        let (mut n_paths, mut bytes) = (0, 0);
        for path in listing
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
        {
            // A directory in the listing is another repository.
            if path.ends_with(b"/") || TreePath::from_bytes(path).is_err() {
                unusable.push(String::from_utf8_lossy(path).into_owned());
                continue;
            }
            let file = self.dir().join(std::ffi::OsStr::from_bytes(path));
            match fs::symlink_metadata(&file) {
                // Where a submodule was checked out there is a directory: it stays what it was.
                Ok(metadata) if metadata.is_dir() && file.join(".git").exists() => {
                    unusable.push(String::from_utf8_lossy(path).into_owned());
                    continue;
                }
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
            n_paths += 1;
            taken.extend_from_slice(path);
            taken.push(0);
        }
        if n_paths > MAX_CHANGED_PATHS || bytes > MAX_CHANGED_BYTES {
            return Err(self
                .repository()
                .error("ls-files", Problem::TooManyChanges { n_paths, bytes }));
        }
        unusable.sort_unstable();
        unusable.dedup();
        Ok((taken, unusable))
    }

    /// Returns every line that the changes add, of files of any kind, with replacement characters where it is not UTF-8.
    ///
    /// # Errors
    /// [`GitError`] when git fails, or the lines have more than 64 MiB.
    pub fn added_lines(&self, changes: &Changes) -> Result<String, GitError> {
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
            .operand(self.base().as_str())
            .operand(changes.tree.as_str())
            .stdout()?;
        let mut lines = String::new();
        // A header of a file also begins with a plus sign; what it says is a path, and harms no reader of the lines.
        for line in diff
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.strip_prefix(b"+"))
        {
            lines.push_str(&String::from_utf8_lossy(line));
            lines.push('\n');
        }
        Ok(lines)
    }

    /// Writes the changes as one commit on the base commit, in the daemon's name and with its marks, on no branch.
    ///
    /// The same changes, message, mark and time give the same commit, so that doing it again does nothing new.
    ///
    /// # Errors
    /// [`GitError`] when git fails.
    pub fn commit(
        &self,
        changes: &Changes,
        message: &str,
        mark: &Mark,
        at: Timestamp,
    ) -> Result<ObjectId, GitError> {
        let date = format!("{} +0000", at.as_second());
        let mut call = self
            .repository()
            .call("commit-tree")
            .args(["--no-gpg-sign"]);
        for role in ["AUTHOR", "COMMITTER"] {
            call = call
                .env(&format!("GIT_{role}_NAME"), mark.name())
                .env(&format!("GIT_{role}_EMAIL"), mark.email())
                .env(&format!("GIT_{role}_DATE"), &date);
        }
        let output = call
            .args(["-F", "-", "-p"])
            .arg(self.base().as_str())
            .arg(changes.tree.as_str())
            .stdin(format!(
                "{}\n\n{}",
                clean_message(message, mark),
                mark.trailers()
            ))
            .stdout()?;
        String::from_utf8_lossy(&output)
            .trim()
            .parse()
            .ok()
            .ok_or_else(|| {
                self.repository().error(
                    "commit-tree",
                    Problem::Malformed {
                        what: "the name of a commit",
                    },
                )
            })
    }
}

/// A message without control characters, and never empty; our trailers follow it in a paragraph of their own.
fn clean_message(message: &str, mark: &Mark) -> String {
    let text: String = message
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    match text.trim() {
        "" => format!("Changes by {}", mark.name()),
        text => text.to_owned(),
    }
}

/// An index file beside the work tree, where the run could not write, removed when it is done with.
struct ScratchIndex(PathBuf);

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        let lock: &Path = &self.0.with_extension("index.lock");
        for path in [self.0.as_path(), lock] {
            // It may never have been written; one that stays is overwritten by the next reading.
            drop(fs::remove_file(path));
        }
    }
}

/// Reads `:<mode> <mode> <object> <object> <status> NUL <path> NUL` and `<added> TAB <removed> TAB <path> NUL`.
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

    proptest! {
        #[test]
        fn no_comparison_panics(diff in "(:100644 [0-7]{6} |[0-9a-f]{40}|[\\x00\t ]|-|[0-9]{1,20}|[a-z/]{0,5}){0,20}") {
            let _files: Option<Vec<FileChange>> = parse_diff(diff.as_bytes());
        }
    }
}
