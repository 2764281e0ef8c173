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
//! [`ops`] is the table of operations ([`ops::Operation`]) and carries them out over a store ([`ops::Operations`]); what only a
//! running host can do comes in through [`ops::Live`]. Three interfaces are built from the table: [`control`] is JSON-RPC on the
//! socket of the home, with the client that the commands use; [`http`] has the listener, the webhook intake, the routes below
//! `/api/v1/` and the pages for a browser. The MCP tools of the binary call the same operations through the control client.
//!
//! [`wire`] has the objects that all of them return. [`explain`] renders why an event wakes a daemon or does not, [`fire`] lets
//! a person wake a daemon, and [`intake`] computes the keys by which a repeated event is recognised.
//!
//! # What this crate does not do
//! It starts no run and has no loop: activations, ticks and outputs are carried out by the host. It reads no configuration, no
//! environment and no home, and it names no store and no provider.
//!
//! # Guarantees
//! An operation is done completely or not at all. A webhook is acknowledged after its events are durable. A client that shows the
//! token of a run can use what that run was granted, and nothing else.

pub mod control;
pub mod explain;
pub mod fire;
pub mod http;
pub mod intake;
pub mod ops;
mod pages;
mod period;
mod runs;
pub mod wire;

pub use period::{InvalidPeriod, Period};
