//! The loop: ask the model, run the tools it uses, send their results, until a reply uses none.

use std::sync::Arc;

use daemon_provider::{
    Failure, FailureKind, GrantError, Grants, Limits, Outcome, Reservation, Role, RunEvent,
    ToolStatus, Usage,
};
use genai::chat::ToolCall;
use serde_json::Value;
use tokio::time::sleep;

use crate::config::{Patience, Price};
use crate::fault::{Fault, FaultKind};
use crate::model::{Conversation, Model, Step, Stop, backoff};
use crate::run::Wires;
use crate::toolbox::Toolbox;

/// How many turns a run takes that nobody gave a number.
const USUAL_TURNS: u32 = 100;

/// What the turns of one run need.
pub(crate) struct Turns {
    pub(crate) model: Arc<Model>,
    pub(crate) model_name: String,
    pub(crate) price: Price,
    pub(crate) max_tokens: u32,
    pub(crate) patience: Patience,
    pub(crate) limits: Limits,
    pub(crate) grants: Arc<dyn Grants>,
    pub(crate) toolbox: Toolbox,
    pub(crate) task: String,
    pub(crate) wires: Wires,
}

/// Why no further turn is taken.
enum End {
    /// The model is done.
    Done,
    /// Something went wrong.
    Failed(Failure),
    /// The run is to stop, for a reason that its holder knows.
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Turns {
    /// Plays the run to its end, which is the last event that it tells.
    pub(crate) async fn play(mut self) {
        let mut last_text = String::new();
        let end = self.turns(&mut last_text).await;
        self.wires.follow_ups.close();
        self.toolbox.close().await;
        let outcome = match end {
            End::Done => Outcome::Done,
            End::Failed(failure) => Outcome::Failed(failure),
            // Its holder replaces this by the reason.
            End::Stopped => Outcome::Stopped(daemon_provider::StopReason::Reclaim),
        };
        self.tell(RunEvent::terminal(outcome, last_text)).await;
    }

    /// Tells an event; whoever no longer reads has dropped the run, and this with it.
    async fn tell(&self, event: RunEvent) {
        self.wires.events.send(event).await.unwrap_or_default();
    }

    async fn message(&self, role: Role, kind: &str, text: &str) {
        self.tell(RunEvent::Message {
            role,
            kind: kind.to_owned(),
            text: text.to_owned(),
        })
        .await;
    }

    async fn turns(&mut self, last_text: &mut String) -> End {
        let task = std::mem::take(&mut self.task);
        let mut conversation = Conversation::new(&task, self.toolbox.specs());
        self.message(Role::User, "task", &task).await;
        let most = self.limits.max_turns.unwrap_or(USUAL_TURNS).max(1);
        for turn in 1..=most {
            self.tell(RunEvent::Turn(turn)).await;
            let step = match self.step(&conversation).await {
                Ok(step) => step,
                Err(end) => return end,
            };
            self.said(&step).await;
            if !step.text.trim().is_empty() {
                last_text.clone_from(&step.text);
            }
            conversation.said(&step);
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
                let waiting = self.wires.follow_ups.take_or_close();
                if waiting.is_empty() {
                    return ended_by(&step);
                }
                for message in waiting {
                    self.message(Role::User, "followup", &message).await;
                    conversation.told(&message);
                }
            } else if turn < most {
                match self.run_tools(step.calls).await {
                    Some(results) => conversation.answered(results),
                    None => return End::Stopped,
                }
            }
        }
        let message = format!("the run reached its {most} turns and was not done");
        self.tell(RunEvent::Limit {
            name: "max_turns".to_owned(),
            detail: message.clone(),
        })
        .await;
        limit(&message).into()
    }

    /// Records a reply.
    async fn said(&self, step: &Step) {
        let cost = self.price.of(&step.usage);
        self.tell(RunEvent::ModelCall {
            usage: Usage {
                cost: Some(cost),
                ..step.usage
            },
            model: self.model_name.clone(),
            endpoint: self.model.endpoint().to_owned(),
        })
        .await;
        self.message(Role::Assistant, "", &shown(step)).await;
        if !step.text.trim().is_empty() {
            self.tell(RunEvent::output(step.text.clone())).await;
        }
    }

    /// Asks the model once, which may take several calls.
    async fn step(&mut self, conversation: &Conversation) -> Result<Step, End> {
        let mut n_broken = 0;
        let mut n_limited = 0;
        loop {
            let reservation = self.reserve(conversation).await?;
            let mut stopped = self.wires.stopped.clone();
            let called = tokio::select! {
                biased;
                () = stopped.wait() => None,
                called = self.model.step(conversation) => Some(called),
            };
            let used = match &called {
                Some(Ok(step)) => step.usage,
                // What was read is paid for even if the reply breaks off; so it may be where nobody waited for it.
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

    /// Waits until a call may be tried again, if it may.
    async fn wait_out(
        &mut self,
        fault: Fault,
        n_broken: &mut u32,
        n_limited: &mut u32,
    ) -> Result<(), End> {
        let first = self.patience.first_wait;
        let wait = match fault.kind {
            FaultKind::Final => return Err(End::Failed(fault.failure())),
            FaultKind::Transient if *n_broken >= self.patience.retries => {
                return Err(End::Failed(fault.failure()));
            }
            FaultKind::Transient => {
                *n_broken += 1;
                backoff(first, *n_broken - 1)
            }
            FaultKind::RateLimited(said) => {
                *n_limited += 1;
                // At least a little, or an API that says 0 for ever would be asked for ever.
                let wait = said.unwrap_or_default().max(backoff(first, *n_limited - 1));
                match self.patience.rate_limited.checked_sub(wait) {
                    Some(left) => self.patience.rate_limited = left,
                    None => return Err(End::Failed(fault.failure())),
                }
                wait
            }
        };
        let detail = format!("{}; waiting {:.1} s", fault.message, wait.as_secs_f64());
        let name = match fault.kind {
            FaultKind::RateLimited(_) => "rate_limited",
            FaultKind::Transient | FaultKind::Final => "retry",
        };
        self.tell(RunEvent::Limit {
            name: name.to_owned(),
            detail,
        })
        .await;
        tokio::select! {
            biased;
            () = self.wires.stopped.wait() => Err(End::Stopped),
            () = sleep(wait) => Ok(()),
        }
    }

    /// Sets aside what a call may cost at most, where the run has a budget.
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

    /// Runs the tools of one reply in order; `None` if the run is to stop.
    async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Option<Vec<(ToolCall, String)>> {
        let mut results = Vec::new();
        let mut shown = Vec::new();
        for call in calls {
            if self.wires.stopped.is_stopped() {
                return None;
            }
            let name = call.fn_name.clone();
            self.tell(RunEvent::ToolStart {
                id: call.call_id.clone(),
                name: name.clone(),
                args: call.fn_arguments.to_string(),
            })
            .await;
            let mut stopped = self.wires.stopped.clone();
            let answer = tokio::select! {
                biased;
                () = stopped.wait() => None,
                answer = self.toolbox.call(&name, call.fn_arguments.clone()) => Some(answer),
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
            self.tell(RunEvent::ToolEnd {
                id: call.call_id.clone(),
                name,
                status,
            })
            .await;
            answer.as_ref()?;
            results.push((call, text));
        }
        self.message(Role::User, "tool_results", &shown.join("\n\n"))
            .await;
        Some(results)
    }
}

/// Judges a reply that uses no tool and that nobody has a follow-up for.
fn ended_by(step: &Step) -> End {
    if step.text.trim().is_empty() {
        return failure(FailureKind::Protocol, "the model ended without a text").into();
    }
    End::Done
}

/// Writes a reply with the tools it uses.
fn shown(step: &Step) -> String {
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

/// Says why a run without money ends.
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
