//! The seam to what starts the processes of standing daemons.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use crate::answer::SpawnOrder;
use crate::id::{BridgeHandle, DaemonName, Nonce, Project};

/// Starts, wakes and closes the processes of standing daemons.
///
/// The driver of the roster calls it after the commit of a decision, and again after a crash. A bridge may be asked for the same thing
/// twice, and [`find`](Self::find) is called before each [`spawn`](Self::spawn).
#[async_trait]
pub trait Bridge: Send + Sync {
    /// Returns its name in messages.
    fn name(&self) -> &str;

    /// Returns the place of the agents of a project. It only reads.
    ///
    /// # Errors
    /// The project has no place, or not exactly one.
    async fn destination(&self, project: &Project) -> Result<Destination, BridgeError>;

    /// Returns the agents that it has started in a project and that were not closed. It only reads.
    ///
    /// # Errors
    /// The agents could not be read.
    async fn existing(&self, project: &Project) -> Result<Vec<ExistingAgent>, BridgeError>;

    /// Starts a process that is no child of another agent, with the packet as what it reads first.
    ///
    /// # Errors
    /// Nothing was started.
    async fn spawn(&self, order: &SpawnOrder, packet: &str) -> Result<BridgeHandle, BridgeError>;

    /// Returns the agent that was started with a nonce; `None` if no such agent can be woken.
    ///
    /// # Errors
    /// The agents could not be read.
    async fn find(&self, nonce: &Nonce) -> Result<Option<BridgeHandle>, BridgeError>;

    /// Delivers one line, which wakes the agent if it sleeps.
    ///
    /// # Errors
    /// The line was not delivered.
    async fn say(&self, to: &BridgeHandle, line: &str) -> Result<(), BridgeError>;

    /// Ends the process of an agent, which has the given time to end by itself.
    ///
    /// # Errors
    /// The process may still exist.
    async fn close(
        &self,
        handle: &BridgeHandle,
        grace: Duration,
    ) -> Result<ClosedAgent, BridgeError>;
}

/// Where the agents of a project work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The directory of the project.
    pub root: PathBuf,
}

/// An agent that a bridge has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingAgent {
    /// Its name.
    pub name: DaemonName,
    /// By which the bridge knows it.
    pub handle: BridgeHandle,
    /// What its process does.
    pub activity: AgentActivity,
}

/// What the process of an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentActivity {
    /// It works.
    Working,
    /// It waits to be woken.
    Waiting,
    /// Its last process ended with its host, in the middle of its work.
    CutOff,
}

/// How a process was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedAgent {
    /// It was ended.
    Ended,
    /// It did not exist any more.
    Gone,
}

/// Why a bridge did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// A project has no place for agents.
    #[error("the project `{0}` has no place for agents")]
    NoDestination(Project),
    /// The agent cannot be woken, because it has no session.
    #[error("the agent `{0}` is gone")]
    Gone(BridgeHandle),
    /// Another line waits until the agent has read it.
    #[error("another line waits for the agent `{0}`")]
    Busy(BridgeHandle),
    /// The bridge could not do it.
    #[error("failed to {action}: {reason}")]
    Failed {
        /// What was to be done.
        action: &'static str,
        /// Why it was not.
        reason: String,
    },
}
