//! Requests that wait for a turn or follow the host, and the events that they receive meanwhile.

use daemon_agent::Followed;
use daemon_records::error::{OpError, OpErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::replies::Replies;
use super::wire::{RequestId, ServerNotification, StreamedEvent};
use crate::ops::{Operation, Operations, UnknownMethod, turn_members};
use crate::wire::{AgentEventObject, FeedEventObject};

/// A request that is answered with events.
pub(super) struct Stream<'a> {
    pub(super) operations: &'a Operations,
    pub(super) id: &'a RequestId,
    pub(super) replies: &'a Replies,
    /// The client stops waiting.
    pub(super) cancelled: &'a CancellationToken,
    /// The client sends nothing more, so that it could not end a stream that has no end of its own.
    pub(super) unending: &'a CancellationToken,
    /// The client has disconnected, or closed its writing side.
    pub(super) gone: &'a CancellationToken,
}

impl Stream<'_> {
    /// Sends the message and waits for the end of the turn, which continues if the client stops waiting, and if it leaves, unless
    /// the configuration says otherwise.
    pub(super) async fn follow(
        &self,
        operation: Result<Operation, UnknownMethod>,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, OpError> {
        let mut stream = self.operations.follow(params.into())?;
        let shows_events = operation == Ok(Operation::ConversationStream);
        let conversations = self.operations.conversations()?;
        let ends_with_client = conversations.ends_with_client();
        loop {
            let followed = tokio::select! {
                biased;
                () = self.cancelled.cancelled() => return Err(cancelled("the client stopped waiting; the turn continues")),
                () = self.replies.closed() => {
                    conversations.disconnected(stream);
                    return Err(cancelled("the client is gone"));
                }
                () = self.gone.cancelled(), if ends_with_client => {
                    conversations.disconnected(stream);
                    return Err(cancelled("the client has closed its side, which ends the turn"));
                }
                followed = stream.next() => followed,
            };
            match followed {
                Followed::End(end) => return turn_members(end?),
                Followed::Event(event) if shows_events => {
                    self.send(event.seq, &AgentEventObject::new(&event.event))
                        .await?;
                }
                Followed::Event(_) => {}
            }
        }
    }
}

impl Stream<'_> {
    /// Sends the events of all conversations until the client cancels the request or is gone.
    pub(super) async fn follow_all(
        &self,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, OpError> {
        let mut stream = self.operations.follow_all(params.into())?;
        loop {
            let next = tokio::select! {
                biased;
                () = self.cancelled.cancelled() => return Ok(Map::new()),
                () = self.unending.cancelled() => return Ok(Map::new()),
                () = self.replies.closed() => return Err(cancelled("the client is gone")),
                next = stream.next() => next?,
            };
            self.send(next.seq, &FeedEventObject::new(&next)).await?;
        }
    }

    /// Calls the `daemon` tool and waits as long as the call says, or until the client leaves or stops waiting.
    pub(super) async fn wait_for_runs(
        &self,
        call: Map<String, Value>,
    ) -> Result<Map<String, Value>, OpError> {
        // Not interrupted: a batch is dispatched as a whole.
        let reply = self.operations.run_call(call).await?;
        let Some(later) = reply.later else {
            return Ok(reply.members);
        };
        tokio::select! {
            () = self.cancelled.cancelled() => Err(cancelled("the client stopped waiting; the runs continue")),
            () = self.replies.closed() => Err(cancelled("the client is gone; the runs continue")),
            () = self.unending.cancelled() => Ok(reply.members),
            end = later => end,
        }
    }

    async fn send(&self, seq: u64, event: &impl Serialize) -> Result<(), OpError> {
        let event = StreamedEvent {
            request_id: self.id.clone(),
            seq,
            event: crate::ops::value(event)?,
        };
        let notification = ServerNotification::stream_event(&event);
        if let Some(queued) = self.replies.room_for(notification).await {
            self.replies.put(queued).await;
        }
        Ok(())
    }
}

fn cancelled(message: &str) -> OpError {
    OpError::new(OpErrorKind::Cancelled, "cancelled", message)
}
