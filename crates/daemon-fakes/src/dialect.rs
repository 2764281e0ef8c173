//! The dialects of the model API.

mod completions;
mod messages;
mod responses;

use serde_json::Value;

use crate::reply::Message;

/// A protocol that model APIs use. The path of a request selects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiDialect {
    /// The Messages API of Anthropic, at `/messages`.
    Messages,
    /// The Chat Completions API of OpenAI, at `/chat/completions`.
    Completions,
    /// The Responses API of OpenAI, at `/responses`.
    Responses,
}

/// One server-sent event.
pub(crate) struct StreamEvent {
    /// The `event` field. Chat Completions have none.
    pub(crate) name: Option<String>,
    /// The `data` field, one line of JSON.
    pub(crate) data: String,
}

impl StreamEvent {
    /// Creates an event that is named after the `type` in its data.
    fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    /// Returns the event in the format of `text/event-stream`.
    pub(crate) fn to_text(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

impl ApiDialect {
    /// Returns the dialect of a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        [
            ("/messages", Self::Messages),
            ("/chat/completions", Self::Completions),
            ("/responses", Self::Responses),
        ]
        .into_iter()
        .find(|(end, _)| path.ends_with(end))
        .map(|(_, dialect)| dialect)
    }

    /// Returns the body of a response without streaming.
    pub(crate) fn whole(self, message: &Message, model: &str, n: usize) -> Value {
        match self {
            Self::Messages => messages::whole(message, model, n),
            Self::Completions => completions::whole(message, model, n),
            Self::Responses => responses::whole(message, model, n),
        }
    }

    /// Returns the events of a streamed response.
    pub(crate) fn stream(self, message: &Message, model: &str, n: usize) -> Vec<StreamEvent> {
        match self {
            Self::Messages => messages::stream(message, model, n),
            Self::Completions => completions::stream(message, model, n),
            Self::Responses => responses::stream(message, model, n),
        }
    }

    /// Returns the names of the tools that a request offers.
    pub(crate) fn tools(self, body: &Value) -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        match self {
            Self::Messages => tools.filter_map(tool_name).collect(),
            Self::Completions => {
                let functions = tools.map(|tool| match &tool["function"] {
                    Value::Null => tool,
                    function => function,
                });
                functions.filter_map(tool_name).collect()
            }
            Self::Responses => tools.flat_map(responses::tool_names).collect(),
        }
    }

    /// Returns the tool results in a request, the oldest first.
    pub(crate) fn tool_results(self, body: &Value) -> Vec<String> {
        match self {
            Self::Messages => messages::tool_results(body),
            Self::Completions => completions::tool_results(body),
            Self::Responses => responses::tool_results(body),
        }
    }
}

/// Returns the name of a tool. Tools that the API itself executes have a type instead.
fn tool_name(tool: &Value) -> Option<String> {
    let named = tool["name"].as_str().or(tool["type"].as_str());
    named.map(str::to_owned)
}

/// Returns the text of a string, or of a list of text parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            parts.join("\n")
        }
        other => other.to_string(),
    }
}

/// Returns the two halves of a string, so that a stream has more than one part to join.
fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    // Each half is a JSON string of its own, so no character may be split.
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}
