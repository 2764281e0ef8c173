//! Checks names in the configuration that only this program knows: providers, their kinds and the store.

use std::collections::BTreeSet;

use daemon_host::config::{Config, ConfigFault, dotted, nearest};
use daemon_provider_cli::Agent;
use daemon_provider_llm::Api;

/// Finds providers that are named but not configured, and unknown kinds of providers and stores.
pub(crate) fn faults(config: &Config) -> Vec<ConfigFault> {
    let mut known: BTreeSet<&str> = config.provider.named.keys().map(String::as_str).collect();
    // These providers need no section of their own.
    known.insert("builtin");
    known.extend(Agent::ALL.map(Agent::as_str));
    let default = [vec!["provider", "default"]];
    let default = default.into_iter().zip([&config.provider.default]);
    let own = config.policy.daemon.iter().filter_map(|(key, policy)| {
        Some((
            vec!["policy", "daemon", key, "provider"],
            policy.provider.as_ref()?,
        ))
    });
    let unknown = default.chain(own).filter_map(|(path, name)| {
        if known.contains(name.as_str()) {
            return None;
        }
        let near = nearest(name, known.iter().copied());
        let near = near.map(|near| format!(", did you mean `{near}`?"));
        let message = format!(
            "`{}` names `{name}`, but there is no section `[provider.{name}]`{}",
            dotted(&path),
            near.unwrap_or_default()
        );
        Some(ConfigFault::of_value(&path, message))
    });
    unknown.chain(kinds(config)).chain(store(config)).collect()
}

fn store(config: &Config) -> Option<ConfigFault> {
    let message = daemon_home_store::fault(&config.host.store)?;
    Some(ConfigFault::of_value(&["host", "store"], message))
}

fn kinds(config: &Config) -> impl Iterator<Item = ConfigFault> {
    let mut served = vec!["builtin", "command"];
    served.extend(Agent::ALL.map(Agent::as_str));
    served.extend(Api::names());
    config
        .provider
        .named
        .iter()
        .filter_map(move |(name, provider)| {
            let kind = provider.kind.as_deref()?;
            if served.contains(&kind) {
                return None;
            }
            let path = ["provider", name.as_str(), "kind"];
            let message = match nearest(kind, served.iter().copied()) {
                Some(near) => format!("`{}` is `{kind}`, did you mean `{near}`?", dotted(&path)),
                None => format!(
                    "`{}` is `{kind}`; the kinds are `{}`",
                    dotted(&path),
                    served.join("`, `")
                ),
            };
            Some(ConfigFault::of_value(&path, message))
        })
}
