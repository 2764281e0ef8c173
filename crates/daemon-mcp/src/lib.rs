//! The Model Context Protocol: a server for any set of tools, and a client of other servers.
//!
//! ```
//! use std::sync::Arc;
//!
//! use daemon_mcp::{Effect, ToolCall, ToolClient, ToolDescription, ToolResult, ToolServer, ToolTable};
//! use serde_json::json;
//!
//! struct Echo;
//!
//! #[async_trait::async_trait]
//! impl ToolTable for Echo {
//!     async fn tools(&self) -> Vec<ToolDescription> {
//!         let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
//!         vec![ToolDescription::new("echo", "Returns its argument.", schema, Effect::Reads)]
//!     }
//!
//!     async fn call(&self, call: ToolCall) -> ToolResult {
//!         ToolResult::done(json!({"text": call.arguments["text"], "for": call.client}))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let (near, far) = (tokio::io::duplex(4096), tokio::io::duplex(4096));
//! let server = ToolServer::new("example", "1.0", Arc::new(Echo)).serve(near.0, far.0);
//! let client = async {
//!     let client = ToolClient::over(far.1, near.1).await?;
//!     assert_eq!(client.tools()[0].name, "echo");
//!     let arguments = json!({"text": "hello"}).as_object().cloned().unwrap_or_default();
//!     let result = client.call("echo", arguments).await?;
//!     assert_eq!(result, ToolResult::done(json!({"text": "hello", "for": "daemon-run"})));
//!     client.close().await;
//!     Ok::<(), daemon_mcp::ClientError>(())
//! };
//! let (served, called) = tokio::join!(server, client);
//! served?;
//! called?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Overview
//!
//! - A [`ToolServer`] offers a [`ToolTable`], text [`Resource`]s and [`Notifications`] to one client per connection. An [`HttpServer`]
//!   offers it to many clients over streamable HTTP, without the notifications.
//! - A [`ToolClient`] lists and calls the tools of one server: a child process under `daemon-process`
//!   ([`ToolClient::start`] with a [`Program`]), an HTTP [`Endpoint`] ([`ToolClient::connect`]) or any pair of pipes
//!   ([`ToolClient::over`]).
//! - Calls of a server [with tasks](ToolServer::with_tasks) that [may take long](ToolTable::may_take_long) become tasks for clients
//!   that know them. A task ends with its client.
//! - [`ToolResult::bounded`] cuts a result to a size that a model can be given.
//!
//! # What this crate does not do
//!
//! It contains no tools, and it does not decide who may call one: a [`ToolTable`] does. It supports neither prompts nor
//! sampling. It does not redact secrets from results.
//!
//! # Guarantees
//!
//! - A child process does not outlive its client.
//! - A server on a pipe is disconnected after a message of more than 4 MiB, or 16 MiB without a request.
//! - A call of a tool that is not in the table does not reach the table.
//! - A line of a client that is not a message is answered, and the next line is read.
//! - Redirects are not followed, so the headers of an endpoint are sent to no other host.
//! - `Debug` output of an [`Endpoint`] or a [`Program`] contains no secrets.
//!
//! # Features and versions
//!
//! The crate has no features. It needs a `tokio` runtime with time and I/O. The minimum supported Rust version is the
//! `rust-version` of its manifest.

mod bounds;
mod client;
mod http;
mod http_server;
mod lines;
mod program;
mod server;
mod tasks;
mod tool;

pub use client::{ClientError, ToolClient};
pub use daemon_lifecycle::ToolStatus;
pub use http::Endpoint;
pub use http_server::HttpServer;
pub use program::Program;
pub use server::{Notifications, Resource, ServeError, ToolServer};
pub use tool::{Effect, ToolCall, ToolDescription, ToolResult, ToolTable};
