//! A connection from a process of a run: it sends the run's token first, and can then use what the run was granted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::PROTOCOL_VERSION;
use super::connection::Stopping;
use super::lines::{Line, Lines, read_message};
use super::run_tokens::{self, RunTokens};
use super::server::Control;
use super::wire::{ClientMessage, ServerMessage};

/// The time limit for a client to send its token, and to read a response.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves a process of a run until it disconnects, sends a wrong token, or its run is over.
pub(super) async fn serve_run(stream: UnixStream, control: Arc<Control>, stopping: Stopping) {
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let mut lines = Lines::new(&mut reading);
    let mut token = None;
    loop {
        let limit = match token {
            None => CLIENT_TIMEOUT,
            // A known process may be silent for as long as its run takes.
            Some(_) => Duration::MAX,
        };
        let line = tokio::select! {
            () = stopping.finished.cancelled() => return,
            line = tokio::time::timeout(limit, lines.next()) => line,
        };
        let Ok(Ok(Line::Whole(bytes))) = line else {
            return;
        };
        let answer = match read_message(&bytes) {
            Ok(message) => answer(message, &mut token, &control.tokens).await,
            Err(refusal) => Some(*refusal),
        };
        let Some(answer) = answer else {
            continue;
        };
        let mut line = serde_json::to_vec(&answer).expect("a message is representable");
        line.push(b'\n');
        let written = tokio::time::timeout(CLIENT_TIMEOUT, writing.write_all(&line)).await;
        // Checked after each response: the connection ends with the run.
        let is_known = token
            .as_deref()
            .is_some_and(|token| control.tokens.knows(token));
        if !matches!(written, Ok(Ok(()))) || !is_known {
            return;
        }
    }
}

/// Handles one message and returns the response; `None` for a notification.
pub(super) async fn answer(
    message: ClientMessage,
    token: &mut Option<String>,
    tokens: &RunTokens,
) -> Option<ServerMessage> {
    let id = message.id?;
    let is_hello = message.method == "initialize";
    let Some(shown) = token.as_deref().filter(|_| !is_hello) else {
        let shown = message.params.get("token").and_then(Value::as_str);
        return Some(
            match shown.filter(|shown| is_hello && tokens.knows(shown)) {
                Some(shown) => {
                    *token = Some(shown.to_owned());
                    ServerMessage::result(id, hello())
                }
                None => {
                    let words = "a process of a run shows the token of its run first";
                    ServerMessage::error(Some(id), -32002, "unauthorized", words)
                }
            },
        );
    };
    let called = run_tokens::call(tokens, shown, &message.method, message.params).await;
    Some(match called {
        Ok(result) => ServerMessage::result(id, result),
        Err(error) => ServerMessage::op_error(id, &error),
    })
}

fn hello() -> Map<String, Value> {
    let host = json!({"name": "daemon-run", "version": env!("CARGO_PKG_VERSION")});
    Map::from_iter([
        ("protocol_version".to_owned(), json!(PROTOCOL_VERSION)),
        ("host".to_owned(), host),
        ("scope".to_owned(), json!("run")),
    ])
}
