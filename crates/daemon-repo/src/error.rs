//! Errors of working with a repository.

use std::io;
use std::path::{Path, PathBuf};

use daemon_process::{ExitStatus, ToolRunError};

use crate::object::ObjectId;

/// The error of work with a repository: the repository, the git command if one was to run, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot use repository `{place}`{}", by_git(command, problem))]
pub struct GitError {
    place: PathBuf,
    command: &'static str,
    #[source]
    problem: GitProblem,
}

/// The reason of a [`GitError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitProblem {
    /// The path does not exist or cannot be read.
    #[error("cannot read it")]
    Unreadable {
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
    /// The path is not a repository.
    #[error("not a git repository")]
    NotARepository,
    /// The repository has no commit yet.
    #[error("it has no commit yet")]
    Unborn,
    /// The branch, tag or commit does not exist.
    #[error("no branch, tag or commit `{name}`")]
    MissingRef {
        /// The name as requested.
        name: Box<str>,
    },
    /// The branch to be created exists already, with other content.
    #[error("branch `{name}` exists and is not ours")]
    BranchTaken {
        /// The full name of the branch.
        name: Box<str>,
    },
    /// The branch to be changed is not at the commit where it was expected, or would lose commits.
    #[error("branch `{name}` moved: it {}", found_at(at.as_ref()))]
    BranchMoved {
        /// The full name of the branch.
        name: Box<str>,
        /// Its commit; `None` if it does not exist.
        at: Option<ObjectId>,
    },
    /// A work tree has the branch to be changed.
    #[error("branch `{name}` is checked out in `{place}`")]
    CheckedOut {
        /// The full name of the branch.
        name: Box<str>,
        /// The directory of the work tree.
        place: Box<str>,
    },
    /// A branch may not be changed.
    #[error("branch `{name}` may not be changed: {why}")]
    PushRefused {
        /// The full name of the branch.
        name: Box<str>,
        /// The reason, mostly as the remote gives it.
        why: Box<str>,
    },
    /// Git could not be started, or did not exit in time.
    #[error("it did not complete")]
    Run {
        /// The reason, such as a timeout.
        #[source]
        source: ToolRunError,
    },
    /// Git exited with an error.
    #[error("it ended with {status}: {stderr}")]
    Failed {
        /// The exit status.
        status: ExitStatus,
        /// The end of standard error.
        stderr: Box<str>,
    },
    /// Git printed more than the limit.
    #[error("its output is too long")]
    TooMuchOutput,
    /// Git printed something that cannot be parsed.
    #[error("unexpected output: {what}")]
    Malformed {
        /// The expected content.
        what: &'static str,
    },
    /// A run changed more than the limits allow.
    #[error("{n_paths} changed paths with {bytes} bytes are more than the limits allow")]
    TooManyChanges {
        /// The number of changed paths.
        n_paths: usize,
        /// The total size of the changed files, in bytes.
        bytes: u64,
    },
    /// The path of the repository, or of a directory of its objects, cannot be written in git's format.
    #[error(
        "`{path}` has a line break or is quoted in `objects/info/alternates`; move it to a path without line breaks and quotes"
    )]
    UnusableObjects {
        /// The path.
        path: PathBuf,
    },
    /// Files that a work tree needs are missing in a partial repository, and cannot be fetched.
    #[error("{n_files} files of commit `{commit}` are missing, the first is `{path}`: {why}")]
    MissingFiles {
        /// The commit.
        commit: ObjectId,
        /// The number of files, or of trees.
        n_files: usize,
        /// The path of the first one; empty for the tree of the commit.
        path: Box<str>,
        /// Why they cannot be fetched.
        why: Box<str>,
    },
    /// Another fetch of the repository did not end in time.
    #[error("another fetch of this repository is in progress")]
    Fetching,
    /// Something of the repository belongs to another place.
    #[error("`{path}` {what}")]
    Foreign {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A file or directory could not be read, made, changed or removed.
    #[error("cannot use the file or directory `{path}`")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    pub(crate) fn new(place: &Path, command: &'static str, problem: GitProblem) -> Self {
        Self {
            place: place.to_owned(),
            command,
            problem,
        }
    }

    /// Returns the reason.
    pub fn problem(&self) -> &GitProblem {
        &self.problem
    }

    /// Returns why git failed in one line: the first fatal error that it printed, without credentials in URLs.
    pub fn brief(&self) -> String {
        let text = match &self.problem {
            GitProblem::Failed { stderr, .. } => {
                let mut fatal = stderr
                    .lines()
                    .filter_map(|line| line.strip_prefix("fatal: "));
                let any = stderr.lines().find(|line| !line.trim().is_empty());
                fatal.next().or(any).unwrap_or("git failed").to_owned()
            }
            problem => match std::error::Error::source(problem) {
                Some(source) => format!("{problem}: {source}"),
                None => problem.to_string(),
            },
        };
        without_credentials(&text)
    }

    /// Returns the path of the repository, or the path that was expected to be one.
    pub fn place(&self) -> &Path {
        &self.place
    }
}

fn found_at(commit: Option<&ObjectId>) -> String {
    match commit {
        Some(commit) => format!("is at `{commit}`"),
        None => "does not exist".to_owned(),
    }
}

/// Names the git command, unless the problem is one of the host's own work with files.
fn by_git(command: &str, problem: &GitProblem) -> String {
    match problem {
        GitProblem::File { .. } | GitProblem::Foreign { .. } => String::new(),
        _ => format!(" (`git {command}`)"),
    }
}

/// Removes what precedes the `@` of each URL.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut acc = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        acc.push_str(before);
        let end = url.find(|c: char| c == '/' || c == '\'' || c.is_whitespace());
        let host = &url[..end.unwrap_or(url.len())];
        rest = &url[host.rfind('@').map_or(0, |at| at + 1)..];
    }
    acc.push_str(rest);
    acc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_of_git_names_its_command() {
        let error = |problem| GitError::new(Path::new("/r"), "read-tree", problem).to_string();
        let git = error(GitProblem::TooMuchOutput);
        assert_eq!(git, "cannot use repository `/r` (`git read-tree`)");
        let file = error(GitProblem::File {
            path: PathBuf::from("/r/x"),
            source: io::ErrorKind::PermissionDenied.into(),
        });
        assert_eq!(file, "cannot use repository `/r`");
    }

    #[test]
    fn credentials_of_urls_are_left_out() {
        for (text, expected) in [
            (
                "unable to access 'https://ann:tok@en@git.example/o/r/': 403",
                "unable to access 'https://git.example/o/r/': 403",
            ),
            ("ssh://git@a b://c@d e@f", "ssh://a b://d e@f"),
            ("https://git.example/@v1 ://", "https://git.example/@v1 ://"),
            ("'origin'", "'origin'"),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }
}
