//! Replacing earlier messages of a conversation by a summary that the model writes.

use std::time::Duration;

use async_trait::async_trait;
use daemon_provider::tool_loop::{
    ChatMessage, LoopCall, LoopCallResult, LoopEnd, ModelReply, Observer, ToolLoop,
};
use daemon_provider::{Failure, FailureKind, MicroUsd};

use crate::error::AgentError;
use crate::event::AgentEvent;
use crate::line::{Entry, TurnTokens};
use crate::turn::{TurnContext, tokens};

/// What the model is asked for.
const REQUEST: &str = "Summarise this conversation for yourself, because the messages above will be removed. First write one line with \
    a title of at most eight words. Then write what the user wants, what was done and found, names, paths and values that are \
    still needed, and what is open. Write no greeting.";
/// The most characters of a title.
const TITLE_CHARS: usize = 80;

/// What replaced earlier messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The summary.
    pub summary: String,
    /// The last line that it replaces.
    pub upto: u64,
}

/// Adds up what the summary costs, and refuses tools.
#[derive(Debug, Default)]
struct Counted(TurnTokens);

#[async_trait]
impl Observer for Counted {
    async fn turn(&mut self, _turn: u32) -> Result<(), Failure> {
        Ok(())
    }

    async fn replied(&mut self, reply: &ModelReply, cost: MicroUsd) -> Result<(), Failure> {
        self.0.add(tokens(&reply.usage, cost));
        Ok(())
    }

    async fn tool_started(&mut self, _call: &LoopCall) -> Result<(), Failure> {
        let message = "the model called a tool where it was asked for a summary";
        Err(Failure::new(FailureKind::Protocol, message))
    }

    async fn tool_ended(
        &mut self,
        _result: &LoopCallResult,
        _took: Duration,
    ) -> Result<(), Failure> {
        Ok(())
    }

    async fn limited(&mut self, name: &str, detail: &str) {
        tracing::info!(name, detail, "a summary waits");
    }
}

/// Has the model summarise the messages before a line, or all, and stores the summary; `None` without messages.
pub(crate) async fn summarise(
    tools: &mut ToolLoop,
    context: &TurnContext,
    before: Option<u64>,
) -> Result<Result<Option<Compacted>, LoopEnd>, AgentError> {
    let system = context.agent.system();
    let place = context.place();
    let read = context.conversation.with_log(place, move |opened, _| {
        let Some(opened) = opened else {
            return Ok(None);
        };
        let known = &opened.transcript;
        let before = before.unwrap_or(known.last + 1);
        let chat = known.chat_before(before, system);
        Ok(chat.has_messages().then_some((chat, before - 1)))
    });
    let Some((mut chat, upto)) = read.await? else {
        return Ok(Ok(None));
    };
    chat.push(ChatMessage::User(REQUEST.to_owned()));
    let (mut counted, mut text) = (Counted::default(), String::new());
    match tools.run(&mut chat, &mut counted, &mut text).await {
        LoopEnd::Done => {}
        end => return Ok(Err(end)),
    }
    let summary = context.redactor.text(&text).into_owned();
    let title = title(&summary);
    let (stored, named, usage) = (summary.clone(), title.clone(), counted.0);
    let appended = context.conversation.append(context.place(), move |_| {
        vec![Entry::Compact {
            summary: stored,
            title: named,
            upto,
            usage,
        }]
    });
    appended.await?;
    context.show(AgentEvent::Compacted { title, upto }).await;
    Ok(Ok(Some(Compacted { summary, upto })))
}

/// Returns the first line of a summary, without marks of a heading.
fn title(summary: &str) -> String {
    let line = summary.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim_start_matches('#').trim();
    line.chars().take(TITLE_CHARS).collect()
}

/// Runs a loop only for a summary.
pub(crate) async fn only(
    mut tools: ToolLoop,
    context: &TurnContext,
) -> Result<Compacted, AgentError> {
    match summarise(&mut tools, context, None).await? {
        Ok(Some(compacted)) => Ok(compacted),
        Ok(None) => Err(AgentError::Conflict(
            "there is nothing to summarise".to_owned(),
        )),
        Err(LoopEnd::Failed(mut failure)) => {
            failure.message = context.redactor.text(&failure.message).into_owned();
            Err(failure.into())
        }
        Err(LoopEnd::Stopped | LoopEnd::Done) => Err(AgentError::Killed),
    }
}
