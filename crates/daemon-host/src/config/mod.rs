//! The host's configuration: `<home>/config.toml`, which the binary merges with flags and environment.
//!
//! Unknown keys are rejected, so that no setting is silently without effect.

mod agents;
pub(crate) mod edit;
mod fault;
mod filter;
mod keys;
mod limits;
mod load;
mod mcp;
mod meaning;
mod model;
mod provider;
mod retention;
mod roster;
mod size;
mod sources;
mod surfaces;
mod telemetry;
mod tokens;
mod transports;

pub use agents::{
    ConversationConfig, Disconnect, EventsConfig, MemoryConfig, ModelConfig, ToolsConfig,
};
pub use daemon_api::{InvalidPeriod, Period};
pub use fault::{ConfigError, ConfigFault, Problem, dotted, locate};
pub use filter::filter_fault;
pub use keys::nearest;
pub use limits::LimitsConfig;
pub use load::{parse, parse_with, schema};
pub use mcp::{Mcp, McpTransport};
pub use model::{
    BudgetConfig, Capability, Config, DaemonPolicy, Host, Log, LogFormat, Misfire, Overlap, Policy,
    Repo, RepoInstructions, Retain, ScheduleConfig,
};
pub use provider::{PriceConfig, ProviderConfig, Providers};
pub use retention::Retention;
pub use roster::{Restart, RosterConfig};
pub use size::{ByteSize, InvalidSize};
pub use sources::{
    ApiAccess, CloudEventsConfig, HookConfig, LinearConfig, SecretPlaces, SourceConfig, Sources,
};
pub use surfaces::{GitSurface, GithubSurfaceConfig, ServiceSurfaceConfig, Surfaces};
pub use telemetry::Telemetry;
pub use tokens::{TokenConfig, TokenScope};
pub use transports::{Tcp, Uds};

#[cfg(test)]
mod tests;
