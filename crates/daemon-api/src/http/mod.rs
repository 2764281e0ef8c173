//! The HTTP server: signed webhooks, health, metrics, operations and pages.

mod access;
pub(crate) mod answer;
pub(crate) mod api;
mod bodies;
mod connections;
mod exchange;
mod framing;
mod hooks;
mod mcp;
mod repeats;
mod server;
mod stall;
pub(crate) mod stream;

pub use access::{Access, Hosts, Session};
pub use hooks::{Admit, Hooks};
pub use mcp::{McpCaller, McpServers};
pub use repeats::Repeats;
pub use server::{AppState, Condition, Health, Opening, bind, serve};
pub use stream::Streams;

#[cfg(test)]
mod tests;
