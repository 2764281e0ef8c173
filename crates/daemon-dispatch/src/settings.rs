//! What the configuration says to a dispatcher.

use std::collections::BTreeSet;
use std::time::Duration;

use daemon_engine::{HostEpoch, LEASE};
use daemon_store::{ClaimRequest, Rates};
use jiff::{SignedDuration, Timestamp};

use crate::now::Now;

/// What a dispatcher decides by; replaced whole by a reload.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The epoch of this host, which owns what it claims.
    pub epoch: HostEpoch,
    /// What a claim may take.
    pub limits: ClaimLimits,
    /// How long runs may continue after the host was asked to stop.
    pub drain: Duration,
    /// How long rows are kept.
    pub kept: Retentions,
    /// The names of the configured surfaces.
    pub surfaces: BTreeSet<String>,
}

/// What a claim may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClaimLimits {
    /// How many activations may be leased at once, in all.
    pub host_slots: u32,
    /// The same per daemon.
    pub daemon_slots: u32,
    /// How many activations may begin within an hour.
    pub rates: Rates,
    /// What activations may cost within a day, in US dollars.
    pub day_usd: Option<f64>,
}

/// How long rows are kept; `None` is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retentions {
    /// Payloads of events.
    pub payloads: Option<SignedDuration>,
    /// Ticks, and hashes of bodies.
    pub ticks: Option<SignedDuration>,
    /// Runs and their folders.
    pub runs: Option<SignedDuration>,
}

impl Settings {
    /// Makes settings with which nothing is claimed, nothing sent and everything kept.
    pub fn new(epoch: HostEpoch) -> Self {
        Self {
            epoch,
            limits: ClaimLimits::default(),
            drain: Duration::ZERO,
            kept: Retentions::default(),
            surfaces: BTreeSet::new(),
        }
    }

    /// Makes the request for a claim at an instant.
    pub fn claim_request(&self, now: Timestamp) -> ClaimRequest {
        ClaimRequest {
            owner: self.epoch,
            now,
            lease_until: now + LEASE,
            host_slots: self.limits.host_slots,
            daemon_slots: self.limits.daemon_slots,
            rates: self.limits.rates,
            day_usd: self.limits.day_usd,
        }
    }
}

/// Returns the instant before which rows are forgotten.
pub(crate) fn forgotten_before(kept: Option<SignedDuration>, now: Now) -> Timestamp {
    kept.map_or(Timestamp::UNIX_EPOCH, |kept| now.wall - kept)
}
