//! Webhook bytes in, verified events out.
//!
//! ```
//! use daemon_event::EventId;
//! use daemon_ingest::{Delivery, Github, Headers, Secrets, Source as _};
//!
//! let github = Github::new(Secrets::new(["It's a Secret to Everybody"])?);
//! let headers = Headers::new([(
//!     "X-Hub-Signature-256",
//!     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
//! )]);
//! let delivery = Delivery {
//!     headers: &headers,
//!     body: b"Hello, World!",
//!     received_at: "2026-11-20T09:00:00Z".parse()?,
//!     event_id: EventId::new(1_795_251_600_000, [7; 10]),
//! };
//! assert_eq!(github.verify(&delivery), Ok(()));
//! assert_eq!(github.events(&delivery).unwrap_err().status(), 400);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Source`] knows how one service signs and names its deliveries: [`Github`], [`Slack`],
//! [`Linear`], [`Sentry`]. [`Rejected`] and [`Malformed`] say with which HTTP status to answer.
//! [`identities`] names the keys by which a repetition is known.
//!
//! # What this crate does not do
//!
//! It speaks no HTTP, stores nothing and knows no repository: a delivery about an unknown one is an
//! event like any other. It does not remember what it saw.
//!
//! # Guarantees
//!
//! Signatures cover the bytes as received and are compared in constant time against every secret.
//! No part of an unverified body is read. Headers choose nothing the signed body does not confirm.

mod delivery;
mod error;
mod github;
mod identity;
mod json;
mod linear;
mod secret;
mod sentry;
mod slack;

pub use delivery::{Delivery, Headers, Source};
pub use error::{Malformed, Rejected};
pub use github::Github;
pub use identity::identities;
pub use linear::Linear;
pub use secret::{EmptySecret, Secrets};
pub use sentry::Sentry;
pub use slack::{Challenge, Slack};
