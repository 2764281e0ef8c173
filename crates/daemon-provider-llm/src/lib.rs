//! A provider that runs a tool loop over a model API.
//!
//! [`LlmProvider`] sends a run's prompt to a model, executes the tools that the reply calls, sends their results, and repeats
//! this until a reply calls no tool. The tools cover files of the worktree, the daemon's support scripts, its state, its outputs,
//! and the MCP servers of the run.
//!
//! ```
//! use daemon_fakes::{ModelApi, Reply};
//! use daemon_process::Supervisor;
//! use daemon_provider::{Outcome, Provider, RunEvent, RunId, RunRequest};
//! use daemon_provider_llm::{LlmConfig, LlmProvider};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let api = ModelApi::replaying([
//!     Reply::call("read", serde_json::json!({"path": "a.md"})),
//!     Reply::text("It says: one."),
//! ])?;
//! let mut config = LlmConfig::new("llm", "openai".parse()?, "some-model");
//! config.base_url = Some(api.base_url());
//! let provider = LlmProvider::new(Supervisor::start()?, config)?;
//!
//! let worktree = tempfile::tempdir()?;
//! std::fs::write(worktree.path().join("a.md"), "one\n")?;
//! let mut request = RunRequest::new("em-1-20260102-030405-0a1b2c".parse::<RunId>()?, worktree.path().to_owned());
//! request.prompt = b"What does a.md say?".to_vec();
//!
//! let mut run = provider.start(request).await?;
//! let mut last = None;
//! while let Some(event) = run.next().await? {
//!     last = Some(event);
//! }
//! assert_eq!(last, Some(RunEvent::terminal(Outcome::Done, "It says: one.")));
//! assert_eq!(api.received()[1].tool_results(), ["one\n"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What this crate does not do
//! It enforces no time limit and writes no run folder; the caller that reads the events does. It does not read a key from the
//! environment or a file; [`LlmConfig::key`] holds it. The conversation of a run ends with it and cannot be resumed; conversations
//! that last use the model and the tools of [`Provider::open_loop`](daemon_provider::Provider::open_loop).
//!
//! # Guarantees
//! The model receives the prompt byte for byte. No tool reaches a file outside the run's directories, through a symbolic
//! link, or in `.git`; none changes `.agents` or workflows. Arguments are checked against the tool's schema before it runs.
//! If the run has a budget, the cost of each call is reserved before it is made. A reply counts only if its stream was complete.
//!
//! # Features and versions
//! The feature `client`, on by default, has the client of the APIs. Without it configurations are read and checked, and
//! [`LlmProvider::new`] refuses each of them. The crate runs on Linux. The minimum supported Rust version is the `rust-version` of its manifest.

mod config;
#[cfg(feature = "client")]
mod model;
#[cfg(not(feature = "client"))]
#[path = "no_model.rs"]
mod model;
#[cfg(feature = "client")]
mod model_error;
mod provider;
mod record;
mod run;
mod tools;

pub use config::{Api, ApiKey, HAS_CLIENT, LlmConfig, Price, UnknownApi};
pub use provider::{Bash, LlmProvider};
