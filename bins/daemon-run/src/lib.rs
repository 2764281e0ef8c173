//! The reference runtime for DAEMON.md, as a library with a thin `main`.
//!
//! ```
//! let command = daemon_run::command();
//! assert!(command.get_subcommands().any(|sub| sub.get_name() == "demo"));
//! ```
//!
//! # What this crate does not do
//! It decides nothing by itself: it reads the command line and the surroundings, composes the libraries, and prints.
//!
//! # Guarantees
//! Data goes to standard output and everything else to standard error; exit codes are those of the command line's contract.

mod agents;
mod check;
mod cli;
mod commands;
mod compose;
mod dispatch;
#[cfg(doctest)]
mod documents;
mod event_input;
mod failure;
mod guarded;
mod known;
mod llm;
mod local;
mod logs;
mod mcp;
mod names;
mod offline;
mod out;
mod place;
mod planner;
mod probe;
mod providers;
mod sandboxes;
mod scratch;
mod services;
mod session;
mod watched;

pub use dispatch::{command, main};
