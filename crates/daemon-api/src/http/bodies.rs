//! Receives bodies of webhooks: counts their bytes against the memory limit, and ends those of slow senders.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::answer;
use super::connections::{Connection, Kept};

/// The minimum time limit of a body.
const SHORTEST: Duration = Duration::from_secs(2);
/// The maximum time limit of a body, at any size.
const LONGEST: Duration = Duration::from_secs(15);
/// How much of a body that is refused for its size is read and thrown away, in bytes, and for how long. Most clients read the
/// response only after they have sent the body; a connection that is closed before looks broken to them.
const DISCARDED: (usize, Duration) = (8 << 20, Duration::from_secs(1));
/// The minimum rate of a sender after the first two seconds, in bytes per second.
const SLOWEST: usize = 1_024;

/// The memory of a body, which is released when this is dropped.
pub(super) struct Held<'a>(&'a Connection);

impl Held<'_> {
    /// Counts the memory until the returned value is dropped, also after the connection was closed.
    pub(super) fn keep(self) -> Kept {
        self.0.keep()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Returns the declared length; fails with 400 if the request declares several or an invalid one.
pub(super) fn declared_length(headers: &HeaderMap) -> Result<Option<usize>, StatusCode> {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = match (lengths.next(), lengths.next()) {
        (None, _) => return Ok(None),
        (Some(length), None) => length,
        (Some(_), Some(_)) => return Err(StatusCode::BAD_REQUEST),
    };
    length
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Some)
        .ok_or(StatusCode::BAD_REQUEST)
}

/// Reads a body of at most `cap` bytes; `declared` is its declared length.
///
/// # Errors
/// Returns the error response if the body is too large or too slow, or if memory for bodies ran out.
pub(super) async fn read<'a>(
    body: Body,
    declared: Option<usize>,
    cap: usize,
    connection: &'a Connection,
) -> Result<(Vec<u8>, Held<'a>), Box<Response<Body>>> {
    let refused = |status| Box::new(answer::status(status));
    let held = Held(connection);
    let mut body = body;
    let mut bytes = Vec::new();
    let begun = Instant::now();
    loop {
        let deadline = begun + time_for(bytes.len());
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(refused(StatusCode::REQUEST_TIMEOUT)),
            Ok(None) => return Ok((bytes, held)),
            Ok(Some(Err(_))) => return Err(refused(StatusCode::BAD_REQUEST)),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > cap {
            return Err(too_large(body).await);
        }
        // Bytes count when they are received: a declared length would reserve memory for senders that send nothing.
        if connection.hold(data.len() as u64).is_err() {
            return Err(Box::new(answer::unavailable(
                "256 MiB of bodies are buffered",
            )));
        }
        make_room(&mut bytes, data.len(), declared.unwrap_or(cap));
        bytes.extend_from_slice(&data);
    }
}

/// Returns the response to a body that is too large, after reading a part of it.
pub(super) async fn too_large(mut body: Body) -> Box<Response<Body>> {
    let (most, time) = DISCARDED;
    let mut n_bytes = 0;
    let discarded = async {
        while n_bytes < most {
            let Some(Ok(frame)) = body.frame().await else {
                return;
            };
            n_bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    // A slow sender gets the response as it is.
    drop(tokio::time::timeout(time, discarded).await);
    Box::new(answer::status(StatusCode::PAYLOAD_TOO_LARGE))
}

/// Returns the time limit of a sender that has sent this many bytes.
fn time_for(n_bytes: usize) -> Duration {
    let seconds = u64::try_from(n_bytes / SLOWEST).unwrap_or(u64::MAX);
    Duration::from_secs(seconds)
        .saturating_add(SHORTEST)
        .min(LONGEST)
}

/// Reserves space for more bytes: at most twice the present capacity, and no more than can arrive.
// The declared length is not reserved at once: a sender could reserve memory that it never fills.
fn make_room(bytes: &mut Vec<u8>, more: usize, at_most: usize) {
    let needed = bytes.len() + more;
    if needed > bytes.capacity() {
        let wanted = (bytes.capacity() * 2).min(at_most).max(needed);
        bytes.reserve_exact(wanted - bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::body::{Body, Bytes};
    use futures_util::stream;
    use tokio::time::{Instant, sleep};

    use super::super::connections::Connections;
    use super::{make_room, read};

    /// Sends pieces of a size, each after a pause, and compares the status and the seconds until it is returned.
    async fn check(size: usize, n_pieces: usize, pause: Duration, expected: (u16, u64)) {
        let connections = Connections::new(1);
        let connection = connections.open().await;
        let pieces = stream::unfold(n_pieces, move |left| async move {
            sleep(pause).await;
            let piece = Ok::<_, Infallible>(Bytes::from(vec![b' '; size]));
            left.checked_sub(1).map(|left| (piece, left))
        });
        let begun = Instant::now();
        let body = Body::from_stream(pieces);
        let status = match read(body, None, 25 << 20, &connection).await {
            Ok((bytes, _held)) => {
                assert_eq!(bytes.len(), size * n_pieces);
                200
            }
            Err(refusal) => refusal.status().as_u16(),
        };
        assert_eq!((status, begun.elapsed().as_secs()), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_slower_than_a_kibibyte_per_second_gets_408() {
        let millis = Duration::from_millis;
        check(0, 1, Duration::from_secs(60), (408, 2)).await;
        check(512, 20, millis(900), (408, 3)).await;
        check(1_024, 5, millis(900), (200, 5)).await;
        check(4_096, 2, Duration::from_secs(60), (408, 2)).await;
        check(4_096, 4, millis(1_500), (200, 7)).await;
        check(64 * 1_024, 100, millis(500), (408, 15)).await;
        check(1 << 20, 26, millis(1), (413, 0)).await;
    }

    #[test]
    fn memory_is_reserved_for_received_bytes_and_not_for_declared_ones() {
        let mut bytes = Vec::new();
        make_room(&mut bytes, 100, 1 << 20);
        assert_eq!(bytes.capacity(), 100);
        bytes.extend_from_slice(&[0; 100]);
        make_room(&mut bytes, 1, 1 << 20);
        assert_eq!(bytes.capacity(), 200);
        make_room(&mut bytes, 101, 150);
        assert_eq!(bytes.capacity(), 201);
    }
}
