//! The tool loop: calls the model, runs the tools of the reply and sends their results, until a reply calls no tool.

use std::convert::Infallible;
use std::sync::Arc;

use daemon_egress::last_use;
use daemon_provider::{
    Failure, FailureKind, GrantError, Grants, Limits, NetworkUse, Outcome, Reservation, RunEvent,
    Speaker, ToolStatus, Usage,
};
use genai::chat::ToolCall;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::config::{Price, RetryPolicy};
use crate::model::{Conversation, Model, ModelReply, Stop, backoff};
use crate::model_error::{ModelError, ModelErrorKind};
use crate::run::LoopChannels;
use crate::tool_set::ToolSet;

/// The most turns of a run without a limit of its own.
const USUAL_TURNS: u32 = 100;

/// The state of one run's loop.
pub(crate) struct Turns {
    pub(crate) model: Arc<Model>,
    pub(crate) model_name: String,
    pub(crate) price: Price,
    pub(crate) max_tokens: u32,
    pub(crate) retry: RetryPolicy,
    pub(crate) limits: Limits,
    pub(crate) grants: Arc<dyn Grants>,
    pub(crate) tool_set: ToolSet,
    /// What the programs of the tools use of the network.
    pub(crate) network: Option<mpsc::Receiver<NetworkUse>>,
    pub(crate) task: String,
    pub(crate) channels: LoopChannels,
}

/// Why the loop ends.
enum End {
    /// The model finished the task.
    Done,
    /// The run failed.
    Failed(Failure),
    /// The run was cancelled; [`LlmRun`](crate::run::LlmRun) knows the reason.
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

async fn emit(channels: &LoopChannels, event: RunEvent) {
    // The receiver is dropped only together with the run, which owns this future: the error cannot be observed.
    channels.events.send(event).await.unwrap_or_default();
}

/// Emits what programs use of the network.
async fn forward(
    network: &mut Option<mpsc::Receiver<NetworkUse>>,
    events: &mpsc::Sender<RunEvent>,
) -> Infallible {
    while let Some(used) = async { network.as_mut()?.recv().await }.await {
        // The receiver is dropped only together with the run, which owns this future.
        events
            .send(RunEvent::Network(used))
            .await
            .unwrap_or_default();
    }
    std::future::pending().await
}

impl Turns {
    /// Runs the loop to its end and emits the terminal event.
    pub(crate) async fn play(mut self) {
        let mut last_text = String::new();
        let mut network = self.network.take();
        let events = self.channels.events.clone();
        let end = tokio::select! {
            end = self.turns(&mut last_text) => end,
            never = forward(&mut network, &events) => match never {},
        };
        // Closed before the tools: while servers and scripts end, a message would be accepted and never answered.
        self.channels.follow_ups.close();
        self.tool_set.close().await;
        let Self {
            channels, tool_set, ..
        } = self;
        // Its programs share what serves their network, and the uses end with it.
        drop(tool_set);
        if let Some(mut uses) = network {
            while let Some(used) = last_use(&mut uses).await {
                emit(&channels, RunEvent::Network(used)).await;
            }
        }
        let outcome = match end {
            End::Done => Outcome::Done,
            End::Failed(failure) => Outcome::Failed(failure),
            // The reason is a placeholder that the run replaces.
            End::Stopped => Outcome::Stopped(daemon_provider::StopReason::Reclaim),
        };
        emit(&channels, RunEvent::terminal(outcome, last_text)).await;
    }

    /// Emits an event.
    async fn emit(&self, event: RunEvent) {
        emit(&self.channels, event).await;
    }

    async fn message(&self, speaker: Speaker, text: &str) {
        self.emit(RunEvent::Message {
            speaker,
            text: text.to_owned(),
        })
        .await;
    }

    async fn turns(&mut self, last_text: &mut String) -> End {
        let task = std::mem::take(&mut self.task);
        let mut conversation = Conversation::new(&task, self.tool_set.specs());
        self.message(Speaker::Task, &task).await;
        let most = self.limits.max_turns.unwrap_or(USUAL_TURNS).max(1);
        for turn in 1..=most {
            self.emit(RunEvent::Turn(turn)).await;
            let step = match self.step(&conversation).await {
                Ok(step) => step,
                Err(end) => return end,
            };
            self.record_reply(&step).await;
            if !step.text.trim().is_empty() {
                last_text.clone_from(&step.text);
            }
            conversation.push_reply(&step);
            match step.stop {
                Stop::TooLong => return limit("the reply reached its limit of tokens").into(),
                Stop::Filtered => {
                    return failure(
                        FailureKind::Provider,
                        "a filter of the API stopped the reply",
                    )
                    .into();
                }
                Stop::Itself => {}
            }
            if step.calls.is_empty() {
                let waiting = self.channels.follow_ups.take_or_close();
                if waiting.is_empty() {
                    return final_end(&step);
                }
                for message in waiting {
                    self.message(Speaker::Followup, &message).await;
                    conversation.push_user(&message);
                }
            // Tools of the last turn are not run: no further call would read their results.
            } else if turn < most {
                match self.run_tools(step.calls).await {
                    Some(results) => conversation.push_tool_results(results),
                    None => return End::Stopped,
                }
            }
        }
        let message = format!("the run reached its {most} turns and was not done");
        self.emit(RunEvent::Limit {
            name: "max_turns".to_owned(),
            detail: message.clone(),
        })
        .await;
        limit(&message).into()
    }

    /// Records a reply.
    async fn record_reply(&self, step: &ModelReply) {
        let cost = self.price.of(&step.usage);
        self.emit(RunEvent::ModelCall {
            usage: Usage {
                cost: Some(cost),
                ..step.usage
            },
            model: self.model_name.clone(),
            endpoint: self.model.endpoint().to_owned(),
        })
        .await;
        self.message(Speaker::Assistant, &shown(step)).await;
        if !step.text.trim().is_empty() {
            self.emit(RunEvent::output(step.text.clone())).await;
        }
    }

    /// Returns the next reply, with retries.
    async fn step(&mut self, conversation: &Conversation) -> Result<ModelReply, End> {
        let mut n_broken = 0;
        let mut n_limited = 0;
        loop {
            let reservation = self.reserve(conversation).await?;
            let mut stopped = self.channels.stopped.clone();
            let called = tokio::select! {
                biased;
                () = stopped.wait() => None,
                called = self.model.call(conversation) => Some(called),
            };
            let used = match &called {
                Some(Ok(step)) => step.usage,
                // The input is billed even if the reply breaks off, and possibly if the call was dropped. A quarter of the bytes
                // is the usual number of tokens.
                Some(Err(fault)) if !fault.has_begun => Usage::default(),
                Some(Err(_)) | None => Usage {
                    input: (conversation.bytes() as u64).div_ceil(4),
                    ..Usage::default()
                },
            };
            self.settle(reservation, &used).await?;
            match called {
                None => return Err(End::Stopped),
                Some(Ok(step)) => return Ok(step),
                Some(Err(fault)) => self.wait_out(fault, &mut n_broken, &mut n_limited).await?,
            }
        }
    }

    /// Waits before a retry; fails if the error is final or the retries are exhausted.
    async fn wait_out(
        &mut self,
        fault: ModelError,
        n_broken: &mut u32,
        n_limited: &mut u32,
    ) -> Result<(), End> {
        let first = self.retry.first_delay;
        let wait = match fault.kind {
            ModelErrorKind::Final => return Err(End::Failed(fault.failure())),
            ModelErrorKind::Transient if *n_broken >= self.retry.retries => {
                return Err(End::Failed(fault.failure()));
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
                    None => return Err(End::Failed(fault.failure())),
                }
                wait
            }
        };
        let detail = format!("{}; waiting {:.1} s", fault.message, wait.as_secs_f64());
        let name = match fault.kind {
            ModelErrorKind::RateLimited(_) => "rate_limited",
            ModelErrorKind::Transient | ModelErrorKind::Final => "retry",
        };
        self.emit(RunEvent::Limit {
            name: name.to_owned(),
            detail,
        })
        .await;
        tokio::select! {
            biased;
            () = self.channels.stopped.wait() => Err(End::Stopped),
            () = sleep(wait) => Ok(()),
        }
    }

    /// Reserves the highest possible cost of a call if the run has a budget.
    async fn reserve(&self, conversation: &Conversation) -> Result<Option<Reservation>, End> {
        if self.limits.budget.is_none() {
            return Ok(None);
        }
        let most = self.price.most(conversation.bytes(), self.max_tokens);
        self.grants.reserve(most).await.map(Some).map_err(refused)
    }

    async fn settle(&self, reservation: Option<Reservation>, used: &Usage) -> Result<(), End> {
        let Some(reservation) = reservation else {
            return Ok(());
        };
        let settled = self.grants.settle(reservation, self.price.of(used)).await;
        settled.map_err(refused)
    }

    /// Runs the tools of one reply in order; returns `None` if the run has to stop.
    async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Option<Vec<(ToolCall, String)>> {
        let mut results = Vec::new();
        let mut shown = Vec::new();
        for call in calls {
            if self.channels.stopped.is_stopped() {
                return None;
            }
            let name = call.fn_name.clone();
            self.emit(RunEvent::ToolStart {
                id: call.call_id.clone(),
                name: name.clone(),
                args: call.fn_arguments.to_string(),
            })
            .await;
            let mut stopped = self.channels.stopped.clone();
            let answer = tokio::select! {
                biased;
                () = stopped.wait() => None,
                answer = self.tool_set.call(&name, call.fn_arguments.clone()) => Some(answer),
            };
            let (status, word, text) = match &answer {
                Some(Ok(text)) => (ToolStatus::Ok, "ok", text.clone()),
                Some(Err(error)) => (ToolStatus::Error, "error", format!("error: {error}")),
                None => (
                    ToolStatus::Error,
                    "error",
                    "error: the run is being stopped".to_owned(),
                ),
            };
            shown.push(format!("{name}: {word}\n{text}"));
            self.emit(RunEvent::ToolEnd {
                id: call.call_id.clone(),
                name,
                status,
            })
            .await;
            // The end of the tool is reported before the loop stops, so that every start in the log has an end.
            answer.as_ref()?;
            results.push((call, text));
        }
        self.message(Speaker::ToolResults, &shown.join("\n\n"))
            .await;
        Some(results)
    }
}

/// Returns the end of a run whose last reply calls no tool.
fn final_end(step: &ModelReply) -> End {
    if step.text.trim().is_empty() {
        return failure(FailureKind::Protocol, "the model ended without any text").into();
    }
    End::Done
}

/// Formats a reply with its tool calls for the run folder.
fn shown(step: &ModelReply) -> String {
    let calls = step.calls.iter().map(|call| {
        let arguments: &Value = &call.fn_arguments;
        format!("{}({arguments})", call.fn_name)
    });
    let said = (!step.text.is_empty()).then(|| step.text.clone());
    said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

fn failure(kind: FailureKind, message: &str) -> Failure {
    Failure::new(kind, message)
}

fn limit(message: &str) -> Failure {
    failure(FailureKind::Limit, message)
}

/// Returns the end of a run whose reservation was refused.
fn refused(error: GrantError) -> End {
    let kind = match error {
        GrantError::OverBudget { .. } => FailureKind::Budget,
        _ => FailureKind::Provider,
    };
    let class = match error {
        GrantError::Unavailable { .. } => daemon_provider::ErrorClass::Retryable,
        _ => daemon_provider::ErrorClass::Final,
    };
    End::Failed(Failure {
        kind,
        class,
        message: error.to_string(),
    })
}
