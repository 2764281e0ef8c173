//! What a provider is given to run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::inputs::McpRegistration;
use crate::{Grants, NoGrants, RunId, SessionId};

/// Everything one run needs.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The run's identity; it marks every process of the run.
    pub run_id: RunId,
    /// What the run is about, in one paragraph: the task of an emanation, the trigger of an activation.
    pub task: String,
    /// The exact bytes the provider reads.
    pub prompt: Vec<u8>,
    /// The directory the run works in.
    pub worktree: PathBuf,
    /// The directory that holds the activation's context, if it has one.
    pub context: Option<PathBuf>,
    /// The file a child appends proposed outputs to, if it may propose any.
    pub outputs: Option<PathBuf>,
    /// The private directory that is a child's `HOME`; kept so that its session can be resumed.
    pub home: PathBuf,
    /// The directory for files that hold secrets, if there may be any; it is removed when the run ends.
    pub private: Option<PathBuf>,
    /// What else its children may read, and execute, where their paths are restricted.
    pub readable: Vec<PathBuf>,
    /// What else its children may change, where their paths are restricted.
    pub writable: Vec<PathBuf>,
    /// The MCP servers that the run may use.
    pub mcp: Vec<McpRegistration>,
    /// The variables a child receives beside those that the provider sets itself.
    pub environment: BTreeMap<OsString, OsString>,
    /// Files of the worktree that the trigger names, relative to it; empty means all of it.
    pub files: Vec<PathBuf>,
    /// The files that version control saw move, each from where and to where, relative to the worktree.
    pub renames: Vec<(PathBuf, PathBuf)>,
    /// The groups of tools that a model is offered, where the provider offers any; `None` is every group that fits the run.
    pub tools: Option<Vec<String>>,
    /// How much the run may take.
    pub limits: Limits,
    /// What the run may do.
    pub permissions: Permissions,
    /// More arguments for the provider's program, each whole; they were checked against [`Provider::options`](crate::Provider::options).
    pub options: Vec<String>,
    /// The session to continue, if this is a follow-up.
    pub resume: Option<SessionId>,
    /// What the run may ask for.
    pub grants: Arc<dyn Grants>,
}

impl RunRequest {
    /// Makes a request for a run in `worktree` with an empty prompt, default limits and nothing granted.
    pub fn new(run_id: RunId, worktree: PathBuf) -> Self {
        Self {
            run_id,
            task: String::new(),
            prompt: Vec::new(),
            home: worktree.clone(),
            worktree,
            context: None,
            outputs: None,
            private: None,
            readable: Vec::new(),
            writable: Vec::new(),
            mcp: Vec::new(),
            environment: BTreeMap::new(),
            files: Vec::new(),
            renames: Vec::new(),
            tools: None,
            limits: Limits::default(),
            permissions: Permissions::Propose,
            options: Vec::new(),
            resume: None,
            grants: Arc::new(NoGrants),
        }
    }
}

/// How much a run may take.
///
/// Time is kept by the caller, which cancels the run; a provider passes these on to what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long the run may take.
    pub wall: Duration,
    /// How long it may stay silent; `None` means as long as it runs.
    pub idle: Option<Duration>,
    /// How many model turns it may take, where the provider counts them.
    pub max_turns: Option<u32>,
    /// How much it may cost.
    pub budget: Option<MicroUsd>,
}

impl Default for Limits {
    /// 30 minutes, 10 of them silent; no bound on turns or cost.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30 * 60),
            idle: Some(Duration::from_secs(10 * 60)),
            max_turns: None,
            budget: None,
        }
    }
}

/// What a run may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permissions {
    /// Read the worktree and the context.
    Read,
    /// Also change the worktree, and propose what people can ignore.
    Propose,
    /// Also propose changes to what exists.
    Write,
    /// Whatever the provider's program allows itself; only the host's configuration can ask for it.
    Bypass,
}

impl Permissions {
    /// Returns the word for these permissions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Propose => "propose",
            Self::Write => "write",
            Self::Bypass => "bypass",
        }
    }
}

/// An amount of money in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MicroUsd(pub u64);

impl fmt::Display for MicroUsd {
    /// Writes dollars with the digits that are needed, at least two after the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let digits = fraction.trim_end_matches('0').len().max(2);
        write!(
            f,
            "{}.{} USD",
            self.0 / 1_000_000,
            fraction.get(..digits).unwrap_or(&fraction)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_in_dollars() {
        for (micros, text) in [
            (0, "0.00 USD"),
            (1_000_000, "1.00 USD"),
            (1_250_000, "1.25 USD"),
            (7, "0.000007 USD"),
        ] {
            assert_eq!(MicroUsd(micros).to_string(), text);
        }
    }
}
