//! One step of a model: a chat goes in, a reply comes out.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::oneshot;

use super::chat::{Chat, LoopCall, NativeReply};
use super::tool_set::{ToolError, ToolOutput};
use crate::{ErrorClass, Failure, FailureKind, MicroUsd, SessionId, Usage};

/// What replies in a loop of tools: a model API, or a program that works for a whole run.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the name of the model.
    fn name(&self) -> &str;

    /// Returns the address of its API, for the ledger.
    fn endpoint(&self) -> &str;

    /// Returns the most that a call with this chat can cost.
    fn most(&self, chat: &Chat) -> MicroUsd;

    /// Returns the cost of a usage.
    fn cost(&self, usage: &Usage) -> MicroUsd;

    /// Sends the chat and returns the complete reply. Parts of it go to `heard` when they arrive; dropping the future ends
    /// everything that the call started.
    ///
    /// # Errors
    /// Fails if there is no complete reply.
    async fn reply(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError>;
}

/// A part of a reply that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyPart<'a> {
    /// The next text.
    Text(&'a str),
    /// The next thoughts, if the model shows them.
    Thinking(&'a str),
    /// A program began a tool of its own.
    ToolStart {
        /// The id of the call.
        id: &'a str,
        /// The name of the tool.
        name: &'a str,
        /// The arguments as JSON.
        args: &'a str,
    },
    /// A program's own tool ended.
    ToolEnd {
        /// The id of the call.
        id: &'a str,
        /// The name of the tool.
        name: &'a str,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A complete reply of a model.
#[derive(Clone, Debug)]
pub struct ModelReply {
    /// The text.
    pub text: String,
    /// The calls of tools.
    pub calls: Vec<LoopCall>,
    /// The tokens that the call used.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop: Stop,
    /// The reply in the form of the library that received it.
    pub native: Option<NativeReply>,
    /// The session that a later call can continue, for a program.
    pub session: Option<SessionId>,
}

/// A call of a tool by a program while it replies. The loop runs tools only after a reply, so that what opened the loop runs this one.
#[derive(Debug)]
pub struct ProgramCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// The session of the program, once it is known.
    pub session: Option<SessionId>,
    /// Where the result goes; closed once the program no longer waits for it.
    pub result: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The reply is complete, or calls tools.
    Itself,
    /// The reply reached its limit of tokens.
    TooLong,
    /// A content filter stopped it.
    Filtered,
}

/// A call to a model without a complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// Whether the call may be repeated.
    pub kind: ModelErrorKind,
    /// The failure of a run that ends with this error.
    pub failure: FailureKind,
    /// One line for a person.
    pub message: String,
    /// Whether a reply had begun, so that the call may have to be paid for.
    pub has_begun: bool,
}

/// The meaning of an error for the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The same call would fail again.
    Final,
    /// Too many calls; with the delay that the API requests, if it names one.
    RateLimited(Option<Duration>),
    /// The same call may succeed.
    Transient,
}

impl ModelError {
    /// Makes the error of a provider before its reply began.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            failure: FailureKind::Provider,
            message: message.into(),
            has_begun: false,
        }
    }

    /// Returns the failure of a run that ends with this error.
    pub fn into_failure(self) -> Failure {
        Failure {
            kind: self.failure,
            class: match self.kind {
                ModelErrorKind::Final => ErrorClass::Final,
                ModelErrorKind::RateLimited(_) | ModelErrorKind::Transient => ErrorClass::Retryable,
            },
            message: self.message,
        }
    }
}

/// Timeouts and retries of calls to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The longest time without data from the API, for connecting, for the headers and between two chunks.
    pub read_timeout: Duration,
    /// The delay before the first retry. It doubles with each retry, with random jitter.
    pub first_delay: Duration,
    /// The most retries after transient errors of one model call.
    pub retries: u32,
    /// The longest total time that a run waits because of rate limits.
    pub rate_limit_wait: Duration,
}

impl Default for RetryPolicy {
    /// A timeout of 60 seconds, a first delay of one second, 3 retries, and 10 minutes for rate limits.
    fn default() -> Self {
        Self {
            read_timeout: Duration::from_secs(60),
            first_delay: Duration::from_secs(1),
            retries: 3,
            rate_limit_wait: Duration::from_secs(600),
        }
    }
}

/// Returns the delay before the next try, after `n_tries` tries: exponential, with jitter between half and the whole.
pub(super) fn backoff(first: Duration, n_tries: u32) -> Duration {
    let longest = first.saturating_mul(1 << n_tries.min(6));
    let mut byte = [0_u8; 1];
    // Jitter is only useful, not required: without random bytes the full delay is used.
    let spread = getrandom::fill(&mut byte).map_or(255, |()| u32::from(byte[0]));
    longest / 2 + longest / 2 * spread / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_spread() {
        let first = Duration::from_secs(1);
        for (n_tries, longest) in [(0, 1), (1, 2), (2, 4), (40, 64)] {
            let wait = backoff(first, n_tries);
            let longest = Duration::from_secs(longest);
            assert!(
                wait >= longest / 2 && wait <= longest,
                "{n_tries}: {wait:?}"
            );
        }
    }
}
