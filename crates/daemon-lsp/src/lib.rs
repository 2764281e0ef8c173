//! A language server for DAEMON.md files: diagnostics, fixes, completion, hover, symbols, definitions.
//!
//! ```no_run
//! use daemon_cron::Zone;
//! use daemon_lsp::{Workspace, serve_stdio};
//! use jiff::Timestamp;
//!
//! serve_stdio(&Workspace {
//!     now: &Timestamp::now,
//!     zone: &|_root, _id| Zone::utc(),
//! })?;
//! # Ok::<(), daemon_lsp::ServeError>(())
//! ```
//!
//! # Overview
//!
//! - [`serve_stdio`] answers an editor over standard input and output, [`serve`] over any
//!   [`lsp_server::Connection`].
//! - [`Workspace`] passes the time and the zones of the daemons.
//! - Diagnostics and fixes are those of `daemon-lint` under the profile `spec`. A file is checked when the editor has sent
//!   all changes that it had, so fast typing checks the last state only.
//!
//! # What this crate does not do
//!
//! - It compares no file with the other daemons of its repository; `daemon-lint` does.
//! - It writes no file: the editor applies edits.
//! - It uses no host and no store.
//!
//! # Guarantees
//!
//! - Positions are in UTF-8 if the editor offers it, else in UTF-16.
//! - A request about a document that is not open, or at a position outside of it, has an empty result.
//! - Only names of files below the directory of an open daemon are read.
//!
//! # Features and versions
//!
//! The crate has no features. `lsp_server::Connection`, `daemon_cron::Zone` and `jiff::Timestamp` are part of its public API.
//! The minimum supported Rust version is the `rust-version` of its manifest.

mod completion;
mod document;
mod fixes;
mod hover;
mod position;
mod server;
mod structure;

pub use server::{ServeError, Workspace, serve, serve_stdio};
