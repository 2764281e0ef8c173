//! The seam between what decides that a daemon runs and what executes it.
//!
//! A [`Provider`] starts a [`Run`] from a [`RunRequest`]; the run yields [`RunEvent`]s until exactly one
//! [`RunEvent::Terminal`], and reaches what it may use through the request's [`Grants`].
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
//! Two providers live here because they need nothing else: [`builtin`], which runs no model, and [`scripted`], which plays
//! a script in tests. The `conformance` module, behind the feature `internal-testing`, holds what every provider must pass.
//!
//! What a caller gives beside a task is read in [`inputs`]; what must not be kept or told is taken out by [`redact`].
//!
//! # What this crate does not do
//! It starts no process, opens no connection, writes no run folder and reads no clock. It does not decide what a run may
//! do: the [`Grants`] it is handed refuse what policy refuses.
//!
//! # Guarantees
//! [`Run::next`] is cancel-safe: dropping its future loses no event. After the terminal event it returns `None` for ever.
//! [`Run::cancel`] keeps the first reason it was given.

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
