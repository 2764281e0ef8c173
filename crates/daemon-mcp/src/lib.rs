//! The Model Context Protocol: a server over any tool table, and a client of other servers.
//!
//! ```
//! use std::sync::Arc;
//!
//! use daemon_mcp::{Answer, Call, Effect, Server, ToolSpec, Toolbox};
//! use serde_json::json;
//!
//! struct Echo;
//!
//! #[async_trait::async_trait]
//! impl Toolbox for Echo {
//!     async fn tools(&self) -> Vec<ToolSpec> {
//!         let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
//!         vec![ToolSpec::new("echo", "Says it again.", schema, Effect::Reads)]
//!     }
//!
//!     async fn call(&self, call: Call) -> Answer {
//!         Answer::done(json!({"text": call.arguments["text"], "for": call.client}))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use daemon_mcp::Client;
//!
//! let (near, far) = (tokio::io::duplex(4096), tokio::io::duplex(4096));
//! let server = Server::new("example", "1.0", Arc::new(Echo));
//! let serving = server.serve(near.0, far.0);
//! let asking = async {
//!     let client = Client::over(far.1, near.1).await?;
//!     assert_eq!(client.tools()[0].name, "echo");
//!     let arguments = json!({"text": "hello"}).as_object().cloned().unwrap_or_default();
//!     let answer = client.call("echo", arguments).await?;
//!     assert_eq!(answer, Answer::done(json!({"text": "hello", "for": "daemon-run"})));
//!     client.close().await;
//!     Ok::<(), daemon_mcp::ClientError>(())
//! };
//! let (served, asked) = tokio::join!(serving, asking);
//! served?;
//! asked?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A [`Server`] shows a [`Toolbox`] and texts as resources. A [`Client`] is connected over standard input and output to a
//! child that `daemon-process` supervises, over HTTP, or over any pair of pipes.
//!
//! # What this crate does not do
//! It knows no tool: what they do, and who may use them, is the toolbox's. It offers no prompts, sampling or tasks. It keeps
//! no secret out of an answer; whoever stores or shows one does.
//!
//! # Guarantees
//! No child outlives its client, and what a child says is bounded: a message of more than 4 MiB, or 16 MiB unasked, ends the
//! connection. A call of an unknown tool does not reach the toolbox. A redirect is not followed, so that no
//! other host receives the headers of a server.

mod bounds;
mod client;
mod http;
mod program;
mod server;
mod tool;

pub use client::{Client, ClientError};
pub use http::Endpoint;
pub use program::Program;
pub use server::{Notices, Resource, ServeError, Server};
pub use tool::{Answer, Call, Effect, ToolSpec, ToolStatus, Toolbox};
