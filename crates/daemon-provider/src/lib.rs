//! The provider trait: the seam between a host, which decides that something runs, and the program or model that runs it.
//!
//! A [`Provider`] starts a [`Run`] from a [`RunRequest`]. The run yields [`RunEvent`]s until exactly one
//! [`RunEvent::Terminal`].
//!
//! ```
//! use daemon_provider::scripted::{Script, Scripted};
//! use daemon_provider::{Outcome, Provider, RunEvent, RunId, RunRequest};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let provider = Scripted::new([Script::done("2 links repaired")]);
//! let request = RunRequest::new("em-1-20260102-030405-0a1b2c".parse::<RunId>()?, "/tmp".into());
//! let mut run = provider.start(request).await?;
//! let ended = run.next().await?;
//! assert_eq!(ended, Some(RunEvent::terminal(Outcome::Done, "2 links repaired")));
//! assert_eq!(run.next().await?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A provider of your own implements two traits. This one needs no process, so its run has a single event:
//!
//! ```
//! use async_trait::async_trait;
//! use daemon_provider::{Asked, Outcome, Provider, ProviderError, Run, RunEvent, RunId, RunRequest, StopReason};
//!
//! struct WordCount;
//!
//! struct Counted(Option<RunEvent>);
//!
//! #[async_trait]
//! impl Provider for WordCount {
//!     fn name(&self) -> &str {
//!         "word-count"
//!     }
//!
//!     async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
//!         let words = String::from_utf8_lossy(&request.prompt).split_whitespace().count();
//!         let end = RunEvent::terminal(Outcome::Done, format!("{words} words"));
//!         Ok(Box::new(Counted(Some(end))))
//!     }
//! }
//!
//! #[async_trait]
//! impl Run for Counted {
//!     async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
//!         Ok(self.0.take())
//!     }
//!
//!     fn would_take(&self) -> Asked {
//!         Asked::Unsupported
//!     }
//!
//!     async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
//!         // A reason to stop takes precedence over an outcome that was not returned yet.
//!         if let Some(end) = &mut self.0 {
//!             *end = RunEvent::terminal(Outcome::Stopped(why), "");
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let mut request = RunRequest::new("em-1-20260102-030405-0a1b2c".parse::<RunId>()?, "/tmp".into());
//! request.prompt = b"Count these words.".to_vec();
//! let mut run = WordCount.start(request.clone()).await?;
//! assert_eq!(run.next().await?, Some(RunEvent::terminal(Outcome::Done, "3 words")));
//!
//! let mut stopped = WordCount.start(request).await?;
//! stopped.cancel(StopReason::Timeout).await?;
//! assert_eq!(stopped.next().await?, Some(RunEvent::terminal(Outcome::Stopped(StopReason::Timeout), "")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Main types
//! - [`Provider`] and [`Run`] are the traits to implement for another way to execute runs. The `conformance` module, behind the
//!   feature `internal-testing`, is a test suite that every provider must pass.
//! - [`RunRequest`] is everything one run needs: prompt, worktree, environment, [`Limits`], [`Permissions`], and the [`Grants`]
//!   through which it reaches the daemon's state, the outbox, the budget and granted tools.
//! - [`RunEvent`] is one event of a run, from the spawned process to the final [`Outcome`].
//! - [`builtin`] is a provider without a model; [`scripted`] plays scripts in tests of a host.
//! - [`inputs`] parses the skills, MCP servers and presets that a caller adds to a task.
//! - [`redact`] removes secrets from text and JSON.
//! - [`tool_loop`] is the loop over a model and its tools, and the seam to models, [`tool_loop::Model`].
//! - [`tool_access`] is the seam to what gives the program of a run access to its granted tools.
//!
//! [`Outcome`], [`StopReason`], [`RunId`] and the other types of a run's life come from `daemon-lifecycle`, and the ones that
//! signatures here use are re-exported.
//!
//! # What this crate does not do
//! It starts no process, opens no connection, writes no run folder and reads no clock. It does not decide what a run may
//! do: the [`Grants`] refuse what policy refuses. It keeps no deadline: the caller cancels a run that takes too long.
//!
//! # Guarantees
//! - [`Run::next`] is cancel-safe: dropping its future loses no event. After the terminal event it always returns `None`.
//! - [`Run::cancel`] keeps the first reason that it receives.
//! - A [`ProviderError`] from [`Provider::start`] means that nothing runs and nothing must be cleaned up.
//!
//! # Features and versions
//! `internal-testing`, off by default, adds the `conformance` module. The traits are declared with `async-trait`, because they
//! are used as `dyn`. The minimum supported Rust version is the `rust-version` of the manifest.

mod child;
mod error;
mod event;
mod grants;
mod id;
mod request;
mod seam;

pub mod builtin;
#[cfg(any(test, feature = "internal-testing"))]
pub mod conformance;
pub mod inputs;
pub mod redact;
pub mod scripted;
pub mod tool_access;
pub mod tool_loop;

pub use daemon_lifecycle::{
    ChildProcess, ErrorClass, Exit, Failure, FailureKind, NetworkUse, Outcome, OutputStream,
    ParseIdError, RunId, Speaker, StopReason, ToolStatus, Truncation,
};
pub use error::{ProviderError, ProviderErrorKind};
pub use event::{RunEvent, Usage};
pub use grants::{
    GrantError, GrantedTool, Grants, Mail, NoGrants, Reservation, ToolReply, Verdict,
};
pub use id::{InvalidSessionId, SessionId};
pub use request::{Limits, MicroUsd, Overlay, Permissions, RunRequest};
pub use seam::{Asked, Companion, FollowUps, McpUse, OpenedLoop, Options, Pricing, Provider, Run};
