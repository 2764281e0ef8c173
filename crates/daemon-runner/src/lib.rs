//! Carrying out runs: attempts at activations, and one-off runs.
//!
//! A host claims an activation and passes it to [`attempt::attempt`], which prepares a work tree and a context, starts the
//! provider, records what it does, and commits how the attempt ended. [`emanation`] does the same for runs that a parent
//! dispatches. Both use one [`RunContext`]: the store, the directories of the home, the settings in force, and a [`RunHost`].
//!
//! ```
//! use daemon_provider::{Limits, Permissions};
//! use daemon_runner::policy::{ReachedSandbox, RunPolicy};
//!
//! let policy = RunPolicy {
//!     provider: "claude".to_owned(),
//!     permissions: Permissions::Propose,
//!     sandbox_min: 2,
//!     starts_programs: true,
//!     is_offline: false,
//!     context_bytes: None,
//!     limits: Limits::default(),
//!     is_instructed: true,
//!     mcp: Vec::new(),
//!     targets: Vec::new(),
//!     is_rolling: false,
//!     zone: "UTC".to_owned(),
//! };
//! let sandbox = ReachedSandbox { level: 1, detail: "no Landlock".to_owned() };
//! let refusal = policy.sandbox_refusal(&sandbox).expect("level 1 is below level 2");
//! assert_eq!(refusal, "the sandbox reaches level 1, policy asks for 2: no Landlock");
//! ```
//!
//! # What this crate does not do
//! It decides neither which activation runs nor when; a host's loops do. It serves no socket and no HTTP; the tools of a run
//! reach its program through the [`ToolAccess`](daemon_provider::tool_access::ToolAccess) that the host passes. It reads no configuration file.
//!
//! # Guarantees
//! The end of a run is recorded before anyone is notified of it. An attempt whose lease was lost commits nothing. No record
//! contains a secret of the host or of the run as it was passed in.

pub mod attempt;
pub mod budget;
pub mod context;
pub mod conversing;
pub mod defect;
pub mod emanation;
pub mod mail;
pub mod planner;
pub mod policy;
pub mod pruning;
mod rolling_turns;
mod run_context;
mod running;
pub mod runs;
pub mod secrets;
pub mod servers;
pub mod settings;
#[cfg(test)]
mod test_clock;
mod trees;

pub use run_context::{Handles, Lifetime, NOTICES, RunContext, RunHost, RunPaths};
pub use running::RunningAttempts;
pub use trees::{TreeLimits, Trees};
