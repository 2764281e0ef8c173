//! What conversations use of the host around them.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_provider::redact::Redactor;
use daemon_provider::{Failure, Grants, Limits, OpenedLoop};
use jiff::Timestamp;

use crate::bus::BusEvent;
use crate::cron::Cron;
use crate::definition::AgentDefinition;
use crate::hooks::AgentHooks;
use crate::name::Pair;

/// The host of conversations.
#[async_trait]
pub trait AgentHost: Send + Sync {
    /// Returns the time of the wall clock.
    fn now(&self) -> Timestamp;

    /// Returns the bounds in force.
    fn bounds(&self) -> ConversationBounds;

    /// Returns the hooks of turns that begin.
    fn hooks(&self) -> AgentHooks;

    /// Stores an event, and returns its id once it is durable.
    ///
    /// # Errors
    /// If it could not be stored.
    async fn store_event(&self, event: BusEvent) -> Result<String, Failure>;

    /// Gives a cron its schedule, or takes it away, and returns once that is durable.
    ///
    /// # Errors
    /// If it could not be stored.
    async fn schedule_cron(&self, id: u64, cron: Option<&Cron>) -> Result<(), Failure>;

    /// Opens the model and the tools of a turn, in the place of the conversation.
    ///
    /// # Errors
    /// The turn may not or cannot begin. Nothing runs then.
    async fn open_turn(&self, turn: TurnRequest) -> Result<OpenedTurn, Failure>;

    /// Removes what belongs to a conversation that was deleted.
    async fn forget(&self, pair: &Pair);
}

/// Where a home keeps what belongs to conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationPaths {
    /// The directory of session logs.
    pub sessions: PathBuf,
    /// The file of subscriptions.
    pub subscriptions: PathBuf,
    /// The file of crons.
    pub crons: PathBuf,
    /// The notice of reminders.
    pub reminders: PathBuf,
}

/// The bounds of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationBounds {
    /// How many messages may wait in one conversation.
    pub queue: usize,
    /// How long a question waits for its answer.
    pub ask: Duration,
    /// Whether a turn ends when its client disconnects.
    pub on_disconnect: OnDisconnect,
    /// How many events may lead to one another.
    pub hops: u32,
    /// How many messages of one event source may wait.
    pub events: usize,
    /// How many entries of a memory are recalled by a call that names no number.
    pub recall_limit: usize,
}

impl Default for ConversationBounds {
    fn default() -> Self {
        Self {
            queue: 16,
            ask: Duration::from_secs(3_600),
            on_disconnect: OnDisconnect::Continue,
            hops: 8,
            events: 256,
            recall_limit: 5,
        }
    }
}

/// Whether a turn ends when its client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    /// It continues.
    Continue,
    /// It ends, unless something else follows it.
    Cancel,
}

/// The turn that is to begin.
#[derive(Clone, Debug)]
pub struct TurnRequest {
    /// The agent.
    pub agent: Arc<AgentDefinition>,
    /// The conversation.
    pub pair: Pair,
    /// The number of the turn.
    pub turn: u64,
    /// The working directory that the first turn named; `None` for a place of the conversation's own.
    pub cwd: Option<PathBuf>,
    /// The session that a program continues.
    pub session: Option<String>,
    /// How long a question waits for its answer.
    pub ask: Duration,
}

/// What a turn runs with.
pub struct OpenedTurn {
    /// The model and the tools.
    pub tools: OpenedLoop,
    /// The limits on time, cost and turns of the model.
    pub limits: Limits,
    /// What the cost is reserved from.
    pub grants: Arc<dyn Grants>,
    /// Removes the host's secrets from what is stored and shown.
    pub redactor: Redactor,
    /// The directory that it works in.
    pub directory: PathBuf,
    /// What has to live as long as the turn.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for OpenedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenedTurn")
            .field("tools", &self.tools)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
