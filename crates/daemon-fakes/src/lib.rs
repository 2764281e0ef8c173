//! Fakes for tests: a model API on loopback, and programs that print recorded transcripts.
//!
//! [`ModelApi`] listens on a free port and implements three protocols: Messages of Anthropic, Chat Completions and Responses of
//! OpenAI, with and without streaming. A script decides each reply. A [`Transcript`] is an executable that prints recorded lines.
//!
//! ```
//! use std::io::{Read as _, Write as _};
//!
//! use daemon_fakes::{Message, ModelApi, Reply};
//!
//! let api = ModelApi::replaying([Reply::Message(Message::text("Repaired."))])?;
//! let mut stream = std::net::TcpStream::connect(api.address())?;
//! let body = r#"{"model":"m","messages":[{"role":"user","content":"Repair."}]}"#;
//! write!(stream, "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
//! let mut response = String::new();
//! stream.read_to_string(&mut response)?;
//! assert!(response.contains(r#""content":"Repaired.""#), "{response}");
//! assert_eq!(api.received()[0].body["model"], "m");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What this crate does not do
//! It is for tests only and is not published. It does not validate requests: `cargo xtask agents` tests with real programs what
//! these send.
//!
//! # Guarantees
//! It opens no connection and listens on loopback only. A dropped [`ModelApi`] closes its port and ends its streams.

mod connection;
mod dialect;
mod model_api;
mod reply;
mod transcript;

pub use dialect::ApiDialect;
pub use model_api::{ModelApi, Received};
pub use reply::{Call, Message, Reply, Tokens};
pub use transcript::{Transcript, recorded};
