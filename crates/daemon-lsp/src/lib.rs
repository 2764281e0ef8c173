//! A language server for DAEMON.md files: diagnostics, fixes, completion, hover, symbols, definitions.
//!
//! ```
//! use daemon_cron::Zone;
//! use daemon_lsp::{Workspace, serve};
//! use jiff::Timestamp;
//! use lsp_server::{Connection, Message, Notification, Request};
//! use serde_json::json;
//!
//! // An editor in the same process; `serve_stdio` answers one over standard input and output.
//! let (editor, server) = Connection::memory();
//! let uri = "file:///r/.agents/daemons/tidy/DAEMON.md";
//! let item = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": "---\nid: tidy\nowner: me\n---\n"});
//! let messages: [Message; 5] = [
//!     Request::new(1.into(), "initialize".to_owned(), json!({"capabilities": {}})).into(),
//!     Notification::new("initialized".to_owned(), json!({})).into(),
//!     Notification::new("textDocument/didOpen".to_owned(), json!({"textDocument": item})).into(),
//!     Request::new(2.into(), "shutdown".to_owned(), json!(null)).into(),
//!     Notification::new("exit".to_owned(), json!(null)).into(),
//! ];
//! for message in messages {
//!     editor.sender.send(message)?;
//! }
//!
//! let zone = |_root: &std::path::Path, _id: &str| Zone::utc();
//! serve(&server, &Workspace { now: &Timestamp::now, zone: &zone })?;
//! drop(server);
//!
//! let found = editor.receiver.iter().find_map(|message| match message {
//!     Message::Notification(note) => Some(note.params["diagnostics"].clone()),
//!     _ => None,
//! });
//! let codes: Vec<String> = found.iter().flat_map(|found| found.as_array()).flatten()
//!     .map(|one| one["code"].as_str().unwrap_or_default().to_owned()).collect();
//! assert!(codes.contains(&"D100".to_owned()), "`owner` is not a field");
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
mod transport;

pub use server::{LspError, Workspace, serve, serve_stdio};
