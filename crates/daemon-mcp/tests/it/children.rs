//! The client, against servers that are child processes: shell scripts with canned responses.

use std::time::Duration;

use daemon_mcp::{ClientError, Effect, ToolClient, ToolDescription, ToolResult, ToolStatus};
use daemon_process::{ChildLimits, Launch, Sandbox, Supervisor, end_orphans};
use serde_json::{Map, json};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Responds to each request by its id; `tell` returns a variable and the directory, `fail` fails, `die` exits.
const SCRIPT: &str = r#"
echo "on my way" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"tell","description":"Tells.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
    *'"tell"'*) answer="{\"content\":[{\"type\":\"text\",\"text\":\"$SECRET\"},{\"type\":\"text\",\"text\":\"$(pwd)\"}]}" ;;
    *'"fail"'*) answer='{"isError":true,"content":[{"type":"image","data":"","mimeType":"image/png"}],"structuredContent":{"n":1}}' ;;
    *'"die"'*) exit 3 ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

fn launch(script: &str) -> Launch {
    let unique = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("SECRET".into(), "s3cret".into()),
        ],
        cwd: "/usr".into(),
        stdin: Vec::new(),
        marker: format!("test-{}/mcp", unique.trim()),
        limits: ChildLimits::default(),
        disk: Vec::new(),
        sandbox: Sandbox::Contained,
        ports: None,
    }
}

async fn client(script: &str) -> Result<ToolClient, ClientError> {
    ToolClient::start(&Supervisor::start().unwrap(), launch(script), TIMEOUT).await
}

#[tokio::test]
async fn a_child_lists_its_tools_and_is_called() {
    let client = client(SCRIPT).await.unwrap();
    let schema = json!({"type": "object"});
    assert_eq!(
        client.tools(),
        [
            ToolDescription::new("tell", "Tells.", schema.clone(), Effect::Reads),
            ToolDescription::new("fail", "", schema, Effect::Changes),
        ]
    );
    let result = client.call("tell", Map::new()).await.unwrap();
    let expected = ToolResult {
        status: ToolStatus::Ok,
        text: "s3cret\n/usr".to_owned(),
        structured: None,
    };
    assert_eq!(result, expected);
    let failed = client.call("fail", Map::new()).await.unwrap();
    let expected = ToolResult {
        status: ToolStatus::Error,
        text: "[an image]".to_owned(),
        structured: Some(json!({"n": 1})),
    };
    assert_eq!(failed, expected);
    client.close().await;
}

#[tokio::test]
async fn calls_fail_after_the_child_has_exited() {
    let client = client(SCRIPT).await.unwrap();
    let first = client.call("die", Map::new()).await.unwrap_err();
    let second = client.call("tell", Map::new()).await.unwrap_err();
    assert!(matches!(first, ClientError::Gone), "{first:?}");
    assert!(matches!(second, ClientError::Gone), "{second:?}");
    client.close().await;
}

#[tokio::test]
async fn a_failed_handshake_reports_the_last_line_of_standard_error() {
    let error = client("echo 'no such module' >&2; exit 1")
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the handshake failed: no such module");
}

#[tokio::test]
async fn a_child_that_does_not_respond_times_out_and_is_ended() {
    let mut silent = launch("exec sleep 1000");
    silent.marker = format!("{}-silent", silent.marker);
    let marker = silent.marker.clone();
    let supervisor = Supervisor::start().unwrap();
    let timeout = Duration::from_millis(200);
    let error = ToolClient::start(&supervisor, silent, timeout)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::TimedOut(_)), "{error:?}");
    assert_eq!(end_orphans(None, &marker).unwrap().survivors, []);
}

#[tokio::test]
async fn closing_ends_a_child_that_does_not_exit_and_everything_it_started() {
    let stubborn = format!("sleep 1000 & trap '' TERM\n{SCRIPT}\nwhile :; do sleep 1; done");
    let launch = launch(&stubborn);
    let marker = launch.marker.clone();
    let client = ToolClient::start(&Supervisor::start().unwrap(), launch, TIMEOUT)
        .await
        .unwrap();
    client.close().await;
    let left = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let environ = std::fs::read(entry.ok()?.path().join("environ")).ok()?;
        let environ = String::from_utf8_lossy(&environ).into_owned();
        environ.contains(&marker).then_some(environ)
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}
