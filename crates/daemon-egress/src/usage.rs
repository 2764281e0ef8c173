//! What is reported of each connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use daemon_lifecycle::NetworkUse;
use tokio::sync::mpsc;

/// Reports its connection when it is dropped, so that the end of the relay reports open connections too.
pub(crate) struct Meter {
    host: String,
    port: u16,
    counts: Arc<ByteCounts>,
    /// The report's place in the channel, which exists since before the attempt; `None` once it is used.
    report: Option<mpsc::OwnedPermit<NetworkUse>>,
}

/// The bytes of one connection so far.
#[derive(Debug, Default)]
pub(crate) struct ByteCounts {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

impl Meter {
    pub(crate) fn new(host: String, port: u16, report: mpsc::OwnedPermit<NetworkUse>) -> Self {
        Self {
            host,
            port,
            counts: Arc::default(),
            report: Some(report),
        }
    }

    pub(crate) fn counts(&self) -> Arc<ByteCounts> {
        Arc::clone(&self.counts)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let ended = NetworkUse {
            host: std::mem::take(&mut self.host),
            port: self.port,
            allowed: true,
            error: None,
            sent: self.counts.sent.load(Ordering::Relaxed),
            received: self.counts.received.load(Ordering::Relaxed),
        };
        if let Some(report) = self.report.take() {
            report.send(ended);
        }
    }
}
