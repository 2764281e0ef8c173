//! A connection of one client of the control socket.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_records::error::{OpError, OpErrorKind};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hello::{self, ControlTransport, KnownClient};
use super::lines::{Line, Lines, read_message};
use super::replies::Replies;
use super::server::Control;
use super::streams::Stream;
use super::wire::{ClientMessage, RequestId, ServerMessage, ServerNotification};
use super::{MAX_LINE, MAX_OPEN};
use crate::ops::{Operation, Params, RosterCaller};
use crate::tokens::TokenChanges;

/// The maximum number of requests of one client that run at the same time; other open requests wait.
const AT_ONCE: usize = 4;
/// How long a client over TCP may take to send its token.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// The maximum length of the line with its token. Longer lines are only read from clients that are known.
const HELLO_BYTES: usize = 64 * 1024;

/// The two steps of a stop of the host.
pub(super) struct Stopping {
    /// New requests are refused.
    pub(super) stop: CancellationToken,
    /// Runs have drained, and connections are closed.
    pub(super) finished: CancellationToken,
}

/// A client that has connected.
pub(super) enum NewClient {
    /// The owner, on the socket of the home.
    Owner,
    /// A client over TCP, with its permit among those that have not sent a token yet.
    Unknown(OwnedSemaphorePermit),
}

/// Serves one client until it disconnects, violates the protocol, or the host has stopped.
pub(super) async fn serve_client(
    (reading, writing): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    client: NewClient,
    control: Arc<Control>,
    stopping: Stopping,
) {
    let (replies, waiting) = Replies::new();
    let writer = waiting.write(writing);
    let mut reading = BufReader::new(reading);
    let reader = async move {
        let mut lines = Lines::new(&mut reading);
        let transport = match &client {
            NewClient::Owner => ControlTransport::Socket,
            NewClient::Unknown(_) => ControlTransport::Tcp,
        };
        // Before the client sends its token: a change between the two would be missed.
        let tokens = control.access.changes();
        let mut requests = Requests::new(control, transport, replies, stopping.stop);
        if let NewClient::Unknown(permit) = client {
            if !greet(&mut lines, &mut requests, &stopping.finished).await {
                return;
            }
            drop(permit);
        }
        read_requests(lines, requests, tokens, stopping.finished).await;
    };
    tokio::join!(writer, reader);
}

/// Reads the first line of a client over TCP, and returns whether it says who the client is.
async fn greet<R: AsyncBufRead + Unpin>(
    lines: &mut Lines<'_, R>,
    requests: &mut Requests,
    finished: &CancellationToken,
) -> bool {
    let line = tokio::time::timeout(HELLO_TIME, lines.next_within(HELLO_BYTES));
    let line = tokio::select! {
        () = finished.cancelled() => return false,
        line = line => line,
    };
    let Ok(Ok(Line::Whole(bytes))) = line else {
        return false;
    };
    // No response: the page of a browser that sends HTTP here gets nothing that it could read.
    let Ok(message) = read_message(&bytes) else {
        return false;
    };
    match message.id.clone() {
        Some(id) if message.method != "initialize" => {
            let refusal = ServerMessage::error(Some(id), -32002, "unauthorized", hello::NO_TOKEN);
            reply(&requests.replies, refusal).await;
        }
        _ => requests.handle(message).await,
    }
    requests.caller.is_some()
}

async fn read_requests<R: AsyncBufRead + Unpin>(
    mut lines: Lines<'_, R>,
    mut requests: Requests,
    mut tokens: TokenChanges,
    finished: CancellationToken,
) {
    let replies = requests.replies.clone();
    let mut events = requests.control.events.subscribe();
    let mut is_gone = true;
    loop {
        let line = tokio::select! {
            () = finished.cancelled() => {
                is_gone = false;
                break;
            }
            () = replies.closed() => break,
            event = events.recv(), if requests.caller.is_some() => {
                notify(&replies, event).await;
                continue;
            }
            Ok(()) = tokens.changed() => {
                if requests.is_valid() {
                    continue;
                }
                requests.stop_waiting();
                break;
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
    if is_gone {
        requests.gone.cancel();
    }
    // A client that closed only its writing side still gets the responses to its open requests.
    requests.tasks.close();
    requests.tasks.wait().await;
}

/// The requests of one client.
struct Requests {
    control: Arc<Control>,
    replies: Replies,
    stop: CancellationToken,
    transport: ControlTransport,
    /// The client, once it has sent `initialize`.
    caller: Option<KnownClient>,
    /// The requests without a response, with what stops waiting for them.
    open: Arc<Mutex<BTreeMap<RequestId, CancellationToken>>>,
    turns: Arc<Semaphore>,
    /// Ends the streams that have no end of their own.
    unending: CancellationToken,
    /// The client has disconnected, or closed its writing side.
    gone: CancellationToken,
    tasks: TaskTracker,
}

impl Requests {
    fn new(
        control: Arc<Control>,
        transport: ControlTransport,
        replies: Replies,
        stop: CancellationToken,
    ) -> Self {
        Self {
            control,
            replies,
            stop,
            transport,
            caller: None,
            open: Arc::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            unending: CancellationToken::new(),
            gone: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    async fn handle(&mut self, message: ClientMessage) {
        let Some(id) = message.id.clone() else {
            return self.notified(&message);
        };
        if let Some(refusal) = admit(&message, &id, self.caller.is_some(), &self.open) {
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
                let (answer, caller) =
                    hello::initialize(id, &message.params, &self.control, self.transport);
                self.caller = caller.or(self.caller.take());
                reply(&self.replies, answer).await;
            }
            "ping" => {
                let answer = match Params::new(message.params).finish() {
                    Ok(()) => ServerMessage::result(id, hello::ping(&self.control)),
                    Err(error) => ServerMessage::op_error(id, &error),
                };
                reply(&self.replies, answer).await;
            }
            _ => match self.check_allowed(&message) {
                Ok(()) => match self.control.dispatches.take() {
                    Some(place) => self.start(id, message, place),
                    None => {
                        let words = "the host serves as many requests as it may";
                        let busy = ServerMessage::error(Some(id), -32007, "busy", words);
                        reply(&self.replies, busy).await;
                    }
                },
                Err(error) => {
                    reply(&self.replies, ServerMessage::op_error(id, &error)).await;
                }
            },
        }
    }

    /// Checks that the client may send a request.
    ///
    /// # Errors
    /// If its scope is too low, or the request names a directory that is not for clients with a token.
    fn check_allowed(&self, message: &ClientMessage) -> Result<(), OpError> {
        let (Some(caller), Ok(operation)) = (&self.caller, message.method.parse::<Operation>())
        else {
            // An unknown method is refused where it is called.
            return Ok(());
        };
        if !caller.may_call(operation) {
            let words = format!(
                "`{}` needs the scope {}, and the token has {}",
                operation.method(),
                operation.scope().as_str(),
                caller.holder.scope.as_str()
            );
            return Err(OpError::new(OpErrorKind::Forbidden, "forbidden", words));
        }
        match caller.has_token() {
            true => self
                .control
                .operations
                .check_directories(operation, &message.params),
            false => Ok(()),
        }
    }

    /// Reports whether the token of the client is still in force.
    fn is_valid(&self) -> bool {
        let caller = self.caller.as_ref();
        caller.is_none_or(|caller| caller.is_valid(&self.control))
    }

    /// Ends the waiting of all open requests.
    fn stop_waiting(&self) {
        for waiting in self.open.lock().expect("no holder panics").values() {
            waiting.cancel();
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

    /// Returns who calls the operations of the roster.
    fn roster_caller(&self) -> RosterCaller {
        let caller = self.caller.as_ref();
        caller.map_or(RosterCaller::Operator, KnownClient::caller)
    }

    /// Runs an operation in a task, because it may take longer than the client waits before its next request.
    fn start(&self, id: RequestId, message: ClientMessage, place: OwnedSemaphorePermit) {
        let cancelled = CancellationToken::new();
        self.open
            .lock()
            .expect("no holder panics")
            .insert(id.clone(), cancelled.clone());
        let (control, replies) = (Arc::clone(&self.control), self.replies.clone());
        let (open, turns) = (Arc::clone(&self.open), Arc::clone(&self.turns));
        let (unending, gone) = (self.unending.clone(), self.gone.clone());
        let caller = self.roster_caller();
        self.tasks.spawn(async move {
            let operation = message.method.parse::<Operation>();
            let operations = control.operations.of_caller(caller);
            let stream = Stream {
                operations: &operations,
                id: &id,
                replies: &replies,
                cancelled: &cancelled,
                unending: &unending,
                gone: &gone,
            };
            let params = || message.params.clone();
            // A turn or a run takes minutes. Waiting for it must keep no other request of the client from running.
            let waited = match &operation {
                // What an agent may call has no streams.
                _ if caller != RosterCaller::Operator => None,
                Ok(Operation::ConversationSend | Operation::ConversationStream) => {
                    Some(stream.follow(operation.clone(), params()).await)
                }
                Ok(Operation::EventSubscribe) => Some(stream.follow_all(params()).await),
                Ok(Operation::RunCall) if message.params.contains_key("wait") => {
                    Some(stream.wait_for_runs(params()).await)
                }
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
                    Ok(operation) => operations.call(operation, message.params).await,
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
            drop(place);
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
