//! What a connection does while a request comes in and its answer goes out.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::connections::Connection;

/// The number of bytes after which the time that a peer has been silent begins again.
const PROGRESS: usize = 64 * 1024;

/// The body of a request; its connection counts as waiting while the next part has not arrived.
pub(super) struct Received {
    body: Incoming,
    connection: Arc<Connection>,
    since: Instant,
    n_since: usize,
}

impl Received {
    pub(super) fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        Self {
            body,
            connection,
            since: Instant::now(),
            n_since: 0,
        }
    }
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let Poll::Ready(frame) = &polled else {
            self.connection.waits(self.since);
            return polled;
        };
        if let Some(Ok(frame)) = frame {
            self.n_since += frame.data_ref().map_or(0, Bytes::len);
        }
        // Single bytes are no progress: a peer could keep its place with one byte at a time.
        if self.n_since >= PROGRESS {
            self.since = Instant::now();
            self.n_since = 0;
        }
        self.connection.works();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response; once it is sent, its connection waits for the next request.
pub(super) struct Sent {
    body: Body,
    connection: Arc<Connection>,
}

impl Sent {
    pub(super) fn new(body: Body, connection: Arc<Connection>) -> Self {
        Self { body, connection }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.connection.waits(Instant::now());
    }
}
