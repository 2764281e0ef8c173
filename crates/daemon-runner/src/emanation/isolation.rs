//! The choice of the place in which each run of a batch works.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use daemon_records::error::chain;
use daemon_repo::{GitError, GitProblem, Repository};

use super::call::PlaceChoice;
use super::fault::CallFault;
use super::own_place::PlaceRecord;
use super::plan::Plan;
use crate::run_context::{EXPOSED, RunPaths};
use crate::settings;

/// Chooses the place of each run. An own one that a task asks for and that cannot be made is a fault. Git runs, which blocks.
///
/// Without a word of the task, several runs of the batch that can write in one directory get own places if it is in a
/// repository with a commit.
pub(super) fn choose(paths: &RunPaths, plans: &mut [Plan], faults: &mut Vec<CallFault>) {
    let mut n_writers: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for plan in plans.iter().filter(|plan| plan.can_write()) {
        if let Some(directory) = directory(plan) {
            *n_writers.entry(directory).or_default() += 1;
        }
    }
    let mut known: BTreeMap<PathBuf, Result<PlaceRecord, String>> = BTreeMap::new();
    for (index, plan) in plans.iter_mut().enumerate() {
        let directory = directory(plan);
        let is_usual = || {
            let n_writers = directory.as_ref().and_then(|at| n_writers.get(at));
            plan.can_write() && n_writers.is_some_and(|n_writers| *n_writers > 1)
        };
        let is_own = match plan.task.isolation {
            Some(PlaceChoice::Shared) => false,
            Some(PlaceChoice::Own) => true,
            None => is_usual(),
        };
        if !is_own {
            continue;
        }
        let place = match (directory, &plan.task.cwd) {
            (Some(directory), _) => known
                .entry(directory)
                .or_insert_with_key(|directory| source(paths, directory))
                .clone(),
            // A directory that does not exist is already a fault.
            (None, Some(_)) => continue,
            (None, None) => Err("own needs a cwd in a git repository".to_owned()),
        };
        match place {
            Ok(place) => plan.place = Some(place),
            Err(why) if plan.task.isolation.is_some() => {
                let fault = CallFault::argument(format!("tasks[{index}].isolation: {why}"));
                faults.push(fault.with_help("`shared` works in the directory itself"));
            }
            Err(why) => tracing::debug!(why, "the runs of a batch share their directory"),
        }
    }
    for (index, plan) in plans.iter().enumerate() {
        let shared = plan.task.cwd.as_ref().filter(|_| plan.place.is_none());
        if let Some(directory) = shared.filter(|directory| paths.exposes_home(directory)) {
            let message = format!("tasks[{index}].cwd: `{}` {EXPOSED}", directory.display());
            faults.push(CallFault::policy(message).with_help("start it in another directory"));
        }
    }
}

/// Returns the resolved working directory, by which runs in one directory are recognised.
fn directory(plan: &Plan) -> Option<PathBuf> {
    let resolved = plan.task.cwd.as_ref()?.canonicalize().ok()?;
    Some(resolved).filter(|path| path.is_dir())
}

/// Reads from which commit a run for this directory starts; the error says why none can.
fn source(paths: &RunPaths, directory: &Path) -> Result<PlaceRecord, String> {
    let git = settings::git().map_err(|error| chain(&error))?;
    let shown = directory.display();
    let read = || {
        let repository = Repository::enclosing(&git, directory)?;
        PlaceRecord::new(&repository, directory, &paths.scratch())
    };
    read().map_err(|error: GitError| match error.problem() {
        GitProblem::NotARepository => {
            format!("own needs a git repository, and `{shown}` is in none")
        }
        GitProblem::Foreign { .. } => format!(
            "own needs a repository that refers to no other place: {}",
            error.problem()
        ),
        GitProblem::Unborn => {
            format!("own needs a commit to start at, and the repository of `{shown}` has none")
        }
        _ => chain(&error),
    })
}
