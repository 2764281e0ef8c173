//! The vocabulary of a run: its id, its states, why it stopped or failed, and what that means for another attempt.
//!
//! A run is one execution by one provider. The crates that start runs, record them and report on them share these types.
//!
//! ```
//! use daemon_lifecycle::{ErrorClass, Failure, FailureKind, Outcome, RunId, RunState, StopReason};
//!
//! let id: RunId = "em-5-20260102-030405-0a1b2c".parse()?;
//! assert_eq!(id.handle().to_string(), "em-5");
//! assert_eq!(id.started().to_string(), "2026-01-02T03:04:05Z");
//!
//! // A stop by the host and a failure of the provider are classified by the same function.
//! let end = Outcome::Stopped(StopReason::AgentStop).end_state().expect("the run is not done");
//! assert_eq!((end.state, end.class), (RunState::Cancelled, ErrorClass::Retryable));
//!
//! let failure = Failure::new(FailureKind::Protocol, "no result");
//! let end = Outcome::Failed(failure).end_state().expect("the run is not done");
//! assert_eq!((end.state, end.error_type), (RunState::Failed, "protocol"));
//! # Ok::<(), daemon_lifecycle::ParseIdError>(())
//! ```
//!
//! # Main types
//! - [`RunId`], [`Handle`] and [`GroupId`] identify a run, its short name, and the runs dispatched with it.
//! - [`Outcome`] is how a provider ended a run; [`RunState`] is how the run is recorded.
//! - [`StopReason`] and [`FailureKind`] are the reasons for an end that is not `done`. [`Cause`] joins them, and
//!   [`Cause::end_state`] is the one place that maps a reason to a state, an `error.type` and an [`ErrorClass`].
//! - [`ChildProcess`], [`Exit`], [`OutputStream`], [`Truncation`], [`Speaker`], [`ToolStatus`] and [`NetworkUse`] describe a run's
//!   process, output, messages, tool calls and connections.
//!
//! # What this crate does not do
//! It reads no clock and draws no random bytes: [`RunId::new`] takes both. It implements no `serde` traits, because a file
//! or a message has a version and these types have none; formats write [`RunState::as_str`] and parse with `FromStr`.
//!
//! # Guarantees
//! Formatting an id or a word and parsing the text gives an equal value. Parsers accept only what formatting produces, so
//! an id is always safe as a file name and as a program argument.

mod cause;
mod id;
mod outcome;
mod process;
mod state;
mod word;

pub use cause::{Cause, EndState};
pub use id::{GroupId, Handle, ParseIdError, RunId};
pub use outcome::{Failure, FailureKind, Outcome, StopReason};
pub use process::{ChildProcess, Exit, NetworkUse, OutputStream, Speaker, ToolStatus, Truncation};
pub use state::{ErrorClass, RunState, state_word};
pub use word::UnknownWord;
