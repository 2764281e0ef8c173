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
//! # Main types
//! - [`Provider`] and [`Run`] are the traits to implement for another way to execute runs. The `conformance` module, behind the
//!   feature `internal-testing`, is a test suite that every provider must pass.
//! - [`RunRequest`] is everything one run needs: prompt, worktree, environment, [`Limits`], [`Permissions`], and the [`Grants`]
//!   through which it reaches the daemon's state, the outbox, the budget and granted tools.
//! - [`RunEvent`] is one event of a run, from the spawned process to the final [`Outcome`].
//! - [`builtin`] is a provider without a model; [`scripted`] plays scripts in tests of a host.
//! - [`inputs`] parses the skills, MCP servers and presets that a caller adds to a task.
//! - [`redact`] removes secrets from text and JSON.
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

pub use daemon_lifecycle::{
    ErrorClass, Exit, Failure, FailureKind, Outcome, OutputStream, ParseIdError, RunId, StopReason,
    ToolStatus,
};
pub use error::{ProviderError, ProviderErrorKind};
pub use event::{ChildProcess, Role, RunEvent, Usage};
pub use grants::{GrantError, GrantedTool, Grants, NoGrants, Reservation, ToolReply, Verdict};
pub use id::{InvalidSessionId, SessionId};
pub use request::{Limits, MicroUsd, Permissions, RunRequest};
pub use seam::{Asked, FollowUps, McpUse, Options, Provider, Run};
