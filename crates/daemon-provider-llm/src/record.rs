//! The loop of a run as the events of that run.

use std::convert::Infallible;
use std::time::Duration;

use async_trait::async_trait;
use daemon_egress::last_use;
use daemon_provider::tool_loop::{
    Chat, ChatMessage, LoopCall, LoopCallResult, LoopEnd, ModelReply, Observer, ToolLoop,
};
use daemon_provider::{
    Failure, MicroUsd, NetworkUse, Outcome, RunEvent, Speaker, StopReason, ToolStatus, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::run::LoopChannels;

/// What turns a loop into events.
pub(crate) struct Recorded {
    channels: LoopChannels,
    model_name: String,
    endpoint: String,
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

impl Recorded {
    /// Makes the record of a loop.
    pub(crate) fn new(channels: LoopChannels, tools: &ToolLoop) -> Self {
        Self {
            channels,
            model_name: tools.model.name().to_owned(),
            endpoint: tools.model.endpoint().to_owned(),
        }
    }

    /// Runs the loop to its end and emits the terminal event.
    pub(crate) async fn play(
        mut self,
        mut tools: ToolLoop,
        task: String,
        mut network: Option<mpsc::Receiver<NetworkUse>>,
    ) {
        let mut last_text = String::new();
        let mut chat = Chat::new(None, tools.tool_set.specs());
        let events = self.channels.events.clone();
        self.message(Speaker::Task, &task).await;
        chat.push(ChatMessage::User(task));
        let end = tokio::select! {
            end = tools.run(&mut chat, &mut self, &mut last_text) => end,
            never = forward(&mut network, &events) => match never {},
        };
        // Closed before the tools: while servers and scripts end, a message would be accepted and never answered.
        self.channels.follow_ups.close();
        tools.tool_set.close().await;
        // Its programs share what serves their network, and the uses end with it.
        drop(tools);
        if let Some(mut uses) = network {
            while let Some(used) = last_use(&mut uses).await {
                emit(&self.channels, RunEvent::Network(used)).await;
            }
        }
        let outcome = match end {
            LoopEnd::Done => Outcome::Done,
            LoopEnd::Failed(failure) => Outcome::Failed(failure),
            // The reason is a placeholder that the run replaces.
            LoopEnd::Stopped => Outcome::Stopped(StopReason::Reclaim),
        };
        emit(&self.channels, RunEvent::terminal(outcome, last_text)).await;
    }

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
}

#[async_trait]
impl Observer for Recorded {
    async fn turn(&mut self, turn: u32) -> Result<(), Failure> {
        self.emit(RunEvent::Turn(turn)).await;
        Ok(())
    }

    async fn replied(&mut self, reply: &ModelReply, cost: MicroUsd) -> Result<(), Failure> {
        self.emit(RunEvent::ModelCall {
            usage: Usage {
                cost: Some(cost),
                ..reply.usage
            },
            model: self.model_name.clone(),
            endpoint: self.endpoint.clone(),
        })
        .await;
        self.message(Speaker::Assistant, &shown(reply)).await;
        if !reply.text.trim().is_empty() {
            self.emit(RunEvent::output(reply.text.clone())).await;
        }
        Ok(())
    }

    async fn tool_started(&mut self, call: &LoopCall) -> Result<(), Failure> {
        self.emit(RunEvent::ToolStart {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.arguments.to_string(),
        })
        .await;
        Ok(())
    }

    async fn tool_ended(
        &mut self,
        result: &LoopCallResult,
        _took: Duration,
    ) -> Result<(), Failure> {
        self.emit(RunEvent::ToolEnd {
            id: result.call.id.clone(),
            name: result.call.name.clone(),
            status: match result.is_error {
                true => ToolStatus::Error,
                false => ToolStatus::Ok,
            },
        })
        .await;
        Ok(())
    }

    async fn tools_ended(&mut self, results: &[LoopCallResult]) -> Result<(), Failure> {
        let shown = results.iter().map(|result| {
            let word = if result.is_error { "error" } else { "ok" };
            format!("{}: {word}\n{}", result.call.name, result.text)
        });
        let shown = shown.collect::<Vec<_>>().join("\n\n");
        self.message(Speaker::ToolResults, &shown).await;
        Ok(())
    }

    async fn limited(&mut self, name: &str, detail: &str) {
        self.emit(RunEvent::Limit {
            name: name.to_owned(),
            detail: detail.to_owned(),
        })
        .await;
    }

    async fn more(&mut self) -> Vec<String> {
        let waiting = self.channels.follow_ups.take_or_close();
        for message in &waiting {
            self.message(Speaker::Followup, message).await;
        }
        waiting
    }
}

/// Formats a reply with its tool calls for the run folder.
fn shown(reply: &ModelReply) -> String {
    let calls = reply.calls.iter().map(|call| {
        let arguments: &Value = &call.arguments;
        format!("{}({arguments})", call.name)
    });
    let said = (!reply.text.is_empty()).then(|| reply.text.clone());
    said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}
