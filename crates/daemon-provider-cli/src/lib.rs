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
//! It does not judge what a program proposes, keep time limits or write folders: the reader of the events does. It passes no
//! credential that it was not handed.
//!
//! # Guarantees
//! Arguments hold neither prompt nor secret. The program's environment is what the request and the contract name and, of an
//! agent, what tells it its permissions and its login; nothing else. The program is looked up outside the worktree, and started as a supervised child: nothing it starts outlives its
//! run. What it says is bounded, whatever it prints.

mod agent;
mod bounded;
mod command;
mod ending;
mod grants;
mod mcp_file;
mod program;
mod run;

pub use agent::{Agent, AgentConfig, AgentPermissions, AgentProvider, Help};
pub use command::{CommandConfig, CommandProvider, InputFormat, ResultRule};
pub use grants::Guarded;
pub use program::ProgramConfig;
