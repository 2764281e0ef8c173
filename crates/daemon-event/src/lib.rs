//! Events, triggers, and the vocabulary of sources, kinds and actions.
//!
//! ```
//! use daemon_event::{EventId, TriggerKey};
//!
//! let id = EventId::new(1_700_000_000_000, [7; 10]);
//! let key = TriggerKey::Event(id.clone());
//! assert_eq!(key.to_string(), format!("event:{id}"));
//! assert_eq!(key.to_string().parse(), Ok(key));
//! # Ok::<(), daemon_event::InvalidId>(())
//! ```
//!
//! # What this crate does not do
//! It verifies no signature (see `daemon-ingest`) and reads no condition (see `daemon-watch`).
//!
//! # Guarantees
//! It reads no clock and no generator: instants and randomness are arguments.

mod event;
mod facts;
mod ids;
mod trigger;

pub use event::{Actor, ActorKind, Event, Source};
pub use facts::Facts;
pub use ids::{
    ActivationId, DaemonId, DaemonKey, DeliveryId, EventId, InvalidId, RepoName, Subject, ulid,
};
pub use trigger::TriggerKey;
