//! The messages between a user, a model and its tools.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use super::tool_set::ToolSpec;

/// A reply in the form of the library that received it, with what the common form does not keep, such as signatures of thoughts.
pub type NativeReply = Arc<dyn Any + Send + Sync>;

/// A call of a tool by a model.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopCall {
    /// The id that the API gave it, which the result repeats.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopCallResult {
    /// The call.
    pub call: LoopCall,
    /// The text for the model.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A message of a chat.
#[derive(Clone, Debug)]
pub enum ChatMessage {
    /// A message of the user.
    User(String),
    /// A reply of the model.
    Assistant {
        /// The text.
        text: String,
        /// The calls of tools, which the next messages answer.
        calls: Vec<LoopCall>,
        /// The reply in the form of the library, if it was received by this process.
        native: Option<NativeReply>,
    },
    /// The result of a call.
    Tool(LoopCallResult),
}

/// The messages that a model receives, and the tools that it may call.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    system: Option<String>,
    tools: Vec<ToolSpec>,
    messages: Vec<ChatMessage>,
    bytes: usize,
}

impl Chat {
    /// Makes a chat without messages.
    pub fn new(system: Option<String>, tools: &[ToolSpec]) -> Self {
        let bytes = system.as_ref().map_or(0, String::len)
            + tools.iter().map(ToolSpec::size).sum::<usize>();
        Self {
            system,
            tools: tools.to_vec(),
            messages: Vec::new(),
            bytes,
        }
    }

    /// Returns the system prompt.
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Returns the tools.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Reports whether anything was said.
    pub fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Returns the approximate size of a request.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a message.
    pub fn push(&mut self, message: ChatMessage) {
        self.bytes += message.size();
        self.messages.push(message);
    }
}

impl ChatMessage {
    fn size(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Assistant { text, calls, .. } => {
                text.len() + calls.iter().map(LoopCall::size).sum::<usize>()
            }
            Self::Tool(result) => result.call.id.len() + result.text.len(),
        }
    }
}

impl LoopCall {
    fn size(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.to_string().len()
    }
}
