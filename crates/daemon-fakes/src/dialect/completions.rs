//! The Chat Completions API of OpenAI.

use serde_json::{Value, json};

use super::{StreamEvent, halves, text_of};
use crate::reply::Message;

fn finish_reason(message: &Message) -> &'static str {
    match message {
        _ if message.is_cut_short => "length",
        _ if message.calls.is_empty() => "stop",
        _ => "tool_calls",
    }
}

fn usage(message: &Message) -> Value {
    let tokens = message.tokens;
    // Unlike the Messages API, this one counts cached tokens as a part of the prompt.
    let prompt = tokens.input + tokens.cached;
    json!({
        "prompt_tokens": prompt, "completion_tokens": tokens.output, "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    })
}

fn call_id(n: usize, at: usize) -> String {
    format!("call_{n}_{at}")
}

pub(super) fn whole(message: &Message, model: &str, n: usize) -> Value {
    let calls = message.calls.iter().enumerate().map(|(at, call)| {
        let function = json!({"name": call.name, "arguments": call.arguments});
        json!({"id": call_id(n, at), "type": "function", "function": function})
    });
    let mut reply = json!({"role": "assistant", "content": message.text});
    if !message.calls.is_empty() {
        reply["tool_calls"] = calls.collect();
    }
    json!({
        "id": format!("chatcmpl-{n}"), "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": reply, "finish_reason": finish_reason(message)}],
        "usage": usage(message),
    })
}

pub(super) fn stream(message: &Message, model: &str, n: usize) -> Vec<StreamEvent> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{n}"), "object": "chat.completion.chunk", "created": 0, "model": model,
            "choices": choices,
        })
    };
    let delta = |delta: Value, reason: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
    };
    let mut acc = vec![delta(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    if !message.text.is_empty() {
        acc.extend(halves(&message.text).map(|half| delta(json!({"content": half}), Value::Null)));
    }
    for (at, call) in message.calls.iter().enumerate() {
        let [first, second] = halves(&call.arguments);
        let begin = json!({"index": at, "id": call_id(n, at), "type": "function",
            "function": {"name": call.name, "arguments": first}});
        acc.push(delta(json!({"tool_calls": [begin]}), Value::Null));
        let end = json!({"index": at, "function": {"arguments": second}});
        acc.push(delta(json!({"tool_calls": [end]}), Value::Null));
    }
    acc.push(delta(json!({}), json!(finish_reason(message))));
    // The usage is in a last chunk without choices, as with `include_usage`.
    let mut last = chunk(json!([]));
    last["usage"] = usage(message);
    acc.push(last);
    let unnamed = |data: String| StreamEvent { name: None, data };
    let chunks = acc.iter().map(|chunk| unnamed(chunk.to_string()));
    chunks.chain([unnamed("[DONE]".to_owned())]).collect()
}

pub(super) fn tool_results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| text_of(&message["content"]))
        .collect()
}
