//! The host's configuration: `<home>/config.toml`, merged with flags and environment by the binary.
//!
//! A key that this version does not serve is refused, so that nobody relies on a setting that does nothing.

mod duration;
mod load;
mod mcp;
mod model;
mod provider;

pub use duration::{InvalidPeriod, Period, Retention};
pub use load::{ConfigError, parse, schema};
pub use mcp::{Mcp, McpTransport};
pub use model::{
    Access, Budget, Capability, Config, DaemonPolicy, GitSurface, HookConfig, Host, Limits,
    LinearConfig, Log, LogFormat, Misfire, Overlap, Policy, Repo, Retain, Schedule, SecretPlaces,
    SourceConfig, Sources, Surfaces, Uds,
};
pub use provider::{Price, Provider, Providers};

#[cfg(test)]
mod tests;
