//! What the loops of a host decide: one synchronous state machine, without clock, store or task.
//!
//! ```
//! use std::time::Duration;
//!
//! use daemon_dispatch::{Concern, Dispatcher, HostEffect, HostEvent, Now, Settings};
//! use daemon_engine::HostEpoch;
//! use jiff::Timestamp;
//!
//! let now = Now { wall: Timestamp::UNIX_EPOCH, since_boot: Duration::from_secs(100) };
//! let mut dispatcher = Dispatcher::new(Settings::new(HostEpoch(1)), &[Concern::Matching], now);
//! let mut effects = Vec::new();
//! dispatcher.handle(HostEvent::Time, now, &mut effects);
//! assert!(matches!(effects[..], [HostEffect::Match { after: 0, .. }]));
//! // The store could not be reached: the dispatcher tries again after a while.
//! effects.clear();
//! dispatcher.handle(HostEvent::StoreFailed(Concern::Matching), now, &mut effects);
//! assert!(effects.is_empty());
//! assert_eq!(dispatcher.next_deadline(), Some(Duration::from_secs(105)));
//! ```
//!
//! A [`Dispatcher`] takes a [`HostEvent`] and [`Now`], and appends [`HostEffect`]s. The caller performs each effect and
//! hands what came of it back as an event. [`Dispatcher::next_deadline`] is the latest time to hand it
//! [`HostEvent::Time`]. The host's driver performs effects with a store, surfaces and tasks; the simulator performs them
//! in virtual time. [`reply_to_sender`] decides how a sender of events is answered.
//!
//! # What this crate does not do
//! It performs no effect, logs nothing and counts nothing. Which events wake which daemons is decided by `daemon-watch`,
//! and what a claim or the end of an attempt means by `daemon-engine`.
//!
//! # Guarantees
//! The same events at the same times give the same effects. Each [`Concern`] has at most one store operation under way.
//! A look-up precedes the next send of an output whose sending is in doubt.

mod claims;
mod disk;
mod dispatcher;
mod effect;
mod event;
mod intake;
mod leases;
mod matching;
mod now;
mod outputs;
mod settings;
mod stopping;
mod sweeps;
#[cfg(test)]
mod tests;
mod turn;

pub use disk::{DISK_LOOK, DiskSpace};
pub use dispatcher::Dispatcher;
pub use effect::{HostEffect, Reserve};
pub use event::{HostEvent, MatchedBatch};
pub use intake::{SenderReply, reply_to_sender};
pub use now::Now;
pub use outputs::LONGEST_BEGINNING;
pub use settings::{ClaimLimits, Retentions, Settings};
pub use turn::Concern;
