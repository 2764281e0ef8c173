//! A provider that runs a loop of tools over a model API.
//!
//! [`LlmProvider`] sends a run's prompt to a model, runs the tools that the reply uses, sends their results, and goes on until
//! a reply uses none. The tools are files of the worktree, the daemon's support scripts, its state and its outputs; a
//! [`ToolSource`] adds more.
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
//! It keeps no time limit and writes no folder: the reader of the events does. It reads neither environment nor files for a
//! key: it is handed one. It keeps no conversation beyond its run.
//!
//! # Guarantees
//! The model receives the prompt byte for byte. No tool reaches a file outside the run's directories, through a symbolic
//! link, or in `.git`; none changes `.agents` or workflows. Arguments are checked against the tool's schema before it runs.
//! Where the run has a budget, no call is made that is not reserved first. What a model says of its end counts only if
//! its stream came to its end.

mod config;
mod fault;
mod model;
mod provider;
mod run;
mod toolbox;
mod tools;
mod turns;

pub use config::{Api, ApiKey, LlmConfig, Patience, Price, UnknownApi};
pub use provider::{Bash, LlmProvider};
pub use toolbox::{ToolError, ToolOutput, ToolSource, ToolSpec};
