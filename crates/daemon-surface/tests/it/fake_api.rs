//! An API on loopback that answers by script.

use std::sync::{Arc, Mutex};

use daemon_surface::{ApiBase, Credentials, ServiceApi, WallClock};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(super) const TOKEN: &str = "ghp_NobodyMaySeeThis";

/// What the API does with one request.
pub(super) enum Reply {
    /// Answers with a status, headers and a body.
    Says(u16, &'static str, String),
    /// Sends the head and a byte, and then nothing.
    Drips,
    /// Closes the connection.
    Hangs,
}

pub(super) fn ok(body: impl Into<String>) -> Reply {
    Reply::Says(200, "", body.into())
}

pub(super) fn status(status: u16, headers: &'static str) -> Reply {
    Reply::Says(status, headers, "{\"message\":\"no\"}".to_owned())
}

/// Returns a client with the token, whose clock does not move.
pub(super) fn api_of(base: &str) -> ServiceApi {
    let base: ApiBase = base.parse().unwrap();
    let credentials = Credentials::Token(TOKEN.parse().unwrap());
    ServiceApi::new(base, credentials, WallClock::new(|| Timestamp::UNIX_EPOCH)).unwrap()
}

/// An API on loopback, and what it was asked.
pub(super) struct FakeApi {
    pub(super) base: String,
    /// The heads and bodies of the requests.
    asked: Arc<Mutex<Vec<(String, String)>>>,
    server: tokio::task::JoinSet<()>,
}

impl FakeApi {
    pub(super) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v3", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let mut open = Vec::new();
            for reply in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = read_head(&mut stream).await;
                let body = read_body(&mut stream, &head).await;
                log.lock().unwrap().push((head, body));
                answer(&mut stream, reply).await;
                open.push(stream);
            }
            std::future::pending::<()>().await;
        });
        Self {
            base,
            asked,
            server,
        }
    }

    pub(super) fn api(&self) -> ServiceApi {
        api_of(&self.base)
    }

    /// Ends the API and returns the heads of the requests.
    pub(super) fn heads(mut self) -> Vec<String> {
        self.server.abort_all();
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(head, _)| head.clone()).collect()
    }

    /// Ends the API and returns method, path and body of the requests that write.
    pub(super) fn writes(mut self) -> Vec<String> {
        self.server.abort_all();
        let asked = self.asked.lock().unwrap();
        let writes = asked.iter().filter(|(head, _)| !head.starts_with("GET "));
        let line = |(head, body): &(String, String)| {
            let target = head.split(' ').take(2).collect::<Vec<_>>().join(" ");
            format!("{} {body}", target.replacen("/v3", "", 1))
        };
        writes.map(line).collect()
    }

    /// Ends the API and returns the targets of the requests; each carried the token.
    pub(super) fn asked(self) -> Vec<String> {
        let asked = self.heads();
        let target = |head: &String| {
            assert!(
                head.contains(&format!("authorization: Bearer {TOKEN}\r\n")),
                "{head}"
            );
            head.split(' ').nth(1).unwrap().to_owned()
        };
        asked.iter().map(target).collect()
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn read_body(stream: &mut TcpStream, head: &str) -> String {
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    String::from_utf8(body).unwrap()
}

async fn answer(stream: &mut TcpStream, reply: Reply) {
    let text = match reply {
        Reply::Says(status, headers, body) => {
            let length = body.len();
            format!(
                "HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
            )
        }
        Reply::Drips => "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n[".to_owned(),
        Reply::Hangs => String::new(),
    };
    // A client that has seen enough may be gone.
    stream.write_all(text.as_bytes()).await.unwrap_or_default();
    if !matches!(text.as_str(), text if text.contains("Length: 100")) {
        stream.shutdown().await.unwrap_or_default();
    }
}
