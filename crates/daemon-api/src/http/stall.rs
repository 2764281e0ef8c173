//! Ends connections whose peer stops reading or disconnects, which frees their place and their buffers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a peer may read nothing while data waits to be sent.
pub(super) const READ_TIME: Duration = Duration::from_secs(10);

/// A stream whose writes fail if the peer reads nothing for some time or is gone, and whose reads are passed to a function.
pub(super) struct TimedStream<S, F, G> {
    stream: S,
    limit: Duration,
    on_read: F,
    /// Reports whether the peer is gone; called at each flush.
    is_gone: G,
    /// The timer of a write that waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S, F, G> TimedStream<S, F, G> {
    pub(super) fn new(stream: S, limit: Duration, on_read: F, is_gone: G) -> Self {
        Self {
            stream,
            limit,
            on_read,
            is_gone,
            waiting: None,
        }
    }

    /// Returns the result of a write, or an error if it has waited too long.
    fn bound<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        // Each write of any length restarts the timer: a slow peer is not a stalled one.
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin, F: FnMut(&[u8]) + Unpin, G: Unpin> AsyncRead for TimedStream<S, F, G> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        (self.on_read)(&buf.filled()[before..]);
        read
    }
}

impl<S: AsyncWrite + Unpin, F: Unpin, G: Fn(&S) -> bool + Unpin> AsyncWrite
    for TimedStream<S, F, G>
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.bound(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if (self.is_gone)(&self.stream) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.bound(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.bound(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::TimedStream;

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_for_a_stalled_peer_and_not_for_a_slow_one() {
        let limit = Duration::from_secs(10);
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut ours = TimedStream::new(ours, limit, |_: &[u8]| {}, |_: &_| false);
        let slow = async move {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                theirs.read_exact(&mut [0; 4]).await.unwrap();
            }
            theirs
        };
        let (_unread, written) = tokio::join!(slow, ours.write_all(&[0; 20]));
        written.unwrap();
        ours.write_all(&[0; 4]).await.unwrap();
        let begun = tokio::time::Instant::now();
        let refused = ours.write_all(&[0; 4]).await.unwrap_err();
        assert_eq!(
            (refused.kind(), begun.elapsed()),
            (ErrorKind::TimedOut, limit)
        );
    }
}
