//! Planning: the changes of a run become an output.

use std::fmt;

use daemon_engine::{NewOutput, OutputKey, OutputState};
use daemon_event::{ActivationId, DaemonKey};
use daemon_repo::{
    BranchTip, CommitMark, GitError, GitProblem, RefName, Worktree, WorktreeChanges, daemon_branch,
};
use daemon_validate::without_unseen;
use jiff::Timestamp;

use crate::check::{
    BranchRefusal, BranchRules, MAX_DIFF_LINES, check_branch, check_target, check_text,
};
use crate::git_branch::{GIT, Pushed};
use crate::text;

/// The activation whose branch is planned, and the commit message.
#[derive(Clone)]
pub struct BranchPlan<'a> {
    /// The daemon that the activation belongs to.
    pub daemon: &'a DaemonKey,
    /// The activation, whose id is a part of the branch's name.
    pub activation: &'a ActivationId,
    /// The place among the outputs of the activation, from 0.
    pub ordinal: u32,
    /// The branch that the commits are added to, with the commit at which it has to be when they are pushed; `None` for a new
    /// branch of the activation.
    pub onto: Option<&'a BranchTip>,
    /// The commit message that the run proposed; `None` gives an empty one before the marks.
    pub message: Option<&'a str>,
    /// The author and committer time of the commit.
    pub at: Timestamp,
    /// Reports whether the operator allows a name to be mentioned; the name is without `@`.
    pub may_mention: &'a (dyn Fn(&str) -> bool + Sync),
    /// Reports whether a string contains a secret of the host's configuration. Strings that only look like secrets are
    /// found without it.
    pub is_secret: &'a (dyn Fn(&str) -> bool + Sync),
}

impl fmt::Debug for BranchPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BranchPlan")
            .field("daemon", &self.daemon)
            .field("activation", &self.activation)
            .field("ordinal", &self.ordinal)
            .field("onto", &self.onto)
            .finish_non_exhaustive()
    }
}

impl BranchPlan<'_> {
    /// Returns the name of the branch.
    pub fn branch(&self) -> RefName {
        match self.onto {
            Some(onto) => onto.branch.clone(),
            None => daemon_branch(&self.daemon.id, self.activation),
        }
    }
}

/// Plans the branch of an activation: checks the changes and writes them as commits that are not on a branch yet.
///
/// The commits that the run made are kept if each of them passes the checks of the changes; otherwise the changes become one
/// commit. Planning the same changes again gives the same commits and the same output. The call blocks.
///
/// # Errors
/// [`GitError`] if the commit cannot be written. Changes that may not be pushed are not an error: they give a refused
/// output.
pub fn plan_branch(
    worktree: &Worktree,
    changes: &WorktreeChanges,
    plan: &BranchPlan<'_>,
    rules: &BranchRules,
) -> Result<NewOutput, GitError> {
    let target = plan.branch();
    let key = OutputKey::derive(plan.activation, plan.ordinal, GIT, target.as_str());
    let output = |content, revision, state, error: Option<BranchRefusal>| NewOutput {
        key: key.clone(),
        ordinal: plan.ordinal,
        surface: GIT.to_owned(),
        target: target.as_str().to_owned(),
        content,
        revision,
        state,
        error: error.map(|refusal| refusal.to_string()),
    };
    if let Err(refusal) = check(worktree, changes, &target, plan, rules)? {
        let state = OutputState::Refused;
        return Ok(output("{}".to_owned(), None, state, Some(refusal)));
    }
    let mark = CommitMark {
        daemon: plan.daemon.id.clone(),
        activation: plan.activation.clone(),
        output: key.as_str().into(),
    };
    let mut kept = match check_commits(worktree, changes, plan)? {
        Ok(()) => changes.clone(),
        // A refusal would lose work that can be pushed: what only a commit before the last one had is not in the changes.
        Err(_) => changes.squashed(),
    };
    for commit in &mut kept.commits {
        commit.message = text::message(&commit.message, plan.may_mention);
    }
    let message = text::message(plan.message.unwrap_or_default(), plan.may_mention);
    let commit = worktree.commit(&kept, &message, &mark, plan.at)?;
    let content = Pushed::new(&commit, changes, plan.onto).to_json();
    let revision = Some(commit.to_string());
    Ok(output(content, revision, OutputState::Planned, None))
}

/// Checks the name of the branch, its changes as a whole and the message.
fn check(
    worktree: &Worktree,
    changes: &WorktreeChanges,
    target: &RefName,
    plan: &BranchPlan<'_>,
    rules: &BranchRules,
) -> Result<Result<(), BranchRefusal>, GitError> {
    let named = check_target(target, rules);
    if named.is_err() {
        return Ok(named);
    }
    // As it is committed: what is not shown could divide a secret.
    let message = without_unseen(plan.message.unwrap_or_default());
    check_changes(worktree, changes, &message, plan)
}

/// Checks each commit that the run made, because all of them are pushed.
fn check_commits(
    worktree: &Worktree,
    changes: &WorktreeChanges,
    plan: &BranchPlan<'_>,
) -> Result<Result<(), BranchRefusal>, GitError> {
    let lines = changes.commits.iter().map(|commit| commit.changes.lines());
    let lines = lines.sum();
    if lines > MAX_DIFF_LINES {
        return Ok(Err(BranchRefusal::TooLarge { lines }));
    }
    for commit in &changes.commits {
        let checked = check_changes(worktree, &commit.changes, &commit.message, plan)?;
        if checked.is_err() {
            return Ok(checked);
        }
    }
    Ok(Ok(()))
}

/// Checks the files and the added lines of changes, and their message.
fn check_changes(
    worktree: &Worktree,
    changes: &WorktreeChanges,
    message: &str,
    plan: &BranchPlan<'_>,
) -> Result<Result<(), BranchRefusal>, GitError> {
    let shape = check_branch(changes);
    // Before the lines are read, since there may be gigabytes of them.
    if shape.is_err() {
        return Ok(shape);
    }
    let paths: Vec<&str> = changes
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let lines = match worktree.added_lines(changes) {
        Err(error) if matches!(error.problem(), GitProblem::TooMuchOutput) => {
            return Ok(Err(BranchRefusal::Unsearchable));
        }
        lines => lines?,
    };
    // Git counts no lines in a file with a null character, also if all the rest is text.
    let n_prose = lines.lines().filter(|line| is_prose(line)).count();
    let n_prose = u64::try_from(n_prose).unwrap_or(u64::MAX);
    if n_prose > MAX_DIFF_LINES {
        return Ok(Err(BranchRefusal::TooLarge { lines: n_prose }));
    }
    for (place, text) in [
        ("an added line", lines.as_str()),
        // The lines of an empty file do not contain its name.
        ("the name of a file", &paths.join("\n")),
        ("the message", message),
    ] {
        let checked = check_text(place, text);
        if checked.is_err() {
            return Ok(checked);
        }
        if (plan.is_secret)(text) {
            let what = "a secret of this host";
            return Ok(Err(BranchRefusal::Secret { place, what }));
        }
    }
    Ok(Ok(()))
}

/// Reports whether a line is one that people read: binary files have few of these.
fn is_prose(line: &str) -> bool {
    let is_binary = |c: &char| c.is_control() && *c != '\t' || *c == char::REPLACEMENT_CHARACTER;
    let n_binary = line.chars().filter(is_binary).count();
    !line.is_empty() && n_binary * 32 <= line.len()
}
