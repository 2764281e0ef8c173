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
//! [`serve::serve`] runs a host until it receives [`serve::Signal::Stop`]; [`driver`] contains its loops. What callers can
//! request of a host, over HTTP, the control socket and the pages, is in `daemon-api`; how one run is carried out is in
//! `daemon-runner`. Stores, providers and surfaces come in as trait objects.
//!
//! # What this crate does not do
//! It depends on no particular store, provider or surface: the binary composes them. It interprets no condition, evaluates no
//! cron expression and checks no daemon file; the libraries below it do.
//!
//! # Guarantees
//! An event is acknowledged after it is durable. A stale attempt commits nothing. Nothing is saved at exit: a host that is
//! killed at any point continues at its next start.

mod built;
pub mod config;
pub mod disk;
pub mod doctor;
pub mod driver;
pub mod facts;
pub mod home;
pub mod policy;
pub mod rates;
pub mod registration;
pub mod secrets;
pub mod serve;
pub mod servers;
pub mod strays;
pub mod token;

pub use built::built_at;
