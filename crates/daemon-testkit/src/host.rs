//! One host of the simulation: a ticker, what it runs, and where it is to die.

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
    /// The transaction is durable, and nobody was told.
    T4,
    /// The ticker took the answer.
    T5,
    /// Whatever it is doing.
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

/// What a host executes.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u64,
    pub(crate) id: ActivationId,
    pub(crate) lease: RunLease,
    pub(crate) fate: Fate,
}

/// How a provider behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It ends by itself.
    Ends,
    /// It says nothing more, until a limit ends it.
    Hangs,
}

/// One process.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// `None` while it is dead.
    pub(crate) ticker: Option<Ticker>,
    /// Whether coverages are to be loaded anew.
    pub(crate) is_stale: bool,
    /// The state of the registry that it loaded.
    pub(crate) revision: u64,
    /// Whether its last round recorded everything that was due.
    pub(crate) is_current: bool,
    pub(crate) doomed: Option<Point>,
    pub(crate) running: Vec<Attempt>,
}

impl Host {
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

    /// Nothing of it is left but what the store has.
    pub(crate) fn die(&mut self) {
        *self = Self::default();
    }
}
