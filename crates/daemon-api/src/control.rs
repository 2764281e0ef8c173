//! The control protocol: JSON-RPC 2.0, one message per line, over the home's socket and over TCP.

mod client;
mod connection;
mod hello;
mod host_tools;
mod lines;
mod places;
mod replies;
mod run_client;
mod run_pipes;
mod run_tokens;
mod schema;
mod server;
mod streams;
mod wire;

pub use client::{CallError, Client};
pub use hello::AGENT_TOKEN;
pub use host_tools::HostTools;
pub use places::ControlPlaces;
use run_pipes::RunPipes;
use run_tokens::RunToken;
pub use run_tokens::RunTokens;
pub use schema::protocol_schema;
pub use server::{Control, bind, bind_tcp, serve, serve_tcp};
pub use wire::{
    ClientMessage, ErrorBody, ErrorData, RequestId, ServerMessage, ServerNotification,
    StreamedEvent,
};

/// The version of the protocol that `initialize` requires.
pub const PROTOCOL_VERSION: u32 = 1;
/// The maximum length of a line, in bytes without its end.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// The maximum number of open requests of one client.
pub const MAX_OPEN: usize = 64;
