//! Services on loopback that behave like the real ones: a model API, and the services where outputs of daemons land.
//!
//! [`ModelApi`] implements three protocols: Messages of Anthropic, Chat Completions and Responses of OpenAI, with and without
//! streaming. A script decides each reply. A [`Transcript`] is an executable that prints recorded lines. [`GithubApi`],
//! [`LinearApi`] and [`SlackApi`] store what they receive; a [`FaultPlan`] makes them lose replies, fail or answer late.
//! Each also serves pages of its state for a person, at the URLs that its API returns.
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
//! A person acts on a service without HTTP; a program sends requests to [`FakeServer::base_url`]:
//!
//! ```
//! use daemon_fakes::{FakeClock, GithubAccountKind, GithubApi};
//! use serde_json::json;
//!
//! let github = GithubApi::start(0, FakeClock::default())?;
//! github.add_repo("acme/site");
//! github.add_account("alice", GithubAccountKind::User);
//! let issue = json!({"title": "Broken link"});
//! let (status, issue) = github.act("alice", "POST", "/repos/acme/site/issues", &issue);
//! assert_eq!((status, &issue["number"]), (201, &json!(1)));
//! assert_eq!(issue["html_url"], format!("{}/acme/site/issues/1", github.server().base_url()));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What this crate does not do
//! It is not published. The model API does not validate requests: `cargo xtask agents` tests with real programs what these send.
//! The services check no signatures and sign nothing, since this crate has no cryptography: the caller passes functions.
//!
//! # Guarantees
//! It opens no connection and listens on loopback only. A dropped service closes its port, wakes what waits and ends its streams.
//! The services read no clock: a [`FakeClock`] is passed to them.

mod clock;
mod connection;
mod dialect;
mod github;
mod html;
mod http;
mod linear;
mod model_api;
mod reply;
mod slack;
mod transcript;

pub use clock::FakeClock;
pub use dialect::ApiDialect;
pub use github::{
    DiffPlace, GithubAccess, GithubAccountKind, GithubApi, GithubCheckRun, GithubComment,
    GithubDelivery, GithubFile, GithubIssue, GithubPull, GithubPush, GithubReview,
    GithubReviewComment, GithubWebhook, GithubWorkflowRun,
};
pub use http::{Applied, FakeServer, FaultPlan, HttpRequest, ServiceFault};
pub use linear::{LinearApi, LinearComment, LinearIssue, LinearName, LinearUser, LinearWebhook};
pub use model_api::{ModelApi, Received};
pub use reply::{Call, Message, Reply, Tokens};
pub use slack::{SlackApi, SlackChannel, SlackMessage, SlackUser};
pub use transcript::{Transcript, recorded};
