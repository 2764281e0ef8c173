//! What the configuration says of the runs of one daemon.

use daemon_provider::{Limits, MicroUsd, Permissions};

use crate::config::{Capability, Config};

/// Returns what a run of a capability may do.
pub(crate) fn permissions(capability: Capability) -> Permissions {
    match capability {
        Capability::Read => Permissions::Read,
        Capability::Propose => Permissions::Propose,
        Capability::Write => Permissions::Write,
    }
}

/// What a run of one daemon may do, take and cost, and who executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPolicy {
    /// The provider's name.
    pub provider: String,
    /// How far its effects reach.
    pub capability: Capability,
    /// The lowest sandbox level at which it may start.
    pub sandbox_min: u8,
    /// Whether its provider's programs are to have no network, which takes the highest level.
    pub is_offline: bool,
    /// The most bytes of context that the provider takes.
    pub context_bytes: Option<u64>,
    /// How long it may take and what it may cost.
    pub limits: Limits,
    /// The MCP servers whose tools it gets.
    pub mcp: Vec<String>,
}

impl RunPolicy {
    /// Resolves the policy of a daemon; a provider that a person names goes before the configured one.
    pub fn of(config: &Config, daemon: &str, provider: Option<&str>) -> Self {
        let own = config.policy.daemon.get(daemon);
        let provider = provider
            .or(own.and_then(|own| own.provider.as_deref()))
            .unwrap_or(&config.provider.default);
        Self {
            provider: provider.to_owned(),
            capability: own
                .and_then(|own| own.capability)
                .unwrap_or(config.policy.capability),
            sandbox_min: own
                .and_then(|own| own.sandbox_min)
                .unwrap_or(config.policy.sandbox_min),
            is_offline: is_offline(config, provider),
            context_bytes: config
                .provider
                .named
                .get(provider)
                .and_then(|provider| provider.context_bytes),
            limits: limits(config),
            mcp: own.map(|own| own.mcp.clone()).unwrap_or_default(),
        }
    }

    /// Says why a run may not start in a sandbox of a level, if it may not.
    pub fn sandbox_refusal(&self, (level, detail): &(u8, String)) -> Option<String> {
        let who = if *level < self.sandbox_min {
            format!("policy asks for {}", self.sandbox_min)
        } else if self.is_offline && *level < OFFLINE_LEVEL {
            let provider = &self.provider;
            format!("`provider.{provider}.network = false` asks for {OFFLINE_LEVEL}")
        } else {
            return None;
        };
        Some(format!(
            "the sandbox reaches level {level}, {who}: {detail}"
        ))
    }
}

/// The sandbox level at which a network can be taken away.
pub const OFFLINE_LEVEL: u8 = 3;

/// Reports whether the programs of a provider are to have no network.
pub fn is_offline(config: &Config, provider: &str) -> bool {
    let named = config.provider.named.get(provider);
    named.is_some_and(|named| named.is_offline(provider))
}

/// Turns dollars into millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a budget is checked to be finite and not negative"
)]
pub(crate) fn micros(usd: f64) -> MicroUsd {
    MicroUsd((usd * 1_000_000.0) as u64)
}

fn limits(config: &Config) -> Limits {
    Limits {
        wall: config.limits.wall.unsigned(),
        idle: Some(config.limits.idle.unsigned()),
        max_turns: None,
        budget: Some(micros(config.budget.activation_usd)),
    }
}

#[cfg(test)]
mod tests {
    use super::RunPolicy;
    use crate::config::{Capability, parse};

    #[test]
    fn a_daemons_own_policy_goes_before_the_general_one_and_a_persons_word_before_both() {
        let config = parse(
            "[provider.slow]\ncommand = \"true\"\ncontext_bytes = 9\n[policy]\nsandbox_min = 0\n\
             [policy.daemon.tidy]\nprovider = \"slow\"\ncapability = \"read\"\nsandbox_min = 2\n",
        )
        .unwrap();
        let seen = |policy: &RunPolicy| {
            let refusal = policy.sandbox_refusal(&(1, "none".to_owned()));
            (
                policy.provider.clone(),
                policy.capability,
                policy.context_bytes,
                refusal,
            )
        };
        let refused = "the sandbox reaches level 1, policy asks for 2: none".to_owned();
        let own = RunPolicy::of(&config, "tidy", None);
        assert_eq!(
            seen(&own),
            (
                "slow".to_owned(),
                Capability::Read,
                Some(9),
                Some(refused.clone())
            )
        );
        let named = RunPolicy::of(&config, "tidy", Some("builtin"));
        assert_eq!(
            seen(&named),
            ("builtin".to_owned(), Capability::Read, None, Some(refused))
        );
        let general = RunPolicy::of(&config, "other", None);
        assert_eq!(
            seen(&general),
            ("builtin".to_owned(), Capability::Propose, None, None)
        );
    }
}
