//! The client, against a server on loopback with plain HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use daemon_mcp::{ClientError, Endpoint, ToolClient};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Reads one request and returns its head in lower case and its body.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Responds as a server with one tool to requests with the key, and rejects others.
async fn answer(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    while let Some((head, body)) = request(&mut stream).await {
        let result = match body["method"].as_str() {
            _ if !head.contains("x-key: k3y") => None,
            Some("initialize") => Some(
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}),
            ),
            Some("tools/list") => {
                Some(json!({"tools": [{"name": "sum", "inputSchema": {"type": "object"}}]}))
            }
            Some("tools/call") => Some(
                json!({"content": [{"type": "text", "text": body["params"]["arguments"]["n"].to_string()}]}),
            ),
            _ => Some(Value::Null),
        };
        let reply = match result {
            None => "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".to_owned(),
            Some(Value::Null) if head.starts_with("post") => {
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Some(Value::Null) => {
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Some(result) => {
                let text =
                    json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
                let length = text.len();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
                )
            }
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Serves connections until `asking` is done.
async fn with_server<F: Future>(asking: impl FnOnce(String) -> F) -> F::Output {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    let asking = asking(url);
    tokio::pin!(asking);
    loop {
        tokio::select! {
            asked = &mut asking => return asked,
            accepted = listener.accept() => drop(serving.spawn(answer(accepted.unwrap().0))),
        }
    }
}

fn endpoint(url: String, key: &str) -> Endpoint {
    Endpoint {
        url,
        headers: BTreeMap::from([("X-Key".to_owned(), key.to_owned())]),
        proxy: None,
    }
}

#[tokio::test]
async fn a_server_over_http_receives_the_headers_with_every_request() {
    with_server(async |url| {
        let client = ToolClient::connect(&endpoint(url, "k3y"), TIMEOUT)
            .await
            .unwrap();
        assert_eq!(client.tools()[0].name, "sum");
        let arguments = Map::from_iter([("n".to_owned(), json!(5))]);
        let answer = client.call("sum", arguments).await.unwrap();
        assert_eq!(answer.text, "5");
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_error_of_a_server_that_rejects_the_client_does_not_contain_the_key() {
    with_server(async |url| {
        let endpoint = endpoint(url, "wr0ng-key");
        let error = ToolClient::connect(&endpoint, TIMEOUT).await.unwrap_err();
        assert!(matches!(error, ClientError::Handshake { .. }), "{error:?}");
        assert!(!format!("{error:?} {endpoint:?}").contains("wr0ng-key"));
    })
    .await;
}
