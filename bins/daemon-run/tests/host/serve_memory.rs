//! The memory that large bodies take while they are read and stored, and what is left of it afterwards.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::http;
use crate::world::{Host, SECRET, World, eventually_within};

const MIB: usize = 1024 * 1024;
const N_LARGE: usize = 8;
/// How long a body is sent again to a host that is busy: a debug build on a loaded machine stores one in seconds.
const BUSY: Duration = Duration::from_secs(120);
const LARGE: usize = 23 * MIB;
const MOST_KIB: u64 = 400 * 1024;
const MOST_LEFT_KIB: u64 = 150 * 1024;
/// How long after the last answer no more may be left.
const LATER: Duration = Duration::from_secs(10);

/// Reads a line of the host's `/proc/<pid>/status`, in KiB.
fn memory(host: &Host, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", host.pid())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    number.expect("a number").parse().expect("a number")
}

/// Returns a body of 23 MiB about an issue, with a string that contains escapes.
fn issue(number: usize) -> Vec<u8> {
    let words = r#"some text \\ with \"quotes\"\n"#;
    let text = words.repeat(LARGE / words.len());
    let body = format!(
        r#"{{"action":"opened","issue":{{"number":{number},"title":"A title","body":"{text}","user":{{"login":"ann","type":"User"}}}},"#
    );
    let rest = format!(
        r#""repository":{},"sender":{}}}"#,
        http::repository("o/r"),
        http::sender()
    );
    [body.into_bytes(), rest.into_bytes()].concat()
}

/// Sends eight bodies at a time, and returns how each was answered.
fn sent(host: &Host, round: usize, secret: &str) -> Vec<u16> {
    let first = round * N_LARGE;
    thread::scope(|scope| {
        let senders: Vec<_> = (first..first + N_LARGE)
            .map(|number| scope.spawn(move || send(host, number, secret)))
            .collect();
        let ends = senders.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.expect("it sends")).collect()
    })
}

/// Sends a body, and again while the host is busy: a debug build on a loaded machine reads eight slower than they may wait.
fn send(host: &Host, number: usize, secret: &str) -> u16 {
    let body = issue(number);
    let delivery = format!("d-{number}");
    let request = http::webhook(host.address(), ("issues", &delivery), secret, &body);
    eventually_within(BUSY, "the host is not busy", || {
        // A refusal can be lost with its connection, since the body is still on its way.
        let answer = http::try_raw(host.address(), &request);
        let answer = answer.filter(|answer| answer.status != 503);
        answer.map(|answer| answer.status).ok_or("it still is")
    })
}

/// Waits until the host holds no more than may be left.
fn given_back(host: &Host) {
    eventually_within(LATER, "the memory is given back", || {
        match memory(host, "VmRSS") {
            left if left <= MOST_LEFT_KIB => Ok(()),
            left => Err(format!("{left} KiB are left")),
        }
    });
}

/// Sends eight bodies, and leaves before they are answered.
fn abandon(host: &Host) {
    for number in 0..N_LARGE {
        let body = issue(100 + number);
        let delivery = format!("left-{number}");
        let request = http::webhook(host.address(), ("issues", &delivery), SECRET, &body);
        let mut stream = TcpStream::connect(host.address()).expect("the host listens");
        // A busy host may refuse it while it is sent.
        stream.write_all(&request).unwrap_or_default();
    }
}

#[test]
fn large_bodies_are_stored_in_bounded_memory_that_is_given_back() {
    let world = World::new(&[]);
    let host = world.serve();
    abandon(&host);
    assert_eq!(sent(&host, 0, SECRET), [200; N_LARGE]);
    given_back(&host);
    // What is refused is read as well.
    assert_eq!(sent(&host, 1, "another secret"), [401; N_LARGE]);
    given_back(&host);
    let peak = memory(&host, "VmHWM");
    assert!(peak <= MOST_KIB, "{peak} KiB at the most");
    host.stop();
    let store = world.store();
    let n_events: Result<u32, _> = store.query_row(
        "SELECT count(*) FROM event WHERE delivery LIKE 'd-%'",
        [],
        |row| row.get(0),
    );
    assert_eq!(n_events, Ok(8), "each is stored");
}
