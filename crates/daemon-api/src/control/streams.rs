//! Requests that wait for a turn, and the events that they receive meanwhile.

use daemon_agent::Followed;
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::connection::Replies;
use super::wire::{RequestId, ServerNotification, StreamedEvent};
use crate::ops::{Operation, Operations, UnknownMethod, turn_members};
use crate::wire::AgentEventObject;

/// A request that waits for a turn.
pub(super) struct Turn<'a> {
    pub(super) operations: &'a Operations,
    pub(super) id: &'a RequestId,
    pub(super) replies: &'a Replies,
    pub(super) cancelled: &'a CancellationToken,
}

impl Turn<'_> {
    /// Sends the message and waits for the end of the turn, which continues if the client leaves or stops waiting.
    pub(super) async fn follow(
        &self,
        operation: Result<Operation, UnknownMethod>,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, OpError> {
        let mut stream = self.operations.follow(params.into())?;
        let shows_events = operation == Ok(Operation::ConversationStream);
        loop {
            let followed = tokio::select! {
                biased;
                () = self.cancelled.cancelled() => return Err(cancelled("the client stopped waiting; the turn continues")),
                () = self.replies.closed() => return Err(cancelled("the client is gone; the turn continues")),
                followed = stream.next() => followed,
            };
            match followed {
                Followed::End(end) => return turn_members(end?),
                Followed::Event(event) if shows_events => {
                    let event = StreamedEvent {
                        request_id: self.id.clone(),
                        seq: event.seq,
                        event: crate::ops::value(&AgentEventObject::new(&event))?,
                    };
                    let notification = ServerNotification::stream_event(&event);
                    if let Some(queued) = self.replies.room_for(notification).await {
                        self.replies.put(queued).await;
                    }
                }
                Followed::Event(_) => {}
            }
        }
    }
}

fn cancelled(message: &str) -> OpError {
    OpError::new(OpErrorKind::Cancelled, "cancelled", message)
}
