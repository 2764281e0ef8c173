//! The tool with which a model asks the user and waits for the answer.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::conversation::AwaitedReply;
use crate::event::AgentEvent;
use crate::line::Entry;
use crate::turn::TurnContext;

/// The name of the tool.
pub(crate) const ASK_USER: &str = "ask_user";

/// The tool of one turn.
#[derive(Debug)]
pub(crate) struct AskTool(pub(crate) Arc<TurnContext>);

#[async_trait]
impl ToolSource for AskTool {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: ASK_USER.to_owned(),
            description:
                "Asks the user one or more questions and waits for the answer, up to an hour."
                    .to_owned(),
            schema: json!({
                "type": "object", "required": ["questions"], "additionalProperties": false,
                "properties": {"questions": {
                    "type": "array", "minItems": 1, "maxItems": 10,
                    "items": {"type": "string", "minLength": 1, "maxLength": 4000},
                }},
            }),
        }]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let context = &self.0;
        let questions = context.redactor.json(&arguments["questions"]);
        let (turn, call_id) = (context.turn, context.calling());
        let stored = questions.clone();
        let place = context.place();
        let lines = context.conversation.append(place, move |transcript| {
            vec![Entry::Ask {
                turn,
                ask_id: transcript.next_ask(),
                call_id,
                questions: stored,
            }]
        });
        let lines = lines
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        let Some(Entry::Ask { ask_id, .. }) = lines.first().map(|line| &line.entry) else {
            return Err(ToolError::new("the question was not stored"));
        };
        context.live.emit(AgentEvent::AskUser {
            ask_id: ask_id.clone(),
            questions,
        });
        answer(context, ask_id.clone()).await
    }
}

/// Waits for the answer to a question that is on disk.
pub(crate) async fn answer(context: &TurnContext, ask_id: String) -> Result<String, ToolError> {
    let conversation = &context.conversation;
    let _waits = context.wait_for_user();
    let (reply, replied) = oneshot::channel();
    *conversation.asked() = Some(AwaitedReply { ask_id, reply });
    // A reply stores the answer first and then looks for who waits, so that it is found here or arrives there.
    let waited = match stored(context).await? {
        Some(answer) => Ok(answer),
        None => {
            let limit = context.host.bounds().ask;
            match tokio::time::timeout(limit, replied).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(_)) | Err(_) => stored(context)
                    .await?
                    .ok_or_else(|| ToolError::new("nothing was answered in time")),
            }
        }
    };
    *conversation.asked() = None;
    waited
}

/// Returns the answer on disk to the question of the running call.
async fn stored(context: &TurnContext) -> Result<Option<String>, ToolError> {
    let place = context.place();
    let read = context.conversation.with_log(place, |opened, _| {
        let open = opened
            .as_ref()
            .and_then(|opened| opened.transcript.open.as_ref());
        let answer = open.and_then(|open| open.answer.clone());
        Ok(answer.map(|(_, answer)| answer))
    });
    read.await
        .map_err(|error| ToolError::new(error.to_string()))
}
