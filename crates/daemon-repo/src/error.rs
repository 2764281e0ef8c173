//! Errors of working with a repository.

use std::io;
use std::path::{Path, PathBuf};

use daemon_process::{ExitStatus, ToolRunError};

/// The error of a git command, with the repository and the command.
#[derive(Debug, thiserror::Error)]
#[error("cannot use repository `{place}` (`git {command}`)")]
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
    /// Git could not be started, or did not exit in time.
    #[error("it did not run")]
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
    /// A file of the host could not be read or written.
    #[error("cannot use `{path}`")]
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

    /// Returns the path of the repository, or the path that was expected to be one.
    pub fn place(&self) -> &Path {
        &self.place
    }
}
