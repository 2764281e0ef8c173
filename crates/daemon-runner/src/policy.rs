//! What the runs of one daemon may do, take and cost, and who executes them.

use daemon_engine::proposal::TargetPattern;
use daemon_provider::{Limits, MicroUsd, Permissions};

/// The sandbox level that a machine reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedSandbox {
    /// The level, 0 to 3.
    pub level: u8,
    /// How the level was found, and what keeps the machine from a higher one.
    pub detail: String,
}

/// The sandbox level at which a network can be taken away: it needs a network namespace.
pub const OFFLINE_LEVEL: u8 = 3;

/// What a run of one daemon may do, take and cost, and who executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPolicy {
    /// The name of the provider.
    pub provider: String,
    /// How far the effects of the run reach.
    pub permissions: Permissions,
    /// The lowest sandbox level at which the run may start, 0 to 3.
    pub sandbox_min: u8,
    /// Whether the provider starts programs. Only programs are refused in a sandbox that is too weak.
    pub starts_programs: bool,
    /// Whether the provider's programs get no network, which needs [`OFFLINE_LEVEL`].
    pub is_offline: bool,
    /// The most bytes of context that the provider accepts; `None` is without a limit.
    pub context_bytes: Option<u64>,
    /// How long the run may take and what it may cost.
    pub limits: Limits,
    /// Whether the run receives the instructions in the default branch of its repository.
    pub is_instructed: bool,
    /// The names of the MCP servers whose tools the run gets.
    pub mcp: Vec<String>,
    /// What its outputs may be about, in addition to what woke the daemon and to its own outputs.
    pub targets: Vec<TargetPattern>,
    /// Whether its changes are added to one rolling branch.
    pub is_rolling: bool,
    /// The IANA name of the zone in which days and weeks begin, for a daemon without a schedule.
    pub zone: String,
}

impl RunPolicy {
    /// Returns why a run may not start in a sandbox, if it may not.
    pub fn sandbox_refusal(&self, sandbox: &ReachedSandbox) -> Option<String> {
        let level = sandbox.level;
        let who = if !self.starts_programs {
            return None;
        } else if level < self.sandbox_min {
            format!("policy asks for {}", self.sandbox_min)
        } else if self.is_offline && level < OFFLINE_LEVEL {
            let provider = &self.provider;
            format!("`provider.{provider}.network = false` asks for {OFFLINE_LEVEL}")
        } else {
            return None;
        };
        Some(format!(
            "the sandbox reaches level {level}, {who}: {}",
            sandbox.detail
        ))
    }
}

/// Converts US dollars into millionths, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a budget is checked to be finite and not negative"
)]
pub fn micros(usd: f64) -> MicroUsd {
    MicroUsd((usd * 1_000_000.0) as u64)
}
