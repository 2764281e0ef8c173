//! A connection of one client of the control socket.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::server::Control;
use super::streams::Stream;
use super::wire::{ClientMessage, RequestId, ServerMessage, ServerNotification};
use super::{MAX_LINE, MAX_OPEN, PROTOCOL_VERSION};
use crate::ops::{Operation, Params};

/// The maximum number of queued responses of a client that reads slowly.
const REPLY_QUEUE: usize = 256;
/// The maximum number of requests of one client that run at the same time; other open requests wait.
const AT_ONCE: usize = 4;
/// The maximum number of bytes of queued responses. Responses have very different sizes, so their number alone bounds nothing.
const REPLY_BYTES: usize = 1024 * 1024;
/// How long a full queue of responses may stay full before the client is disconnected.
const SLOW_READER: Duration = Duration::from_secs(10);

/// A line from a client.
pub(super) enum Line {
    /// A complete line, without its end.
    Whole(Vec<u8>),
    /// The line exceeds [`MAX_LINE`].
    TooLong,
    /// The client closed the connection.
    End,
}

/// A response that waits to be written, and its share of the byte limit.
pub(super) struct Queued {
    line: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// The response queue of one client, bounded in number and in bytes.
#[derive(Clone)]
pub(super) struct Replies {
    queue: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
}

/// The two steps of a stop of the host.
pub(super) struct Stopping {
    /// New requests are refused.
    pub(super) stop: CancellationToken,
    /// Runs have drained, and connections are closed.
    pub(super) finished: CancellationToken,
}

/// Serves one client until it disconnects, violates the protocol, or the host has stopped.
pub(super) async fn serve_client(stream: UnixStream, control: Arc<Control>, stopping: Stopping) {
    let (reading, mut writing) = stream.into_split();
    let (queue, mut waiting) = mpsc::channel::<Queued>(REPLY_QUEUE);
    let replies = Replies {
        queue,
        room: Arc::new(Semaphore::new(REPLY_BYTES)),
    };
    let writer = async move {
        while let Some(queued) = waiting.recv().await {
            match tokio::time::timeout(SLOW_READER, writing.write_all(&queued.line)).await {
                Ok(Ok(())) => {}
                // Dropping the receiver closes the queue, which ends the reader too.
                Ok(Err(_)) | Err(_) => return,
            }
        }
    };
    let reader = read_requests(BufReader::new(reading), control, replies, stopping);
    tokio::join!(writer, reader);
}

async fn read_requests(
    mut reading: impl AsyncBufRead + Unpin,
    control: Arc<Control>,
    replies: Replies,
    stopping: Stopping,
) {
    let mut events = control.events.subscribe();
    let mut lines = Lines::new(&mut reading);
    let mut requests = Requests::new(control, replies.clone(), stopping.stop);
    loop {
        let line = tokio::select! {
            () = stopping.finished.cancelled() => break,
            () = replies.queue.closed() => break,
            event = events.recv(), if requests.is_initialized => {
                notify(&replies, event).await;
                continue;
            }
            line = lines.next() => line,
        };
        let bytes = match line {
            Ok(Line::Whole(bytes)) => bytes,
            Ok(Line::TooLong) => {
                // The end of the line is unknown, so no later message can be found.
                let message = format!("a line has more than {MAX_LINE} bytes");
                let refusal = ServerMessage::error(None, -32006, "too-large", message);
                reply(&replies, refusal).await;
                break;
            }
            Ok(Line::End) | Err(_) => break,
        };
        match read_message(&bytes) {
            Ok(message) => requests.handle(message).await,
            Err(refusal) => reply(&replies, *refusal).await,
        }
    }
    requests.unending.cancel();
    // A client that closed only its writing side still gets the responses to its open requests.
    requests.tasks.close();
    requests.tasks.wait().await;
}

/// The requests of one client.
struct Requests {
    control: Arc<Control>,
    replies: Replies,
    stop: CancellationToken,
    is_initialized: bool,
    /// The requests without a response, with what stops waiting for them.
    open: Arc<Mutex<BTreeMap<RequestId, CancellationToken>>>,
    turns: Arc<Semaphore>,
    /// Ends the streams that have no end of their own.
    unending: CancellationToken,
    tasks: TaskTracker,
}

impl Requests {
    fn new(control: Arc<Control>, replies: Replies, stop: CancellationToken) -> Self {
        Self {
            control,
            replies,
            stop,
            is_initialized: false,
            open: Arc::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            unending: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    async fn handle(&mut self, message: ClientMessage) {
        let Some(id) = message.id.clone() else {
            return self.notified(&message);
        };
        if let Some(refusal) = admit(&message, &id, self.is_initialized, &self.open) {
            return reply(&self.replies, refusal).await;
        }
        // `ping` is allowed during a stop, so that a client can wait for its end.
        if self.stop.is_cancelled() && message.method != "ping" {
            let words = "the host is stopping";
            let refusal = ServerMessage::error(Some(id), -32013, "shutting-down", words);
            return reply(&self.replies, refusal).await;
        }
        match message.method.as_str() {
            "initialize" => {
                let answer = initialize(id, &message.params, &self.control);
                self.is_initialized |= answer.result.is_some();
                reply(&self.replies, answer).await;
            }
            "ping" => {
                let answer = match Params::new(message.params).finish() {
                    Ok(()) => ServerMessage::result(id, ping(&self.control)),
                    Err(error) => ServerMessage::op_error(id, &error),
                };
                reply(&self.replies, answer).await;
            }
            _ => self.start(id, message),
        }
    }

    /// Handles a notification of the client; an unknown one is ignored.
    fn notified(&self, message: &ClientMessage) {
        let named = message.params.get("request_id").map(RequestId::deserialize);
        if message.method == "cancel"
            && let Some(Ok(id)) = named
            && let Some(cancelled) = self.open.lock().expect("no holder panics").get(&id)
        {
            cancelled.cancel();
        }
    }

    /// Runs an operation in a task, because it may take longer than the client waits before its next request.
    fn start(&self, id: RequestId, message: ClientMessage) {
        let cancelled = CancellationToken::new();
        self.open
            .lock()
            .expect("no holder panics")
            .insert(id.clone(), cancelled.clone());
        let (control, replies) = (Arc::clone(&self.control), self.replies.clone());
        let (open, turns) = (Arc::clone(&self.open), Arc::clone(&self.turns));
        let unending = self.unending.clone();
        self.tasks.spawn(async move {
            let operation = message.method.parse::<Operation>();
            let stream = Stream {
                operations: &control.operations,
                id: &id,
                replies: &replies,
                cancelled: &cancelled,
                unending: &unending,
            };
            let params = || message.params.clone();
            // A turn takes minutes. Waiting for it must keep no other request of the client from running.
            let waited = match &operation {
                Ok(Operation::ConversationSend | Operation::ConversationStream) => {
                    Some(stream.follow(operation.clone(), params()).await)
                }
                Ok(Operation::EventSubscribe) => Some(stream.follow_all(params()).await),
                _ => None,
            };
            // Held until the response is queued: a client that does not read can cause only few responses.
            let _turn = turns
                .acquire()
                .await
                .expect("the semaphore is never closed");
            let called = match waited {
                Some(ended) => ended,
                None => match operation {
                    Ok(operation) => control.operations.call(operation, message.params).await,
                    Err(unknown) => Err(unknown.into()),
                },
            };
            let answer = match called {
                Ok(result) => ServerMessage::result(id.clone(), result),
                Err(error) => ServerMessage::op_error(id.clone(), &error),
            };
            // The id is free once its response is queued; a client that does not read keeps its requests open.
            let queued = replies.room_for(answer).await;
            open.lock().expect("no holder panics").remove(&id);
            if let Some(queued) = queued {
                replies.put(queued).await;
            }
        });
    }
}

/// Checks whether a request may run; returns the error response if it may not.
fn admit(
    message: &ClientMessage,
    id: &RequestId,
    is_initialized: bool,
    open: &Mutex<BTreeMap<RequestId, CancellationToken>>,
) -> Option<ServerMessage> {
    let refuse =
        |code, word, text: &str| Some(ServerMessage::error(Some(id.clone()), code, word, text));
    if !id.is_valid() {
        return refuse(-32600, "invalid-request", "an id has more than 128 bytes");
    }
    if !is_initialized && !matches!(message.method.as_str(), "initialize" | "ping") {
        return refuse(-32001, "not-initialized", "send `initialize` first");
    }
    let open = open.lock().expect("no holder panics");
    if open.contains_key(id) {
        return refuse(-32600, "invalid-request", "a request of this id is open");
    }
    if open.len() >= MAX_OPEN {
        return refuse(-32007, "busy", "64 requests are open");
    }
    None
}

async fn reply(replies: &Replies, message: ServerMessage) {
    if let Some(queued) = replies.room_for(message).await {
        replies.put(queued).await;
    }
}

/// Sends a published event to a client. A client that is too slow misses events, and requests them by number.
async fn notify(replies: &Replies, event: Result<Arc<Value>, RecvError>) {
    let Ok(event) = event else {
        return;
    };
    let notification = ServerNotification::run_event(Value::clone(&event));
    if let Some(queued) = replies.room_for(notification).await {
        replies.put(queued).await;
    }
}

impl Replies {
    /// Waits until the client is gone.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Waits for space in the queue; `None` if the client does not read the queued responses.
    pub(super) async fn room_for(&self, message: impl Serialize) -> Option<Queued> {
        let mut line = serde_json::to_vec(&message).expect("a message is representable");
        line.push(b'\n');
        // A response that is larger than the limit waits until the queue is empty.
        let size = u32::try_from(line.len().min(REPLY_BYTES)).expect("the room is small");
        let room = Arc::clone(&self.room).acquire_many_owned(size);
        let Ok(room) = tokio::time::timeout(SLOW_READER, room).await else {
            tracing::debug!("a control client does not read its answers");
            return None;
        };
        Some(Queued {
            line,
            _room: room.expect("the semaphore is never closed"),
        })
    }

    pub(super) async fn put(&self, queued: Queued) {
        if self.queue.send_timeout(queued, SLOW_READER).await.is_err() {
            tracing::debug!("a control client does not read its answers");
        }
    }
}

/// The lines of a client. Dropping the future of [`Lines::next`] loses no bytes.
pub(super) struct Lines<'r, R> {
    reading: &'r mut R,
    begun: Vec<u8>,
}

impl<'r, R: AsyncBufRead + Unpin> Lines<'r, R> {
    pub(super) fn new(reading: &'r mut R) -> Self {
        Self {
            reading,
            begun: Vec::new(),
        }
    }

    pub(super) async fn next(&mut self) -> std::io::Result<Line> {
        loop {
            let available = self.reading.fill_buf().await?;
            if available.is_empty() {
                // A line cut by the end of input is never executed.
                return Ok(Line::End);
            }
            let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at, true),
                None => (available.len(), false),
            };
            if self.begun.len() + taken > MAX_LINE {
                return Ok(Line::TooLong);
            }
            self.begun.extend_from_slice(&available[..taken]);
            self.reading.consume(taken + usize::from(ended));
            if ended {
                return Ok(Line::Whole(std::mem::take(&mut self.begun)));
            }
        }
    }
}

pub(super) fn read_message(bytes: &[u8]) -> Result<ClientMessage, Box<ServerMessage>> {
    let refuse =
        |id, code, word, text: String| Err(Box::new(ServerMessage::error(id, code, word, text)));
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return refuse(None, -32700, "parse-error", error.to_string()),
    };
    if value.is_array() {
        return refuse(
            None,
            -32600,
            "invalid-request",
            "batches are not served".to_owned(),
        );
    }
    let id = match value.get("id").map(RequestId::deserialize) {
        None => None,
        Some(Ok(id)) => Some(id),
        // Null, too: its response could not be distinguished from the response to an unparsable line.
        Some(Err(_)) => {
            let words = "an id is a whole number of 64 bits or a string".to_owned();
            return refuse(None, -32600, "invalid-request", words);
        }
    };
    if !value.is_object() {
        let words = "a message is a JSON object".to_owned();
        return refuse(None, -32600, "invalid-request", words);
    }
    match serde_json::from_value::<ClientMessage>(value) {
        Ok(message) if message.jsonrpc == "2.0" => Ok(message),
        Ok(_) => refuse(
            id,
            -32600,
            "invalid-request",
            "`jsonrpc` must be \"2.0\"".to_owned(),
        ),
        Err(error) => {
            // It quotes the client, who may have sent megabytes.
            let words = error.to_string().chars().take(200).collect();
            refuse(id, -32600, "invalid-request", words)
        }
    }
}

fn initialize(id: RequestId, params: &Map<String, Value>, control: &Control) -> ServerMessage {
    match params.get("protocol_version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(PROTOCOL_VERSION) => {}
        Some(version) => {
            let message = format!("version {version} is not served, {PROTOCOL_VERSION} is");
            return ServerMessage::error(Some(id), -32014, "unsupported-version", message);
        }
        None => {
            return ServerMessage::error(
                Some(id),
                -32602,
                "invalid-params",
                "`protocol_version` must be given as a whole number",
            );
        }
    }
    for name in params.keys() {
        if !matches!(name.as_str(), "protocol_version" | "client" | "token") {
            let message = format!(
                "`{}` is not a parameter here",
                name.chars().take(80).collect::<String>()
            );
            return ServerMessage::error(Some(id), -32602, "invalid-params", message);
        }
    }
    let result = json!({
        "protocol_version": PROTOCOL_VERSION,
        "host": {"name": "daemon-run", "version": env!("CARGO_PKG_VERSION"), "epoch": control.epoch},
        "actor": control.actor,
        "scope": "admin",
        "limits": {"line_bytes": MAX_LINE, "open_requests": MAX_OPEN},
    });
    match result {
        Value::Object(map) => ServerMessage::result(id, map),
        _ => ServerMessage::error(Some(id), -32603, "internal", "the answer is not an object"),
    }
}

fn ping(control: &Control) -> Map<String, Value> {
    let mut map = Map::new();
    let uptime = control.started.elapsed().as_millis();
    map.insert(
        "uptime_ms".to_owned(),
        json!(u64::try_from(uptime).unwrap_or(u64::MAX)),
    );
    map
}
