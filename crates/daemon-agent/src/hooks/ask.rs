//! The tool with which a model asks the user and waits for the answer.

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use serde_json::json;
use tokio::sync::oneshot;

use crate::conversation::{AwaitedReply, Conversation};
use crate::definition::AgentDefinition;
use crate::event::AgentEvent;
use crate::hook::{Hook, HookTurn};
use crate::line::Entry;
use crate::turn::TurnContext;

/// The name of the tool.
pub(crate) const ASK_USER: &str = "ask_user";

/// Asks the user.
pub(super) struct AskHook;

#[async_trait]
impl Hook for AskHook {
    fn name(&self) -> &str {
        "ask"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: ASK_USER.to_owned(),
            description:
                "Asks the user one or more questions and waits for the answer, for a limited time."
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

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let context = turn.context;
        let questions = context.redactor.json(&call.arguments["questions"]);
        let turn = turn.number;
        let stored = questions.clone();
        let place = context.place();
        let lines = context.conversation.append(place, move |transcript| {
            vec![Entry::Ask {
                turn,
                ask_id: transcript.next_ask(),
                call_id: call.id,
                questions: stored,
            }]
        });
        let lines = lines
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        let Some(Entry::Ask { ask_id, .. }) = lines.first().map(|line| &line.entry) else {
            return Err(ToolError::new("the question was not stored"));
        };
        let event = AgentEvent::AskUser {
            ask_id: ask_id.clone(),
            questions,
        };
        context.show(event).await;
        answer(context, ask_id.clone()).await
    }
}

/// Waits for the answer to a question that is on disk.
pub(crate) async fn answer(context: &TurnContext, ask_id: String) -> Result<String, ToolError> {
    let conversation = &context.conversation;
    let _waits = context.wait_for_user();
    let (reply, replied) = oneshot::channel();
    let _waiting = QuestionGuard::new(conversation, AwaitedReply { ask_id, reply });
    // A reply stores the answer first and then looks for who waits, so that it is found here or arrives there.
    match stored(context).await? {
        Some(answer) => Ok(answer),
        None => {
            let limit = context.conversations.host.bounds().ask;
            match tokio::time::timeout(limit, replied).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(_)) | Err(_) => stored(context)
                    .await?
                    .ok_or_else(|| ToolError::new("nothing was answered in time")),
            }
        }
    }
}

/// A question that the conversation waits for. It also ends when the turn is stopped, which drops what waits.
struct QuestionGuard<'c> {
    conversation: &'c Conversation,
    ask_id: String,
}

impl<'c> QuestionGuard<'c> {
    fn new(conversation: &'c Conversation, awaited: AwaitedReply) -> Self {
        let ask_id = awaited.ask_id.clone();
        *conversation.asked() = Some(awaited);
        Self {
            conversation,
            ask_id,
        }
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        let mut asked = self.conversation.asked();
        // Its answer has taken it, and the next question may be there.
        drop(asked.take_if(|asked| asked.ask_id == self.ask_id));
    }
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
