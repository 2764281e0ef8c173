//! Tools, calls of tools and their results.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_lifecycle::ToolStatus;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Map, Value};

/// The description of a tool, as listed to clients.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// The name by which the tool is called.
    pub name: String,
    /// The purpose of the tool, written for a model.
    pub description: String,
    /// The JSON Schema of the arguments; its type is `object`.
    pub input_schema: Map<String, Value>,
    /// Whether a call may change anything.
    pub effect: Effect,
}

/// Whether a tool changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The tool only reads.
    Reads,
    /// The tool may change something. Assumed for every tool that has no read-only hint.
    Changes,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// The arguments, not checked against the schema.
    pub arguments: Map<String, Value>,
    /// The name from the client's handshake; empty if it sent none.
    pub client: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Whether the call succeeded.
    pub status: ToolStatus,
    /// The result as text for a model.
    pub text: String,
    /// The result as JSON for a program; `None` if the tool has no such form.
    pub structured: Option<Value>,
}

/// A set of tools that a server offers.
#[async_trait]
pub trait ToolTable: Send + Sync {
    /// Lists the tools.
    async fn tools(&self) -> Vec<ToolDescription>;

    /// Calls a tool. The server has checked that the name is one of [`Self::tools`].
    async fn call(&self, call: ToolCall) -> ToolResult;

    /// Whether a call may take longer than clients wait for a response, so that it should become a task. The call has to end if
    /// it is dropped.
    fn may_take_long(&self, _call: &ToolCall) -> bool {
        false
    }
}

impl ToolDescription {
    /// Describes a tool. A schema that is not an object is replaced by one that allows any arguments.
    pub fn new(name: &str, description: &str, input_schema: Value, effect: Effect) -> Self {
        let input_schema = match input_schema {
            Value::Object(schema) => schema,
            _ => Map::from_iter([("type".to_owned(), Value::from("object"))]),
        };
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            effect,
        }
    }

    pub(crate) fn to_wire(&self) -> Tool {
        let annotations = ToolAnnotations::new().read_only(self.effect == Effect::Reads);
        Tool::new(
            self.name.clone(),
            self.description.clone(),
            Arc::new(self.input_schema.clone()),
        )
        .with_annotations(annotations)
    }

    // The protocol's default for a missing hint is a tool that may change something.
    pub(crate) fn of_wire(tool: Tool) -> Self {
        let hint = tool.annotations.and_then(|all| all.read_only_hint);
        Self {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            input_schema: Arc::unwrap_or_clone(tool.input_schema),
            effect: if hint == Some(true) {
                Effect::Reads
            } else {
                Effect::Changes
            },
        }
    }
}

impl ToolResult {
    /// Returns a result of success with `value`, also rendered as text.
    pub fn done(value: Value) -> Self {
        Self {
            status: ToolStatus::Ok,
            text: value.to_string(),
            structured: Some(value),
        }
    }

    /// Returns a result of failure with `value`, which has the reason.
    pub fn failed(value: Value) -> Self {
        Self {
            status: ToolStatus::Error,
            ..Self::done(value)
        }
    }

    /// Cuts text longer than `most_bytes` and appends how much was cut; drops a structured result that is longer.
    #[must_use]
    pub fn bounded(self, most_bytes: usize) -> Self {
        // JSON that is cut does not parse, so it is dropped as a whole.
        let fits = |value: &Value| value.to_string().len() <= most_bytes;
        Self {
            status: self.status,
            text: cut(self.text, most_bytes),
            structured: self.structured.filter(fits),
        }
    }

    pub(crate) fn into_wire(self) -> CallToolResult {
        let content = vec![ContentBlock::text(self.text)];
        let mut result = match self.status {
            ToolStatus::Ok => CallToolResult::success(content),
            ToolStatus::Error => CallToolResult::error(content),
        };
        result.structured_content = self.structured;
        result
    }

    /// Joins the parts of a result; images and sounds are replaced by a placeholder.
    pub(crate) fn of_wire(result: CallToolResult) -> Self {
        let texts = result.content.iter().map(|part| match part {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Resource(resource) => resource.get_text(),
            ContentBlock::ResourceLink(resource) => resource.uri.clone(),
            ContentBlock::Image(_) => "[an image]".to_owned(),
            ContentBlock::Audio(_) => "[a sound]".to_owned(),
            _ => "[content of another kind]".to_owned(),
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let status = if result.is_error == Some(true) {
            ToolStatus::Error
        } else {
            ToolStatus::Ok
        };
        Self {
            status,
            text,
            structured: result.structured_content,
        }
    }
}

fn cut(mut text: String, most_bytes: usize) -> String {
    if text.len() > most_bytes {
        let mut end = most_bytes;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let n_more = text.len() - end;
        text.truncate(end);
        text.extend(["\n...[truncated: ", &n_more.to_string(), " bytes more]"]);
    }
    text
}
