//! Events and their facts: payloads of GitHub, Linear, Slack, Sentry and git, read into one typed form.
//!
//! ```
//! use daemon_event::{Enrichment, Field, Source, read};
//!
//! let body = br#"{"action":"opened","issue":{"number":7,"title":"Drip"},
//!                 "repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#;
//! let issue = read(Source::Github, "issues", body, &Enrichment::default())?;
//!
//! assert_eq!(issue.action.as_deref(), Some("opened"));
//! assert_eq!(issue.facts.text(Field::Title), Some("Drip"));
//! assert_eq!(issue.facts.flag(Field::Draft), None); // unknown, not false
//! assert_eq!(issue.subject.map(|subject| subject.to_string()).as_deref(), Some("github:acme/pump#7"));
//! # Ok::<(), daemon_event::MalformedPayload>(())
//! ```
//!
//! # Overview
//!
//! - [`read`] turns a payload into a [`ParsedEvent`]; [`enriched`] adds what the host fetched later.
//! - [`Event`] is the normalised event: [`Source`], kind, action, [`Subject`], [`Actor`], [`EventFacts`] and the payload.
//! - [`EventFacts`] maps each [`Field`] to a [`FieldValue`]. A missing field is unknown.
//! - [`Need`] names the facts that some payloads omit and an [`Enrichment`] supplies.
//! - [`vocabulary`] lists every kind and action of every source, with the paths of its fields and the English
//!   nouns and verbs that name it.
//! - [`TriggerKey`] names one reason for an activation. Together with a [`DaemonKey`] it is unique:
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
//!
//! It verifies no signatures (see `daemon-ingest`), interprets no conditions (see `daemon-watch`) and stores nothing.
//!
//! # Guarantees
//!
//! - No clock and no random numbers: timestamps and random bits are arguments.
//! - [`read`] does not panic on any body and parses each body once.
//! - Every identifier is checked when it is parsed; an invalid one cannot be constructed.

mod event;
mod facts;
mod field;
mod ids;
mod need;
mod read;
mod trigger;
pub mod vocabulary;

pub use event::{Actor, ActorKind, Event, Source};
pub use facts::EventFacts;
pub use field::{Field, FieldShape, FieldValue};
pub use ids::{
    ActivationId, DaemonId, DaemonKey, DeliveryId, EventId, InvalidId, RepoName, Subject, ulid,
};
pub use need::Need;
pub use read::{
    Enrichment, MalformedPayload, ParsedEvent, PullRequestFact, branch_ref, enriched, full_ref,
    is_zeros, label_names, read,
};
pub use trigger::TriggerKey;
