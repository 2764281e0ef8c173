//! Why an operation on agents and conversations failed.

use std::io;
use std::sync::Arc;

use daemon_provider::{ErrorClass, Failure};

use crate::definition::DefinitionError;
use crate::log::LogError;
use crate::name::InvalidPairPart;
use crate::skills::SkillProblem;

/// The error of an operation on agents and conversations.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] InvalidPairPart),
    /// An argument is invalid.
    #[error("{0}")]
    Argument(String),
    /// The definition of an agent is invalid.
    #[error("the definition of `{agent}`: {problem}")]
    Definition {
        /// The agent.
        agent: String,
        /// What is wrong with it.
        problem: DefinitionError,
    },
    /// A skill cannot be used.
    #[error("the skill `{skill}`: {problem}")]
    Skill {
        /// The skill.
        skill: String,
        /// What is wrong with it.
        problem: SkillProblem,
    },
    /// There is no such agent, conversation, question or skill.
    #[error("no {what} `{id}`")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// The id that was given.
        id: String,
    },
    /// The present state does not allow the operation.
    #[error("{0}")]
    Conflict(String),
    /// It is not allowed.
    #[error("{0}")]
    Forbidden(String),
    /// Too many messages wait.
    #[error("{waiting} messages wait already")]
    Busy {
        /// Their number.
        waiting: usize,
    },
    /// The log of the conversation is damaged.
    #[error("the conversation is damaged")]
    Damaged(#[source] Arc<LogError>),
    /// A file could not be read or written.
    #[error("a file of the home could not be used")]
    Storage(#[source] Arc<LogError>),
    /// The turn failed.
    #[error("{message}")]
    Failed {
        /// What failed: the provider, the budget, a limit.
        kind: daemon_provider::FailureKind,
        /// Whether another try may succeed.
        class: ErrorClass,
        /// One line for a person.
        message: String,
    },
    /// A client ended the turn.
    #[error("the turn was killed")]
    Killed,
    /// The host stops.
    #[error("the host is stopping")]
    Stopping,
    /// A defect of this program.
    #[error("the turn broke: {0}")]
    Defect(&'static str),
}

impl From<LogError> for AgentError {
    fn from(error: LogError) -> Self {
        let error = Arc::new(error);
        match &*error {
            LogError::Damaged { .. } => Self::Damaged(error),
            LogError::Io { .. } => Self::Storage(error),
        }
    }
}

impl AgentError {
    /// Makes the error for what the store of the host did not take.
    pub(crate) fn of_store(failure: Failure) -> Self {
        let source = io::Error::other(failure.message);
        let path = "state.db".into();
        LogError::Io { path, source }.into()
    }
}

impl From<Failure> for AgentError {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            kind: failure.kind,
            class: failure.class,
            message: failure.message,
        }
    }
}
