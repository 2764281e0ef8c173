//! The calls of tools that a program makes while it replies: recorded and run like those of a model API, one after another.

use std::sync::Arc;

use daemon_provider::tool_loop::{LoopCall, LoopCallResult, ProgramCall, ToolError, ToolSet};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::error::AgentError;
use crate::line::{CallLine, Entry, TurnTokens};
use crate::turn::TurnContext;

/// The calls of one turn.
pub(crate) struct ProgramCalls {
    /// `None` if the model is no program.
    pub(crate) calls: Option<mpsc::Receiver<ProgramCall>>,
    pub(crate) tools: Arc<ToolSet>,
    /// The name of the model, for the log.
    pub(crate) model: String,
}

impl ProgramCalls {
    /// Runs calls as they arrive, and returns only if the log cannot be written.
    pub(crate) async fn serve(mut self, context: &TurnContext) -> AgentError {
        while let Some(call) = async { self.calls.as_mut()?.recv().await }.await {
            // Held to the end of the call, so that the reply is recorded after all its calls.
            let is_replying = context.is_replying.lock().await;
            if *is_replying
                && !call.result.is_closed()
                && let Err(error) = self.run(call, context).await
            {
                return error;
            }
        }
        std::future::pending().await
    }

    async fn run(&self, call: ProgramCall, context: &TurnContext) -> Result<(), AgentError> {
        let ProgramCall {
            name,
            arguments,
            session,
            mut result,
        } = call;
        let mut made = LoopCall {
            id: String::new(),
            name,
            arguments,
        };
        let recorded = CallLine {
            arguments: context.redactor.json(&made.arguments),
            ..CallLine::from(&made)
        };
        let (turn, model) = (context.turn, self.model.clone());
        let appended = context
            .conversation
            .append(context.place(), move |known| {
                let call = CallLine {
                    id: id(known.last + 1),
                    ..recorded
                };
                vec![Entry::Assistant {
                    turn,
                    content: String::new(),
                    calls: vec![call],
                    model,
                    usage: TurnTokens::default(),
                    session: session.map(|session| session.to_string()),
                }]
            })
            .await?;
        made.id = id(appended.last().map_or(0, |line| line.n));
        context.tool_begins(&made).await;
        let begun = Instant::now();
        let called = tokio::select! {
            biased;
            called = self.tools.call(&made) => called,
            () = result.closed() => Err(ToolError::new("the program did not wait for the result")),
        };
        let ended = LoopCallResult {
            text: match &called {
                Ok(text) => text.clone(),
                Err(error) => format!("error: {error}"),
            },
            is_error: called.is_err(),
            call: made,
        };
        context.tool_ends(&ended, begun.elapsed()).await?;
        // A program that has ended meanwhile needs no result.
        drop(result.send(called));
        Ok(())
    }
}

/// Returns the id of the call that a line records. A program gives none that reaches the host.
fn id(line: u64) -> String {
    format!("call-{line}")
}
