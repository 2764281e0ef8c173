//! Checks of a daemon's branch: its name, the files it changes, and the lines it adds.

use daemon_engine::proposal::BranchPattern;
use daemon_repo::{FileChange, RefName, TreePath, WorktreeChanges};
use daemon_validate::find_secret;

/// The maximum number of lines that a branch may add and remove together.
pub const MAX_DIFF_LINES: u64 = 5_000;

/// Directories that no daemon changes.
// Files in them decide what other programs run, with more rights than the daemon has.
const GUARDED: [&str; 3] = [".agents", ".github/actions", ".github/workflows"];

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

/// Reports whether a path is guarded, or in the place of a directory above guarded ones.
// Some file systems take `.GitHub`, `.github.`, `GITHUB~1` or a name with hidden characters for `.github`.
fn is_guarded(path: &TreePath) -> bool {
    let path = path.folded();
    GUARDED.iter().any(|guarded| {
        let mut parts = path.split('/').zip(guarded.split('/'));
        parts.all(|(part, name)| part == name || is_short_name(part, name))
    })
}

/// Reports whether a name is one of six characters and a number by which Windows abbreviates another.
fn is_short_name(part: &str, name: &str) -> bool {
    part.split_once('~').is_some_and(|(stem, number)| {
        stem.len() == 6
            && name.trim_start_matches('.').starts_with(stem)
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_paths_are_guarded_in_any_spelling() {
        for (path, guarded) in [
            (".agents", true),
            (".agents/daemons/a/DAEMON.md", true),
            (".Agents/x", true),
            (".github/workflows/ci.yml", true),
            (".GitHub/Workflows/ci.yml", true),
            (".github/workflows", true),
            (".github", true),
            (".github/actions/build/action.yml", true),
            (".github/CODEOWNERS", false),
            (".agent\u{17f}/x", true),
            (".github/wor\u{212a}flows/ci.yml", true),
            (".git\u{200c}hub/workflows/ci.yml", true),
            (".github /workflows/ci.yml", true),
            (".agents./x", true),
            ("AGENTS~1/x", true),
            ("github~1/WORKFL~2/ci.yml", true),
            ("github~1/CODEOWNERS", false),
            (".github::$INDEX_ALLOCATION/workflows/ci.yml", true),
            (".agentsmith/x", false),
            ("docs/.agents/x", false),
        ] {
            assert_eq!(is_guarded(&path.parse().unwrap()), guarded, "{path}");
        }
    }
}
