//! What hosts that share a store know of each other.

use daemon_engine::HostEpoch;
use daemon_event::ActivationId;
use jiff::{SignedDuration, Timestamp};

/// How long after its last check-in a host counts as gone: as long as a lease lasts.
pub const GONE_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// The hosts of a store, and what waits in it.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetState {
    /// The clock of the store.
    pub now: Timestamp,
    /// The hosts that ever began an epoch, by name.
    pub hosts: Vec<FleetHost>,
    /// When the oldest event that is not matched yet was received.
    pub oldest_unmatched: Option<Timestamp>,
    /// Since when the oldest activation that could start waits.
    pub oldest_ready: Option<Timestamp>,
    /// Leases that ended, although no host took their activations back.
    pub stuck: Vec<StuckLease>,
}

/// One host.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetHost {
    /// Its name.
    pub name: String,
    /// The epoch of its newest process.
    pub epoch: HostEpoch,
    /// When it last checked in, by the clock of the store; `None` for a release that did not.
    pub seen_at: Option<Timestamp>,
    /// How far its clock was ahead of that of the store.
    pub clock_ahead: Option<SignedDuration>,
    /// What it last said of itself, as JSON.
    pub about: Option<String>,
    /// How many activations it holds.
    pub n_leased: u32,
}

impl FleetHost {
    /// Reports whether the host has checked in lately.
    pub fn is_present(&self, now: Timestamp) -> bool {
        self.seen_at
            .is_some_and(|at| now.duration_since(at) < GONE_AFTER)
    }
}

/// Another host that has a run: its folder, and the processes that it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHost {
    /// Its name.
    pub name: String,
    /// Whether it has checked in lately.
    pub is_present: bool,
}

/// An activation whose lease ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckLease {
    /// The activation.
    pub activation: ActivationId,
    /// The host that held it.
    pub host: Option<String>,
    /// When the lease ended.
    pub until: Timestamp,
}
