//! What a branch of a daemon may not be or change.

use daemon_event::{ActivationId, DaemonId};
use daemon_repo::{Changes, FileChange, RefName, TreePath, daemon_branch};
use daemon_validate::find_secret;

/// The most lines that a branch may add and remove, in all.
pub const MAX_DIFF_LINES: u64 = 5_000;

/// Directories whose files decide what runs with more power than a daemon has.
const GUARDED: [&str; 2] = [".agents", ".github/workflows"];

/// The branches of a repository that no daemon writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchRules {
    /// The default branch.
    pub default_branch: RefName,
    /// Further branches that the operator protects.
    pub protected: Vec<RefName>,
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
    /// The target is not the branch of this daemon and activation.
    #[error("`{target}` is not `{expected}`, the branch of this activation")]
    Target {
        /// The branch that was proposed.
        target: RefName,
        /// The one branch that is admitted.
        expected: RefName,
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
    /// An added line, or the message, holds a secret.
    #[error("{place} holds what looks like {what}")]
    Secret {
        /// Where it was found; the secret itself is not repeated.
        place: &'static str,
        /// What it looks like.
        what: &'static str,
    },
    /// There is more than is searched for secrets.
    #[error("the changes are too large to be searched for secrets")]
    Unsearchable,
    /// The difference is too large to be looked at.
    #[error("{lines} lines changed, at most {MAX_DIFF_LINES} are pushed")]
    TooLarge {
        /// Lines added and removed.
        lines: u64,
    },
}

/// Checks where a branch goes.
///
/// # Errors
/// Says why it may not go there.
pub fn check_target(
    target: &RefName,
    daemon: &DaemonId,
    activation: &ActivationId,
    rules: &BranchRules,
) -> Result<(), BranchRefusal> {
    if *target == rules.default_branch || rules.protected.contains(target) {
        return Err(BranchRefusal::Protected {
            branch: target.clone(),
        });
    }
    let expected = daemon_branch(daemon, activation);
    if *target == expected {
        Ok(())
    } else {
        Err(BranchRefusal::Target {
            target: target.clone(),
            expected,
        })
    }
}

/// Checks what a branch changes.
///
/// # Errors
/// Names the first file, or the amount, that is not let through.
pub fn check_branch(changes: &Changes) -> Result<(), BranchRefusal> {
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

/// Checks a text that would leave with the branch; `place` names it in the refusal.
///
/// # Errors
/// Says what looks like a secret.
pub fn check_text(place: &'static str, text: &str) -> Result<(), BranchRefusal> {
    match find_secret(text) {
        Some(what) => Err(BranchRefusal::Secret { place, what }),
        None => Ok(()),
    }
}

/// Whether a path is guarded, in any case: some file systems make no difference.
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
