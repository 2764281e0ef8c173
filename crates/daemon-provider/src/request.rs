//! The request that starts a run.

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
    /// The run's id. It marks every process of the run in its environment.
    pub run_id: RunId,
    /// The task of an emanation or the trigger of an activation, in one paragraph.
    pub task: String,
    /// The exact bytes that the provider passes to the program or model.
    pub prompt: Vec<u8>,
    /// The working directory.
    pub worktree: PathBuf,
    /// The layers of the working directory, if isolated children of the run see an overlay there and no other process sees anything;
    /// only for a provider that [works in overlays](crate::Provider::works_in_overlays).
    pub overlay: Option<Overlay>,
    /// The directory that contains the working directory and that only this run fills; `None` if the working directory is that
    /// of an activation or belongs to the caller.
    pub own_tree: Option<PathBuf>,
    /// The directory with the context of an activation; `None` for an emanation.
    pub context: Option<PathBuf>,
    /// The file to which a child appends proposed outputs; `None` if it may propose none.
    pub outputs: Option<PathBuf>,
    /// The child's `HOME`. It is kept after the run, so that the session can be resumed.
    pub home: PathBuf,
    /// The directory for files with secrets, removed when the run ends; `None` if such files are not allowed.
    pub private: Option<PathBuf>,
    /// Further paths that a sandboxed child may read and execute.
    pub readable: Vec<PathBuf>,
    /// Further paths that a sandboxed child may change.
    pub writable: Vec<PathBuf>,
    /// The MCP servers of the run: those that its caller registered, or, for a provider whose program uses them
    /// ([`McpUse`](crate::McpUse)), the host's own, which contain no secret but a token of the run.
    pub mcp: Vec<McpRegistration>,
    /// How long the program waits for the result of a tool of these servers; `None` is the program's usual time.
    pub mcp_wait: Option<Duration>,
    /// Variables of the child's environment, which starts empty. The provider adds its own.
    pub environment: BTreeMap<OsString, OsString>,
    /// Files that the trigger names, relative to the worktree; empty means the whole worktree.
    pub files: Vec<PathBuf>,
    /// Files that version control saw move, as old and new path relative to the worktree.
    pub renames: Vec<(PathBuf, PathBuf)>,
    /// The tool groups that a model is offered; `None` is every group that fits the run.
    pub tools: Option<Vec<String>>,
    /// The limits of the run.
    pub limits: Limits,
    /// The permissions of the run.
    pub permissions: Permissions,
    /// What an agent that checks permissions itself may do in addition, in its own words, such as `mcp__daemon` or `Bash(make:*)`.
    pub allowed: Vec<String>,
    /// Extra arguments for the provider's program, checked against [`Provider::options`](crate::Provider::options).
    pub options: Vec<String>,
    /// The session to continue; `None` unless this is a follow-up.
    pub resume: Option<SessionId>,
    /// The operations that the host offers to the run.
    pub grants: Arc<dyn Grants>,
}

impl RunRequest {
    /// Makes a request for a run in `worktree` with an empty prompt, default limits and no grants.
    pub fn new(run_id: RunId, worktree: PathBuf) -> Self {
        Self {
            run_id,
            task: String::new(),
            prompt: Vec::new(),
            home: worktree.clone(),
            worktree,
            overlay: None,
            own_tree: None,
            context: None,
            outputs: None,
            private: None,
            readable: Vec::new(),
            writable: Vec::new(),
            mcp: Vec::new(),
            mcp_wait: None,
            environment: BTreeMap::new(),
            files: Vec::new(),
            renames: Vec::new(),
            tools: None,
            limits: Limits::default(),
            permissions: Permissions::Propose,
            allowed: Vec::new(),
            options: Vec::new(),
            resume: None,
            grants: Arc::new(NoGrants),
        }
    }
}

/// The directories of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The layers that do not change, the topmost first.
    pub lower: Vec<PathBuf>,
    /// The layer with the changes of the run.
    pub upper: PathBuf,
    /// An empty directory for the kernel.
    pub work: PathBuf,
}

/// The limits of a run.
///
/// The caller enforces the time limits by cancelling the run. A provider passes limits on to programs that accept them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The limit on the duration.
    pub wall: Duration,
    /// The limit on the time without an event; `None` is unlimited.
    pub idle: Option<Duration>,
    /// The limit on model turns; `None` is unlimited. A provider that does not count turns ignores it.
    pub max_turns: Option<u32>,
    /// The limit on the cost; `None` is unlimited.
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

/// The permissions of a run. Each level includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permissions {
    /// Read the worktree and the context.
    Read,
    /// Also change the worktree, and propose outputs that people can ignore.
    Propose,
    /// Also propose changes to existing objects of a service.
    Write,
    /// Everything that the provider's program permits. Only the host's configuration can set it.
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

impl MicroUsd {
    /// Returns the amount in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run costs far less than 2^53 micro-dollars"
    )]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1_000_000.0
    }
}

impl fmt::Display for MicroUsd {
    /// Formats dollars with as many digits as needed, at least two after the point.
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
