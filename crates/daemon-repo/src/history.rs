//! Commits and the paths that they change.

use std::collections::HashMap;
use std::num::NonZeroU64;

use jiff::Timestamp;

use crate::error::{GitError, GitProblem};
use crate::object::ObjectId;
use crate::repository::Repository;

/// The maximum number of commits listed for one move of a ref.
pub const MAX_COMMITS: usize = 2_048;
/// The maximum number of changed paths listed for one move of a ref.
pub const MAX_CHANGED_FILES: usize = 20_000;

/// The name and email address in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name; invalid UTF-8 is replaced.
    pub name: String,
    /// The email address.
    pub email: String,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitCommit {
    /// The commit's object name.
    pub id: ObjectId,
    /// The parents in order, the first parent first.
    pub parents: Vec<ObjectId>,
    /// The author of the change.
    pub author: Person,
    /// The person or daemon that made the commit.
    pub committer: Person,
    /// The time of the commit by the committer's clock; `None` if it is out of range.
    pub committed_at: Option<Timestamp>,
    /// The whole commit message.
    pub message: String,
}

/// The paths that differ between two trees. A rename counts as a removal and an addition.
///
/// Invalid UTF-8 in a path is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// Paths that were added.
    pub added: Vec<String>,
    /// Paths whose content or mode changed.
    pub modified: Vec<String>,
    /// Paths that were removed.
    pub removed: Vec<String>,
    /// Whether more than 20,000 paths changed; only the first 20,000 are listed.
    pub is_cut: bool,
}

impl ChangedFiles {
    /// Returns all paths, sorted.
    pub fn paths(&self) -> Vec<&str> {
        let mut acc: Vec<&str> = [&self.added, &self.modified, &self.removed]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        acc.sort_unstable();
        acc
    }

    fn len(&self) -> usize {
        self.added.len() + self.modified.len() + self.removed.len()
    }

    fn push(&mut self, status: &[u8], path: &[u8]) {
        let path = String::from_utf8_lossy(path).into_owned();
        match status {
            b"A" => self.added.push(path),
            b"D" => self.removed.push(path),
            _ => self.modified.push(path),
        }
    }
}

/// How the changes of merges are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeDiff {
    /// A merge has no changes of its own.
    Nothing,
    /// A merge has the changes against its first parent.
    FirstParent,
}

// The separator is NUL, which no commit contains: no message can imitate a field.
const FORMAT: &str = "--format=%H%x00%P%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00";
const FORMAT_WITHOUT_MESSAGE: &str = "--format=%H%x00%P%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%x00";

impl Repository {
    /// Reads a commit.
    ///
    /// # Errors
    /// Returns [`GitError`] if it does not exist.
    pub fn commit(&self, id: &ObjectId) -> Result<GitCommit, GitError> {
        let call = self
            .call("rev-list")
            .args([
                "--max-count=1",
                "--no-commit-header",
                "--encoding=UTF-8",
                FORMAT,
            ])
            .operand(id.as_str());
        let malformed = call.error(GitProblem::Malformed { what: "a commit" });
        parse_commits(&call.stdout()?)
            .and_then(|commits| commits.into_iter().next())
            .ok_or(malformed)
    }

    /// Lists the commits reachable from `after` but not from `before`, newest first, at most 2,048.
    ///
    /// # Errors
    /// Returns [`GitError`] if one of them does not exist.
    pub fn commits_between(
        &self,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<GitCommit>, GitError> {
        self.list(&[], before, after)
    }

    /// Lists the merges on the first-parent line from `before` to `after`, newest first, at most 2,048.
    ///
    /// # Errors
    /// Returns [`GitError`] if one of them does not exist.
    pub fn merges_between(
        &self,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<GitCommit>, GitError> {
        self.list(&["--first-parent", "--min-parents=2"], before, after)
    }

    fn list(
        &self,
        which: &[&'static str],
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<GitCommit>, GitError> {
        let listed = |format| {
            self.call("rev-list")
                .args([
                    "--max-count=2048",
                    "--no-commit-header",
                    "--encoding=UTF-8",
                    format,
                ])
                .args(which.iter().copied())
                .operand(after.as_str())
                .operand(format!("^{before}"))
                .stdout()
        };
        let output = match listed(FORMAT) {
            // Oversized messages must not hide that the ref moved, so the list is read again without messages.
            Err(error) if matches!(error.problem(), GitProblem::TooMuchOutput) => {
                listed(FORMAT_WITHOUT_MESSAGE)?
            }
            other => other?,
        };
        let malformed = || {
            self.error(
                "rev-list",
                GitProblem::Malformed {
                    what: "a list of commits",
                },
            )
        };
        parse_commits(&output).ok_or_else(malformed)
    }

    /// Whether `before` is `after` or one of its ancestors.
    ///
    /// # Errors
    /// Returns [`GitError`] if one of them does not exist.
    pub fn is_ancestor(&self, before: &ObjectId, after: &ObjectId) -> Result<bool, GitError> {
        self.call("merge-base")
            .arg("--is-ancestor")
            .operand(before.as_str())
            .operand(after.as_str())
            .holds()
    }

    /// Compares the trees of two commits.
    ///
    /// # Errors
    /// Returns [`GitError`] if one of them does not exist.
    pub fn changed_files(
        &self,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<ChangedFiles, GitError> {
        let output = self
            .call("diff-tree")
            .args(["-r", "-z", "--no-renames", "--no-ext-diff", "--name-status"])
            .operand(before.as_str())
            .operand(after.as_str())
            .stdout_prefix()?;
        Ok(parse_changes(&output))
    }

    /// Lists the paths that a pull request changes: from the merge base of `base` and `head` to `head`.
    ///
    /// Returns `None` if one of the commits is not in this repository, or if they have no common ancestor in it.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails for another reason.
    pub fn pull_request_files(
        &self,
        base: &ObjectId,
        head: &ObjectId,
    ) -> Result<Option<ChangedFiles>, GitError> {
        if !self.has_commit(base)? || !self.has_commit(head)? {
            return Ok(None);
        }
        let output = self
            .call("merge-base")
            .operand(base.as_str())
            .operand(head.as_str())
            .output()?;
        match String::from_utf8_lossy(&output.stdout).trim().parse() {
            Ok(fork) => self.changed_files(&fork, head).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Returns base and head of a pull request whose refs are mirrored here: the parents of `refs/pull/N/merge`.
    ///
    /// Returns `None` if a ref is missing, or if the merge was made for another head than `refs/pull/N/head`.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run.
    pub fn pull_request_ends(
        &self,
        number: NonZeroU64,
    ) -> Result<Option<(ObjectId, ObjectId)>, GitError> {
        let names = ["head", "merge^1", "merge^2"];
        let mut found = Vec::new();
        for name in names {
            let call = self
                .call("rev-parse")
                .args(["--verify", "--quiet"])
                .operand(format!("refs/pull/{number}/{name}^{{commit}}"));
            let output = call.output()?;
            match String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse::<ObjectId>()
            {
                Ok(id) => found.push(id),
                Err(_) => return Ok(None),
            }
        }
        let Ok([head, base, merged]) = <[ObjectId; 3]>::try_from(found) else {
            return Ok(None);
        };
        // GitHub updates `merge` after `head`: a merge of an older head would give the wrong base.
        Ok((head == merged).then_some((base, head)))
    }

    /// Lists the changes of each commit against its first parent, up to 64 MiB of output and 20,000 paths in total.
    pub(crate) fn changes_of(
        &self,
        commits: &[GitCommit],
        merges: MergeDiff,
    ) -> Result<HashMap<ObjectId, ChangedFiles>, GitError> {
        if commits.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: String = commits
            .iter()
            .map(|commit| format!("{}\n", commit.id))
            .collect();
        let call = self.call("diff-tree").args([
            "--stdin",
            "-r",
            "-z",
            "--root",
            "--no-renames",
            "--no-ext-diff",
            "--name-status",
        ]);
        let call = match merges {
            MergeDiff::Nothing => call,
            MergeDiff::FirstParent => call.arg("--diff-merges=first-parent"),
        };
        Ok(parse_changes_by_commit(&call.stdin(ids).stdout_prefix()?))
    }
}

/// Parses records of eight fields, each terminated by NUL, with a line feed between records.
fn parse_commits(output: &[u8]) -> Option<Vec<GitCommit>> {
    let text = String::from_utf8_lossy(output);
    let mut fields = text.split('\0');
    let mut commits = Vec::new();
    loop {
        let id = fields.next()?.trim_start_matches('\n');
        if id.is_empty() {
            return fields.next().is_none().then_some(commits);
        }
        let parents = fields
            .next()?
            .split(' ')
            .filter(|parent| !parent.is_empty());
        let parents = parents
            .map(|parent| parent.parse().ok())
            .collect::<Option<_>>()?;
        let mut person = || {
            Some(Person {
                name: fields.next()?.to_owned(),
                email: fields.next()?.to_owned(),
            })
        };
        let (author, committer) = (person()?, person()?);
        let seconds = fields.next()?.parse().ok();
        commits.push(GitCommit {
            id: id.parse().ok()?,
            parents,
            author,
            committer,
            committed_at: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
            message: fields.next()?.to_owned(),
        });
    }
}

/// Parses `<status> NUL <path> NUL` pairs; an incomplete last pair is dropped.
fn parse_changes(output: &[u8]) -> ChangedFiles {
    let mut acc = ChangedFiles::default();
    let mut rest = whole_fields(output);
    while let (Some(status), Some(path)) = (rest.next(), rest.next()) {
        if acc.len() == MAX_CHANGED_FILES {
            acc.is_cut = true;
            break;
        }
        acc.push(status, path);
    }
    acc
}

/// Parses the same pairs in groups that each start with the object name of their commit.
fn parse_changes_by_commit(output: &[u8]) -> HashMap<ObjectId, ChangedFiles> {
    let mut acc: HashMap<ObjectId, ChangedFiles> = HashMap::new();
    let mut current = None;
    let mut n_paths = 0;
    let mut rest = whole_fields(output);
    while let Some(field) = rest.next() {
        let commit = std::str::from_utf8(field)
            .ok()
            .and_then(|text| text.parse::<ObjectId>().ok());
        if let Some(commit) = commit {
            acc.entry(commit.clone()).or_default();
            current = Some(commit);
            continue;
        }
        let (Some(path), Some(files)) =
            (rest.next(), current.as_ref().and_then(|id| acc.get_mut(id)))
        else {
            break;
        };
        n_paths += 1;
        if n_paths > MAX_CHANGED_FILES {
            files.is_cut = true;
        } else {
            files.push(field, path);
        }
    }
    acc
}

/// Returns the fields that are terminated by NUL.
fn whole_fields(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = output
        .iter()
        .rposition(|byte| *byte == 0)
        .map_or(0, |last| last + 1);
    output[..end]
        .split_inclusive(|byte| *byte == 0)
        .map(|field| &field[..field.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_any_output_does_not_panic(output in "([0-9a-f]{40}|[AMD]|[\\x00\n ]|-?[0-9]{1,20}|[a-z]{0,5}){0,30}") {
            let _commits: Option<Vec<GitCommit>> = parse_commits(output.as_bytes());
            let _files: ChangedFiles = parse_changes(output.as_bytes());
            let _by_commit: HashMap<ObjectId, ChangedFiles> = parse_changes_by_commit(output.as_bytes());
        }
    }

    #[test]
    fn an_incomplete_record_is_dropped_and_a_long_list_is_cut() {
        assert_eq!(parse_changes(b"A\0a\0M\0b").paths(), ["a"]);
        let flood = "A\0x\0".repeat(MAX_CHANGED_FILES + 1);
        let files = parse_changes(flood.as_bytes());
        assert_eq!(
            (files.paths().len(), files.is_cut),
            (MAX_CHANGED_FILES, true)
        );
    }
}
