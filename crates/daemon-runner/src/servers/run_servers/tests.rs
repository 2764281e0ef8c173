//! Granted servers that are shell scripts: results, and every way to fail.

use std::time::Duration;

use daemon_process::Supervisor;
use daemon_provider::{RunEvent, ToolStatus};
use serde_json::{Map, json};

use super::*;

/// A server whose tools return its secret, change something, exit, print 100 MB or never return.
const SCRIPT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"find","description":"Finds.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"die","inputSchema":{"type":"object"}},{"name":"flood","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}},{"name":"long","inputSchema":{"type":"object"}}]}' ;;
    *'"find"'*) answer="{\"content\":[{\"type\":\"text\",\"text\":\"token $KEY at $(pwd)\"}],\"structuredContent\":{\"token\":\"$KEY\"}}" ;;
    *'"die"'*) exit 3 ;;
    *'"flood"'*) head -c 100000000 /dev/zero | tr '\0' x ;;
    *'"long"'*) answer="{\"content\":[{\"type\":\"text\",\"text\":\"$(head -c 300000 /dev/zero | tr '\0' x)\"}]}" ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

/// The secret of every server.
const SECRET: &str = "s3cret-0123456";

struct Bench {
    home: tempfile::TempDir,
    run: String,
    events: (mpsc::Sender<RunEvent>, mpsc::Receiver<RunEvent>),
}

impl Bench {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        // The marker must be unlike that of every other test.
        let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        Self {
            home,
            run: format!("em-{}", uuid.trim()),
            events: mpsc::channel(WAITING),
        }
    }

    /// Grants servers by name: each a script, or nothing where the program cannot begin.
    fn grant(&self, scripts: &[(&str, &str)], permissions: Permissions) -> RunServers {
        let known = scripts.iter().map(|(name, script)| {
            let registration = json!({
                "name": name, "command": "sh", "args": ["-c", script], "env": {"KEY": SECRET},
            });
            let server = GrantedServer {
                registration: daemon_provider::inputs::mcp(&[registration])
                    .unwrap()
                    .remove(0),
                secrets: vec![SECRET.to_owned()],
            };
            ((*name).to_owned(), server)
        });
        let servers = Servers::new(known.collect());
        let search = OsString::from("/usr/bin:/bin");
        let servers = servers
            .started_by(Supervisor::start().unwrap(), &search, Vec::new())
            .unwrap();
        let names: Vec<String> = scripts.iter().map(|(name, _)| (*name).to_owned()).collect();
        let chosen = servers.of(&names);
        let terms = Terms {
            origin: Origin::Granted {
                servers,
                permissions,
                environment: vec![("PATH".into(), search)],
                directory: self.home.path().join("mcp"),
            },
            run: self.run.clone(),
            recorder: Recorder::Host,
            timeouts: ServerTimeouts {
                call: Duration::from_secs(3),
                ..ServerTimeouts::default()
            },
        };
        RunServers::new(terms, chosen, self.events.0.clone())
    }

    /// Returns the processes that carry the run's marker.
    fn left(&self) -> Vec<String> {
        let wanted = format!("DAEMON_RUN_ID={}", self.run);
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let environ = std::fs::read(entry.ok()?.path().join("environ")).ok()?;
            let environ = String::from_utf8_lossy(&environ).into_owned();
            environ.contains(&wanted).then_some(environ)
        });
        processes.collect()
    }
}

fn names(tools: &[GrantedTool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn drain(events: &mut mpsc::Receiver<RunEvent>) -> Vec<RunEvent> {
    std::iter::from_fn(|| events.try_recv().ok()).collect()
}

#[tokio::test]
async fn a_run_gets_the_tools_of_its_servers_and_never_what_they_are_given() {
    let mut bench = Bench::new();
    let servers = bench.grant(&[("tickets", SCRIPT), ("pages", SCRIPT)], Permissions::Read);
    let tools = servers.tools().await;
    assert_eq!(names(&tools), ["tickets__find", "pages__find"]);
    let reply = servers.call("pages__find", Map::new()).await;
    let directory = bench.home.path().canonicalize().unwrap().join("mcp/pages");
    assert_eq!(
        reply,
        ToolReply {
            status: ToolStatus::Ok,
            text: format!("token <redacted> at {}", directory.display()),
            structured: Some(json!({"token": "<redacted>"})),
        }
    );
    let heard = drain(&mut bench.events.1);
    let detail = "tools that are not marked as reading, under the capability `read`: 4 not offered: die, flood, wait, long";
    let denied = |name: &str| RunEvent::Denied {
        name: name.to_owned(),
        detail: detail.to_owned(),
    };
    let name = "pages__find".to_owned();
    assert_eq!(
        heard,
        [
            denied("mcp.tickets"),
            denied("mcp.pages"),
            RunEvent::ToolStart {
                id: name.clone(),
                name: name.clone(),
                args: "{}".to_owned()
            },
            RunEvent::ToolEnd {
                id: name.clone(),
                name,
                status: ToolStatus::Ok
            },
        ]
    );
    // What is not offered cannot be called either.
    let reply = servers.call("tickets__die", Map::new()).await;
    assert_eq!(
        reply,
        ToolReply::failed("the server `tickets` offers no tool `tickets__die` to this run")
    );
    let reply = servers.call("other__find", Map::new()).await;
    assert_eq!(
        reply,
        ToolReply::failed("no server `other` is granted to this run")
    );
    servers.close().await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_is_absent_dies_floods_or_is_slow_is_an_answer_and_the_others_go_on() {
    let mut bench = Bench::new();
    let gone = "echo token $KEY refused >&2; exit 1";
    let scripts = [
        ("gone", gone),
        ("dies", SCRIPT),
        ("floods", SCRIPT),
        ("waits", SCRIPT),
    ];
    let servers = bench.grant(&scripts, Permissions::Propose);
    let tools = servers.tools().await;
    assert_eq!(tools.len(), 15);
    let begun = "the server `gone` cannot be used: the handshake failed: token <redacted> refused";
    assert!(
        matches!(drain(&mut bench.events.1).as_slice(), [RunEvent::Limit { name, detail }]
            if name == "mcp.gone" && detail.starts_with(begun))
    );
    for (tool, problem) in [
        ("gone__find", begun),
        (
            "dies__die",
            "the server `dies`: the server has closed the connection",
        ),
        (
            "dies__find",
            "the server `dies`: the server has closed the connection",
        ),
        (
            "floods__flood",
            "the server `floods`: the server sent too much data",
        ),
        ("waits__wait", "the server `waits`: no answer within 3s"),
    ] {
        let reply = servers.call(tool, Map::new()).await;
        assert_eq!(reply.status, ToolStatus::Error, "{tool}: {reply:?}");
        assert!(reply.text.starts_with(problem), "{tool}: {}", reply.text);
    }
    let long = servers.call("waits__long", Map::new()).await;
    assert!(long.text.len() < (64 << 10) + 100, "{}", long.text.len());
    assert!(long.text.ends_with("bytes more]"));
    assert_eq!(
        servers.call("waits__find", Map::new()).await.status,
        ToolStatus::Ok
    );
    servers.close().await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn closing_gives_up_calls_and_begins_nothing_any_more() {
    let mut bench = Bench::new();
    let servers = Arc::new(bench.grant(&[("waits", SCRIPT)], Permissions::Write));
    servers.tools().await;
    let calling = Arc::clone(&servers);
    let mut calls = tokio::task::JoinSet::new();
    calls.spawn(async move { calling.call("waits__wait", Map::new()).await });
    assert!(matches!(
        bench.events.1.recv().await,
        Some(RunEvent::ToolStart { .. })
    ));
    servers.close().await;
    let reply = calls.join_next().await.unwrap().unwrap();
    assert_eq!(reply.status, ToolStatus::Error, "{reply:?}");
    assert_eq!(bench.left(), Vec::<String>::new());

    let never = bench.grant(&[("late", SCRIPT)], Permissions::Write);
    never.close().await;
    assert_eq!(never.tools().await, []);
    assert_eq!(bench.left(), Vec::<String>::new());
}
