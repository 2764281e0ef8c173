//! The languages of the model API.

mod completions;
mod messages;
mod responses;

use serde_json::Value;

use crate::reply::Message;

/// A language of the model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Chat Completions.
    Completions,
    /// OpenAI's Responses.
    Responses,
}

/// One server-sent event.
pub(crate) struct Event {
    /// Its name, where the dialect gives it one.
    pub(crate) name: Option<String>,
    /// Its data.
    pub(crate) data: String,
}

impl Event {
    /// Makes an event named by the type that its data has.
    fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    /// Writes the event as it stands in a stream.
    pub(crate) fn to_text(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

impl Dialect {
    /// Returns the language of a path, if it is the address of one.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        [
            ("/messages", Self::Messages),
            ("/chat/completions", Self::Completions),
            ("/responses", Self::Responses),
        ]
        .into_iter()
        .find(|(end, _)| path.ends_with(end))
        .map(|(_, dialect)| dialect)
    }

    /// Writes a message as one object.
    pub(crate) fn whole(self, message: &Message, model: &str, n: usize) -> Value {
        match self {
            Self::Messages => messages::whole(message, model, n),
            Self::Completions => completions::whole(message, model, n),
            Self::Responses => responses::whole(message, model, n),
        }
    }

    /// Writes a message as a stream.
    pub(crate) fn stream(self, message: &Message, model: &str, n: usize) -> Vec<Event> {
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

    /// Returns the results of tools that a request holds, oldest first.
    pub(crate) fn tool_results(self, body: &Value) -> Vec<String> {
        match self {
            Self::Messages => messages::tool_results(body),
            Self::Completions => completions::tool_results(body),
            Self::Responses => responses::tool_results(body),
        }
    }
}

/// Returns the name of a tool; some tools of an API itself have a type and no name.
fn tool_name(tool: &Value) -> Option<String> {
    let named = tool["name"].as_str().or(tool["type"].as_str());
    named.map(str::to_owned)
}

/// Returns the text of a value that is text, or a list of parts with texts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            texts.join("\n")
        }
        other => other.to_string(),
    }
}

/// Returns two halves of a text, so that a stream has something to put together.
fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}
