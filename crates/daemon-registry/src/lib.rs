//! The registered daemons in memory, with the index that matches events against their conditions.
//!
//! The store keeps a row for each daemon. This crate compiles the rows: conditions become filters, schedules become cron
//! expressions in a zone, and all filters together become one index. A [`SharedRegistry`] is what the parts of a host share; it
//! is replaced repository by repository as commits change daemon files.
//!
//! ```
//! use daemon_registry::SharedRegistry;
//!
//! let registry = SharedRegistry::of(Vec::new());
//! assert!(registry.get().iter().next().is_none());
//! assert!(registry.get().find("review", None).is_err());
//! ```
//!
//! # What this crate does not do
//! It reads no repository and no store; the caller passes rows and daemon sources. It does not decide whether a daemon that
//! matches an event gets an activation; `daemon-engine` does.
//!
//! # Guarantees
//! A reader of [`SharedRegistry::get`] sees one consistent registry; later replacements do not change it.

mod condition_cache;
mod registered;
mod registry;
mod shared;
mod zone_cache;

pub use registered::{Definition, Registered, RegisteredFile};
pub use registry::{FindDaemonError, Registry};
pub use shared::SharedRegistry;
