//! The Responses API of OpenAI.

use serde_json::{Value, json};

use super::{StreamEvent, halves, text_of, tool_name};
use crate::reply::Message;

fn items(message: &Message, n: usize) -> Vec<Value> {
    let mut acc = Vec::new();
    if !message.text.is_empty() {
        acc.push(json!({
            "type": "message", "id": format!("msg_{n}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": message.text, "annotations": []}],
        }));
    }
    acc.extend(message.calls.iter().enumerate().map(|(at, call)| {
        let (namespace, name) = match call.name.split_once('.') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, call.name.as_str()),
        };
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{n}_{at}"), "call_id": format!("call_{n}_{at}"),
            "name": name, "arguments": call.arguments, "status": "completed",
        });
        if let Some(namespace) = namespace {
            item["namespace"] = json!(namespace);
        }
        item
    }));
    acc
}

/// Returns the name of a tool, or the names of all tools in a namespace as `namespace.tool`.
pub(super) fn tool_names(tool: &Value) -> Vec<String> {
    if tool["type"] != "namespace" {
        return tool_name(tool).into_iter().collect();
    }
    let namespace = tool["name"].as_str().unwrap_or_default();
    let tools = tool["tools"].as_array().into_iter().flatten();
    tools
        .filter_map(tool_name)
        .map(|name| format!("{namespace}.{name}"))
        .collect()
}

fn response(message: &Message, model: &str, n: usize, status: &str, output: &[Value]) -> Value {
    let tokens = message.tokens;
    // As in Chat Completions, cached tokens are a part of the input.
    let input = tokens.input + tokens.cached;
    json!({
        "id": format!("resp_{n}"), "object": "response", "created_at": 0, "model": model, "status": status,
        "output": output, "error": null, "incomplete_details": null,
        "usage": {
            "input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + tokens.output,
        },
    })
}

pub(super) fn whole(message: &Message, model: &str, n: usize) -> Value {
    response(message, model, n, "completed", &items(message, n))
}

pub(super) fn stream(message: &Message, model: &str, n: usize) -> Vec<StreamEvent> {
    let output = items(message, n);
    let mut acc = vec![json!({
        "type": "response.created", "response": response(message, model, n, "in_progress", &[]),
    })];
    for (at, item) in output.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        match begun["type"].as_str() {
            Some("message") => begun["content"] = json!([]),
            _ => begun["arguments"] = json!(""),
        }
        acc.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        let (kind, text) = match item["type"].as_str() {
            Some("message") => ("response.output_text.delta", &item["content"][0]["text"]),
            _ => ("response.function_call_arguments.delta", &item["arguments"]),
        };
        for half in halves(text.as_str().unwrap_or_default()) {
            acc.push(json!({"type": kind, "item_id": item["id"], "output_index": at, "content_index": 0, "delta": half}));
        }
        acc.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    acc.push(json!({
        "type": "response.completed", "response": response(message, model, n, "completed", &output),
    }));
    for (at, event) in acc.iter_mut().enumerate() {
        event["sequence_number"] = json!(at);
    }
    acc.iter().map(StreamEvent::typed).collect()
}

pub(super) fn tool_results(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().into_iter().flatten();
    items
        .filter(|item| {
            item["type"] == "function_call_output" || item["type"] == "custom_tool_call_output"
        })
        .map(|item| text_of(&item["output"]))
        .collect()
}
