//! The loop of one turn: its tools, its chat, its time.

use std::sync::Arc;

use daemon_provider::tool_loop::{Chat, LoopEnd, StopSignal, ToolLoop};
use daemon_provider::{Failure, FailureKind, NetworkUse};
use tokio::sync::mpsc;

use crate::compaction::summarise;
use crate::definition::ToolChoice;
use crate::error::AgentError;
use crate::hooks;
use crate::host::OpenedTurn;
use crate::live::StopWhy;
use crate::program_calls::ProgramCalls;
use crate::turn::{TurnContext, TurnRecorder};

/// Runs the loop of a turn, and closes its tools.
pub(crate) async fn run(
    choice: ToolChoice,
    opened: OpenedTurn,
    context: Arc<TurnContext>,
    question: Option<(String, String)>,
) -> Result<LoopEnd, AgentError> {
    let model = opened.tools.model.name().to_owned();
    let mut recorder = TurnRecorder::new(Arc::clone(&context), model.clone());
    let ended = match context.hooks.tool_set(&context, choice).map(Arc::new) {
        Ok(tool_set) => {
            let calls = ProgramCalls {
                calls: opened.tools.calls,
                tools: Arc::clone(&tool_set),
                model,
            };
            let mut tools = ToolLoop {
                model: opened.tools.model,
                tool_set,
                retry: opened.tools.retry,
                limits: opened.limits,
                grants: opened.grants,
                stopped: StopSignal::new(context.live.stopped()),
            };
            tokio::select! {
                ended = play(&mut tools, &context, &mut recorder, question) => ended,
                error = calls.serve(&context) => Err(error),
                never = drain(opened.tools.network, &context) => match never {},
            }
        }
        Err(error) => Ok(LoopEnd::Failed(Failure::new(
            FailureKind::Spawn,
            error.to_string(),
        ))),
    };
    for source in &opened.tools.sources {
        source.close().await;
    }
    match recorder.fault {
        Some(fault) => Err(fault),
        None => ended,
    }
}

/// Continues the chat until the loop ends or its time is over.
async fn play(
    tools: &mut ToolLoop,
    context: &TurnContext,
    recorder: &mut TurnRecorder,
    question: Option<(String, String)>,
) -> Result<LoopEnd, AgentError> {
    if let Some((ask_id, call_id)) = question
        && let Some(end) = answered(context, tools.stopped.clone(), (ask_id, call_id)).await?
    {
        return Ok(end);
    }
    if let Some(begun_at) = is_too_long(context).await?
        && let Err(end) = summarise(tools, context, Some(begun_at)).await?
    {
        if end == LoopEnd::Stopped {
            return Ok(end);
        }
        tracing::warn!(agent = %context.agent.name, ?end, "the messages of a conversation could not be summarised");
    }
    let mut chat = chat(tools, context).await?;
    let mut left = tools.limits.wall;
    let mut last_text = String::new();
    let mut running = std::pin::pin!(tools.run(&mut chat, recorder, &mut last_text));
    while !left.is_zero() {
        if let Ok(end) = tokio::time::timeout(left, running.as_mut()).await {
            return Ok(end);
        }
        // The time in which the user did not answer is not the turn's.
        left = context.take_waited();
    }
    context.live.stop(StopWhy::Timeout);
    Ok(LoopEnd::Stopped)
}

/// Returns the line of the message of the turn, if the messages before it are to be summarised. A program keeps its own session.
async fn is_too_long(context: &TurnContext) -> Result<Option<u64>, AgentError> {
    let threshold = context.agent.compact_threshold;
    let read = context
        .conversation
        .with_log(context.place(), move |opened, _| {
            let known = opened.as_ref().map(|opened| &opened.transcript);
            let long =
                known.filter(|known| known.session.is_none() && known.context_tokens > threshold);
            Ok(long.map(|known| known.begun_at))
        });
    read.await
}

async fn chat(tools: &ToolLoop, context: &TurnContext) -> Result<Chat, AgentError> {
    let system = context.hooks.system(&context.agent);
    let injected = context.hooks.before_run(context).await;
    let specs = tools.tool_set.specs().to_vec();
    let conversation = &context.conversation;
    let place = context.place();
    let unknown = conversation.unknown();
    let chat = conversation.with_log(place, move |opened, _| {
        let known = opened.as_ref().map(|opened| &opened.transcript);
        Ok(known.map(|known| known.chat(system, &specs, injected)))
    });
    chat.await?.ok_or(unknown)
}

/// Waits for the answer to a question of an earlier host, and stores the results of the calls that had none.
async fn answered(
    context: &TurnContext,
    mut stopped: StopSignal,
    (ask_id, call_id): (String, String),
) -> Result<Option<LoopEnd>, AgentError> {
    let answer = tokio::select! {
        biased;
        () = stopped.wait() => return Ok(Some(LoopEnd::Stopped)),
        answer = hooks::answer(context, ask_id) => answer,
    };
    let (output, is_error) = match answer {
        Ok(answer) => (answer, false),
        Err(error) => (format!("error: {error}"), true),
    };
    let turn = context.turn;
    let place = context.place();
    let appended = context.conversation.append(place, move |transcript| {
        transcript.results(turn, (&call_id, output, is_error))
    });
    appended.await.map(|_| None)
}

/// Reads what the programs of the tools use of the network.
async fn drain(
    mut network: Option<mpsc::Receiver<NetworkUse>>,
    context: &TurnContext,
) -> std::convert::Infallible {
    while let Some(used) = async { network.as_mut()?.recv().await }.await {
        tracing::debug!(agent = %context.conversation.pair.agent, ?used, "network");
    }
    std::future::pending().await
}
