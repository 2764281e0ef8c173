//! What the stand-ins say, and that they end.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "a program that is a stand-in is run as it is"
)]

mod github;
mod kit;
mod linear;
mod pages;
mod slack;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use daemon_fakes::{ApiDialect, Message, ModelApi, Reply, Tokens, Transcript};
use serde_json::{Value, json};

/// Sends a request and returns the status line and the body.
fn ask(address: SocketAddr, path: &str, body: &Value) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nX-Api-Key: k\r\nContent-Length: {length}\r\n\r\n");
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn reply() -> Message {
    let tokens = Tokens {
        input: 7,
        cached: 2,
        output: 3,
    };
    Message::text("Looking.")
        .and_call("read", json!({"path": "a.md"}))
        .with_tokens(tokens)
}

/// Asks for a message in one piece, and for the same as a stream, whose events are put together.
fn both(api: &ModelApi, path: &str) -> (Value, Vec<Value>, String) {
    let whole = ask(api.address(), path, &json!({"model": "m"})).1;
    let stream = ask(api.address(), path, &json!({"model": "m", "stream": true})).1;
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events = data
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    (serde_json::from_str(&whole).unwrap(), events, stream)
}

fn joined<'e>(events: &'e [Value], part: impl Fn(&'e Value) -> &'e Value) -> String {
    events
        .iter()
        .filter_map(|event| part(event).as_str())
        .collect()
}

const ARGUMENTS: &str = r#"{"path":"a.md"}"#;

#[test]
fn messages_are_the_same_in_one_piece_and_in_a_stream() {
    let api = ModelApi::scripted(|_| Reply::Message(reply())).unwrap();
    let (whole, events, _) = both(&api, "/v1/messages");
    assert_eq!(whole["content"][0]["text"], "Looking.");
    assert_eq!(whole["content"][1]["input"], json!({"path": "a.md"}));
    assert_eq!(whole["usage"]["cache_read_input_tokens"], 2);
    assert_eq!(joined(&events, |event| &event["delta"]["text"]), "Looking.");
    assert_eq!(
        joined(&events, |event| &event["delta"]["partial_json"]),
        ARGUMENTS
    );
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn completions_are_the_same_in_one_piece_and_in_a_stream() {
    let api = ModelApi::scripted(|_| Reply::Message(reply())).unwrap();
    let (whole, events, stream) = both(&api, "/v1/chat/completions");
    let said = &whole["choices"][0]["message"];
    assert_eq!(said["content"], "Looking.");
    assert_eq!(said["tool_calls"][0]["function"]["arguments"], ARGUMENTS);
    assert_eq!(whole["usage"]["prompt_tokens"], 9);
    let delta =
        |event: &'static str| move |value: &Value| value["choices"][0]["delta"][event].clone();
    let texts: Vec<Value> = events.iter().map(delta("content")).collect();
    assert_eq!(joined(&texts, |text| text), "Looking.");
    let calls: Vec<Value> = events.iter().map(delta("tool_calls")).collect();
    assert_eq!(
        joined(&calls, |calls| &calls[0]["function"]["arguments"]),
        ARGUMENTS
    );
    assert!(stream.ends_with("data: [DONE]\n\n"));
}

#[test]
fn responses_are_the_same_in_one_piece_and_in_a_stream() {
    let api = ModelApi::scripted(|_| Reply::Message(reply())).unwrap();
    let (whole, events, _) = both(&api, "/v1/responses");
    assert_eq!(whole["output"][0]["content"][0]["text"], "Looking.");
    assert_eq!(whole["output"][1]["arguments"], ARGUMENTS);
    assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 2);
    let of = |kind: &str| -> Vec<Value> {
        let found = events.iter().filter(|event| event["type"] == kind);
        found.map(|event| event["delta"].clone()).collect()
    };
    assert_eq!(
        joined(&of("response.output_text.delta"), |text| text),
        "Looking."
    );
    assert_eq!(
        joined(&of("response.function_call_arguments.delta"), |text| text),
        ARGUMENTS
    );
    let last = &events.last().unwrap()["response"]["output"];
    assert_eq!(last[1]["arguments"], ARGUMENTS);
}

#[test]
fn tools_of_a_namespace_are_offered_and_used_by_both_names() {
    let call = || Message::default().and_call("mcp__desk.ring", json!({}));
    let api = ModelApi::scripted(move |_| Reply::Message(call())).unwrap();
    let body = json!({"model": "m", "input": [], "tools": [
        {"type": "namespace", "name": "mcp__desk", "tools": [{"type": "function", "name": "ring"}]},
        {"type": "web_search"},
    ]});
    let whole: Value = serde_json::from_str(&ask(api.address(), "/v1/responses", &body).1).unwrap();
    assert_eq!(api.received()[0].tools(), ["mcp__desk.ring", "web_search"]);
    let used = &whole["output"][0];
    assert_eq!(
        json!([used["namespace"], used["name"]]),
        json!(["mcp__desk", "ring"])
    );
}

#[test]
fn what_is_offered_and_what_tools_said_is_read_in_every_dialect() {
    let api = ModelApi::scripted(|_| Reply::text("ok")).unwrap();
    for (path, body) in [
        (
            "/v1/messages",
            json!({"tools": [{"name": "read"}], "messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "one"}]}]}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"tools": [{"type": "function", "function": {"name": "read"}}],
                "messages": [{"role": "tool", "tool_call_id": "1", "content": "one"}]}),
        ),
        (
            "/v1/responses",
            json!({"tools": [{"type": "function", "name": "read"}],
                "input": [{"type": "function_call_output", "call_id": "1", "output": "one"}]}),
        ),
    ] {
        ask(api.address(), path, &body);
    }
    let received = api.received();
    let dialects: Vec<ApiDialect> = received.iter().map(|received| received.dialect).collect();
    assert_eq!(
        dialects,
        [
            ApiDialect::Messages,
            ApiDialect::Completions,
            ApiDialect::Responses
        ]
    );
    for received in received {
        assert_eq!(received.tools(), ["read"]);
        assert_eq!(received.tool_results(), ["one"]);
        assert_eq!(received.key.as_deref(), Some("k"));
    }
}

#[test]
fn faults_are_told_as_they_are_scripted() {
    let replies = [
        Reply::rate_limited("3"),
        Reply::error(401, "no such key"),
        Reply::html(),
        Reply::Truncated(reply()),
        Reply::Silence(reply()),
    ];
    let api = ModelApi::replaying(replies).unwrap();
    let address = api.address();
    let ask_next = move || ask(address, "/v1/messages", &json!({"stream": true}));
    assert_eq!(ask_next().0, "HTTP/1.1 429 Fake");
    assert!(ask_next().1.contains("no such key"));
    assert!(ask_next().1.starts_with("<!doctype html>"));
    let is_cut = |text: &str| text.contains("message_start") && !text.contains("message_stop");
    assert!(is_cut(&ask_next().1));
    let silent = std::thread::spawn(move || ask_next().1);
    while api.received().len() < 5 {
        std::thread::yield_now();
    }
    drop(api);
    assert!(is_cut(&silent.join().unwrap()));
}

#[test]
fn a_script_that_is_over_and_an_unknown_address_are_errors() {
    let api = ModelApi::replaying([]).unwrap();
    let status = |path: &str| ask(api.address(), path, &json!({})).0;
    assert_eq!(status("/v1/messages"), "HTTP/1.1 500 Fake");
    assert_eq!(status("/v1/models"), "HTTP/1.1 404 Fake");
    assert_eq!(api.received().len(), 1);
}

#[test]
fn a_transcript_is_printed_byte_for_byte_and_what_it_was_given_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("it's an agent");
    let transcript = Transcript {
        complaints: "oh\n".to_owned(),
        exit: 3,
        kept_in: Some(directory.path().to_owned()),
        ..Transcript::new("$HOME `id`\nno end of line")
    };
    transcript.install(&program).unwrap();
    let mut command = Command::new(&program);
    command
        .env_clear()
        .args(["--a", "b c"])
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), transcript.lines);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "oh\n");
    assert_eq!(output.status.code(), Some(3));
    let kept = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(
        (kept("args").as_str(), kept("stdin").as_str()),
        ("--a\nb c\n", "")
    );
}
