//! Limits on the amount of data that a server may send.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// The maximum size of one message, in bytes.
pub(crate) const MOST_LINE: usize = 4 << 20;
/// The maximum amount of data between two requests, in bytes. Notifications are read and ignored; without a limit a
/// server could occupy the reader for ever.
pub(crate) const MOST_UNASKED: usize = 16 << 20;

/// The amount of data received since the last request, shared by the reader and the caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said(Arc<Amounts>);

#[derive(Debug, Default)]
struct Amounts {
    since_asked: AtomicUsize,
    in_line: AtomicUsize,
}

impl Said {
    /// Resets the count, because a request was sent.
    pub(crate) fn asked(&self) {
        self.0.since_asked.store(0, Ordering::Release);
    }

    /// Whether the server sent more than a limit allows.
    pub(crate) fn is_too_much(&self) -> bool {
        self.0.since_asked.load(Ordering::Acquire) > MOST_UNASKED
            || self.0.in_line.load(Ordering::Acquire) > MOST_LINE
    }

    fn heard(&self, bytes: &[u8]) {
        self.0.since_asked.fetch_add(bytes.len(), Ordering::AcqRel);
        let in_line = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => bytes.len() - end - 1,
            None => self.0.in_line.load(Ordering::Acquire) + bytes.len(),
        };
        self.0.in_line.store(in_line, Ordering::Release);
    }
}

/// A reader that fails when a limit is exceeded.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    reading: R,
    said: Said,
}

impl<R> Bounded<R> {
    pub(crate) fn new(reading: R, said: Said) -> Self {
        Self { reading, said }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.reading).poll_read(context, buffer);
        self.said
            .heard(buffer.filled().get(before..).unwrap_or_default());
        if polled.is_ready() && self.said.is_too_much() {
            let error = io::Error::other("the server sent too much data");
            return Poll::Ready(Err(error));
        }
        polled
    }
}
