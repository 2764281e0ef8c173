//! Calls that clients follow as tasks.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_mcp::{Effect, ToolCall, ToolDescription, ToolResult, ToolServer, ToolTable};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::{Notify, Semaphore};

/// The tool `wait` ends when the test lets it, and `look` at once.
struct Table {
    go: Notify,
    /// How many calls of `wait` were dropped before their end.
    dropped: Arc<Semaphore>,
}

impl Table {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            go: Notify::new(),
            dropped: Arc::new(Semaphore::new(0)),
        })
    }
}

/// Adds a permit when it is dropped.
struct Dropped(Arc<Semaphore>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[async_trait]
impl ToolTable for Table {
    async fn tools(&self) -> Vec<ToolDescription> {
        ["wait", "look"]
            .map(|name| ToolDescription::new(name, "Does.", Value::Null, Effect::Reads))
            .into()
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        if call.tool == "wait" {
            let dropped = Dropped(Arc::clone(&self.dropped));
            self.go.notified().await;
            std::mem::forget(dropped);
        }
        ToolResult::done(json!({"did": call.tool}))
    }

    fn may_take_long(&self, call: &ToolCall) -> bool {
        call.tool == "wait"
    }
}

struct Client {
    reading: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writing: WriteHalf<DuplexStream>,
}

impl Client {
    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.writing.write_all(line.as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await;
        let answer = self.read().await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer
    }

    async fn read(&mut self) -> Value {
        let line = self.reading.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// Serves a client with these capabilities, and does something with it.
async fn with_client<F: AsyncFnOnce(&mut Client)>(table: &Arc<Table>, capabilities: Value, act: F) {
    let table = Arc::clone(table);
    let server = ToolServer::new("host", "1", table).with_tasks();
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(near);
    let serving = server.serve(reading, writing);
    let acting = async move {
        let (reading, writing) = tokio::io::split(far);
        let mut client = Client {
            reading: BufReader::new(reading).lines(),
            writing,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "editor", "version": "0"}});
        let welcome = client.ask("initialize", hello).await;
        let extensions = &welcome["result"]["capabilities"]["extensions"];
        assert_eq!(extensions, &json!({"io.modelcontextprotocol/tasks": {}}));
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        act(&mut client).await;
        client.writing.shutdown().await.unwrap();
    };
    let (served, ()) = tokio::join!(serving, acting);
    served.unwrap();
}

fn declared() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

#[tokio::test]
async fn a_call_that_may_take_long_is_a_task_with_progress_for_a_client_that_knows_tasks() {
    let table = Table::new();
    with_client(&table, declared(), async |client| {
        let wait = json!({"name": "wait", "_meta": {"progressToken": "p"}});
        let begun = client.ask("tools/call", wait).await["result"].take();
        assert_eq!(
            (&begun["resultType"], &begun["status"]),
            (&json!("task"), &json!("working"))
        );
        assert_eq!(begun["pollIntervalMs"], 5_000);
        let task = json!({"taskId": begun["taskId"]});
        let running = client.ask("tasks/get", task.clone()).await;
        assert_eq!(running["result"]["status"], "working", "{running}");
        // Other calls are answered, and at once.
        let looked = client.ask("tools/call", json!({"name": "look"})).await;
        assert_eq!(
            looked["result"]["structuredContent"],
            json!({"did": "look"})
        );
        let progress = client.read().await;
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(
            progress["params"],
            json!({"progressToken": "p", "progress": 1.0})
        );
        table.go.notify_one();
        let ended = loop {
            let state = client.ask("tasks/get", task.clone()).await["result"].take();
            if state["status"] != "working" {
                break state;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(ended["result"]["structuredContent"], json!({"did": "wait"}));
    })
    .await;
    assert_eq!(table.dropped.available_permits(), 0);
}

#[tokio::test]
async fn a_task_that_is_cancelled_or_whose_client_leaves_drops_its_call() {
    let table = Table::new();
    with_client(&table, declared(), async |client| {
        let wait = || json!({"name": "wait"});
        let begun = client.ask("tools/call", wait()).await["result"].take();
        let task = json!({"taskId": begun["taskId"]});
        let cancelled = client.ask("tasks/cancel", task.clone()).await;
        assert_eq!(cancelled["result"], json!({"resultType": "complete"}));
        table.dropped.acquire().await.unwrap().forget();
        loop {
            let state = client.ask("tasks/get", task.clone()).await;
            if state["result"]["status"] == "cancelled" {
                break;
            }
            tokio::task::yield_now().await;
        }
        let unknown = client.ask("tasks/get", json!({"taskId": "none"})).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        client.ask("tools/call", wait()).await;
    })
    .await;
    table.dropped.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_client_that_knows_no_tasks_waits_for_the_result() {
    let table = Table::new();
    with_client(&table, json!({}), async |client| {
        table.go.notify_one();
        let waited = client.ask("tools/call", json!({"name": "wait"})).await;
        assert_eq!(
            waited["result"]["structuredContent"],
            json!({"did": "wait"})
        );
        let refused = client.ask("tasks/get", json!({"taskId": "x"})).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
    })
    .await;
}
