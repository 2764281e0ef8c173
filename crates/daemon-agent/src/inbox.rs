//! The messages of one conversation: which runs, which wait, which are the same. No clock, no files.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::compaction::Compacted;
use crate::definition::ToolChoice;
use crate::error::AgentError;
use crate::line::TurnChain;
use crate::live::LiveTurn;

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedMessage {
    pub(crate) content: String,
    pub(crate) via: String,
    pub(crate) key: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) tool_choice: Option<ToolChoice>,
    pub(crate) chain: TurnChain,
}

/// Where the result of a summary goes.
pub(crate) type CompactEnd = OnceCell<Result<Compacted, AgentError>>;

/// What a conversation does next.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Answers a message.
    Message(QueuedMessage, Arc<LiveTurn>),
    /// Continues the turn whose question was answered.
    Resume(Arc<LiveTurn>),
    /// Replaces earlier messages by a summary.
    Compact(Arc<LiveTurn>, Arc<CompactEnd>),
}

impl Work {
    /// Returns what follows the work.
    pub(crate) fn live(&self) -> &Arc<LiveTurn> {
        match self {
            Self::Message(_, live) | Self::Resume(live) | Self::Compact(live, _) => live,
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Self::Message(message, _) => message.key.as_deref(),
            Self::Resume(_) | Self::Compact(..) => None,
        }
    }
}

/// The result of offering work.
#[derive(Clone, Debug)]
pub(crate) enum Admitted {
    /// The conversation was idle: its driver has to be started.
    Start,
    /// It runs when the work before it has ended.
    Waits,
    /// A message with the same key waits or runs.
    Same(Arc<LiveTurn>),
    /// Too many messages wait.
    Busy(usize),
}

/// The state of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Whether a driver takes the work.
    is_driven: bool,
    running: Option<Work>,
    waiting: VecDeque<Work>,
}

impl Inbox {
    /// Offers work; `most` may wait.
    pub(crate) fn admit(&mut self, work: Work, most: usize) -> Admitted {
        let key = work.key();
        if let Some(same) = self.all().find(|known| key.is_some() && known.key() == key) {
            return Admitted::Same(Arc::clone(same.live()));
        }
        if self.is_driven && self.waiting.len() >= most {
            return Admitted::Busy(self.waiting.len());
        }
        self.waiting.push_back(work);
        self.start()
    }

    /// Puts the continuation of a turn before all that waits.
    pub(crate) fn resume(&mut self, live: Arc<LiveTurn>) -> Admitted {
        self.waiting.push_front(Work::Resume(live));
        self.start()
    }

    fn start(&mut self) -> Admitted {
        if std::mem::replace(&mut self.is_driven, true) {
            Admitted::Waits
        } else {
            Admitted::Start
        }
    }

    /// Returns the next work for the driver; `None` ends the driver.
    pub(crate) fn take(&mut self) -> Option<Work> {
        let next = self.waiting.pop_front();
        self.is_driven = next.is_some();
        self.running.clone_from(&next);
        next
    }

    /// Lets a turn that an earlier host left go before the running work.
    pub(crate) fn precede(&mut self, live: &Arc<LiveTurn>) {
        let resumed = self.running.replace(Work::Resume(Arc::clone(live)));
        self.waiting.extend(resumed);
        self.waiting.rotate_right(1);
    }

    /// Returns the work that runs and that waits.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Work> {
        self.running.iter().chain(&self.waiting)
    }

    /// Reports whether anything runs or waits.
    pub(crate) fn is_active(&self) -> bool {
        self.is_driven
    }

    /// Ends the work after its driver broke, and returns all of it.
    pub(crate) fn broke(&mut self) -> Vec<Work> {
        self.is_driven = false;
        let running = self.running.take();
        running.into_iter().chain(self.waiting.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests;
