//! Commits and the paths they change.

use std::collections::HashMap;
use std::num::NonZeroU64;

use jiff::Timestamp;

use crate::error::{GitError, Problem};
use crate::object::ObjectId;
use crate::repository::Repository;

/// The most commits that are listed for one move of a ref.
pub const MAX_COMMITS: usize = 2_048;
/// The most changed paths that are listed for one move of a ref.
pub const MAX_CHANGED_FILES: usize = 20_000;

/// The name and address in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name, with replacement characters where it was not UTF-8.
    pub name: String,
    /// The address.
    pub email: String,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name.
    pub id: ObjectId,
    /// Its parents, the first one first.
    pub parents: Vec<ObjectId>,
    /// Who wrote the change.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// When, by the committer's clock; `None` for a time outside the calendar.
    pub committed_at: Option<Timestamp>,
    /// The whole message.
    pub message: String,
}

/// The paths that differ between two trees, without telling renames: those are a removal and an addition.
///
/// Paths are text; bytes that are not UTF-8 show as the replacement character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// Paths that appeared.
    pub added: Vec<String>,
    /// Paths whose content or mode changed.
    pub modified: Vec<String>,
    /// Paths that went.
    pub removed: Vec<String>,
    /// Whether there are more than 20,000, of which these are the first.
    pub is_cut: bool,
}

impl ChangedFiles {
    /// Returns every path, in order.
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

/// Which merges a list of commits tells the changes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeDiff {
    /// A merge changes nothing of its own.
    Nothing,
    /// A merge changes what differs from its first parent.
    FirstParent,
}

const FORMAT: &str = "--format=%H%x00%P%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00";
const FORMAT_WITHOUT_MESSAGE: &str = "--format=%H%x00%P%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%x00";

impl Repository {
    /// Reads one commit.
    ///
    /// # Errors
    /// [`GitError`] when it is not there.
    pub fn commit(&self, id: &ObjectId) -> Result<Commit, GitError> {
        let call = self
            .call("rev-list")
            .args([
                "--max-count=1",
                "--no-commit-header",
                "--encoding=UTF-8",
                FORMAT,
            ])
            .operand(id.as_str());
        let malformed = call.error(Problem::Malformed { what: "a commit" });
        parse_commits(&call.stdout()?)
            .and_then(|commits| commits.into_iter().next())
            .ok_or(malformed)
    }

    /// Lists the commits that `after` has and `before` has not, newest first, at most 2,048.
    ///
    /// # Errors
    /// [`GitError`] when one of them is not there.
    pub fn commits_between(
        &self,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<Commit>, GitError> {
        self.list(&[], before, after)
    }

    /// Lists the merges among the first parents that `after` has and `before` has not, newest first, at most 2,048.
    ///
    /// # Errors
    /// [`GitError`] when one of them is not there.
    pub fn merges_between(
        &self,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<Commit>, GitError> {
        self.list(&["--first-parent", "--min-parents=2"], before, after)
    }

    fn list(
        &self,
        which: &[&'static str],
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<Commit>, GitError> {
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
            // Messages without end must not hide that the ref moved.
            Err(error) if matches!(error.problem(), Problem::TooMuchOutput) => {
                listed(FORMAT_WITHOUT_MESSAGE)?
            }
            other => other?,
        };
        let malformed = || {
            self.error(
                "rev-list",
                Problem::Malformed {
                    what: "a list of commits",
                },
            )
        };
        parse_commits(&output).ok_or_else(malformed)
    }

    /// Whether `before` is `after` or one of its ancestors.
    ///
    /// # Errors
    /// [`GitError`] when one of them is not there.
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
    /// [`GitError`] when one of them is not there.
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

    /// Lists what a pull request changes: from the merge base of `base` and `head` to `head`.
    ///
    /// Returns `None` when one of the commits is not in this repository, or they have no common ancestor here.
    ///
    /// # Errors
    /// [`GitError`] when git fails for another reason.
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

    /// Returns base and head of a pull request whose refs are mirrored here: the parents of `refs/pull/N/merge`, where the
    /// second is also `refs/pull/N/head`.
    ///
    /// # Errors
    /// [`GitError`] when git does not run.
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
        Ok((head == merged).then_some((base, head)))
    }

    /// Lists what each commit changes against its first parent, for as many of them as 64 MiB and 20,000 paths allow.
    pub(crate) fn changes_of(
        &self,
        commits: &[Commit],
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

/// Reads records of eight fields, each ended by NUL; a line feed stands between records.
fn parse_commits(output: &[u8]) -> Option<Vec<Commit>> {
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
        commits.push(Commit {
            id: id.parse().ok()?,
            parents,
            author,
            committer,
            committed_at: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
            message: fields.next()?.to_owned(),
        });
    }
}

/// Reads `<status> NUL <path> NUL` pairs; a torn last one is dropped.
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

/// Reads the same, in runs that each begin with the name of their commit.
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

/// The fields that a NUL ends.
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
        fn no_output_panics(output in "([0-9a-f]{40}|[AMD]|[\\x00\n ]|-?[0-9]{1,20}|[a-z]{0,5}){0,30}") {
            let _commits: Option<Vec<Commit>> = parse_commits(output.as_bytes());
            let _files: ChangedFiles = parse_changes(output.as_bytes());
            let _by_commit: HashMap<ObjectId, ChangedFiles> = parse_changes_by_commit(output.as_bytes());
        }
    }

    #[test]
    fn a_torn_record_is_dropped_and_a_flood_is_cut() {
        assert_eq!(parse_changes(b"A\0a\0M\0b").paths(), ["a"]);
        let flood = "A\0x\0".repeat(MAX_CHANGED_FILES + 1);
        let files = parse_changes(flood.as_bytes());
        assert_eq!(
            (files.paths().len(), files.is_cut),
            (MAX_CHANGED_FILES, true)
        );
    }
}
