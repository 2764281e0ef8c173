//! The files that a sparse work tree has.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::error::GitError;
use crate::git::GitCommand;
use crate::repository::Repository;

/// The settings of git for a work tree with patterns. Patterns of directories alone (`core.sparseCheckoutCone`) mean the same
/// without the restriction.
pub(crate) const SETTINGS: [&str; 2] =
    ["core.sparseCheckout=true", "core.sparseCheckoutCone=false"];

/// The patterns of the files that a sparse work tree has, as git writes them in `info/sparse-checkout`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparsePatterns {
    text: Vec<u8>,
}

impl SparsePatterns {
    /// Returns the hash of the patterns.
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(&self.text);
        digest.iter().fold(String::new(), |mut acc, byte| {
            write!(acc, "{byte:02x}").expect("writing to a string cannot fail");
            acc
        })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text
    }
}

impl Repository {
    /// Returns the patterns of the work tree in which the repository was opened; `None` unless it is sparse.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails, or if the patterns cannot be read.
    pub fn sparse_patterns(&self) -> Result<Option<SparsePatterns>, GitError> {
        // They belong to the work tree, linked or not. Without the file, git checks out everything.
        let path = self.git_dir().join("info/sparse-checkout");
        let Some(text) = self.read_optional(&path)? else {
            return Ok(None);
        };
        let call = GitCommand::new(self.git(), self.git_dir(), "config");
        let call = call.env("GIT_DIR", self.git_dir());
        let values = call.args(["--type=bool", "--get-all", "core.sparseCheckout"]);
        let values = values.output()?;
        // The last value is our own, which switches it off for other commands.
        let values = String::from_utf8_lossy(&values.stdout);
        let is_sparse = values.lines().rev().nth(1) == Some("true");
        Ok(is_sparse.then_some(SparsePatterns { text }))
    }
}
