//! Tools, calls of them, and what comes back.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Map, Value};

/// What is known of a tool before it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, which is of an object.
    pub input_schema: Map<String, Value>,
    /// Whether it changes something.
    pub effect: Effect,
}

/// Whether a tool changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It may change something; of a server that does not say, every tool.
    Changes,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments, unchecked.
    pub arguments: Map<String, Value>,
    /// The name that the client gave itself; empty if it gave none.
    pub client: String,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whether the tool did what it was called for.
    pub status: ToolStatus,
    /// For a model to read.
    pub text: String,
    /// The same for a program, where the tool has it.
    pub structured: Option<Value>,
}

/// Whether a tool did what it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// It did.
    Done,
    /// It did not, and the text says why.
    Failed,
}

/// A table of tools.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Returns the tools.
    async fn tools(&self) -> Vec<ToolSpec>;

    /// Calls one of them.
    async fn call(&self, call: Call) -> Answer;
}

impl ToolSpec {
    /// Describes a tool; a schema that is no object allows any arguments.
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

impl Answer {
    /// Answers with an object.
    pub fn done(value: Value) -> Self {
        Self {
            status: ToolStatus::Done,
            text: value.to_string(),
            structured: Some(value),
        }
    }

    /// Answers with an object that says why it was not done.
    pub fn failed(value: Value) -> Self {
        Self {
            status: ToolStatus::Failed,
            ..Self::done(value)
        }
    }

    /// Keeps the beginning of a long text, and says so; a longer form for programs is left out.
    #[must_use]
    pub fn bounded(self, most_bytes: usize) -> Self {
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
            ToolStatus::Done => CallToolResult::success(content),
            ToolStatus::Failed => CallToolResult::error(content),
        };
        result.structured_content = self.structured;
        result
    }

    /// Joins the texts of an answer; pictures and sounds are named only.
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
            ToolStatus::Failed
        } else {
            ToolStatus::Done
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
