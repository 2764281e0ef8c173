//! Derives the policies of runs from the configuration.

use std::sync::Arc;

use daemon_event::DaemonKey;
use daemon_provider::Limits;
use daemon_runner::policy::{RunPolicy, micros};
use daemon_runner::settings::Policies;

use crate::config::{Config, DaemonPolicy, RepoInstructions};

/// Returns the policy of a daemon's runs, or without a daemon that of one-off runs. A named provider replaces the configured one.
pub fn run_policy(
    config: &Config,
    daemon: Option<&DaemonKey>,
    provider: Option<&str>,
) -> RunPolicy {
    let provider = provider
        .or_else(|| config.own(daemon?, |own| own.provider.as_deref()))
        .unwrap_or(&config.provider.default);
    RunPolicy {
        provider: provider.to_owned(),
        permissions: daemon
            .and_then(|daemon| config.own(daemon, |own| own.capability))
            .unwrap_or(config.policy.capability)
            .permissions(),
        sandbox_min: daemon
            .and_then(|daemon| config.own(daemon, |own| own.sandbox_min))
            .unwrap_or(config.policy.sandbox_min),
        starts_programs: starts_programs(config, provider),
        is_offline: is_offline(config, provider),
        context_bytes: config
            .provider
            .named
            .get(provider)
            .and_then(|provider| provider.context_bytes),
        limits: limits(config, daemon),
        is_instructed: config.policy.repo_instructions == RepoInstructions::DefaultBranch,
        mcp: daemon
            .and_then(|daemon| config.own(daemon, |own| own.mcp.clone()))
            .unwrap_or_default(),
        zone: zone(config, daemon).to_owned(),
        is_rolling: daemon
            .and_then(|daemon| config.own(daemon, |own| own.rolling))
            .unwrap_or_default(),
        targets: daemon
            .and_then(|daemon| config.own(daemon, |own| own.targets.as_deref()))
            .into_iter()
            .flatten()
            // What is not a target was refused when the configuration was read.
            .filter_map(|target| target.parse().ok())
            .collect(),
    }
}

/// Returns the zone of a daemon, or the general one.
fn zone<'a>(config: &'a Config, daemon: Option<&DaemonKey>) -> &'a str {
    let Some(daemon) = daemon else {
        return &config.schedule.zone;
    };
    let is_its_repo = |name: &Option<String>| name.as_deref() == Some(daemon.repo.as_str());
    let repo = config.repo.iter().find(|repo| is_its_repo(&repo.name));
    let of_repo = repo.and_then(|repo| repo.zone.as_deref());
    config.zone_of(&daemon.repo, daemon.id.as_str(), of_repo)
}

/// Returns the policy that a `[policy.daemon.KEY]` table gives its daemon; `None` if the key cannot name one.
pub(crate) fn policy_of_key(config: &Config, key: &str) -> Option<RunPolicy> {
    let (repo, id) = DaemonPolicy::named(key);
    // A key without a repository applies in every repository; any name selects it.
    let repo = repo.unwrap_or("any").parse().ok()?;
    let id = id.parse().ok()?;
    Some(run_policy(config, Some(&DaemonKey { repo, id }), None))
}

/// The policies of one configuration.
pub(crate) struct ConfiguredPolicies(pub(crate) Arc<Config>);

impl Policies for ConfiguredPolicies {
    fn policy(&self, daemon: Option<&DaemonKey>, provider: Option<&str>) -> RunPolicy {
        run_policy(&self.0, daemon, provider)
    }
}

/// Reports whether a provider starts programs; `builtin` does its work in the host.
pub fn starts_programs(config: &Config, provider: &str) -> bool {
    let named = config.provider.named.get(provider);
    named.map_or(provider != "builtin", |named| {
        named.starts_programs(provider)
    })
}

/// Reports whether the programs of a provider get no network.
pub fn is_offline(config: &Config, provider: &str) -> bool {
    let named = config.provider.named.get(provider);
    named.is_some_and(|named| named.is_offline(provider))
}

fn limits(config: &Config, daemon: Option<&DaemonKey>) -> Limits {
    let own = daemon.and_then(|daemon| config.own(daemon, |own| own.activation_usd));
    Limits {
        wall: config.limits.wall.unsigned(),
        idle: Some(config.limits.idle.unsigned()),
        max_turns: None,
        budget: Some(micros(own.unwrap_or(config.budget.activation_usd))),
    }
}

#[cfg(test)]
mod tests {
    use super::{RunPolicy, run_policy};
    use crate::config::parse;
    use daemon_event::DaemonKey;
    use daemon_provider::Permissions;
    use daemon_runner::policy::ReachedSandbox;

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
            let policy = run_policy(&config, Some(&key(repo, "tidy")), None);
            (policy.permissions, policy.sandbox_min, policy.mcp)
        };
        assert_eq!(seen("o/R"), (Permissions::Read, 3, Vec::new()));
        assert_eq!(
            seen("o/other"),
            (Permissions::Read, 2, vec!["a".to_owned()])
        );
    }

    #[test]
    fn a_daemons_own_policy_goes_before_the_general_one_and_a_persons_word_before_both() {
        let config = parse(
            "[provider.slow]\ncommand = \"true\"\ncontext_bytes = 9\n[policy]\nsandbox_min = 0\n\
             [policy.daemon.tidy]\nprovider = \"slow\"\ncapability = \"read\"\nsandbox_min = 2\n",
        )
        .unwrap();
        let seen = |policy: &RunPolicy| {
            let refusal = policy.sandbox_refusal(&ReachedSandbox {
                level: 1,
                detail: "none".to_owned(),
            });
            (
                policy.provider.clone(),
                policy.permissions,
                policy.context_bytes,
                refusal,
            )
        };
        let refused = "the sandbox reaches level 1, policy asks for 2: none".to_owned();
        let own = run_policy(&config, Some(&key("o/r", "tidy")), None);
        assert_eq!(
            seen(&own),
            ("slow".to_owned(), Permissions::Read, Some(9), Some(refused))
        );
        // `builtin` starts no programs, so no sandbox is missing.
        let named = run_policy(&config, Some(&key("o/r", "tidy")), Some("builtin"));
        assert_eq!(
            seen(&named),
            ("builtin".to_owned(), Permissions::Read, None, None)
        );
        let general = run_policy(&config, Some(&key("o/r", "other")), None);
        assert_eq!(
            seen(&general),
            ("builtin".to_owned(), Permissions::Propose, None, None)
        );
    }
}
