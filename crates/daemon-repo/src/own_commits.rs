//! The commits that a run made in the repository of its work tree.
//!
//! The run can write everything in that repository. So git reads only its objects, with the refs and the configuration of the
//! watched repository, and copies them there by their content: an object under a false name is not found afterwards.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use daemon_process::ExitStatus;
use daemon_validate::without_unseen;

use crate::changes::WorktreeChanges;
use crate::git::GitCommand;
use crate::layers::is_removal;
use crate::object::{ObjectId, RefName};
use crate::private_git::alternates_file;
use crate::ref_files::{read_capped, read_ref_files};
use crate::tree::EntryKind;
use crate::worktree::Worktree;

/// The maximum number of commits that are kept.
const MAX_COMMITS: usize = 50;
/// The maximum number of objects of the commits.
const MAX_OBJECTS: usize = 20_000;
/// The maximum total size of the objects, in bytes.
const MAX_OBJECT_BYTES: u64 = 64 << 20;
/// The maximum size of a message, in bytes.
const MAX_MESSAGE: usize = 64 << 10;
/// The maximum number of files of the repository.
const MAX_FILES: usize = 100_000;
/// The maximum size of HEAD, in bytes.
const MAX_HEAD: u64 = 4 << 10;
/// The timeout of a git process, since the objects may be made to take long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A commit that a run made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommit {
    /// The message, without control characters and hidden ones.
    pub message: String,
    /// The changes against the commit before it, without commits of their own.
    pub changes: WorktreeChanges,
}

impl Worktree {
    /// Returns the commits from the base to HEAD, oldest first, and copies their objects into the watched repository.
    ///
    /// Returns none if they are more than 50 or more than 64 MiB, if one is a merge or does not follow from the base, or if the
    /// repository has anything but plain files. What stops git there is no error: the changes of the run are read all the same.
    pub(crate) fn own_commits(&self) -> Vec<OwnCommit> {
        self.read_own_commits().unwrap_or_default()
    }

    fn read_own_commits(&self) -> Option<Vec<OwnCommit>> {
        let tip = self.own_tip()?;
        if tip == *self.base() {
            return None;
        }
        self.import(&tip)?;
        let mut from = self.base().clone();
        let mut acc = Vec::new();
        for commit in self.own_history(&tip)? {
            let changes = self.compare(&from, commit.tree).ok()?;
            let has_submodule = |kind| kind == Some(EntryKind::Submodule);
            if changes.files.iter().any(|file| has_submodule(file.kind)) {
                return None;
            }
            acc.push(OwnCommit {
                message: without_unseen(&commit.message),
                changes,
            });
            from = commit.id;
        }
        Some(acc)
    }

    /// Returns the commit of HEAD.
    fn own_tip(&self) -> Option<ObjectId> {
        let git_dir = self.written().join(".git");
        if !is_plain(&git_dir) {
            return None;
        }
        let head = read_capped(&git_dir.join("HEAD"), MAX_HEAD).ok()??;
        match head.trim_end().strip_prefix("ref: ") {
            None => head.trim_end().parse().ok(),
            Some(name) => {
                let name: RefName = name.parse().ok()?;
                read_ref_files(&git_dir)?.get(&name).cloned()
            }
        }
    }

    /// Copies the objects that the base does not have into the watched repository.
    fn import(&self, tip: &ObjectId) -> Option<()> {
        let objects = self.written().join(".git/objects");
        // Git would also read the objects of other repositories named there.
        let named = fs::read(objects.join("info/alternates")).ok()?;
        if named != alternates_file(self.objects()) {
            return None;
        }
        let borrowed = quoted(&objects)?;
        let borrowing = |command| {
            // Git would believe what these files of the run say about commits.
            bounded(self, command)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &borrowed)
                .setting("core.commitGraph", "false")
                .setting("core.multiPackIndex", "false")
        };
        let list = borrowing("rev-list").args(["--objects", "--no-object-names"]);
        let list = list
            .operand(tip.as_str())
            .operand(format!("^{}", self.base()));
        let names = printed(&list)?;
        let sizes = borrowing("cat-file").args(["--batch-check=%(objectsize)", "--buffer"]);
        let sizes = text(printed(&sizes.stdin(names.clone()))?)?;
        let sizes: Vec<u64> = sizes
            .lines()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        if sizes.len() > MAX_OBJECTS || sizes.iter().sum::<u64>() > MAX_OBJECT_BYTES {
            return None;
        }
        let pack = borrowing("pack-objects").args(["--stdout", "-q", "--no-use-bitmap-index"]);
        let pack = printed(&pack.stdin(names))?;
        // It names the objects by their content, and with `--strict` it fails if one of them refers to a missing object.
        let unpack = bounded(self, "unpack-objects").args(["-q", "--strict"]);
        printed(&unpack.stdin(pack)).map(drop)
    }

    /// Reads the commits that the watched repository has, oldest first.
    fn own_history(&self, tip: &ObjectId) -> Option<Vec<ReadCommit>> {
        let list = bounded(self, "rev-list")
            .arg(format!("--max-count={}", MAX_COMMITS + 1))
            .arg("--format=%T%x00%P%x00%B%x00");
        let list = list
            .operand(tip.as_str())
            .operand(format!("^{}", self.base()));
        let mut commits = parse_history(&text(printed(&list)?)?, tip, self.base())?;
        commits.reverse();
        Some(commits)
    }
}

/// A commit as git lists it.
#[derive(Debug, PartialEq, Eq)]
struct ReadCommit {
    id: ObjectId,
    tree: ObjectId,
    message: String,
}

/// Parses `commit <id> LF <tree> NUL <parents> NUL <message> NUL LF` for each commit from the tip to the base. Returns `None` if a
/// commit has another parent than the next one in the list, or if they are too many.
fn parse_history(text: &str, tip: &ObjectId, base: &ObjectId) -> Option<Vec<ReadCommit>> {
    let mut acc = Vec::new();
    let mut expected = tip.as_str();
    let mut fields = text.trim_end().split_terminator('\0');
    while let Some(head) = fields.next() {
        let (id, tree) = head
            .trim_start()
            .strip_prefix("commit ")?
            .split_once('\n')?;
        let (parent, message) = (fields.next()?, fields.next()?);
        if id != expected || message.len() > MAX_MESSAGE || acc.len() == MAX_COMMITS {
            return None;
        }
        expected = parent;
        acc.push(ReadCommit {
            id: id.parse().ok()?,
            tree: tree.parse().ok()?,
            message: message.to_owned(),
        });
    }
    (expected == base.as_str()).then_some(acc)
}

/// Creates a command on the objects of the watched repository.
fn bounded(worktree: &Worktree, command: &'static str) -> GitCommand {
    worktree.repository().call(command).within(TIMEOUT)
}

/// Returns what a command printed; `None` if it did not succeed.
fn printed(call: &GitCommand) -> Option<Vec<u8>> {
    let output = call.output().ok()?;
    (output.status == ExitStatus::Code(0)).then_some(output.stdout)
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

/// Reports whether all below a path are directories and files: a link can lead out of it, and reading a pipe blocks. The index may be
/// the mark of a removal, since that of the checkout is in a layer below.
fn is_plain(root: &Path) -> bool {
    let mut left = vec![root.to_owned()];
    let mut n_files = 0;
    while let Some(path) = left.pop() {
        n_files += 1;
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return false;
        };
        let is_removed = || is_removal(&metadata) && path == root.join("index");
        if n_files > MAX_FILES || !(metadata.is_dir() || metadata.is_file() || is_removed()) {
            return false;
        }
        if metadata.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else {
                return false;
            };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                left.push(entry.path());
            }
        }
    }
    true
}

/// Returns a path as an entry of `GIT_ALTERNATE_OBJECT_DIRECTORIES`, whose entries end at colons unless they are quoted.
fn quoted(path: &Path) -> Option<String> {
    let mut acc = String::from("\"");
    for c in path.to_str()?.chars() {
        match c {
            '"' | '\\' => write!(acc, "\\{c}").expect("writing to a string cannot fail"),
            _ => acc.push(c),
        }
    }
    acc.push('"');
    Some(acc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_any_history_does_not_panic(text in "(commit |[0-9a-f]{40}|[\\x00\n ]|[a-z]{0,5}){0,20}") {
            let name: ObjectId = "12".repeat(20).parse().unwrap();
            let _commits: Option<Vec<ReadCommit>> = parse_history(&text, &name, &name);
        }
    }
}
