//! Tools of MCP servers that are registered for a run; the servers are shell scripts.

use std::fs;

use async_trait::async_trait;
use daemon_fakes::{Message, Reply};
use daemon_provider::{
    GrantedTool, Grants, Outcome, Provider as _, ProviderErrorKind, StopReason, ToolReply,
    ToolStatus, inputs,
};
use daemon_provider_llm::LlmProvider;
use serde_json::{Map, Value, json};

use crate::kit::{Bench, end, story};

/// A server with the tools `tell`, which prints its environment, `fail` and `wait`.
const SCRIPT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"tell","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
    *'"tell"'*) answer="{\"content\":[{\"type\":\"text\",\"text\":\"$1 $KEY $DAEMON_RUN_ID\"}]}" ;;
    *'"fail"'*) answer='{"isError":true,"content":[{"type":"text","text":"no such page"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

fn server(name: &str) -> Value {
    json!({"name": name, "command": "sh", "args": ["-c", SCRIPT, "sh", "first"], "env": {"KEY": "s3cret-key"}})
}

/// Returns the processes that carry the marker of a run, or of one of its parts.
fn left_of(run: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let environ = fs::read(entry.ok()?.path().join("environ")).ok()?;
        let environ = String::from_utf8_lossy(&environ).into_owned();
        environ
            .contains(&format!("DAEMON_RUN_ID={run}"))
            .then_some(environ)
    });
    processes.collect()
}

#[tokio::test]
async fn a_model_uses_the_tools_of_its_servers_which_end_with_the_run() {
    let calls = Message::default()
        .and_call("tell", json!({"n": 1}))
        .and_call("fail", json!({}))
        .and_call("tell", json!({"n": "one"}));
    let bench = Bench::new([Reply::Message(calls), Reply::text("ok")]);
    let mut request = bench.request();
    request.mcp = inputs::mcp(&[server("pages")]).unwrap();
    request.tools = Some(vec!["file".to_owned()]);
    let run = request.run_id.to_string();
    let events = bench.story(bench.config("openai"), request).await;
    assert_eq!(end(&events), (Outcome::Done, "ok"));
    let results = bench.results();
    assert_eq!(results[0], format!("first s3cret-key {run}/mcp-pages"));
    assert_eq!(results[1], "error: no such page");
    assert!(
        results[2].starts_with("error: the arguments do not fit `tell`: "),
        "{results:?}"
    );
    assert_eq!(left_of(&run), Vec::<String>::new());
}

#[tokio::test]
async fn two_tools_of_one_name_are_refused_before_the_model_is_asked() {
    let bench = Bench::new([]);
    let mut request = bench.request();
    request.mcp = inputs::mcp(&[server("pages"), server("more")]).unwrap();
    let run = request.run_id.to_string();
    let provider = LlmProvider::new(bench.supervisor.clone(), bench.config("openai")).unwrap();
    let error = provider.start(request).await.err().unwrap();
    assert_eq!(error.kind, ProviderErrorKind::Unsupported);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "two tools are named `tell`");
    assert_eq!(left_of(&run), Vec::<String>::new());
    assert_eq!(bench.api.received().len(), 0);
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_named_and_the_others_are_closed() {
    for (command, arguments) in [
        ("no-such-program", json!([])),
        ("sh", json!(["-c", "exit 1"])),
    ] {
        let bench = Bench::new([]);
        let mut request = bench.request();
        let bad = json!({"name": "bad", "command": command, "args": arguments});
        request.mcp = inputs::mcp(&[server("pages"), bad]).unwrap();
        let run = request.run_id.to_string();
        let provider = LlmProvider::new(bench.supervisor.clone(), bench.config("openai")).unwrap();
        let error = provider.start(request).await.err().unwrap();
        assert_eq!(error.kind, ProviderErrorKind::Spawn);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            source.starts_with("the MCP server `bad` cannot be "),
            "{source}"
        );
        assert_eq!(left_of(&run), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_cancelled_run_closes_its_servers_in_the_middle_of_a_call() {
    let call = Message::default().and_call("wait", json!({}));
    let bench = Bench::new([Reply::Message(call)]);
    let mut request = bench.request();
    request.mcp = inputs::mcp(&[server("pages")]).unwrap();
    let id = request.run_id.to_string();
    let mut run = bench.start(bench.config("openai"), request).await;
    while let Some(event) = run.next().await.unwrap() {
        if matches!(event, daemon_provider::RunEvent::ToolStart { .. }) {
            run.cancel(StopReason::Reclaim).await.unwrap();
            break;
        }
    }
    let events = story(&mut *run).await;
    assert_eq!(end(&events).0, Outcome::Stopped(StopReason::Reclaim));
    assert_eq!(left_of(&id), Vec::<String>::new());
}

/// Grants the tools of two servers: one works, the other has an invalid schema and cannot be used.
#[derive(Debug)]
struct Granting;

#[async_trait]
impl Grants for Granting {
    async fn tools(&self) -> Vec<GrantedTool> {
        let tool = |name: &str, schema: Value| GrantedTool {
            name: name.to_owned(),
            description: String::new(),
            schema: schema.as_object().cloned().unwrap_or_default(),
            is_read_only: true,
        };
        vec![
            tool(
                "pages__find",
                json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            ),
            tool("odd__find", json!({"type": 5})),
        ]
    }

    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        match name {
            "pages__find" => ToolReply {
                status: ToolStatus::Ok,
                text: String::new(),
                structured: Some(Value::Object(arguments)),
            },
            _ => ToolReply::failed("the server `odd` cannot be used"),
        }
    }
}

#[tokio::test]
async fn a_model_uses_the_tools_that_the_host_grants_in_addition_to_its_own() {
    let calls = Message::default()
        .and_call("pages__find", json!({"n": 7}))
        .and_call("pages__find", json!({"n": "seven"}))
        .and_call("odd__find", json!({"anything": true}));
    let bench = Bench::new([Reply::Message(calls), Reply::text("ok")]);
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    request.tools = Some(vec!["state".to_owned()]);
    request.grants = std::sync::Arc::new(Granting);
    let events = bench.story(bench.config("openai"), request).await;
    assert_eq!(end(&events), (Outcome::Done, "ok"));
    let offered = bench.api.received()[0].tools();
    assert_eq!(
        offered,
        ["state_get", "state_set", "pages__find", "odd__find"]
    );
    let results = bench.results();
    assert_eq!(results[0], r#"{"n":7}"#);
    assert!(
        results[1].starts_with("error: the arguments do not fit `pages__find`: "),
        "{results:?}"
    );
    assert_eq!(results[2], "error: the server `odd` cannot be used");
}
