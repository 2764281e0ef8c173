//! Checks whether branches of daemons can be delivered.

use rustix::fs::{Access, access};

use crate::branch::Remote;
use crate::error::{GitError, GitProblem};
use crate::object::RefName;
use crate::repository::Repository;

/// A branch name that is checked but never created.
const PROBE: &str = "refs/heads/daemon/doctor/probe";

/// A reason why delivered branches may not persist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchDoubt {
    /// There is no such reason.
    None,
    /// The repository mirrors this remote: a fetch that prunes removes all other branches.
    MirrorOf(String),
}

impl Repository {
    /// Checks whether a branch of a daemon could be created, and whether it would persist. Creates nothing.
    ///
    /// # Errors
    /// Returns [`GitError`] with the reason why a branch cannot be created.
    pub fn examine_delivery(&self, remote: &Remote) -> Result<BranchDoubt, GitError> {
        let refs = self.refs()?;
        let branch: RefName = PROBE.parse().expect("the name is well formed");
        match remote {
            Remote::Here => {
                // A branch `daemon` would be a file where the directory of `daemon/...` has to be.
                let obstacle = refs.iter().map(|(name, _)| name).find(|name| {
                    let beneath = branch.as_str().strip_prefix(name.as_str());
                    beneath.is_some_and(|rest| rest.starts_with('/'))
                });
                if let Some(name) = obstacle {
                    let name = name.as_str().into();
                    return Err(self.error("update-ref", GitProblem::BranchTaken { name }));
                }
                for part in ["refs", "objects"] {
                    let part = self.common_dir().join(part);
                    access(&part, Access::WRITE_OK)
                        .map_err(|error| self.unwritable(&part, error.into()))?;
                }
                let mirror = self.mirrored_remote()?;
                Ok(mirror.map_or(BranchDoubt::None, BranchDoubt::MirrorOf))
            }
            Remote::Named(name) => {
                let tip = self.default_branch(&refs)?;
                let tip = refs.get(&tip).expect("a default branch is one of the refs");
                let commit = self.commit_of(tip)?;
                self.probe_push(name, &branch, &commit)?;
                Ok(BranchDoubt::None)
            }
        }
    }

    /// Returns the remote that this repository mirrors, if it is a mirror clone.
    fn mirrored_remote(&self) -> Result<Option<String>, GitError> {
        let call = self
            .call("config")
            .args(["--null", "--get-regexp"])
            .arg(r"^remote\..*\.fetch$");
        let output = call.output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let mirrored = printed.split('\0').find_map(|entry| {
            let (key, refspec) = entry.split_once('\n')?;
            let (_, here) = refspec.split_once(':')?;
            let name = key.strip_prefix("remote.")?.strip_suffix(".fetch")?;
            matches!(here, "refs/*" | "refs/heads/*").then(|| name.to_owned())
        });
        Ok(mirrored)
    }
}
