//! Checks that types cannot express: ranges, time zones, and names that are not configured.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use daemon_api::Period;
use daemon_egress::EgressList;
use daemon_engine::proposal::TargetPattern;
use daemon_event::{DaemonId, RepoName};
use daemon_repo::RemoteName;
use jiff::tz::TimeZone;

use super::fault::{ConfigFault, dotted};
use super::filter::filter_fault;
use super::model::{Config, DaemonPolicy, Repo};

/// The maximum of `accept_late`.
// Ids of deliveries are kept this long; a later retry would not be recognised as a duplicate.
const LONGEST_LATE: Period = Period::from_secs(30 * 86_400);
/// The maximum time that an event waits for further events.
const LONGEST_SETTLE: Period = Period::from_secs(300);
/// The highest sandbox level.
const HIGHEST_SANDBOX: u8 = 3;

/// Finds the errors of a configuration that was deserialised.
pub(super) fn faults(config: &Config) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    host(config, &mut faults);
    zone(
        &["schedule", "zone"],
        Some(&config.schedule.zone),
        &mut faults,
    );
    repos(&config.repo, &mut faults);
    let general = Some(config.policy.sandbox_min);
    sandbox(&["policy", "sandbox_min"], general, &mut faults);
    for (key, policy) in &config.policy.daemon {
        daemon(key, policy, &mut faults);
    }
    repeated(config.policy.daemon.keys(), &mut faults);
    amounts(config, &mut faults);
    faults.extend(active_model(config));
    providers(config, &mut faults);
    faults.extend(super::mcp::faults(config));
    faults.extend(super::surfaces::faults(&config.surfaces));
    faults.extend(log(&config.log.level));
    faults.extend(super::tokens::faults(&config.token));
    faults.extend(super::telemetry::faults(&config.telemetry));
    faults.extend(super::transports::faults(&config.tcp));
    faults.extend(config.conversing().faults());
    faults.extend(super::roster::faults(&config.roster));
    faults
}

fn host(config: &Config, faults: &mut Vec<ConfigFault>) {
    let listen = &config.host.listen;
    if listen.parse::<SocketAddr>().is_err() {
        let message = format!(
            "`host.listen` is `{listen}`, which is no address with a port, such as `127.0.0.1:7777`"
        );
        faults.push(ConfigFault::of_value(&["host", "listen"], message));
    }
}

fn zone<S: AsRef<str>>(path: &[S], zone: Option<&str>, faults: &mut Vec<ConfigFault>) {
    if let Some(zone) = zone.filter(|zone| TimeZone::get(zone).is_err()) {
        let message = format!("`{}`: `{zone}` is not a time zone", dotted(path));
        faults.push(ConfigFault::of_value(path, message));
    }
}

fn sandbox<S: AsRef<str>>(path: &[S], level: Option<u8>, faults: &mut Vec<ConfigFault>) {
    if let Some(level) = level.filter(|level| *level > HIGHEST_SANDBOX) {
        let message = format!(
            "`{}` is {level}, at most {HIGHEST_SANDBOX} is served",
            dotted(path)
        );
        faults.push(ConfigFault::of_value(path, message));
    }
}

fn log(level: &str) -> Option<ConfigFault> {
    let message = format!("`log.level`: {}", filter_fault(level)?);
    Some(ConfigFault::of_value(&["log", "level"], message))
}

fn repos(repos: &[Repo], faults: &mut Vec<ConfigFault>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, repo) in repos.iter().enumerate() {
        let index = index.to_string();
        let key = |name| ["repo", index.as_str(), name];
        zone(&key("zone"), repo.zone.as_deref(), faults);
        if let Some(name) = &repo.name {
            match name.parse::<RepoName>() {
                Err(error) => {
                    let message = format!("`repo.name`: {error}");
                    faults.push(ConfigFault::of_value(&key("name"), message));
                }
                Ok(name) => {
                    let n = seen.entry(name.folded()).or_default();
                    *n += 1;
                    if *n > 1 {
                        let message = format!("two watched repositories are named `{name}`");
                        faults.push(ConfigFault::of_value(&key("name"), message));
                    }
                }
            }
        }
        if let Some(Err(error)) = repo.remote.as_ref().map(|name| name.parse::<RemoteName>()) {
            let message = format!("`repo.remote`: {error}");
            faults.push(ConfigFault::of_value(&key("remote"), message));
        }
    }
}

fn daemon(key: &str, policy: &DaemonPolicy, faults: &mut Vec<ConfigFault>) {
    let path = |name| ["policy", "daemon", key, name];
    let (repo, id) = DaemonPolicy::named(key);
    let is_named =
        id.parse::<DaemonId>().is_ok() && repo.is_none_or(|repo| repo.parse::<RepoName>().is_ok());
    if !is_named {
        let table = &path("")[..3];
        let message = format!(
            "`{}` is neither a daemon's id nor a repository's name and an id",
            dotted(table)
        );
        faults.push(ConfigFault::of_key(table, message));
    }
    zone(&path("zone"), policy.zone.as_deref(), faults);
    sandbox(&path("sandbox_min"), policy.sandbox_min, faults);
    if let Some(settle) = policy.settle.filter(|settle| *settle > LONGEST_SETTLE) {
        let message = format!("`settle` is {settle}, at most {LONGEST_SETTLE} is served");
        faults.push(ConfigFault::of_key(&path("settle"), message));
    }
    if policy.activation_usd.is_some_and(is_no_amount) {
        let message = format!("`{}` must not be negative", dotted(&path("activation_usd")));
        faults.push(ConfigFault::of_key(&path("activation_usd"), message));
    }
    for (index, target) in policy.targets.iter().flatten().enumerate() {
        if let Err(error) = target.parse::<TargetPattern>() {
            let (list, index) = (path("targets"), index.to_string());
            let path = [list.as_slice(), &[&index]].concat();
            faults.push(ConfigFault::of_value(&path, error.to_string()));
        }
    }
}

/// Finds policies of one daemon that differ only in the case of the repository, since only one of them would apply.
fn repeated<'k>(keys: impl Iterator<Item = &'k String>, faults: &mut Vec<ConfigFault>) {
    let mut seen: BTreeMap<(String, &str), &str> = BTreeMap::new();
    for key in keys {
        let (Some(repo), id) = DaemonPolicy::named(key) else {
            continue;
        };
        if let Some(first) = seen.insert((repo.to_lowercase(), id), key) {
            let path = ["policy", "daemon", key];
            let first = dotted(&["policy", "daemon", first]);
            let message = format!(
                "`{}` is the same daemon as `{first}`: write one table for both",
                dotted(&path)
            );
            faults.push(ConfigFault::of_key(&path, message));
        }
    }
}

fn amounts(config: &Config, faults: &mut Vec<ConfigFault>) {
    let late = config.sources.linear.as_ref();
    if let Some(late) = late.and_then(|linear| linear.accept_late)
        && late > LONGEST_LATE
    {
        let message =
            format!("`sources.linear.accept_late` is {late}, at most {LONGEST_LATE} is served");
        faults.push(ConfigFault::of_key(
            &["sources", "linear", "accept_late"],
            message,
        ));
    }
    if config
        .host
        .workers
        .is_some_and(|workers| !(1..=256).contains(&workers))
    {
        let message = "`host.workers` must be 1 to 256";
        faults.push(ConfigFault::of_key(&["host", "workers"], message));
    }
    for (name, count) in [
        ("clients", config.host.clients),
        ("dispatches", config.host.dispatches),
    ] {
        if count == 0 {
            let message = format!("`host.{name}` must be at least 1");
            faults.push(ConfigFault::of_key(&["host", name], message));
        }
    }
    for (name, count) in [
        ("host", config.limits.host),
        ("daemon", config.limits.daemon),
        ("rate_subject", config.limits.rate_subject),
        ("rate_daemon", config.limits.rate_daemon),
        ("rate_host", config.limits.rate_host),
    ] {
        if count == 0 {
            let message = format!("`limits.{name}` must be at least 1");
            faults.push(ConfigFault::of_key(&["limits", name], message));
        }
    }
    for (name, usd) in [
        ("activation_usd", Some(config.budget.activation_usd)),
        ("day_usd", config.budget.day_usd),
    ] {
        if usd.is_some_and(is_no_amount) {
            let message = format!("`budget.{name}` must not be negative");
            faults.push(ConfigFault::of_key(&["budget", name], message));
        }
    }
}

fn is_no_amount(usd: f64) -> bool {
    !usd.is_finite() || usd < 0.0
}

fn active_model(config: &Config) -> Option<ConfigFault> {
    let model = config.model.active.as_deref()?;
    let message = format!("`model.active`: no provider is named `{model}` or has this model");
    match config.provider.of_model(model) {
        Some(_) => None,
        None => Some(ConfigFault::of_value(&["model", "active"], message)),
    }
}

fn providers(config: &Config, faults: &mut Vec<ConfigFault>) {
    for (name, provider) in &config.provider.named {
        if provider.price.is_some_and(|price| !price.is_valid()) {
            let message = format!("`provider.{name}.price` must not be negative");
            faults.push(ConfigFault::of_key(&["provider", name, "price"], message));
        }
        let key = ["provider", name, "egress"];
        if let Some(Err(error)) = provider.egress.as_deref().map(EgressList::parse) {
            let message = format!("`{}`: {error}", dotted(&key));
            faults.push(ConfigFault::of_value(&key, message));
        }
        if provider.egress.is_some() && provider.network.is_some() {
            let message = format!("`{}` and `network` say the same: keep one", dotted(&key));
            faults.push(ConfigFault::of_key(&key, message));
        }
        let key = ["provider", name, "sandbox_max"];
        sandbox(&key, provider.sandbox_max, faults);
        if provider.sandbox_max == Some(0) {
            let message = format!(
                "`{}` is 0, and every program has at least level 1",
                dotted(&key)
            );
            faults.push(ConfigFault::of_value(&key, message));
        }
        let shaped = !name.is_empty()
            && name.len() <= 64
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !shaped {
            let message = format!("`{name}` is not a provider's name (a-z, 0-9, `-`)");
            faults.push(ConfigFault::of_key(&["provider", name], message));
        }
    }
}
