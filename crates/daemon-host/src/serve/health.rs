//! The health of a host, and its metrics.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_api::http::{Condition, Health};
use daemon_records::error::chain;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::UnixStream;

use crate::disk::Space;
use crate::driver::Host;

/// How long a connection to the control socket may take.
const SOCKET_ANSWERS: Duration = Duration::from_secs(2);

/// The health checks and metrics of a host.
pub(super) struct HostHealth {
    pub(super) host: Arc<Host>,
    pub(super) metrics: PrometheusHandle,
    /// The path of the control socket.
    pub(super) socket: PathBuf,
}

#[async_trait]
impl Health for HostHealth {
    async fn parts(&self) -> Vec<(&'static str, Condition)> {
        // A store that hangs must not make the health check hang, too.
        let store =
            match tokio::time::timeout(Duration::from_secs(2), self.host.store.probe()).await {
                Ok(probed) => probed.map_err(|error| chain(&error)),
                Err(_) => Err("the store does not answer".to_owned()),
            };
        vec![
            ("store", store.into()),
            (
                "disk",
                Space::of(self.host.home.root())
                    .pause(self.host.home.root())
                    .map_or(Condition::Up, Condition::Down),
            ),
            ("clock", crate::doctor::clock(self.host.now()).into()),
            ("listeners", listeners(&self.socket).await.into()),
            ("loops", self.host.failures.recent_panics().into()),
            ("repositories", repositories(&self.host)),
        ]
    }

    async fn metrics(&self) -> String {
        if let Ok(counts) = self.host.store.counts().await {
            gauges(&counts);
        }
        self.metrics.render()
    }
}

/// Checks that the control socket accepts connections; the HTTP listener does, because it received this request.
async fn listeners(socket: &Path) -> Result<(), String> {
    let connected = tokio::time::timeout(SOCKET_ANSWERS, UnixStream::connect(socket)).await;
    match connected {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("the control socket takes no connection: {error}")),
        Err(_) => Err("the control socket does not answer".to_owned()),
    }
}

/// Reports the repositories that could not be read.
fn repositories(host: &Host) -> Condition {
    let unread = host.registrations.states.unread();
    let names: Vec<String> = unread.iter().map(|(repo, _)| repo.to_string()).collect();
    match names.is_empty() {
        true => Condition::Up,
        // Not `Down`: removing the host from rotation would turn the failure of one repository into that of all.
        false => Condition::Noted(format!("not read yet: {}", names.join(", "))),
    }
}

fn gauges(counts: &daemon_store::Counts) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    let float = |n: u64| n as f64;
    metrics::gauge!("daemon_events").set(float(counts.events));
    metrics::gauge!("daemon_events_unmatched").set(float(counts.unmatched));
    for (state, n) in &counts.activations {
        metrics::gauge!("daemon_activations", "state" => state.as_str()).set(float(*n));
    }
    for (state, n) in &counts.outputs {
        metrics::gauge!("daemon_outputs", "state" => state.as_str()).set(float(*n));
    }
    for (state, n) in &counts.facts {
        metrics::gauge!("daemon_facts", "state" => state.as_str()).set(float(*n));
    }
}

/// Returns the memory of this process; `None` where the system does not report it.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = status.split_whitespace().nth(1)?.parse().ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some(pages * page)
}
