//! An API on loopback that answers by script.

use std::sync::{Arc, Mutex};

use daemon_surface::{ApiBase, ServiceApi};
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

/// An API on loopback, and what it was asked.
pub(super) struct FakeApi {
    pub(super) base: String,
    asked: Arc<Mutex<Vec<String>>>,
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
                log.lock().unwrap().push(head);
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
        let base: ApiBase = self.base.parse().unwrap();
        ServiceApi::new(base, TOKEN.parse().unwrap()).unwrap()
    }

    /// Ends the API and returns the targets of the requests; each carried the token.
    pub(super) fn asked(mut self) -> Vec<String> {
        self.server.abort_all();
        let asked = self.asked.lock().unwrap();
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
