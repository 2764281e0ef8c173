//! The long-lived host: it watches repositories, receives webhooks, runs schedules and daemons, and delivers their outputs.
//!
//! ```
//! use daemon_host::config::{self, Capability, Period};
//!
//! let config = config::parse("[policy]\ncapability = 'read'\n[limits]\nwall = '10m'\n")?;
//! assert_eq!(config.policy.capability, Capability::Read);
//! assert_eq!(config.limits.wall, Period::from_secs(600));
//!
//! let refused = config::parse("[limits]\nwal = '10m'\n").unwrap_err();
//! let problem = &refused.problems[0];
//! assert_eq!((problem.line, problem.column), (2, 1));
//! assert_eq!(problem.message, "unknown key `limits.wal`, did you mean `wall`?");
//! # Ok::<(), daemon_host::config::ConfigError>(())
//! ```
//!
//! # Main types
//! - [`config::Config`]: the configuration; [`config::parse`] reports all its errors with line and column.
//! - [`home::Home`]: the directory of a host. [`home::Home::own`] locks it, so that one process at a time is its host.
//! - [`serve::serve`] runs a host until it receives [`serve::Signal::Stop`]. The embedder implements [`serve::Compose`], which
//!   reads the configuration and creates the parts that it names.
//! - [`driver::Parts`]: the linter, providers, surfaces and repositories of a configuration, as trait objects.
//! - [`driver::Host`]: the loops and their state, for embedders that need no listeners, such as commands that run without a
//!   host. [`driver::start`] starts the loops; [`driver::run_one`] executes one activation without them.
//! - [`doctor`]: checks of the machine, the home and a running host.
//!
//! `daemon-api` contains the operations that clients can request over HTTP, the control socket and the pages;
//! `daemon-runner` executes single runs.
//!
//! # What this crate does not do
//! It depends on no particular store, provider or surface: the binary composes them. It interprets no condition, evaluates no
//! cron expression and checks no daemon file; the libraries below it do.
//!
//! # Guarantees
//! - An event is acknowledged after it is durable.
//! - An attempt that has lost its lease commits nothing.
//! - Nothing is saved at exit: a host that is killed at any point continues at its next start.
//! - A reload takes a configuration as a whole. If any part is refused, the old one stays in force.

mod built;
pub mod charters;
pub mod config;
pub mod disk;
mod dispatching;
pub mod doctor;
pub mod driver;
pub mod facts;
pub mod home;
pub mod policy;
pub mod prune;
pub mod rates;
pub mod registration;
pub mod secrets;
pub mod serve;
pub mod servers;
pub mod spending;
pub mod strays;
pub mod token;

pub use built::built_at;
