//! The checks of `doctor --fleet`: all hosts of a shared store, from any of them.

use std::collections::BTreeMap;
use std::path::Path;

use daemon_host::config::Host;
use daemon_host::doctor::Check;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_store::{FleetHost, FleetState};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::opening::{existing, open_to_read};

/// How far a clock may be from that of the database. Webhooks of Linear are refused a minute after they were sent.
const CLOCK_WARN: SignedDuration = SignedDuration::from_secs(2);
const CLOCK_FAIL: SignedDuration = SignedDuration::from_secs(30);
/// How long an event or an activation may wait while a host could take it.
const LAG: SignedDuration = SignedDuration::from_secs(60);
/// How long a lease may have ended: every host searches for such every 15 seconds.
const STUCK: SignedDuration = SignedDuration::from_secs(30);

/// Reads the hosts of the store that a home shares.
///
/// # Errors
/// `Config` if the home has a store of its own; else as [`open_to_read`].
async fn read(root: &Path, host: &Host) -> Result<FleetState, OpError> {
    let own = || {
        let message = "the store of this home is not shared: there is one host";
        OpError::new(OpErrorKind::Config, "no-fleet", message)
            .with_help("`host.store` names the database of a fleet")
    };
    let Some(home) = existing(root, host) else {
        let message = format!("`{}` is not the home of a host", root.display());
        return Err(OpError::new(OpErrorKind::Unavailable, "no-home", message));
    };
    let store = open_to_read(&home, host).await?;
    store.fleet().await?.ok_or_else(own)
}

/// Checks the hosts, their clocks, releases and policies, and what waits; returns the checks and the hosts as JSON.
///
/// # Errors
/// Those of opening the store; `Config` for a store that is not shared.
pub async fn fleet_checks(root: &Path, host: &Host) -> Result<(Vec<Check>, Value), OpError> {
    let fleet = read(root, host).await?;
    let mut checks: Vec<Check> = fleet
        .hosts
        .iter()
        .map(|host| host_check(host, fleet.now))
        .collect();
    checks.push(clocks(&fleet));
    checks.push(versions(&fleet));
    checks.push(policies(&fleet));
    checks.push(queue(&fleet));
    checks.push(leases(&fleet));
    Ok((checks, hosts_json(&fleet)))
}

/// Returns the hosts on the wire.
fn hosts_json(fleet: &FleetState) -> Value {
    let hosts = fleet.hosts.iter().map(|host| {
        json!({
            "name": host.name, "present": host.is_present(fleet.now), "version": version(host),
            "seen_at": host.seen_at.map(|at| at.to_string()),
            "clock_ahead_s": host.clock_ahead.map(|ahead| ahead.as_secs_f64()),
            "epoch": host.epoch.0, "activations": host.n_leased,
        })
    });
    hosts.collect()
}

fn about(host: &FleetHost) -> Value {
    // A later release may say more, or something else.
    let about = host.about.as_deref().map(serde_json::from_str);
    about.and_then(Result::ok).unwrap_or_default()
}

fn version(host: &FleetHost) -> Option<String> {
    about(host)["version"].as_str().map(str::to_owned)
}

fn host_check(host: &FleetHost, now: Timestamp) -> Check {
    let name = format!("host {}", host.name);
    let held = format!("{} activations", host.n_leased);
    let version = version(host).unwrap_or_else(|| "an earlier release".to_owned());
    match host.seen_at {
        Some(at) if host.is_present(now) => {
            let age = now.duration_since(at).as_secs();
            Check::ok(name, format!("{version}, {held}, seen {age} s ago"))
        }
        Some(at) => {
            let detail = format!("{version}, {held}, gone since {at}");
            Check::warn(name, detail, "start it, if it was not removed on purpose")
        }
        None => Check::warn(
            name,
            format!("{version}, {held}, does not check in"),
            "upgrade it: what it is sending when it dies is not taken over",
        ),
    }
}

fn present(fleet: &FleetState) -> impl Iterator<Item = &FleetHost> {
    let hosts = fleet.hosts.iter();
    hosts.filter(|host| host.is_present(fleet.now))
}

fn clocks(fleet: &FleetState) -> Check {
    let ahead = |host: &FleetHost| host.clock_ahead.map(SignedDuration::abs);
    let worst = present(fleet).filter_map(|host| Some((ahead(host)?, host)));
    let Some((most, host)) = worst.max_by_key(|(ahead, _)| *ahead) else {
        return Check::ok("clocks", "no host is present");
    };
    let detail = format!(
        "at most {:.3} s from the database, `{}`",
        most.as_secs_f64(),
        host.name
    );
    let remedy = "synchronise the clocks of the hosts and of the database";
    match most {
        most if most > CLOCK_FAIL => Check::fail("clocks", detail, remedy),
        most if most > CLOCK_WARN => Check::warn("clocks", detail, remedy),
        _ => Check::ok("clocks", detail),
    }
}

fn versions(fleet: &FleetState) -> Check {
    let mut hosts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for host in present(fleet) {
        hosts
            .entry(version(host).unwrap_or_default())
            .or_default()
            .push(&host.name);
    }
    let detail = listed(&hosts);
    match hosts.len() {
        0 | 1 => Check::ok("versions", detail),
        _ => Check::warn("versions", detail, "finish the upgrade"),
    }
}

/// Lists values, each with the hosts that have it.
fn listed(hosts: &BTreeMap<String, Vec<&str>>) -> String {
    let each = hosts
        .iter()
        .map(|(value, hosts)| format!("{value} ({})", hosts.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

/// Compares what has to hold for all hosts together: each of them would enforce another limit.
fn policies(fleet: &FleetState) -> Check {
    let mut values: BTreeMap<String, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for host in present(fleet) {
        let about = about(host);
        let none = Map::new();
        for (key, value) in about["policies"].as_object().unwrap_or(&none) {
            let hosts = values.entry(key.clone()).or_default();
            hosts.entry(value.to_string()).or_default().push(&host.name);
        }
    }
    let differing = values.iter().filter(|(_, hosts)| hosts.len() > 1);
    let differing: Vec<String> = differing
        .map(|(key, hosts)| format!("{key}: {}", listed(hosts)))
        .collect();
    match &differing[..] {
        [] => Check::ok("policies", format!("{} keys are the same", values.len())),
        _ => Check::fail(
            "policies",
            differing.join("\n      "),
            "write the same values in config.toml of every host, then `daemon-run reload`",
        ),
    }
}

fn queue(fleet: &FleetState) -> Check {
    let lag = |since: Option<Timestamp>| {
        since.map_or(SignedDuration::ZERO, |at| fleet.now.duration_since(at))
    };
    let (unmatched, ready) = (lag(fleet.oldest_unmatched), lag(fleet.oldest_ready));
    let detail = format!(
        "the oldest unmatched event has waited {} s, the oldest activation of an idle daemon {} s",
        unmatched.as_secs(),
        ready.as_secs()
    );
    match unmatched.max(ready) > LAG {
        true => Check::warn("queue", detail, "more hosts, or higher limits.host"),
        false => Check::ok("queue", detail),
    }
}

fn leases(fleet: &FleetState) -> Check {
    let ended = |until: Timestamp| fleet.now.duration_since(until) > STUCK;
    let stuck = fleet.stuck.iter().filter(|lease| ended(lease.until));
    let stuck: Vec<String> = stuck
        .map(|lease| {
            let host = lease.host.as_deref().unwrap_or("no host");
            format!("{} of `{host}`, ended {}", lease.activation, lease.until)
        })
        .collect();
    match &stuck[..] {
        [] => Check::ok("leases", "none ended without being taken over"),
        _ => Check::fail("leases", stuck.join("\n      "), "start a host"),
    }
}

#[cfg(test)]
mod tests {
    use daemon_engine::HostEpoch;
    use daemon_host::doctor::CheckStatus;
    use daemon_store::StuckLease;

    use super::*;

    fn host(name: &str, about: &Value) -> FleetHost {
        FleetHost {
            name: name.to_owned(),
            epoch: HostEpoch(1),
            seen_at: Some(Timestamp::UNIX_EPOCH),
            clock_ahead: Some(SignedDuration::from_millis(-500)),
            about: Some(about.to_string()),
            n_leased: 2,
        }
    }

    fn fleet(hosts: Vec<FleetHost>) -> FleetState {
        FleetState {
            now: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(9),
            hosts,
            oldest_unmatched: None,
            oldest_ready: None,
            stuck: Vec::new(),
        }
    }

    fn shown(check: &Check) -> (CheckStatus, &str) {
        (check.status, &check.detail)
    }

    #[test]
    fn differing_policies_fail_and_differing_releases_warn() {
        let of = |version: &str, day: u32| json!({"version": version, "policies": {"budget.day_usd": day, "limits.rate_host": 600}});
        let mut state = fleet(vec![
            host("a", &of("1.0.0", 10)),
            host("b", &of("1.0.0", 10)),
        ]);
        let same = (policies(&state), versions(&state));
        assert_eq!(shown(&same.0), (CheckStatus::Ok, "2 keys are the same"));
        assert_eq!(shown(&same.1), (CheckStatus::Ok, "1.0.0 (a, b)"));
        state.hosts.push(host("c", &of("1.1.0", 25)));
        let other = (policies(&state), versions(&state));
        assert_eq!(
            shown(&other.0),
            (CheckStatus::Fail, "budget.day_usd: 10 (a, b); 25 (c)")
        );
        assert_eq!(
            shown(&other.1),
            (CheckStatus::Warn, "1.0.0 (a, b); 1.1.0 (c)")
        );
        // A host that is gone enforces nothing.
        state.hosts[2].seen_at = Some(state.now - SignedDuration::from_secs(60));
        assert_eq!(policies(&state).status, CheckStatus::Ok);
        assert_eq!(
            shown(&host_check(&state.hosts[2], state.now)),
            (
                CheckStatus::Warn,
                "1.1.0, 2 activations, gone since 1969-12-31T23:59:09Z"
            )
        );
    }

    #[test]
    fn clocks_queues_and_leases_are_measured_by_the_clock_of_the_database() {
        let mut state = fleet(vec![host("a", &json!({}))]);
        assert_eq!(
            shown(&clocks(&state)),
            (CheckStatus::Ok, "at most 0.500 s from the database, `a`")
        );
        for (seconds, expected) in [(3, CheckStatus::Warn), (-31, CheckStatus::Fail)] {
            state.hosts[0].clock_ahead = Some(SignedDuration::from_secs(seconds));
            assert_eq!(clocks(&state).status, expected, "{seconds}");
        }
        assert_eq!(queue(&state).status, CheckStatus::Ok);
        state.oldest_ready = Some(state.now - SignedDuration::from_secs(61));
        assert_eq!(
            shown(&queue(&state)),
            (
                CheckStatus::Warn,
                "the oldest unmatched event has waited 0 s, the oldest activation of an idle daemon 61 s"
            )
        );
        let lease = |seconds: i64| StuckLease {
            activation: daemon_event::ActivationId::new(1, [0; 10]),
            host: Some("a".to_owned()),
            until: state.now - SignedDuration::from_secs(seconds),
        };
        state.stuck = vec![lease(29)];
        assert_eq!(leases(&state).status, CheckStatus::Ok);
        state.stuck = vec![lease(31)];
        assert_eq!(leases(&state).status, CheckStatus::Fail);
    }
}
