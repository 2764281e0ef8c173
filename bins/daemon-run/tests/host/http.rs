//! Requests byte by byte, since what is tested is what a library would not send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads the body.
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("no object ({error}): {self:?}"),
        }
    }

    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends one request and reads the answer.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    raw(address, &request(address, method, path, headers, body))
}

/// Writes the bytes of one request.
pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let host = ("Host", address);
    let own = headers.iter().any(|(name, _)| *name == "Host");
    let lines = headers.iter().chain((!own).then_some(&host));
    let lines: String = lines
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\n{lines}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Writes the bytes of a signed webhook of GitHub.
pub(crate) fn webhook(
    address: &str,
    (kind, delivery): (&str, &str),
    secret: &str,
    body: &[u8],
) -> Vec<u8> {
    let signature = signature(secret, body);
    let headers = github(kind, delivery, &signature);
    request(address, "POST", "/webhooks/github", &headers, body)
}

/// Sends bytes as they are and reads the answer.
pub(crate) fn raw(address: &str, request: &[u8]) -> Answer {
    try_raw(address, request).expect("the host answers")
}

/// Sends bytes as they are; `None` where the connection ended without an answer.
pub(crate) fn try_raw(address: &str, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    // A host that refuses early closes while this still writes; its answer is read all the same.
    stream.write_all(request).unwrap_or_default();
    answer_of(stream)
}

/// The same, from a host that may be paused: `None` also where no answer comes in time.
pub(crate) fn try_raw_within(address: &str, request: &[u8], patience: Duration) -> Option<Answer> {
    let address = address.parse().expect("the address of a listener");
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.write_all(request).unwrap_or_default();
    answer_within(stream, patience)
}

/// Reads the answer to what was sent; `None` where the connection ended without one.
pub(crate) fn answer_of(stream: TcpStream) -> Option<Answer> {
    answer_within(stream, Duration::from_secs(60))
}

fn answer_within(mut stream: TcpStream, patience: Duration) -> Option<Answer> {
    stream
        .set_read_timeout(Some(patience))
        .expect("a timeout can be set");
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let whole = parse(&bytes);
        if whole.is_some() {
            return whole;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
        }
    }
}

/// Reads an answer once it is there in full.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    let length: usize = answer.header("content-length")?.parse().ok()?;
    (body.len() >= length).then_some(answer)
}

/// Signs a body as GitHub does.
pub(crate) fn signature(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hmac_hex(secret, body))
}

/// Writes an HMAC in hexadecimal.
pub(crate) fn hmac_hex(secret: &str, bytes: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(bytes);
    let digest = mac.finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the headers of a webhook of GitHub.
pub(crate) fn github<'a>(
    kind: &'a str,
    delivery: &'a str,
    signature: &'a str,
) -> [(&'static str, &'a str); 4] {
    [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", kind),
        ("X-GitHub-Delivery", delivery),
        ("X-Hub-Signature-256", signature),
    ]
}

/// Writes what names a repository.
pub(crate) fn repository(name: &str) -> Value {
    json!({"id": 1, "full_name": name, "name": "r", "default_branch": "main", "owner": {"login": "o"}})
}

/// Writes the person who did it.
pub(crate) fn sender() -> Value {
    json!({"login": "ann", "type": "User"})
}

/// Returns the webhook body of an opened pull request of `o/r`.
pub(crate) fn pull_request_opened(number: u32) -> Value {
    let end = |sha: &str, branch: &str| json!({"sha": sha.repeat(40), "ref": branch, "repo": {"id": 1, "full_name": "o/r"}});
    json!({
        "action": "opened",
        "number": number,
        "pull_request": {
            "number": number, "title": "A title", "draft": false, "merged": false, "labels": [],
            "user": sender(), "head": {"ref": "topic", "repo": {"id": 1, "full_name": "o/r"}}, "base": end("b", "main"),
            "html_url": format!("https://github.com/o/r/pull/{number}"),
        },
        "repository": repository("o/r"),
        "sender": sender(),
    })
}

/// Returns the webhook body of a push to `main`.
pub(crate) fn push(repo: &str, before: &str, after: &str) -> Value {
    json!({
        "ref": "refs/heads/main", "before": before, "after": after, "created": false, "deleted": false,
        "forced": false, "commits": [], "head_commit": null, "pusher": {"name": "ann"},
        "repository": repository(repo),
        "sender": sender(),
    })
}
