//! How the programs of each provider are isolated.

use std::path::Path;
use std::sync::OnceLock;

use daemon_egress::EgressList;
use daemon_host::config::{Config, ProviderConfig};
use daemon_host::home::TREES;
use daemon_host::policy::starts_programs;
use daemon_process::{Enclosure, Network, ProcessLimit, SandboxLevel, probe_overlays};
use daemon_runner::policy::ReachedSandbox;
use daemon_runner::settings::{Overlays, Sandboxes};

use crate::agents::agent_of;

/// Returns how children of a provider are isolated: as far as this machine supports, unless its section permits less.
pub(crate) fn enclosure(config: &Config, provider: &str) -> Enclosure {
    let network = if egress(config, provider).is_open() {
        Network::Shared
    } else {
        Network::Loopback
    };
    match reached(config, provider) {
        0 | 1 => Enclosure::Contained,
        2 => Enclosure::Confined,
        _ => Enclosure::Isolated(network),
    }
}

/// Returns the hosts that children of a provider may reach, as far as their sandbox can limit that.
pub(crate) fn egress(config: &Config, provider: &str) -> EgressList {
    let none = ProviderConfig::default();
    let section = config.provider.named.get(provider).unwrap_or(&none);
    let entries = match (&section.egress, section.network) {
        (Some(entries), _) => entries.clone(),
        (None, Some(true)) => vec!["*".to_owned()],
        (None, Some(false)) => Vec::new(),
        (None, None) => agent_of(provider, section).map_or_else(Vec::new, |agent| {
            agent.destinations(section.model.as_deref())
        }),
    };
    // Entries of the configuration are checked when it is read.
    EgressList::parse(&entries).unwrap_or_default()
}

/// Reports whether children of any provider are isolated from the files of their user.
pub(crate) fn is_any_confined(config: &Config) -> bool {
    let named = config.provider.named.keys().map(String::as_str);
    let mut all = named.chain([config.provider.default.as_str()]);
    all.any(|provider| reached(config, provider) >= SandboxLevel::Confined.number())
}

/// Returns the sandboxes of all providers.
pub(crate) fn sandboxes(home: &Path, config: &Config) -> Sandboxes {
    let named = config.provider.named.keys();
    let own = named.map(|name| (name.clone(), sandbox(config, name)));
    let builtin = ("builtin".to_owned(), sandbox(config, "builtin"));
    Sandboxes::new(
        sandbox(config, ""),
        [builtin].into_iter().chain(own).collect(),
        overlays(home, config),
    )
}

/// Returns whether work trees in a home can be overlays, if a provider would use them.
fn overlays(home: &Path, config: &Config) -> Overlays {
    static TRIED: OnceLock<Overlays> = OnceLock::new();
    let named = config.provider.named.keys().map(String::as_str);
    let mut all = named.chain([config.provider.default.as_str()]);
    if !all.any(|provider| reached(config, provider) == SandboxLevel::Isolated.number()) {
        return Overlays::Unused("no provider starts programs at sandbox level 3".to_owned());
    }
    let try_one = || match probe_overlays(&home.join(TREES)) {
        Ok(()) => Overlays::Mounted,
        Err(error) => Overlays::Unused(error.to_string()),
    };
    TRIED.get_or_init(try_one).clone()
}

/// Returns the sandbox level of a provider's runs, and which mechanisms provide it.
pub(crate) fn sandbox(config: &Config, provider: &str) -> ReachedSandbox {
    let found = daemon_process::probe();
    let level = reached(config, provider);
    let detail = if !starts_programs(config, provider) {
        return ReachedSandbox {
            level,
            detail: "it starts no programs".to_owned(),
        };
    } else if level < found.level.number() {
        format!("`provider.{provider}.sandbox_max` permits no more")
    } else {
        found.detail
    };
    let network = network(level, &egress(config, provider));
    ReachedSandbox {
        level,
        detail: format!("{detail}; {network}; {}", process_limit()),
    }
}

/// Describes which hosts a program can reach.
fn network(level: u8, list: &EgressList) -> String {
    let level_3 = SandboxLevel::Isolated.number();
    match level {
        _ if list.is_open() => "network not limited".to_owned(),
        2 if list.is_empty() => "no network".to_owned(),
        2 if daemon_process::probe().limits_ports => {
            let ports = list.ports().unwrap_or_default();
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("TCP to any host at {}, UDP not limited", ports.join(", "))
        }
        level if level < level_3 => "network not limited at this level".to_owned(),
        _ if list.is_empty() => "no network but a loopback of its own".to_owned(),
        _ => format!("network only to {list}"),
    }
}

/// Returns the level that this machine supports and the section of a provider permits.
fn reached(config: &Config, provider: &str) -> u8 {
    if !starts_programs(config, provider) {
        return SandboxLevel::Contained.number();
    }
    let section = config.provider.named.get(provider);
    let most = section.and_then(|section| section.sandbox_max);
    let level = daemon_process::probe().level.number();
    most.map_or(level, |most| level.min(most))
}

/// Describes how the number of processes of a run is limited.
pub(crate) fn process_limit() -> &'static str {
    match daemon_process::process_limit() {
        ProcessLimit::Enforced => "processes limited by a control group",
        ProcessLimit::Watched => {
            "processes counted by polling, since no control group is available"
        }
    }
}
