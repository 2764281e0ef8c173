//! The responses that a client has not read yet.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// The maximum number of queued responses of a client that reads slowly.
const REPLY_QUEUE: usize = 256;
/// The maximum number of bytes of queued responses. Responses have very different sizes, so their number alone bounds nothing.
const REPLY_BYTES: usize = 1024 * 1024;
/// How long a full queue of responses may stay full before the client is disconnected.
const SLOW_READER: Duration = Duration::from_secs(10);

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
    /// Cancelled once the queue was full for too long.
    slow: CancellationToken,
}

/// The other end of the queue.
pub(super) struct Waiting {
    queue: mpsc::Receiver<Queued>,
    slow: CancellationToken,
}

impl Waiting {
    /// Writes responses until the client is gone, all senders are, or the client reads too slowly. Then the queue is closed,
    /// which also ends the reading of requests.
    pub(super) async fn write(mut self, mut writing: impl AsyncWrite + Unpin) {
        let slow = self.slow.clone();
        let written = async move {
            while let Some(queued) = self.queue.recv().await {
                match tokio::time::timeout(SLOW_READER, writing.write_all(&queued.line)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        };
        tokio::select! {
            () = written => {}
            () = slow.cancelled() => tracing::debug!("a control client reads too slowly, and is disconnected"),
        }
    }
}

impl Replies {
    /// Creates an empty queue.
    pub(super) fn new() -> (Self, Waiting) {
        let (queue, waiting) = mpsc::channel(REPLY_QUEUE);
        let slow = CancellationToken::new();
        let replies = Self {
            queue,
            room: Arc::new(Semaphore::new(REPLY_BYTES)),
            slow: slow.clone(),
        };
        let waiting = Waiting {
            queue: waiting,
            slow,
        };
        (replies, waiting)
    }

    /// Waits until the client is gone.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Waits for space in the queue; `None` if the client reads too slowly, and is disconnected.
    pub(super) async fn room_for(&self, message: impl Serialize) -> Option<Queued> {
        let mut line = serde_json::to_vec(&message).expect("a message is representable");
        line.push(b'\n');
        // A response that is larger than the limit waits until the queue is empty.
        let size = u32::try_from(line.len().min(REPLY_BYTES)).expect("the room is small");
        let room = Arc::clone(&self.room).acquire_many_owned(size);
        let Ok(room) = tokio::time::timeout(SLOW_READER, room).await else {
            self.slow.cancel();
            return None;
        };
        Some(Queued {
            line,
            _room: room.expect("the semaphore is never closed"),
        })
    }

    /// Adds a response; the client is disconnected if the queue stays full.
    pub(super) async fn put(&self, queued: Queued) {
        if self.queue.send_timeout(queued, SLOW_READER).await.is_err() {
            self.slow.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::{REPLY_BYTES, REPLY_QUEUE, Replies};

    /// Reads a byte every three seconds: each line is written in time, and the queue hardly moves.
    async fn drip(mut reading: impl tokio::io::AsyncRead + Unpin) -> usize {
        let mut n_read = 0;
        while let Ok(1..) = reading.read(&mut [0]).await {
            n_read += 1;
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        n_read
    }

    async fn reply(replies: &Replies, message: &str) {
        if let Some(queued) = replies.room_for(message).await {
            replies.put(queued).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_queue_stays_full_is_disconnected() {
        let (replies, waiting) = Replies::new();
        let (writing, reading) = tokio::io::duplex(1);
        let replying = async {
            for _ in 0..REPLY_QUEUE {
                reply(&replies, "").await;
            }
            // One of them gets the next place, after less than ten seconds.
            tokio::join!(
                reply(&replies, ""),
                reply(&replies, ""),
                reply(&replies, "")
            );
        };
        let ((), n_read, ()) = tokio::join!(waiting.write(writing), drip(reading), replying);
        assert!(n_read < 20, "the rest is not written");
        replies.closed().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_is_not_disconnected() {
        let (replies, waiting) = Replies::new();
        let (writing, mut reading) = tokio::io::duplex(1024);
        let large = "x".repeat(REPLY_BYTES / 2);
        let replying = async move {
            for _ in 0..8 {
                reply(&replies, &large).await;
            }
        };
        let counting = async {
            let (mut n_read, mut buffer) = (0, vec![0; 64 * 1024]);
            while let Ok(n @ 1..) = reading.read(&mut buffer).await {
                n_read += n;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            n_read
        };
        let ((), (), n_read) = tokio::join!(waiting.write(writing), replying, counting);
        assert_eq!(n_read, 8 * (REPLY_BYTES / 2 + 3));
    }
}
