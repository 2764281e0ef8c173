//! Intake while others hold sockets and send nothing, or nearly nothing.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use crate::http::{self, pull_request_opened};
use crate::world::{Host, World, eventually};

const MIB: usize = 1024 * 1024;

/// Connects and sends bytes.
fn sent(host: &Host, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(host.address()).expect("the host listens");
    stream.write_all(bytes).expect("the host reads");
    stream
}

/// Announces a body, waits until the host reads it, and sends only the beginning.
fn announced(host: &Host, length: usize, begin: &[u8]) -> TcpStream {
    let address = host.address();
    let head = format!(
        "POST /webhooks/github HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n\
         X-GitHub-Delivery: big\r\nX-Hub-Signature-256: sha256=00\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut stream = sent(host, head.as_bytes());
    let mut line = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut line).expect("the host answers");
    assert!(line.starts_with(b"HTTP/1.1 100"), "{}", line.escape_ascii());
    stream.write_all(begin).expect("the host reads");
    stream
}

/// Reports whether the host has neither answered nor closed.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a mode can be set");
    let mut peeked = [0];
    matches!(stream.peek(&mut peeked), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Sends signed webhooks and returns their statuses.
fn delivered(host: &Host) -> Vec<u16> {
    (0..20)
        .map(|n| {
            let body = pull_request_opened(n);
            host.hook("pull_request", &format!("d-{n}"), &body).status
        })
        .collect()
}

#[test]
fn bodies_that_are_announced_and_not_sent_block_no_other_sender() {
    let world = World::new(&[]);
    let host = world.serve();
    let lengths = [25 * MIB; 10].into_iter().chain([6 * MIB]);
    let silent: Vec<TcpStream> = lengths
        .map(|length| announced(&host, length, b""))
        .collect();
    assert_eq!(delivered(&host), [200; 20]);
    for stream in silent {
        let answer = http::answer_of(stream).expect("each is answered");
        assert_eq!(answer.status, 408);
    }
}

#[test]
fn many_slow_bodies_block_no_other_sender() {
    let world = World::new(&[]);
    let host = world.serve();
    let slow: Vec<TcpStream> = (0..128).map(|_| announced(&host, 1_024, b"{")).collect();
    assert_eq!(delivered(&host), [200; 20]);
    for stream in slow {
        let answer = http::answer_of(stream).expect("each is answered");
        assert_eq!(answer.status, 408);
    }
}

#[test]
fn more_unfinished_requests_than_allowed_connections_block_no_other_sender() {
    let world = World::new(&[]);
    let host = world.serve();
    let half = b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\n";
    let halves: Vec<TcpStream> = (0..1_100).map(|_| sent(&host, half)).collect();
    assert_eq!(delivered(&host), [200; 20]);
    // The oldest gave their places, and nothing had to wait until the others ran out of time.
    assert_eq!([&halves[0], &halves[600]].map(is_open), [false, true]);
}

#[test]
fn a_request_with_two_ends_is_refused_in_either_order() {
    let world = World::new(&[]);
    let host = world.serve();
    let body = pull_request_opened(7).to_string();
    let signature = http::signature(crate::world::SECRET, body.as_bytes());
    let status = |framing: &str| {
        let lines: String = http::github("pull_request", "d-1", &signature)
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let request = format!(
            "POST /webhooks/github HTTP/1.1\r\nHost: x\r\n{lines}{framing}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        http::raw(host.address(), request.as_bytes()).status
    };
    assert_eq!(
        [
            status("Transfer-Encoding: chunked\r\nContent-Length: 3"),
            status("Content-Length: 3\r\nTransfer-Encoding: chunked"),
            status("content-length:3\r\nTRANSFER-ENCODING:chunked"),
            status("Transfer-Encoding: chunked"),
        ],
        [400, 400, 400, 200]
    );
    assert_eq!(host.list("events").len(), 1);
}

/// Sends a request, closes the writing side, and returns the status of the answer.
fn half_closed(host: &Host, request: &[u8]) -> Option<u16> {
    let stream = sent(host, request);
    stream
        .shutdown(Shutdown::Write)
        .expect("the host has the request");
    http::answer_of(stream).map(|answer| answer.status)
}

#[test]
fn a_sender_that_closes_its_writing_side_is_answered() {
    let world = World::new(&[]);
    let host = world.serve();
    for (n, size) in [(1, 0), (2, MIB / 2), (3, 2 * MIB)] {
        let body = format!("{}{}", pull_request_opened(n), " ".repeat(size));
        let delivery = format!("d-{n}");
        let hook = ("pull_request", delivery.as_str());
        let request = http::webhook(host.address(), hook, crate::world::SECRET, body.as_bytes());
        assert_eq!(half_closed(&host, &request), Some(200), "{size} bytes");
        let without_its_end = &request[..request.len() - 1];
        let answer = half_closed(&host, without_its_end);
        assert!(matches!(answer, None | Some(400)), "{answer:?}");
    }
    assert_eq!(host.list("events").len(), 3);
}

#[test]
fn streams_whose_readers_left_give_their_places_back() {
    let world = World::new(&[]);
    let host = world.serve();
    let bearer = format!("Bearer {}", host.token());
    let headers = [("Authorization", bearer.as_str())];
    let request = http::request(host.address(), "GET", "/api/v1/stream", &headers, b"");
    let begun = || {
        let mut stream = sent(&host, &request);
        let mut line = [0; b"HTTP/1.1 200".len()];
        stream.read_exact(&mut line).expect("the host answers");
        (line == *b"HTTP/1.1 200").then_some(stream)
    };
    let streams: Vec<TcpStream> = std::iter::from_fn(begun).collect();
    assert_eq!(streams.len(), 256);
    drop(streams);
    let begin = std::time::Instant::now();
    eventually("a place is free", begun);
    // A stream shows that it is alive each 15 s; that is not what its reader's leave is noticed by.
    let waited = begin.elapsed().as_secs();
    assert!(waited < 10, "{waited} s");
}
