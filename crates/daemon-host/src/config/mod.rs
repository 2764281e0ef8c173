//! The host's configuration: `<home>/config.toml`, merged with flags and environment by the binary.
//!
//! A key that this version does not serve is refused, so that nobody relies on a setting that does nothing.

mod duration;
mod fault;
mod filter;
mod keys;
mod load;
mod mcp;
mod meaning;
mod model;
mod provider;
mod sources;

pub use duration::{InvalidPeriod, Period, Retention};
pub use fault::{ConfigError, Fault, Problem, dotted, locate};
pub use filter::filter_fault;
pub use keys::nearest;
pub use load::{parse, parse_with, schema};
pub use mcp::{Mcp, McpTransport};
pub use model::{
    Budget, Capability, Config, DaemonPolicy, GitSurface, Host, Limits, Log, LogFormat, Misfire,
    Overlap, Policy, Repo, Retain, Schedule, Surfaces, Uds,
};
pub use provider::{Price, Provider, Providers};
pub use sources::{Access, HookConfig, LinearConfig, SecretPlaces, SourceConfig, Sources};

#[cfg(test)]
mod tests;
