//! The operations of a host, and every interface that projects them: the control protocol, HTTP, pages, MCP tools.
//!
//! ```
//! use daemon_api::ops::{Operation, Scope, Verb};
//!
//! let operation: Operation = "activation/cancel".parse()?;
//! assert_eq!(operation, Operation::ActivationCancel);
//! assert_eq!(operation.verb(), Verb::Post);
//! assert_eq!(operation.route(), Some("activations/{id}/cancel"));
//! assert_eq!(operation.scope(), Scope::Operate);
//! # Ok::<(), daemon_api::ops::UnknownMethod>(())
//! ```
//!
//! # Overview
//! [`ops`] contains the table of operations ([`ops::Operation`]) and performs them over a store ([`ops::Operations`]). A host
//! implements [`ops::Live`] for what only a running host can do. Three interfaces are built from the table: [`control`] is
//! JSON-RPC on the socket of the home and over TCP, with the client that the commands use; [`http`] has the listener, the webhook intake, the
//! routes below `/api/v1/` and the pages for a browser; the MCP tools of the binary call the operations through the control client.
//!
//! [`wire`] has the objects that all interfaces return. [`explain`] renders why an event wakes a daemon or does not, [`fire`]
//! wakes a daemon for a person, [`StoredEvent`] is what the host has of an event, and [`intake`] computes the keys by which a repeated event is recognised.
//!
//! # What this crate does not do
//! It starts no run and has no loop: the host carries out activations, ticks and outputs. It reads no configuration, no
//! environment and no home, and depends on no particular store or provider.
//!
//! # Guarantees
//! An operation is performed completely or not at all. A webhook is acknowledged after its events are durable. A client with the
//! token of a run can use only what that run was granted.

pub mod control;
pub mod explain;
pub mod fire;
pub mod http;
pub mod intake;
pub mod ops;
mod pages;
mod period;
pub mod recording;
mod runs;
mod stored_event;
mod tokens;
pub mod wire;

pub use period::{InvalidPeriod, Period};
pub use stored_event::StoredEvent;
pub use tokens::{HostTokens, TokenHolder, TokenHolders};
