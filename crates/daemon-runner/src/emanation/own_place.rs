//! A work tree of its own for a one-off run: how it is made, and how its changes come back to the caller's repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use daemon_provider::redact::Redactor;
use daemon_records::error::chain;
use daemon_repo::{
    Author, Checkout, GitError, GitProblem, ObjectId, RefName, Remote, Repository, Worktree,
    WorktreeChanges,
};
use daemon_run_folder::write_atomic;
use daemon_run_folder::{Folder, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::settings;

/// The most paths of uncommitted changes that are listed.
const LISTED: usize = 20;
/// The characters of the task's first line that become the title of the commit.
const TITLE_CHARS: usize = 72;
/// The characters of the final text that become the message of the commit.
const MESSAGE_CHARS: usize = 2_000;

/// The content of `place.json`: where the work tree of a run comes from, and what came back from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceRecord {
    /// The commit at which the run started.
    commit: String,
    /// The working directory relative to the root of the work tree; empty for the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    directory: String,
    /// The first paths of the caller whose changes were not committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uncommitted: Vec<String>,
    /// The number of all such paths.
    #[serde(default)]
    uncommitted_total: usize,
    /// The changes of the first turn and of each reply, if there were any.
    #[serde(default)]
    changes: Vec<KeptChanges>,
}

/// The changes of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KeptChanges {
    /// The branch of the caller's repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The last commit of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The path of the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<PathBuf>,
    /// The number of changed files.
    #[serde(default)]
    files: usize,
    /// Changed paths that no commit can contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// Why the changes, or a part of them, were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One turn of a run, as the names of its branch and its files say.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) folder: Folder,
    /// The number of the message; `None` for the first turn.
    pub(super) reply: Option<u32>,
    /// The task, or the message.
    pub(super) task: String,
}

/// A work tree that was made for one turn.
#[derive(Clone, Debug)]
pub(super) struct OwnWorktree {
    worktree: Worktree,
    directory: PathBuf,
}

impl OwnWorktree {
    /// Returns the working directory.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// Returns the root directory.
    pub(super) fn root(&self) -> &Path {
        self.worktree.dir()
    }

    /// Returns the object directories of the caller's repository.
    pub(super) fn objects(&self) -> &[PathBuf] {
        self.worktree.objects()
    }
}

impl PlaceRecord {
    /// Reads HEAD and the uncommitted changes of the work tree that encloses the resolved `directory`. Git uses `scratch`.
    pub(super) fn new(
        repository: &Repository,
        directory: &Path,
        scratch: &Path,
    ) -> Result<Self, GitError> {
        repository.check_contained(directory)?;
        let commit = repository.head_commit()?;
        // With a branch `run` no branch below it can be made, and the changes would be lost.
        if let Ok(branch) = RefName::branch("run/em") {
            repository.check_free(&branch)?;
        }
        let mut uncommitted = repository.uncommitted(&commit, scratch)?;
        let uncommitted_total = uncommitted.len();
        uncommitted.truncate(LISTED);
        let root = repository.work_tree();
        let below = root.and_then(|root| directory.strip_prefix(root).ok());
        Ok(Self {
            commit: commit.to_string(),
            directory: below.and_then(Path::to_str).unwrap_or_default().to_owned(),
            uncommitted,
            uncommitted_total,
            changes: Vec::new(),
        })
    }

    /// Reads the record of a run; `None` if it works in the directory of its caller.
    pub(super) fn read(folder: &Folder) -> std::io::Result<Option<Self>> {
        match std::fs::read(folder.place()) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the record without secrets.
    pub(super) fn write(&self, folder: &Folder, redactor: &Redactor) -> std::io::Result<()> {
        let value = redactor.json(&serde_json::to_value(self)?);
        write_atomic(&folder.place(), format!("{value:#}\n").as_bytes())
    }

    /// Returns the working directory in a work tree with this root.
    pub(super) fn directory(&self, root: &Path) -> PathBuf {
        match &*self.directory {
            // Joining nothing would add a slash, which is another path for some programs.
            "" => root.to_owned(),
            directory => root.join(directory),
        }
    }

    /// Returns what the reply to `emanate` says of the place.
    pub(super) fn announced(&self, run: RunId) -> serde_json::Value {
        serde_json::json!({
            "branch": short_name(run, None),
            "commit": self.commit,
            "uncommitted": self.uncommitted,
            "uncommitted_total": self.uncommitted_total,
        })
    }

    /// Makes the work tree in the new directory `root`, at the last commit that came back, or else at the first one.
    ///
    /// # Errors
    /// The message says why it could not be made; nothing of it stays.
    pub(super) fn make(
        &self,
        caller: &Path,
        root: &Path,
        run: RunId,
    ) -> Result<OwnWorktree, String> {
        let git = settings::git().map_err(|error| chain(&error))?;
        let kept = self
            .changes
            .iter()
            .rev()
            .find_map(|kept| kept.commit.as_ref());
        let commit = kept.unwrap_or(&self.commit).parse();
        let commit: ObjectId = commit.map_err(|error| chain(&error))?;
        let made = Repository::enclosing(&git, caller).and_then(|repository| {
            // Another run may have written it since the batch was validated.
            repository.check_contained(caller)?;
            let checkout = Checkout {
                branches: branches(&repository)?,
                author: Author::run(&run.to_string()),
                commit,
            };
            // A partial repository of a caller has no store; the error names a missing file.
            let repository = repository.with_files(&checkout.commit)?;
            // An earlier host may have died while a run worked in it.
            repository.clear_worktree(root)?;
            repository.create_worktree(&checkout, root)
        });
        let worktree = made.map_err(|error| chain(&error))?;
        let directory = self.directory(root);
        // A directory without committed files exists only in the caller's checkout.
        match std::fs::create_dir_all(&directory) {
            Ok(()) => Ok(OwnWorktree {
                worktree,
                directory,
            }),
            Err(error) => {
                remove(worktree);
                Err(format!("`{}`: {error}", directory.display()))
            }
        }
    }

    /// Brings the changes back as a branch and a patch, removes the work tree and adds what came back to the record.
    ///
    /// # Errors
    /// The message says why the changes are lost; the record has it too.
    pub(super) fn keep(
        &mut self,
        own: OwnWorktree,
        turn: &Turn,
        text: &str,
        redactor: &Redactor,
        at: Timestamp,
    ) -> Result<(), String> {
        let mut acc = KeptChanges::default();
        let kept = own.keep(turn, text, redactor, at, &mut acc);
        remove(own.worktree);
        acc.error = kept.as_ref().err().cloned();
        if acc != KeptChanges::default() {
            self.changes.push(acc);
            let written = self.write(&turn.folder, redactor);
            written.map_err(|error| format!("`{}`: {error}", turn.folder.place().display()))?;
        }
        kept
    }
}

impl OwnWorktree {
    /// Creates the patch, then the branch; `acc` has what was made.
    fn keep(
        &self,
        turn: &Turn,
        text: &str,
        redactor: &Redactor,
        at: Timestamp,
        acc: &mut KeptChanges,
    ) -> Result<(), String> {
        let run = turn.folder.id();
        let failed = |error: GitError| chain(&error);
        daemon_records::failpoint::hit("E4");
        let changes = self.worktree.changes().map_err(failed)?;
        acc.left_out.clone_from(&changes.unusable);
        acc.files = changes.files.len();
        if changes.is_empty() && changes.commits.is_empty() {
            return Ok(());
        }
        if self.has_secret(&changes, redactor).map_err(failed)? {
            return Err("they contain a secret".to_owned());
        }
        let message = redactor.text(&message(&turn.task, text)).into_owned();
        let commit = self
            .worktree
            .commit_of_run(&changes, &message, &run.to_string(), at)
            .map_err(failed)?;
        let patch = self.worktree.patch(&changes).map_err(failed)?;
        let path = turn.folder.patch(turn.reply);
        let written = write_atomic(&path, &patch);
        written.map_err(|error| format!("`{}`: {error}", path.display()))?;
        acc.diff = Some(path);
        let name = short_name(run, turn.reply);
        let branch = RefName::branch(&name).map_err(|error| chain(&error))?;
        let repository = self.worktree.repository();
        let created = repository.create_branch(&Remote::Here, &branch, &commit);
        created.map_err(failed)?;
        daemon_records::failpoint::hit("E5");
        acc.branch = Some(name);
        acc.commit = Some(commit.to_string());
        Ok(())
    }

    /// Returns whether a commit message or an added line contains a secret, also one that a later commit removes.
    fn has_secret(&self, changes: &WorktreeChanges, redactor: &Redactor) -> Result<bool, GitError> {
        for commit in &changes.commits {
            let added = self.worktree.added_lines(&commit.changes)?;
            if redactor.finds_in(&commit.message) || redactor.finds_in(&added) {
                return Ok(true);
            }
        }
        let added = self.worktree.added_lines(changes)?;
        Ok(redactor.finds_in(&added))
    }
}

/// Removes a work tree. A failure is only logged: the next sweep repeats the removal.
fn remove(worktree: Worktree) {
    if let Err(error) = worktree.remove() {
        let error = chain(&error);
        tracing::warn!(error, "the work tree of a run could not be removed");
    }
}

/// Returns the default branch and the branch of HEAD, each with its commit.
fn branches(repository: &Repository) -> Result<BTreeMap<RefName, ObjectId>, GitError> {
    let refs = repository.refs()?;
    let default = match repository.default_branch(&refs) {
        Ok(branch) => Some(branch),
        Err(error) => match error.problem() {
            // Without one, for example with a detached HEAD, a run works all the same.
            GitProblem::MissingRef { .. } | GitProblem::Unborn => None,
            _ => return Err(error),
        },
    };
    let names = default.into_iter().chain(repository.head_branch()?);
    let found = names.filter_map(|name| Some((refs.get(&name)?.clone(), name)));
    Ok(found.map(|(commit, name)| (name, commit)).collect())
}

/// Returns the short name of the branch of a turn.
fn short_name(run: RunId, reply: Option<u32>) -> String {
    match reply {
        None => format!("run/{run}"),
        // Git allows no branch below `run/<run>`, because that is a branch itself.
        Some(n) => format!("run/{run}-followup-{n}"),
    }
}

/// Returns the commit message: the first line of the task, then the final text.
fn message(task: &str, text: &str) -> String {
    let title = task.trim().lines().next().unwrap_or_default();
    let title: String = title.chars().take(TITLE_CHARS).collect();
    let text: String = text.chars().take(MESSAGE_CHARS).collect();
    format!("{title}\n\n{text}")
}
