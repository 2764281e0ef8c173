//! Webhooks of GitHub, Linear, Slack and Sentry: signed bytes in, verified events out.
//!
//! ```
//! use daemon_event::EventId;
//! use daemon_ingest::{Delivery, Github, Headers, Secrets, WebhookSource as _};
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
//! assert_eq!(github.events(&delivery).unwrap_err().status(), 400); // signed, but not an event
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - A [`WebhookSource`] verifies the deliveries of one service and reads their events: [`Github`], [`Linear`], [`Slack`]
//!   and [`Sentry`], each with its [`Secrets`], and [`CloudEvents`] with its [`SenderTokens`]. Call [`verify`](WebhookSource::verify) first, then
//!   [`challenge`](WebhookSource::challenge) and [`events`](WebhookSource::events).
//! - [`Rejected`] and [`Malformed`] give the reason for a failure and the HTTP status of the response.
//! - [`identities`] returns the keys by which a store detects duplicates, [`sender`] the name of a CloudEvent's sender.
//!
//! # What this crate does not do
//!
//! It has no HTTP server, no store and no list of repositories. It does not remember deliveries: the caller checks
//! [`identities`] against its store.
//!
//! # Guarantees
//!
//! - Signatures cover the bytes as received; they and bearer tokens are compared with every secret in constant time.
//! - [`verify`](WebhookSource::verify) parses no part of an unsigned body.
//! - No header changes the meaning of a signed body: its kind must fit the body's shape.
//! - Secrets are not part of any `Debug` output or error.

mod cloudevents;
mod delivery;
mod error;
mod github;
mod identity;
mod json;
mod linear;
mod secret;
mod sentry;
mod slack;
mod tokens;

pub use cloudevents::{CloudEvents, sender};
pub use delivery::{Delivery, Headers, WebhookSource};
pub use error::{Malformed, Rejected};
pub use github::Github;
pub use identity::identities;
pub use linear::Linear;
pub use secret::{EmptySecret, Secrets};
pub use sentry::Sentry;
pub use slack::{Challenge, Slack};
pub use tokens::{SenderTokens, TokenLineError};
