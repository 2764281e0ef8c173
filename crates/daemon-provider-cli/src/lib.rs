//! Providers that run as child processes.
//!
//! [`CommandProvider`] runs any executable: the prompt on its standard input, a result on its standard output.
//! [`AgentProvider`] runs the command lines of three coding agents, `claude`, `codex` and `opencode`, and reads what they print.
//!
//! ```
//! use daemon_process::Supervisor;
//! use daemon_provider::{Outcome, Provider, RunEvent, RunId, RunRequest};
//! use daemon_provider_cli::{CommandConfig, CommandProvider};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut config = CommandConfig::new("wc", "/bin/sh");
//! config.program.args = vec!["-c".to_owned(), "wc -c".to_owned()];
//! let provider = CommandProvider::new(Supervisor::start()?, config);
//!
//! let worktree = tempfile::tempdir()?;
//! let mut request = RunRequest::new("em-1-20260102-030405-0a1b2c".parse::<RunId>()?, worktree.path().to_owned());
//! request.prompt = b"Repair the links.".to_vec();
//! request.environment = [("PATH".into(), "/usr/bin:/bin".into())].into();
//!
//! let mut run = provider.start(request).await?;
//! let mut last = None;
//! while let Some(event) = run.next().await? {
//!     last = Some(event);
//! }
//! assert_eq!(last, Some(RunEvent::terminal(Outcome::Done, "17")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What this crate does not do
//! It does not validate proposed outputs, enforce time limits or write run folders; the caller that reads the events does. It
//! reads no credentials by itself and passes on only those in the request and the configuration.
//!
//! # Guarantees
//! Arguments contain neither the prompt nor a secret. The environment contains what the request and the contract define and,
//! for an agent, its permissions and its login; it inherits nothing. The program is never taken from the worktree. It is a
//! supervised child, and its processes do not outlive the run. Memory use does not grow with the output.
//!
//! # Features and versions
//! The crate has no features and runs on Linux. The minimum supported Rust version is the `rust-version` of its manifest.

mod agent;
mod bounded;
mod command;
mod grants;
mod mcp_file;
mod process_end;
mod program;
mod run;

pub use agent::{Agent, AgentConfig, AgentPermissions, AgentProvider, Help};
pub use command::{CommandConfig, CommandProvider, InputFormat, ResultRule};
pub use grants::{Guarded, GuardedPathError, check_readable};
pub use program::ProgramConfig;
