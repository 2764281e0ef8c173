//! Checks of a daemon's branch: its name, the files it changes, and the lines it adds.

use daemon_engine::proposal::BranchPattern;
use daemon_repo::{FileChange, RefName, TreePath, WorktreeChanges};
use daemon_validate::find_secret;

/// The maximum number of lines that a branch may add and remove together.
pub const MAX_DIFF_LINES: u64 = 5_000;

/// Directories that no daemon changes.
// Files in them decide what other programs run, with more rights than the daemon has.
const GUARDED: [&str; 2] = [".agents", ".github/workflows"];

/// The branches of a repository to which no daemon may push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchRules {
    /// The default branch.
    pub default_branch: RefName,
    /// Further branches, which the operator names in the host's configuration.
    pub protected: Vec<BranchPattern>,
}

/// Why a branch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BranchRefusal {
    /// Nothing changed.
    #[error("nothing changed in the worktree")]
    Empty,
    /// The target is the default branch or a protected one.
    #[error("`{branch}` is protected")]
    Protected {
        /// The branch.
        branch: RefName,
    },
    /// A guarded file changed.
    #[error("`{path}` decides what runs, and no daemon changes it")]
    Guarded {
        /// The file.
        path: TreePath,
    },
    /// A path cannot be written as it is.
    #[error("{path:?} is another repository, or no printable relative path")]
    Unusable {
        /// The path, with replacement characters.
        path: String,
    },
    /// An added line or the commit message contains a secret.
    #[error("{place} holds what looks like {what}")]
    Secret {
        /// Where it was found. The secret itself is not repeated.
        place: &'static str,
        /// The kind of secret, as `daemon-validate` names it.
        what: &'static str,
    },
    /// The diff exceeds the limit of what is searched for secrets.
    #[error("the changes are too large to be searched for secrets")]
    Unsearchable,
    /// More than [`MAX_DIFF_LINES`] lines changed.
    #[error("{lines} lines changed, at most {MAX_DIFF_LINES} are pushed")]
    TooLarge {
        /// Lines added and removed.
        lines: u64,
    },
}

/// Checks the name of a branch.
///
/// # Errors
/// `Protected` for the default branch and protected ones.
pub fn check_target(target: &RefName, rules: &BranchRules) -> Result<(), BranchRefusal> {
    if *target == rules.default_branch
        || rules
            .protected
            .iter()
            .any(|pattern| pattern.covers(target.as_str()))
    {
        return Err(BranchRefusal::Protected {
            branch: target.clone(),
        });
    }
    Ok(())
}

/// Checks the changes of a branch: that there are some, and that no file and no number of lines forbids them.
///
/// # Errors
/// Names the first refused file, or the number of lines.
pub fn check_branch(changes: &WorktreeChanges) -> Result<(), BranchRefusal> {
    if let Some(path) = changes.unusable.first() {
        return Err(BranchRefusal::Unusable { path: path.clone() });
    }
    if changes.is_empty() {
        return Err(BranchRefusal::Empty);
    }
    if let Some(FileChange { path, .. }) = changes.files.iter().find(|file| is_guarded(&file.path))
    {
        return Err(BranchRefusal::Guarded { path: path.clone() });
    }
    match changes.lines() {
        lines if lines > MAX_DIFF_LINES => Err(BranchRefusal::TooLarge { lines }),
        _ => Ok(()),
    }
}

/// Searches a string that would be pushed with the branch for secrets; `place` names the string in the error.
///
/// # Errors
/// `Secret`, with the kind of secret.
pub fn check_text(place: &'static str, text: &str) -> Result<(), BranchRefusal> {
    match find_secret(text) {
        Some(what) => Err(BranchRefusal::Secret { place, what }),
        None => Ok(()),
    }
}

/// Reports whether a path is guarded.
// Without regard to case: on some file systems `.GitHub` and `.github` are one directory.
fn is_guarded(path: &TreePath) -> bool {
    let path = path.as_str().to_ascii_lowercase();
    GUARDED.iter().any(|guarded| {
        path.strip_prefix(guarded)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_paths_are_guarded_in_any_case() {
        for (path, guarded) in [
            (".agents", true),
            (".agents/daemons/a/DAEMON.md", true),
            (".Agents/x", true),
            (".github/workflows/ci.yml", true),
            (".GitHub/Workflows/ci.yml", true),
            (".github/workflows", true),
            (".github/CODEOWNERS", false),
            (".agentsmith/x", false),
            ("docs/.agents/x", false),
        ] {
            assert_eq!(is_guarded(&path.parse().unwrap()), guarded, "{path}");
        }
    }
}
