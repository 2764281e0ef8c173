//! The server, driven by the lines that a client sends.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_mcp::{
    Effect, Notifications, Resource, ToolCall, ToolClient, ToolDescription, ToolResult, ToolServer,
    ToolTable,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

struct Table;

#[async_trait]
impl ToolTable for Table {
    async fn tools(&self) -> Vec<ToolDescription> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        vec![
            ToolDescription::new("look", "Looks.", schema, Effect::Reads),
            ToolDescription::new("act", "Acts.", Value::Null, Effect::Changes),
        ]
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let sent = json!({"tool": call.tool, "arguments": call.arguments, "client": call.client});
        match call.tool.as_str() {
            "look" => ToolResult::done(sent),
            _ => ToolResult::failed(sent),
        }
    }
}

/// Sends these lines to a server and returns its responses, in order of the requests.
async fn conversation(lines: &[Value]) -> Vec<Value> {
    let resource = Resource {
        uri: "doc://one".to_owned(),
        name: "one".to_owned(),
        description: "When you need one.".to_owned(),
        mime_type: "text/markdown".to_owned(),
        text: "# One\n".to_owned(),
    };
    let server = ToolServer::new("host", "1.2.3", Arc::new(Table))
        .with_instructions("Look first.")
        .with_resources([resource]);
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(near);
    let serving = server.serve(reading, writing);
    let asking = async {
        let (reading, mut writing) = tokio::io::split(far);
        let mut reading = BufReader::new(reading).lines();
        let mut answers = Vec::new();
        for line in lines {
            writing
                .write_all(format!("{line}\n").as_bytes())
                .await
                .unwrap();
            if line.get("id").is_some() {
                let answer = reading.next_line().await.unwrap().unwrap();
                answers.push(serde_json::from_str(&answer).unwrap());
            }
        }
        writing.shutdown().await.unwrap();
        answers
    };
    let (served, answers) = tokio::join!(serving, asking);
    served.unwrap();
    answers
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn hello() -> [Value; 2] {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "editor", "version": "0"}});
    [
        request(1, "initialize", params),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

#[tokio::test]
async fn tools_are_listed_and_called_with_the_name_of_the_client() {
    let [hello, ready] = hello();
    let answers = conversation(&[
        hello,
        ready,
        request(2, "tools/list", json!({})),
        request(
            3,
            "tools/call",
            json!({"name": "look", "arguments": {"n": 1}}),
        ),
        request(4, "tools/call", json!({"name": "act"})),
        request(5, "tools/call", json!({"name": "gone"})),
    ])
    .await;
    let results: Vec<&Value> = answers.iter().map(|answer| &answer["result"]).collect();
    assert_eq!(
        results[0],
        &json!({"protocolVersion": "2025-06-18", "capabilities": {"resources": {}, "tools": {}},
            "serverInfo": {"name": "host", "version": "1.2.3"}, "instructions": "Look first."})
    );
    assert_eq!(
        results[1]["tools"],
        json!([
            {"name": "look", "description": "Looks.", "annotations": {"readOnlyHint": true},
             "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            {"name": "act", "description": "Acts.", "annotations": {"readOnlyHint": false}, "inputSchema": {"type": "object"}},
        ])
    );
    let sent = json!({"tool": "look", "arguments": {"n": 1}, "client": "editor"});
    assert_eq!(
        results[2],
        &json!({"content": [{"type": "text", "text": sent.to_string()}], "structuredContent": sent, "isError": false})
    );
    assert_eq!(results[3]["isError"], true);
    assert_eq!(answers[4]["error"]["code"], -32602);
    assert_eq!(answers[4]["error"]["message"], "no tool `gone`");
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let [hello, ready] = hello();
    let answers = conversation(&[
        hello,
        ready,
        request(2, "resources/list", json!({})),
        request(3, "resources/read", json!({"uri": "doc://one"})),
        request(4, "resources/read", json!({"uri": "doc://two"})),
    ])
    .await;
    assert_eq!(
        answers[1]["result"]["resources"],
        json!([{"uri": "doc://one", "name": "one", "description": "When you need one.", "mimeType": "text/markdown", "size": 6}])
    );
    assert_eq!(
        answers[2]["result"]["contents"],
        json!([{"uri": "doc://one", "mimeType": "text/markdown", "text": "# One\n"}])
    );
    assert_eq!(answers[3]["error"]["message"], "no resource `doc://two`");
}

#[tokio::test]
async fn a_client_that_disconnects_at_once_is_not_an_error() {
    assert_eq!(conversation(&[]).await, Vec::<Value>::new());
}

/// Three notifications, the second for another client.
struct Scripted(tokio::sync::Mutex<std::collections::VecDeque<Value>>);

#[async_trait]
impl Notifications for Scripted {
    fn method(&self) -> &str {
        "run/event"
    }

    async fn next(&self) -> Option<Value> {
        self.0.lock().await.pop_front()
    }

    fn is_for(&self, client: &str, notice: &Value) -> bool {
        notice["for"] == client
    }
}

/// A client that records notifications.
struct Recording(tokio::sync::mpsc::UnboundedSender<(String, Option<Value>)>);

impl rmcp::ClientHandler for Recording {
    async fn on_custom_notification(
        &self,
        notification: rmcp::model::CustomNotification,
        _: rmcp::service::NotificationContext<rmcp::RoleClient>,
    ) {
        self.0
            .send((notification.method, notification.params))
            .unwrap();
    }

    fn get_info(&self) -> rmcp::model::ClientConfig {
        let editor = rmcp::model::Implementation::new("editor", "0");
        rmcp::model::ClientConfig::new(rmcp::model::ClientCapabilities::default(), editor)
    }
}

#[tokio::test]
async fn a_client_receives_only_its_own_notifications() {
    use rmcp::ServiceExt as _;
    let notices = [
        json!({"for": "editor", "n": 1}),
        json!({"for": "other", "n": 2}),
        json!({"for": "editor", "n": 3}),
    ];
    let sent = Scripted(tokio::sync::Mutex::new(notices.into()));
    let server =
        ToolServer::new("host", "1.2.3", Arc::new(Table)).with_notifications(Arc::new(sent));
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(near);
    let serving = server.serve(reading, writing);
    let listening = async {
        let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
        let client = Recording(sender)
            .serve(tokio::io::split(far))
            .await
            .unwrap();
        let capabilities = client.peer_info().unwrap().capabilities.clone();
        let sent = [
            received.recv().await.unwrap(),
            received.recv().await.unwrap(),
        ];
        client.cancel().await.unwrap();
        (capabilities.experimental, sent)
    };
    let (served, (announced, sent)) = tokio::join!(serving, listening);
    served.unwrap();
    assert_eq!(json!(announced), json!({"run/event": {}}));
    let notice = |n: u32| {
        (
            "run/event".to_owned(),
            Some(json!({"for": "editor", "n": n})),
        )
    };
    assert_eq!(sent, [notice(1), notice(3)]);
}

#[tokio::test]
async fn a_server_that_sends_too_much_is_disconnected() {
    use daemon_mcp::ClientError;
    let begin = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    let unasked = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{{\"text\":\"{}\"}}}}\n",
        "x".repeat(1 << 20)
    );
    for flood in [vec![b'x'; 5 << 20], unasked.repeat(20).into_bytes()] {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reading, mut writing) = tokio::io::split(far);
        let mut reading = BufReader::new(reading).lines();
        let serving = async {
            let asked: Value =
                serde_json::from_str(&reading.next_line().await.unwrap().unwrap()).unwrap();
            let answer = begin.replace("\"id\":0", &format!("\"id\":{}", asked["id"]));
            writing
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
            // The client disconnects while the flood is being written.
            writing.write_all(&flood).await.unwrap_err();
        };
        let (reading, writing) = tokio::io::split(near);
        let ((), client) = tokio::join!(serving, ToolClient::over(reading, writing));
        assert!(matches!(client, Err(ClientError::TooMuch)), "{client:?}");
    }
}

/// Sends lines after the handshake, then a request for which it waits, and returns the responses before that one.
async fn answered(lines: &[&[u8]]) -> Vec<Value> {
    let server = ToolServer::new("host", "1.2.3", Arc::new(Table));
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(near);
    let asking = async {
        let (reading, mut writing) = tokio::io::split(far);
        let mut reading = BufReader::new(reading).lines();
        let mut sent = Vec::new();
        for line in hello() {
            sent.extend(format!("{line}\n").into_bytes());
        }
        for line in lines {
            sent.extend_from_slice(line);
            sent.push(b'\n');
        }
        sent.extend(b"{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}\n");
        let write = async {
            writing.write_all(&sent).await.unwrap();
            writing
        };
        let read = async {
            let mut answers: Vec<Value> = Vec::new();
            while answers.last().is_none_or(|answer| answer["id"] != 99) {
                let answer = reading.next_line().await.unwrap().unwrap();
                answers.push(serde_json::from_str(&answer).unwrap());
            }
            answers
        };
        let (mut writing, mut answers) = tokio::join!(write, read);
        writing.shutdown().await.unwrap();
        answers.pop();
        answers.split_off(1)
    };
    let (served, answers) = tokio::join!(server.serve(reading, writing), asking);
    served.unwrap();
    answers
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_the_next_is_read() {
    let rows: [(&[u8], Value, i32); 11] = [
        (b"garbage", Value::Null, -32700),
        (b"\xff\xfe", Value::Null, -32700),
        (b"{\"jsonrpc\":\"2.0\",", Value::Null, -32700),
        (b"5", Value::Null, -32600),
        (b"[]", Value::Null, -32600),
        (b"{}", Value::Null, -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            Value::Null,
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            Value::Null,
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
            json!("a"),
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}",
            json!(7),
            -32600,
        ),
        (&[b'x'; (16 << 20) + 1], Value::Null, -32600),
    ];
    for (line, id, code) in rows {
        let answers = answered(&[line]).await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]);
        let [answer] = &answers[..] else {
            panic!("{shown}: {answers:?}")
        };
        assert!(answer.as_object().unwrap().contains_key("id"), "{answer}");
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{shown}"
        );
    }
    let ignored: [&[u8]; 3] = [
        b"",
        b" \r",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":[1]}",
    ];
    assert_eq!(answered(&ignored).await, Vec::<Value>::new());
}

#[tokio::test]
async fn wrong_parameters_and_unknown_methods_are_told_apart() {
    for (method, params, code) in [
        ("tools/call", json!({"nme": "look"}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        (
            "tools/call",
            json!({"name": "look", "arguments": []}),
            -32602,
        ),
        ("resources/read", json!({}), -32602),
        ("no/such", json!({}), -32601),
    ] {
        let line = request(4, method, params).to_string();
        let answers = answered(&[line.as_bytes()]).await;
        assert_eq!(answers.len(), 1, "{line}: {answers:?}");
        assert_eq!(
            (&answers[0]["id"], &answers[0]["error"]["code"]),
            (&json!(4), &json!(code)),
            "{line}: {answers:?}"
        );
    }
}
