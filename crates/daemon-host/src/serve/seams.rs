//! What the listeners are given of a host: where webhooks go, what is up, what it can do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use daemon_event::{ActivationId, RepoName};
use daemon_provider::CancelReason;
use daemon_store::{Accepted, NewEvent, StoreError};
use jiff::Timestamp;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};

use super::{Compose, sources};
use crate::driver::Inner;
use crate::http::{Admit, Condition, Doors, Health};
use crate::ops::{Live, OpError, OpErrorKind, chain};
use crate::random;

/// Where webhooks are stored.
pub(super) struct Intake {
    pub(super) inner: Arc<Inner>,
}

#[async_trait]
impl Admit for Intake {
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        let accepted = self.inner.store().accept(events).await;
        match &accepted {
            Ok(accepted) => self.inner.events_accepted(accepted),
            Err(error) => self.inner.trouble("a webhook could not be stored", error),
        }
        accepted
    }

    fn backlog(&self) -> u64 {
        self.inner.backlog()
    }

    fn refusal(&self) -> Option<String> {
        self.inner.space().refusal()
    }
}

/// What is up.
pub(super) struct HostHealth {
    pub(super) inner: Arc<Inner>,
    pub(super) metrics: PrometheusHandle,
}

#[async_trait]
impl Health for HostHealth {
    async fn parts(&self) -> Vec<(&'static str, Condition)> {
        let store =
            match tokio::time::timeout(Duration::from_secs(2), self.inner.store().probe()).await {
                Ok(probed) => probed.map_err(|error| chain(&error)),
                Err(_) => Err("the store does not answer".to_owned()),
            };
        vec![
            ("store", store.into()),
            (
                "disk",
                self.inner
                    .space()
                    .pause()
                    .map_or(Condition::Up, Condition::Down),
            ),
            ("clock", crate::doctor::clock(random::now()).into()),
            ("loops", self.inner.loops().into()),
            ("repositories", repositories(&self.inner)),
        ]
    }

    async fn metrics(&self) -> String {
        if let Ok(counts) = self.inner.store().counts().await {
            gauges(&counts);
        }
        self.metrics.render()
    }
}

/// Says which repositories could not be read; the others do not depend on them.
fn repositories(inner: &Inner) -> Condition {
    let unread = inner.unread();
    let names: Vec<String> = unread.iter().map(|(repo, _)| repo.to_string()).collect();
    match names.is_empty() {
        true => Condition::Up,
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

/// What a running host can do.
pub(super) struct HostLive {
    pub(super) inner: Arc<Inner>,
    pub(super) compose: Arc<dyn Compose>,
    pub(super) started: Instant,
    pub(super) hooks: std::sync::OnceLock<Arc<Doors>>,
}

#[async_trait]
impl Live for HostLive {
    fn now(&self) -> Timestamp {
        random::now()
    }

    fn unread(&self) -> Vec<(RepoName, String)> {
        self.inner.unread()
    }

    fn pause(&self) -> Option<String> {
        self.inner.pause()
    }

    fn nudge(&self) {
        self.inner.signals.claims.notify_one();
        self.inner.signals.outputs.notify_one();
        self.inner.signals.matches.notify_one();
    }

    fn accepted(&self, accepted: &[Accepted]) {
        self.inner.events_accepted(accepted);
    }

    fn stop_run(&self, activation: &ActivationId) {
        self.inner.stop_run(activation, CancelReason::Reclaim);
    }

    async fn reload(&self) -> Result<Value, OpError> {
        let config = self.compose.load()?;
        let sources = sources(&self.inner.home, &config)?;
        let (compose, for_parts) = (Arc::clone(&self.compose), config.clone());
        let parts = tokio::task::spawn_blocking(move || compose.parts(&for_parts)).await;
        let parts = parts.map_err(|error| {
            OpError::new(OpErrorKind::Internal, "internal", error.to_string())
        })??;
        super::judge_policies(&self.inner, &*self.compose, &config, &parts).await?;
        let old = self.inner.config();
        let changed = *old != config;
        let mut needs_restart = Vec::new();
        for (key, differs) in [
            ("host.listen", old.host.listen != config.host.listen),
            ("host.store", old.host.store != config.host.store),
            (
                "host.token_file",
                old.host.token_file != config.host.token_file,
            ),
            ("uds.path", old.uds.path != config.uds.path),
        ] {
            if differs {
                needs_restart.push(key);
            }
        }
        if let Some(doors) = self.hooks.get() {
            doors.hooks.replace(sources);
        }
        super::warn_without_model(&config);
        let generation = self.inner.replace_runtime(config, parts);
        self.inner.load_registry().await?;
        self.inner.force_repos();
        self.inner.first_reading().await;
        self.inner.signals.ticks.notify_one();
        self.inner.signals.claims.notify_one();
        Ok(json!({"generation": generation, "changed": changed, "needs_restart": needs_restart}))
    }

    async fn doctor(&self) -> Result<Value, OpError> {
        Ok(crate::doctor::examine(&self.inner).await)
    }

    async fn stats(&self) -> Result<Value, OpError> {
        let counts = self.inner.store().counts().await?;
        let activations: serde_json::Map<String, Value> = counts
            .activations
            .iter()
            .map(|(state, n)| (state.as_str().to_owned(), json!(n)))
            .collect();
        Ok(json!({
            "uptime_s": self.started.elapsed().as_secs(),
            "daemons": self.inner.registry().get().iter().count(),
            "gate": self.inner.store().host_gate().await?.as_str(),
            "has_model": self.inner.config().has_model(),
            "running": self.inner.leases().len(),
            "events": counts.events,
            "unmatched": counts.unmatched,
            "activations": activations,
        }))
    }

    async fn run_call(
        &self,
        call: serde_json::Map<String, Value>,
    ) -> Result<serde_json::Map<String, Value>, OpError> {
        crate::emanation::answer(&self.inner, call).await
    }

    fn runs(&self) -> PathBuf {
        self.inner.home.runs()
    }
}
