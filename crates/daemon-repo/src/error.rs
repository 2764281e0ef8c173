//! What goes wrong with a repository.

use std::io;
use std::path::{Path, PathBuf};

use daemon_process::{ExitStatus, ToolError};

/// Reports that something could not be read from or done to a repository.
#[derive(Debug, thiserror::Error)]
#[error("cannot use repository `{place}` (`git {command}`)")]
pub struct GitError {
    place: PathBuf,
    command: &'static str,
    #[source]
    problem: Problem,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The path cannot be read, or does not exist.
    #[error("cannot read it")]
    Unreadable {
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no repository at that path.
    #[error("not a git repository")]
    NotARepository,
    /// The repository has no commit yet.
    #[error("it has no commit yet")]
    Unborn,
    /// The branch, tag or commit does not exist.
    #[error("no branch, tag or commit `{name}`")]
    MissingRef {
        /// The name as it was asked for.
        name: Box<str>,
    },
    /// The branch to be created exists, with other content.
    #[error("branch `{name}` exists and is not ours")]
    BranchTaken {
        /// The branch.
        name: Box<str>,
    },
    /// The git command did not start or end.
    #[error("it did not run")]
    Run {
        /// The cause.
        #[source]
        source: ToolError,
    },
    /// The git command failed.
    #[error("it ended with {status}: {stderr}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// The end of its standard error.
        stderr: Box<str>,
    },
    /// The git command printed more than is read.
    #[error("its output is too long")]
    TooMuchOutput,
    /// The git command printed something unexpected.
    #[error("unexpected output: {what}")]
    Malformed {
        /// What was expected.
        what: &'static str,
    },
    /// A run changed more than is read.
    #[error("{n_paths} paths with {bytes} bytes are changed, more than is read")]
    TooManyChanges {
        /// The number of changed paths.
        n_paths: usize,
        /// The size of what stands at them, in bytes.
        bytes: u64,
    },
    /// A file of ours could not be read or written.
    #[error("cannot use `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    pub(crate) fn new(place: &Path, command: &'static str, problem: Problem) -> Self {
        Self {
            place: place.to_owned(),
            command,
            problem,
        }
    }

    /// Returns what went wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Returns the repository, or the path where one was looked for.
    pub fn place(&self) -> &Path {
        &self.place
    }
}
