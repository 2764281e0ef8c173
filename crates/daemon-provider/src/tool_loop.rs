//! The tool loop: calls a model, runs the tools of the reply and sends their results, until a reply calls no tool.
//!
//! Runs of model APIs and turns of conversations use this one loop. They differ in the [`Observer`], which records what happens
//! before the loop continues.

mod chat;
mod model;
mod tool_set;

pub use chat::{Chat, ChatMessage, LoopCall, LoopCallResult, NativeReply};
pub use model::{
    Model, ModelError, ModelErrorKind, ModelReply, ProgramCall, ReplyPart, RetryPolicy, Stop,
};
pub use tool_set::{
    ToolError, ToolOutput, ToolSet, ToolSetError, ToolSource, ToolSpec, schema_validator,
};

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::{Failure, FailureKind, GrantError, Grants, Limits, MicroUsd, Reservation, Usage};
use model::backoff;

/// The most turns of a loop without a limit of its own.
const USUAL_TURNS: u32 = 100;

/// What records a loop. Each method returns after the record is as durable as the observer promises; an error ends the loop.
#[async_trait]
pub trait Observer: Send {
    /// The model is about to be called; turns count from 1.
    async fn turn(&mut self, turn: u32) -> Result<(), Failure>;

    /// A part of a reply arrived. A call that fails and is repeated begins with its first part again.
    fn heard(&mut self, _part: ReplyPart<'_>) {}

    /// The reply is complete; its tools have not started.
    async fn replied(&mut self, reply: &ModelReply, cost: MicroUsd) -> Result<(), Failure>;

    /// A tool is about to start.
    async fn tool_started(&mut self, call: &LoopCall) -> Result<(), Failure>;

    /// A tool ended.
    async fn tool_ended(&mut self, result: &LoopCallResult, took: Duration) -> Result<(), Failure>;

    /// All tools of a reply have ended.
    async fn tools_ended(&mut self, _results: &[LoopCallResult]) -> Result<(), Failure> {
        Ok(())
    }

    /// The loop waits before it repeats a call, or reached a limit.
    async fn limited(&mut self, name: &str, detail: &str);

    /// The reply called no tool; returns further messages of the user, and none ends the loop.
    async fn more(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A signal to stop a loop.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Makes the signal of a sender that sends `true` to stop.
    pub fn new(stopped: watch::Receiver<bool>) -> Self {
        Self(stopped)
    }

    /// Waits until the loop has to stop; never returns if the sender was dropped.
    pub async fn wait(&mut self) {
        // A dropped sender means a dropped run, which drops this future too. Returning would look like a stop.
        if self.0.wait_for(|is_stopped| *is_stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Reports whether the loop has to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }
}

/// Why a loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopEnd {
    /// The last reply called no tool.
    Done,
    /// It failed.
    Failed(Failure),
    /// It was stopped.
    Stopped,
}

impl From<Failure> for LoopEnd {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// One loop over a model and tools.
pub struct ToolLoop {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The tools.
    pub tool_set: Arc<ToolSet>,
    /// How failed calls are repeated.
    pub retry: RetryPolicy,
    /// The limits on turns and cost.
    pub limits: Limits,
    /// What the cost is reserved from, if there is a limit on it.
    pub grants: Arc<dyn Grants>,
    /// Stops the loop.
    pub stopped: StopSignal,
}

impl std::fmt::Debug for ToolLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolLoop")
            .field("model", &self.model.name())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl ToolLoop {
    /// Runs the loop to its end, from the last message of the chat on. The text of the last reply that has one replaces
    /// `last_text`.
    pub async fn run(
        &mut self,
        chat: &mut Chat,
        observer: &mut dyn Observer,
        last_text: &mut String,
    ) -> LoopEnd {
        match self.turns(chat, observer, last_text).await {
            Ok(()) => LoopEnd::Done,
            Err(end) => end,
        }
    }

    async fn turns(
        &mut self,
        chat: &mut Chat,
        observer: &mut dyn Observer,
        last_text: &mut String,
    ) -> Result<(), LoopEnd> {
        let most = self.limits.max_turns.unwrap_or(USUAL_TURNS).max(1);
        for turn in 1..=most {
            observer.turn(turn).await?;
            let reply = self.step(chat, observer).await?;
            observer
                .replied(&reply, self.model.cost(&reply.usage))
                .await?;
            let has_text = !reply.text.trim().is_empty();
            if has_text {
                last_text.clone_from(&reply.text);
            }
            let calls = reply.calls.clone();
            chat.push(ChatMessage::Assistant {
                text: reply.text,
                calls: reply.calls,
                native: reply.native,
            });
            stopped_by_itself(reply.stop)?;
            if calls.is_empty() {
                let waiting = observer.more().await;
                if waiting.is_empty() {
                    return final_end(has_text);
                }
                for message in waiting {
                    chat.push(ChatMessage::User(message));
                }
            // Tools of the last turn are not run: no further call would read their results.
            } else if turn < most {
                for result in self.run_tools(calls, observer).await? {
                    chat.push(ChatMessage::Tool(result));
                }
            }
        }
        let message = format!("the run reached its {most} turns and was not done");
        observer.limited("max_turns", &message).await;
        Err(failure(FailureKind::Limit, &message).into())
    }

    /// Returns the next reply, with retries.
    async fn step(
        &mut self,
        chat: &Chat,
        observer: &mut dyn Observer,
    ) -> Result<ModelReply, LoopEnd> {
        let mut n_broken = 0;
        let mut n_limited = 0;
        loop {
            let reservation = self.reserve(chat).await?;
            let mut heard = |part: ReplyPart<'_>| observer.heard(part);
            let called = tokio::select! {
                biased;
                () = self.stopped.wait() => None,
                called = self.model.reply(chat, &mut heard) => Some(called),
            };
            let used = match &called {
                Some(Ok(step)) => step.usage,
                // The input is billed even if the reply breaks off, and possibly if the call was dropped. A quarter of the bytes
                // is the usual number of tokens.
                Some(Err(fault)) if !fault.has_begun => Usage::default(),
                Some(Err(_)) | None => Usage {
                    input: (chat.bytes() as u64).div_ceil(4),
                    ..Usage::default()
                },
            };
            self.settle(reservation, &used).await?;
            match called {
                None => return Err(LoopEnd::Stopped),
                Some(Ok(step)) => return Ok(step),
                Some(Err(fault)) => {
                    self.wait_out(fault, observer, (&mut n_broken, &mut n_limited))
                        .await?;
                }
            }
        }
    }

    /// Waits before a retry; fails if the error is final or the retries are exhausted.
    async fn wait_out(
        &mut self,
        fault: ModelError,
        observer: &mut dyn Observer,
        (n_broken, n_limited): (&mut u32, &mut u32),
    ) -> Result<(), LoopEnd> {
        let first = self.retry.first_delay;
        let wait = match fault.kind {
            ModelErrorKind::Final => return Err(fault.into_failure().into()),
            ModelErrorKind::Transient if *n_broken >= self.retry.retries => {
                return Err(fault.into_failure().into());
            }
            ModelErrorKind::Transient => {
                *n_broken += 1;
                backoff(first, *n_broken - 1)
            }
            ModelErrorKind::RateLimited(said) => {
                *n_limited += 1;
                // At least the backoff: an API that always sends `Retry-After: 0` would be called without pause.
                let wait = said.unwrap_or_default().max(backoff(first, *n_limited - 1));
                match self.retry.rate_limit_wait.checked_sub(wait) {
                    Some(left) => self.retry.rate_limit_wait = left,
                    None => return Err(fault.into_failure().into()),
                }
                wait
            }
        };
        let detail = format!("{}; waiting {:.1} s", fault.message, wait.as_secs_f64());
        let name = match fault.kind {
            ModelErrorKind::RateLimited(_) => "rate_limited",
            ModelErrorKind::Transient | ModelErrorKind::Final => "retry",
        };
        observer.limited(name, &detail).await;
        tokio::select! {
            biased;
            () = self.stopped.wait() => Err(LoopEnd::Stopped),
            () = sleep(wait) => Ok(()),
        }
    }

    /// Reserves the highest possible cost of a call if there is a limit on the cost.
    async fn reserve(&self, chat: &Chat) -> Result<Option<Reservation>, LoopEnd> {
        if self.limits.budget.is_none() {
            return Ok(None);
        }
        let most = self.model.most(chat);
        self.grants.reserve(most).await.map(Some).map_err(refused)
    }

    async fn settle(&self, reservation: Option<Reservation>, used: &Usage) -> Result<(), LoopEnd> {
        let Some(reservation) = reservation else {
            return Ok(());
        };
        let settled = self.grants.settle(reservation, self.model.cost(used)).await;
        settled.map_err(refused)
    }

    /// Runs the tools of one reply in order.
    async fn run_tools(
        &mut self,
        calls: Vec<LoopCall>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<LoopCallResult>, LoopEnd> {
        let mut results = Vec::new();
        for call in calls {
            if self.stopped.is_stopped() {
                return Err(LoopEnd::Stopped);
            }
            observer.tool_started(&call).await?;
            let begun = Instant::now();
            let answer = tokio::select! {
                biased;
                () = self.stopped.wait() => None,
                answer = self.tool_set.call(&call) => Some(answer),
            };
            let (is_error, text) = match &answer {
                Some(Ok(text)) => (false, text.clone()),
                Some(Err(error)) => (true, format!("error: {error}")),
                None => (true, "error: the run is being stopped".to_owned()),
            };
            let result = LoopCallResult {
                call,
                text,
                is_error,
            };
            observer.tool_ended(&result, begun.elapsed()).await?;
            // The end of the tool is recorded before the loop stops, so that every start has an end.
            if answer.is_none() {
                return Err(LoopEnd::Stopped);
            }
            results.push(result);
        }
        observer.tools_ended(&results).await?;
        Ok(results)
    }
}

/// Fails for a reply that something else than the model ended.
fn stopped_by_itself(stop: Stop) -> Result<(), LoopEnd> {
    Err(match stop {
        Stop::Itself => return Ok(()),
        Stop::TooLong => failure(FailureKind::Limit, "the reply reached its limit of tokens"),
        Stop::Filtered => failure(
            FailureKind::Provider,
            "a filter of the API stopped the reply",
        ),
    }
    .into())
}

/// Returns the end of a loop whose last reply calls no tool.
fn final_end(has_text: bool) -> Result<(), LoopEnd> {
    if has_text {
        return Ok(());
    }
    Err(failure(FailureKind::Protocol, "the model ended without any text").into())
}

fn failure(kind: FailureKind, message: &str) -> Failure {
    Failure::new(kind, message)
}

/// Returns the end of a loop whose reservation was refused.
fn refused(error: GrantError) -> LoopEnd {
    let kind = match error {
        GrantError::OverBudget { .. } => FailureKind::Budget,
        _ => FailureKind::Provider,
    };
    let class = match error {
        GrantError::Unavailable { .. } => crate::ErrorClass::Retryable,
        _ => crate::ErrorClass::Final,
    };
    LoopEnd::Failed(Failure {
        kind,
        class,
        message: error.to_string(),
    })
}
