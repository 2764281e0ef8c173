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
//! A payload becomes facts:
//!
//! ```
//! use daemon_event::{Enrichment, Field, Source, read};
//!
//! let body = br#"{"action":"opened","issue":{"number":7,"title":"Drip"},
//!                 "repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#;
//! let reading = read(Source::Github, "issues", body, &Enrichment::default())?;
//! assert_eq!(reading.facts.text(Field::Title), Some("Drip"));
//! assert_eq!(reading.subject.map(|subject| subject.to_string()).as_deref(), Some("github:acme/pump#7"));
//! # Ok::<(), daemon_event::Malformed>(())
//! ```
//!
//! # What this crate does not do
//! It verifies no signature (see `daemon-ingest`) and reads no condition (see `daemon-watch`).
//!
//! # Guarantees
//! It reads no clock and no generator: instants and randomness are arguments.

mod event;
mod facts;
mod field;
mod ids;
mod need;
mod read;
mod trigger;
pub mod vocabulary;

pub use event::{Actor, ActorKind, Event, Source};
pub use facts::Facts;
pub use field::{Field, FieldValue, Shape};
pub use ids::{
    ActivationId, DaemonId, DaemonKey, DeliveryId, EventId, InvalidId, RepoName, Subject, ulid,
};
pub use need::Need;
pub use read::{
    Enrichment, Malformed, PullRequestFact, Reading, branch_ref, enriched, full_ref, label_names,
    read,
};
pub use trigger::TriggerKey;
