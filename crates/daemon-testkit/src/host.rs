//! One host of the simulation: a ticker, its running attempts, and the step at which it is to die.

use std::sync::Arc;

use daemon_engine::RunLease;
use daemon_event::ActivationId;
use daemon_store::{Canary, Ticker, Zones};
use jiff::Timestamp;

/// A place between the steps of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Ticks are due.
    T1,
    /// The transaction is open.
    T2,
    /// Rows are written; whether the last of them reached the disk is chance.
    T3,
    /// The transaction is durable, and its result was not received.
    T4,
    /// The ticker received the result.
    T5,
    /// Between transactions.
    AnyTime,
}

impl Point {
    pub(crate) const ALL: [Self; 6] = [
        Self::T1,
        Self::T2,
        Self::T3,
        Self::T4,
        Self::T5,
        Self::AnyTime,
    ];
}

/// A running attempt of a host.
#[derive(Clone, Debug)]
pub(crate) struct RunningAttempt {
    pub(crate) number: u64,
    pub(crate) id: ActivationId,
    pub(crate) lease: RunLease,
    pub(crate) fate: Fate,
}

/// How a provider behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It ends after a time.
    Ends,
    /// It produces no more events until a limit ends it.
    Hangs,
}

/// One process.
#[derive(Debug, Default)]
pub(crate) struct SimulatedHost {
    /// `None` while it is dead.
    pub(crate) ticker: Option<Ticker>,
    /// Whether coverages are to be loaded again.
    pub(crate) is_stale: bool,
    /// The state of the registry that it loaded.
    pub(crate) revision: u64,
    /// Whether its last round recorded everything that was due.
    pub(crate) is_current: bool,
    pub(crate) doomed: Option<Point>,
    pub(crate) running: Vec<RunningAttempt>,
}

impl SimulatedHost {
    pub(crate) const fn is_alive(&self) -> bool {
        self.ticker.is_some()
    }

    pub(crate) fn start(&mut self, zones: Arc<dyn Zones>, canary: Option<Canary>) {
        let mut ticker = Ticker::with_zones(Timestamp::UNIX_EPOCH, zones);
        if let Some(canary) = canary {
            ticker.plant(canary);
        }
        *self = Self {
            ticker: Some(ticker),
            is_stale: true,
            ..Self::default()
        };
    }

    /// A dead process keeps nothing; only the stored rows remain.
    pub(crate) fn die(&mut self) {
        *self = Self::default();
    }
}
