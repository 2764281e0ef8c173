//! Whether the place that branches of daemons go to would take one.

use rustix::fs::{Access, access};

use crate::branch::Remote;
use crate::error::{GitError, Problem};
use crate::object::RefName;
use crate::repository::Repository;

/// What is asked for, and never created.
const PROBE: &str = "refs/heads/daemon/doctor/probe";

/// What keeps branches of daemons from staying where they are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing does.
    None,
    /// The branches here are those of a remote: a fetch that prunes removes every other.
    MirrorOf(String),
}

impl Repository {
    /// Says whether a branch of a daemon would be taken, and whether it would stay; nothing is created.
    ///
    /// # Errors
    /// [`GitError`] with the reason why it would not be taken.
    pub fn examine_delivery(&self, remote: &Remote) -> Result<Doubt, GitError> {
        let refs = self.refs()?;
        let branch: RefName = PROBE.parse().expect("the name is well formed");
        match remote {
            Remote::Here => {
                let obstacle = refs.iter().map(|(name, _)| name).find(|name| {
                    let beneath = branch.as_str().strip_prefix(name.as_str());
                    beneath.is_some_and(|rest| rest.starts_with('/'))
                });
                if let Some(name) = obstacle {
                    let name = name.as_str().into();
                    return Err(self.error("update-ref", Problem::BranchTaken { name }));
                }
                for part in ["refs", "objects"] {
                    let part = self.common_dir().join(part);
                    access(&part, Access::WRITE_OK)
                        .map_err(|error| self.unwritable(&part, error.into()))?;
                }
                let mirror = self.mirrored_remote()?;
                Ok(mirror.map_or(Doubt::None, Doubt::MirrorOf))
            }
            Remote::Named(name) => {
                let tip = self.default_branch(&refs)?;
                let tip = refs.get(&tip).expect("a default branch is one of the refs");
                let commit = self.commit_of(tip)?;
                self.probe_push(name, &branch, &commit)?;
                Ok(Doubt::None)
            }
        }
    }

    /// Names the remote whose branches those of this repository are, as in a mirror clone.
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
