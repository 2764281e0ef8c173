//! The Messages API of Anthropic.

use serde_json::{Value, json};

use super::{StreamEvent, halves, text_of};
use crate::reply::Message;

fn stop_reason(message: &Message) -> &'static str {
    match message {
        _ if message.is_cut_short => "max_tokens",
        _ if message.calls.is_empty() => "end_turn",
        _ => "tool_use",
    }
}

fn usage(message: &Message) -> Value {
    let tokens = message.tokens;
    json!({
        "input_tokens": tokens.input, "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0, "output_tokens": tokens.output,
    })
}

fn call_id(n: usize, at: usize) -> String {
    format!("toolu_{n}_{at}")
}

pub(super) fn whole(message: &Message, model: &str, n: usize) -> Value {
    let mut content = Vec::new();
    if !message.text.is_empty() {
        content.push(json!({"type": "text", "text": message.text}));
    }
    content.extend(message.calls.iter().enumerate().map(|(at, call)| {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        json!({"type": "tool_use", "id": call_id(n, at), "name": call.name, "input": input})
    }));
    json!({
        "id": format!("msg_{n}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason(message), "stop_sequence": null, "usage": usage(message),
    })
}

pub(super) fn stream(message: &Message, model: &str, n: usize) -> Vec<StreamEvent> {
    let mut acc = vec![json!({"type": "message_start", "message": {
        "id": format!("msg_{n}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(message),
    }})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        acc.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            acc.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        acc.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !message.text.is_empty() {
        let deltas = halves(&message.text).map(|half| json!({"type": "text_delta", "text": half}));
        block(json!({"type": "text", "text": ""}), deltas.into());
    }
    for (at, call) in message.calls.iter().enumerate() {
        let start =
            json!({"type": "tool_use", "id": call_id(n, at), "name": call.name, "input": {}});
        let delta = |half| json!({"type": "input_json_delta", "partial_json": half});
        block(start, halves(&call.arguments).map(delta).into());
    }
    acc.push(json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(message), "stop_sequence": null},
        "usage": {"output_tokens": message.tokens.output},
    }));
    acc.push(json!({"type": "message_stop"}));
    acc.iter().map(StreamEvent::typed).collect()
}

pub(super) fn tool_results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    parts
        .filter(|part| part["type"] == "tool_result")
        .map(|part| text_of(&part["content"]))
        .collect()
}
