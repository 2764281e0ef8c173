//! Traces of activations that have ended, sent to the collector that the configuration names.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use daemon_event::{ActivationId, TriggerKey};
use daemon_records::error::chain;
use daemon_store::{Store, StoreError};
use daemon_telemetry::{ActivationStory, ExportError, TraceExporter, TraceSpan};
use tokio::sync::Notify;

use super::host::Host;
use crate::config::Config;
use crate::home::Home;
use crate::token;

/// How long activations are collected before their traces are sent, and the longest delay after failures.
const DELAYS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The activations of one request.
const BATCH: usize = 100;
/// The activations that wait while the collector takes none.
const MOST_WAITING: usize = 4_096;
/// How long the end of a host waits for the collector.
const LAST: Duration = Duration::from_secs(3);

/// The activations whose traces are to be sent.
#[derive(Debug, Default)]
pub(crate) struct TraceQueue {
    ids: Mutex<VecDeque<ActivationId>>,
    news: Notify,
    /// How many were dropped since the last line of the log about it.
    n_dropped: AtomicU64,
}

impl TraceQueue {
    /// Adds an activation that may have ended. Of more than are kept, the oldest are dropped.
    pub(crate) fn add(&self, id: ActivationId) {
        self.put(id, VecDeque::push_back);
        self.news.notify_one();
    }

    fn put(&self, id: ActivationId, at: fn(&mut VecDeque<ActivationId>, ActivationId)) {
        let mut ids = self.ids();
        if ids.contains(&id) {
            return;
        }
        if ids.len() >= MOST_WAITING {
            ids.pop_front();
            self.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
        at(&mut ids, id);
    }

    fn take(&self) -> Vec<ActivationId> {
        let mut ids = self.ids();
        let n = ids.len().min(BATCH);
        ids.drain(..n).collect()
    }

    fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    fn ids(&self) -> MutexGuard<'_, VecDeque<ActivationId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the traces of activations that end, until the host has ended.
pub(super) async fn run(host: Arc<Host>) {
    let mut exporters = Exporters::default();
    let mut delay = DELAYS.0;
    loop {
        let queue = &host.traces;
        let collected = async {
            if queue.is_empty() {
                queue.news.notified().await;
            }
            tokio::time::sleep(delay).await;
        };
        let is_last = tokio::select! {
            () = host.finished().cancelled() => true,
            () = collected => false,
        };
        let sent = exporters.send(&host);
        if is_last {
            // What the collector does not take in time is lost: traces are no record.
            drop(tokio::time::timeout(LAST, sent).await);
            return;
        }
        delay = match sent.await {
            true => DELAYS.0,
            false => (delay * 2).min(DELAYS.1),
        };
    }
}

/// The exporter of the configuration in force.
#[derive(Default)]
struct Exporters {
    made: Option<(u64, Option<TraceExporter>)>,
    /// Whether the collector did not take the last request.
    is_away: bool,
}

impl Exporters {
    /// Sends what waits, and returns whether nothing is left that is to be sent again.
    async fn send(&mut self, host: &Host) -> bool {
        let runtime = host.runtime();
        if self.made.as_ref().map(|(generation, _)| *generation) != Some(runtime.generation) {
            let exporter = exporter(&host.home, &runtime.config);
            self.made = Some((runtime.generation, exporter));
        }
        let exporter = self.made.as_ref().and_then(|(_, it)| it.as_ref());
        loop {
            let ids = host.traces.take();
            let Some(exporter) = exporter.filter(|_| !ids.is_empty()) else {
                return true;
            };
            let exported = export(&*host.store, exporter, &ids).await;
            self.is_away &= exported.is_err();
            match exported {
                Ok(()) => match host.traces.n_dropped.swap(0, Ordering::Relaxed) {
                    0 => {}
                    n => tracing::warn!(
                        n,
                        "activations were not traced: the collector was away for too long"
                    ),
                },
                Err(ExportError::Later(why)) => {
                    // Once for each time that the collector is away.
                    if !std::mem::replace(&mut self.is_away, true) {
                        tracing::warn!(
                            why,
                            "the collector takes no traces; they are sent again later"
                        );
                    }
                    for id in ids.into_iter().rev() {
                        host.traces.put(id, VecDeque::push_front);
                    }
                    return false;
                }
                Err(error) => {
                    tracing::warn!(%error, n = ids.len(), "activations were not traced");
                }
            }
        }
    }
}

/// Returns the exporter to the collector of a configuration, if it names one that can be used.
fn exporter(home: &Home, config: &Config) -> Option<TraceExporter> {
    let telemetry = &config.telemetry;
    let address = telemetry.traces.as_deref()?;
    let headers = telemetry.headers_file.iter().map(|(name, file)| {
        let key = format!("telemetry.headers_file.{name}");
        Ok((name.clone(), token::of_file(home.root(), key, file)?))
    });
    let made = headers
        .collect::<Result<Vec<_>, token::TokenError>>()
        .map_err(|error| chain(&error))
        .and_then(|headers| {
            let name = home.host_name(&config.host);
            TraceExporter::new(name, address, headers).map_err(|error| chain(&error))
        });
    made.map_err(|error| tracing::error!(error, "no traces are sent"))
        .ok()
}

async fn export(
    store: &dyn Store,
    exporter: &TraceExporter,
    ids: &[ActivationId],
) -> Result<(), ExportError> {
    let mut spans: Vec<TraceSpan> = Vec::new();
    for id in ids {
        match story(store, id).await {
            Ok(story) => spans.extend(story.iter().flat_map(ActivationStory::spans)),
            Err(error) => return Err(ExportError::Later(chain(&error))),
        }
    }
    match spans.is_empty() {
        true => Ok(()),
        false => exporter.export(&spans).await,
    }
}

/// Reads an activation with what belongs to it; `None` if it has not ended, or is not kept any more.
async fn story(
    store: &dyn Store,
    id: &ActivationId,
) -> Result<Option<ActivationStory>, StoreError> {
    let found = store.activation(id).await?;
    let Some(activation) = found.filter(|activation| activation.state.is_final()) else {
        return Ok(None);
    };
    let newest = activation.triggers.last().map(|trigger| &trigger.key);
    let event = match newest {
        Some(TriggerKey::Event(id)) => store.events_among(std::slice::from_ref(id)).await?,
        _ => Vec::new(),
    };
    Ok(Some(ActivationStory {
        event: event.into_iter().next().map(|row| row.event),
        runs: store.runs_of(id).await?,
        outputs: store.outputs_of(id).await?,
        activation,
    }))
}
