//! Shared servers that are shell scripts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use daemon_process::Supervisor;
use daemon_records::clock::SystemClock;
use serde_json::json;

use super::*;
use crate::servers::GrantedServer;

/// A server that notes its start, and exits when its tool `die` is called.
const SCRIPT: &str = r#"
echo begun >> "$LOG"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"find","description":"Finds.","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"die"'*) exit 3 ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

const SECRET: &str = "s3cret-0123456";

struct Bench {
    home: tempfile::TempDir,
    supervisor: Supervisor,
    shared: SharedServers,
}

impl Bench {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let shared = SharedServers::new(ServerPlace {
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: home.path().join("mcp"),
            clock: Arc::new(SystemClock),
        });
        Self {
            home,
            supervisor: Supervisor::start().unwrap(),
            shared,
        }
    }

    /// Takes servers by name, each with its script.
    fn take(&self, scripts: &[(&str, &str)]) {
        let known = scripts.iter().map(|(name, script)| {
            let log = self.log(name);
            let registration = json!({"name": name, "command": "sh", "args": ["-c", script],
                "env": {"LOG": log, "KEY": SECRET}});
            let server = GrantedServer {
                registration: daemon_provider::inputs::mcp(&[registration])
                    .unwrap()
                    .remove(0),
                secrets: vec![SECRET.to_owned()],
            };
            ((*name).to_owned(), server)
        });
        let servers = Servers::new(known.collect::<BTreeMap<_, _>>())
            .started_by(
                self.supervisor.clone(),
                "/usr/bin:/bin".as_ref(),
                Vec::new(),
            )
            .unwrap();
        self.shared.replace(&servers, Permissions::Write);
    }

    fn log(&self, name: &str) -> PathBuf {
        self.home.path().join(format!("{name}.log"))
    }

    fn n_starts(&self, name: &str) -> usize {
        fs::read_to_string(self.log(name)).map_or(0, |log| log.lines().count())
    }

    fn states(&self) -> Vec<(String, &'static str, u64)> {
        let listed = self.shared.list().into_iter();
        listed
            .map(|status| (status.name, status.state, status.restarts))
            .collect()
    }

    /// Waits until a server is connected after a number of restarts. The states between are not
    /// waited for: they may be over before this task is polled again.
    async fn connected(&self, name: &str, restarts: u64) -> ServerStatus {
        let reached = async {
            loop {
                let listed = self.shared.list();
                if let Some(found) = listed.into_iter().find(|status| {
                    (&*status.name, status.state, status.restarts) == (name, "connected", restarts)
                }) {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reached)
            .await
            .unwrap_or_else(|_| panic!("{name} is not connected: {:?}", self.shared.list()))
    }
}

fn only(name: &str) -> AllowedNames {
    AllowedNames::Only(vec![name.to_owned()])
}

#[tokio::test]
async fn a_server_is_connected_when_an_agent_needs_it_and_stays_over_reloads() {
    let bench = Bench::new();
    bench.take(&[("pages", SCRIPT), ("tickets", SCRIPT)]);
    assert_eq!(
        bench.states(),
        [("pages".into(), "idle", 0), ("tickets".into(), "idle", 0)]
    );
    bench.shared.ready(&only("tickets")).await;
    bench.take(&[("pages", SCRIPT), ("tickets", SCRIPT)]);
    bench.shared.ready(&AllowedNames::All).await;
    assert_eq!(
        bench.states(),
        [
            ("pages".into(), "connected", 0),
            ("tickets".into(), "connected", 0)
        ]
    );
    assert_eq!(bench.shared.list()[1].tools, ["find", "die"]);
    assert_eq!((bench.n_starts("pages"), bench.n_starts("tickets")), (1, 1));
    // Another command is another server; one that is removed ends.
    let changed = format!("{SCRIPT}\n:");
    bench.take(&[("tickets", &changed)]);
    bench.connected("tickets", 0).await;
    assert_eq!(bench.states(), [("tickets".into(), "connected", 0)]);
    assert_eq!(bench.n_starts("tickets"), 2);
    bench.shared.close().await;
    assert!(left(bench.home.path()).is_empty());
}

#[tokio::test]
async fn a_server_that_ends_is_connected_again() {
    let bench = Bench::new();
    bench.take(&[("tickets", SCRIPT)]);
    bench.shared.ready(&AllowedNames::All).await;
    let client = bench
        .shared
        .connection("tickets")
        .unwrap()
        .client()
        .unwrap();
    client
        .call("die", serde_json::Map::new())
        .await
        .unwrap_err();
    drop(client);
    let again = bench.connected("tickets", 1).await;
    assert_eq!(again.error, None);
    let restarted = bench.shared.restart("tickets").unwrap();
    assert_eq!(restarted.name, "tickets");
    bench.connected("tickets", 2).await;
    assert_eq!(bench.n_starts("tickets"), 3);
    assert_eq!(bench.shared.restart("absent"), None);
    bench.shared.close().await;
}

#[tokio::test]
async fn a_server_that_fails_says_why_without_its_secrets_and_delays_no_other() {
    let bench = Bench::new();
    let fails = "echo \"no good: $KEY\" >&2; exit 1";
    bench.take(&[("broken", fails), ("tickets", SCRIPT)]);
    bench.shared.ready(&AllowedNames::All).await;
    let listed = bench.shared.list();
    assert_eq!(listed[1].state, "connected");
    let problem = listed[0].error.as_deref().unwrap();
    assert!(
        problem.contains("no good") && !problem.contains(SECRET),
        "{problem}"
    );
    bench.shared.close().await;
}

/// Returns the processes that still have the variables of servers below a home.
fn left(home: &Path) -> Vec<String> {
    let wanted = format!("LOG={}", home.display());
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let environ = fs::read(entry.ok()?.path().join("environ")).ok()?;
        let environ = String::from_utf8_lossy(&environ).into_owned();
        environ.contains(&wanted).then_some(environ)
    });
    processes.collect()
}
