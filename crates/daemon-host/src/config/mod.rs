//! The host's configuration: `<home>/config.toml`, merged with flags and environment by the binary.
//!
//! A key that this version does not serve is refused, so that nobody relies on a setting that does nothing.

mod duration;
mod load;
mod model;

pub use duration::{InvalidPeriod, Period, Retention};
pub use load::{ConfigError, parse, schema};
pub use model::{
    Access, ApiConfig, Budget, Capability, Config, DaemonPolicy, GitSurface, Host, Limits, Log,
    LogFormat, Misfire, Overlap, Policy, Provider, Providers, Repo, Retain, Schedule, SourceConfig,
    Sources, Surfaces, Uds,
};

#[cfg(test)]
mod tests;
