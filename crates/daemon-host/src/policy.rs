//! What the configuration says of the runs of one daemon.

use daemon_event::DaemonKey;
use daemon_provider::{Limits, MicroUsd, Permissions};

use crate::config::{Capability, Config, DaemonPolicy};

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
    pub fn of(config: &Config, daemon: &DaemonKey, provider: Option<&str>) -> Self {
        Self::resolve(config, Some(daemon), provider)
    }

    /// Resolves the policy that a table of the configuration gives the daemon that its key names.
    pub(crate) fn named(config: &Config, key: &str) -> Option<Self> {
        let (repo, id) = DaemonPolicy::named(key);
        // A key without a repository is about whichever has the daemon.
        let repo = repo.unwrap_or("any").parse().ok()?;
        let id = id.parse().ok()?;
        Some(Self::of(config, &DaemonKey { repo, id }, None))
    }

    /// Resolves the policy of what has no policy of its own.
    pub fn general(config: &Config, provider: Option<&str>) -> Self {
        Self::resolve(config, None, provider)
    }

    fn resolve(config: &Config, daemon: Option<&DaemonKey>, provider: Option<&str>) -> Self {
        let provider = provider
            .or_else(|| config.own(daemon?, |own| own.provider.as_deref()))
            .unwrap_or(&config.provider.default);
        Self {
            provider: provider.to_owned(),
            capability: daemon
                .and_then(|daemon| config.own(daemon, |own| own.capability))
                .unwrap_or(config.policy.capability),
            sandbox_min: daemon
                .and_then(|daemon| config.own(daemon, |own| own.sandbox_min))
                .unwrap_or(config.policy.sandbox_min),
            is_offline: is_offline(config, provider),
            context_bytes: config
                .provider
                .named
                .get(provider)
                .and_then(|provider| provider.context_bytes),
            limits: limits(config),
            mcp: daemon
                .and_then(|daemon| config.own(daemon, |own| own.mcp.clone()))
                .unwrap_or_default(),
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
    use daemon_event::DaemonKey;

    fn key(repo: &str, id: &str) -> DaemonKey {
        DaemonKey {
            repo: repo.parse().unwrap(),
            id: id.parse().unwrap(),
        }
    }

    #[test]
    fn the_policy_of_a_repository_goes_before_that_of_the_id_setting_by_setting() {
        let config = parse(
            "[policy.daemon.tidy]\ncapability = 'read'\nsandbox_min = 2\nmcp = ['a']\n[mcp.a]\ncommand = 'x'\n\
             [policy.daemon.'O/r/tidy']\nsandbox_min = 3\nmcp = []\n",
        )
        .unwrap();
        let seen = |repo: &str| {
            let policy = RunPolicy::of(&config, &key(repo, "tidy"), None);
            (policy.capability, policy.sandbox_min, policy.mcp)
        };
        assert_eq!(seen("o/R"), (Capability::Read, 3, Vec::new()));
        assert_eq!(seen("o/other"), (Capability::Read, 2, vec!["a".to_owned()]));
    }

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
        let own = RunPolicy::of(&config, &key("o/r", "tidy"), None);
        assert_eq!(
            seen(&own),
            (
                "slow".to_owned(),
                Capability::Read,
                Some(9),
                Some(refused.clone())
            )
        );
        let named = RunPolicy::of(&config, &key("o/r", "tidy"), Some("builtin"));
        assert_eq!(
            seen(&named),
            ("builtin".to_owned(), Capability::Read, None, Some(refused))
        );
        let general = RunPolicy::of(&config, &key("o/r", "other"), None);
        assert_eq!(
            seen(&general),
            ("builtin".to_owned(), Capability::Propose, None, None)
        );
    }
}
