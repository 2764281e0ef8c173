//! Failures that a host shows or ends by: loops that panicked, and a store that can never be written again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_records::clock::Clock;
use daemon_store::StoreError;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

/// How long a loop that panicked makes the host unready.
const DEFECT_SHOWS: SignedDuration = SignedDuration::from_secs(60);

/// The failures of a host.
#[derive(Debug)]
pub(crate) struct Failures {
    clock: Arc<dyn Clock>,
    /// Cancelled when the store can never be written again.
    pub(crate) broken: CancellationToken,
    /// When each loop panicked last.
    defects: Mutex<BTreeMap<&'static str, Timestamp>>,
}

impl Failures {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self {
            clock: Arc::clone(clock),
            broken: CancellationToken::new(),
            defects: Mutex::default(),
        }
    }

    /// Logs a failure of the store. A broken store ends the host: it would otherwise acknowledge what it cannot store.
    pub(crate) fn store_failed(&self, what: &'static str, error: &StoreError) {
        tracing::error!(error = daemon_records::error::chain(error), "{what}");
        if matches!(error, StoreError::Broken { .. }) {
            self.broken.cancel();
        }
    }

    /// Records that a loop panicked.
    pub(super) fn loop_panicked(&self, name: &'static str) {
        self.defects().insert(name, self.clock.now());
    }

    /// Reports the loops that panicked within the last minute as an error.
    pub(crate) fn recent_panics(&self) -> Result<(), String> {
        let now = self.clock.now();
        let defects = self.defects();
        let recent = defects
            .iter()
            .filter(|(_, at)| now.duration_since(**at) < DEFECT_SHOWS);
        let names: Vec<&str> = recent.map(|(name, _)| *name).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(format!("panicked and began again: {}", names.join(", ")))
    }

    fn defects(&self) -> MutexGuard<'_, BTreeMap<&'static str, Timestamp>> {
        self.defects.lock().expect("no holder panics")
    }
}
