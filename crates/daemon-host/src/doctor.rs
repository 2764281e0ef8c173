//! The checks of `daemon-run doctor`: the machine, the home, the store, providers, sources and daemons.

mod reconciled;
mod sources;
mod trees;

use std::path::Path;

use daemon_engine::{FactState, Gate, PlaceCondition};
use daemon_records::error::chain;
use daemon_registry::Registered;
use daemon_runner::policy::RunPolicy;
use daemon_runner::secrets::HostSecrets;
use daemon_schedule::TickOutcome;
use daemon_store::{MAX_PAGE, Query, Store, StoreError, Validity};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::config::Config;
use crate::disk::Space;
use crate::driver::{ClaimsPause, Host, Parts};
use crate::policy::{policy_of_key, run_policy};
use crate::rates::rate_checks;
use crate::servers;
use crate::spending;

pub use self::sources::{token_checks, webhook_checks};

/// The age up to which ticks that did not run are reported.
const RECENT: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// The check passed.
    Ok,
    /// Something is missing that only some setups need.
    Warn,
    /// Something does not work.
    Fail,
}

impl CheckStatus {
    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One check with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The subject of the check, such as `disk` or `daemon o/r/id`.
    pub name: String,
    /// The result of the check.
    pub status: CheckStatus,
    /// The observed state, in words.
    pub detail: String,
    /// What the operator can do; `None` if the check passed.
    pub remedy: Option<String>,
}

impl Check {
    /// Creates a check that passed.
    pub fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status: CheckStatus::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    /// Creates a check that found something missing.
    pub fn warn(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            status: CheckStatus::Warn,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Creates a check that failed.
    pub fn fail(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            status: CheckStatus::Fail,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }
}

/// Returns checks as JSON.
pub fn checks_json(checks: &[Check]) -> Value {
    let ok = checks.iter().all(|check| check.status != CheckStatus::Fail);
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| {
            json!({"name": check.name, "status": check.status.as_str(), "detail": check.detail, "remedy": check.remedy})
        })
        .collect();
    json!({"ok": ok, "checks": checks})
}

/// Checks that the clock is not before the build of this program.
///
/// # Errors
/// Returns the reason if it is.
pub fn clock(now: Timestamp) -> Result<(), String> {
    // The condition under which schedules wait, so that the check explains why they do.
    if now < crate::built_at() {
        Err(format!("it shows {now}, before this program was built"))
    } else {
        Ok(())
    }
}

/// Checks the disk of the home, the clock and the time zone database.
pub fn examine_machine(home: &Path, now: Timestamp) -> Vec<Check> {
    let space = Space::of(home);
    let disk = match space.pause(home) {
        None => Check::ok("disk", "enough is free"),
        Some(problem) => Check::fail("disk", problem, space.remedy()),
    };
    let clock = match clock(now) {
        Ok(()) => Check::ok("clock", now.to_string()),
        Err(problem) => Check::fail("clock", problem, "set the clock"),
    };
    // A zone with rules: `UTC` needs no database.
    let tzdb = match jiff::tz::TimeZone::get("Europe/Berlin") {
        Ok(_) => Check::ok("tzdb", "time zones can be read"),
        Err(error) => Check::fail("tzdb", error.to_string(), "install tzdata"),
    };
    vec![disk, clock, tzdb]
}

/// Returns a sentence for each provider in use whose programs run without the protection of sandbox level 2.
pub fn unconfined(config: &Config, parts: &Parts) -> Vec<String> {
    let names = config.provider.written().into_iter();
    let used = names.filter_map(|name| {
        let policy = run_policy(config, None, Some(name));
        let sandbox = parts.sandbox_of(&policy);
        let is_open = policy.starts_programs && sandbox.level < 2;
        // What is refused needs no warning, and has a check of its own.
        let may_start = policy.sandbox_refusal(sandbox).is_none();
        (is_open && may_start).then(|| {
            let (level, detail) = (sandbox.level, &sandbox.detail);
            format!("runs of `{name}` reach what the host's user reaches, with its secrets: level {level}: {detail}")
        })
    });
    used.collect()
}

/// Checks whose runs are refused because the machine offers a lower sandbox level than required.
fn sandbox_refusals(config: &Config, parts: &Parts) -> Vec<Check> {
    let machine = daemon_process::probe().level.number();
    let remedy = |policy: &RunPolicy| {
        let (name, level) = (&policy.provider, parts.sandbox_of(policy).level);
        let section = config.provider.named.get(name);
        let cause = match section.and_then(|section| section.sandbox_max) {
            // The machine reaches more than the section permits.
            Some(most) if most == level && level < machine => {
                format!(
                    "remove `provider.{name}.sandbox_max`; this machine reaches level {machine}"
                )
            }
            Some(_) | None => {
                "a kernel with Landlock (6.2 or later) where user namespaces may be made".to_owned()
            }
        };
        format!(
            "{cause}; or `policy.sandbox_min = 1`, with which a run reaches what the host's user reaches"
        )
    };
    let refusal = |policy: &RunPolicy| policy.sandbox_refusal(parts.sandbox_of(policy));
    let general = ("runs", run_policy(config, None, None));
    let daemons = config.policy.daemon.keys();
    let daemons = daemons.filter_map(|key| Some((key.as_str(), policy_of_key(config, key)?)));
    let daemons = daemons.chain([general]).filter_map(|(who, policy)| {
        let reason = refusal(&policy)?;
        Some(Check::fail(
            "sandbox",
            format!("{who}: refused: {reason}"),
            remedy(&policy),
        ))
    });
    // Only a provider without network requires more than the policies above: level 3.
    let providers = config.provider.named.keys().filter_map(|name| {
        let policy = run_policy(config, None, Some(name));
        let reason = refusal(&policy).filter(|_| policy.is_offline)?;
        Some(Check::fail(
            "sandbox",
            format!("provider {name}: refused: {reason}"),
            remedy(&policy),
        ))
    });
    daemons.chain(providers).collect()
}

/// Checks which runs are refused, and which are not protected.
pub fn sandbox_checks(config: &Config, parts: &Parts) -> Vec<Check> {
    let open = unconfined(config, parts).into_iter().map(|problem| {
        Check::warn(
            "sandbox",
            problem,
            "a higher sandbox level, or `policy.sandbox_min = 2` to refuse them",
        )
    });
    let refused = sandbox_refusals(config, parts);
    let trees = trees::check(config, parts);
    refused.into_iter().chain(open).chain([trees]).collect()
}

/// Checks a running host.
pub async fn examine(host: &Host) -> Value {
    let mut checks = examine_machine(host.home.root(), host.now());
    let runtime = host.runtime();
    let sandbox = runtime.parts.sandboxes.usual();
    let reached = format!("level {}: {}", sandbox.level, sandbox.detail);
    checks.push(Check::ok("sandbox", reached));
    checks.extend(sandbox_checks(&runtime.config, &runtime.parts));
    checks.push(match host.store.probe().await {
        Ok(()) if host.store.is_shared() => Check::ok("store", &runtime.config.host.store),
        Ok(()) => Check::ok("store", host.home.store().display().to_string()),
        Err(error) => Check::fail("store", chain(&error), "see the log"),
    });
    // A store that cannot be read is reported by the check above.
    checks.extend(hold_check(host.store.as_ref()).await.ok().flatten());
    checks.extend(claims_check(host.claims));
    let names = runtime.config.provider.written().join(", ");
    checks.push(Check::ok("providers", names));
    checks.extend(webhook_checks(host.home.root(), &runtime.config));
    checks.extend(token_checks(host.home.root(), &runtime.config));
    checks.extend(sources::unwatched_check(host).await);
    checks.extend(reconciled::checks(host).await);
    let search = runtime.parts.servers.search();
    checks.extend(servers::checks(host.home.root(), &runtime.config, search));
    checks.extend(budget_check(host).await);
    checks.push(facts_check(host).await);
    checks.push(ticks_check(host.store.as_ref(), host.now()).await);
    for (name, state) in host.repo_states() {
        checks.push(match (&state.problem, &state.commit) {
            (Some(problem), _) => Check::fail(
                format!("repository {name}"),
                problem.clone(),
                "check that git can read it",
            ),
            (None, Some(commit)) => {
                Check::ok(format!("repository {name}"), format!("read at {commit}"))
            }
            (None, None) => Check::warn(
                format!("repository {name}"),
                match state.reading_since {
                    Some(since) => format!("not read yet: it is being read since {since}"),
                    None => "not read yet".to_owned(),
                },
                "wait a moment, then check that git can read it",
            ),
        });
    }
    checks.extend(surface_checks(&runtime.parts).await);
    for daemon in host.registry().get().iter() {
        checks.push(daemon_check(daemon));
    }
    let registry = host.registry().get();
    let daemons: Vec<&Registered> = registry.iter().map(AsRef::as_ref).collect();
    let limits = &runtime.config.limits;
    checks.extend(rate_checks(&daemons, limits, host.now()));
    let secrets = &host.runs().context.secrets;
    checks_json(&without_secrets(checks, secrets))
}

/// Removes secrets from checks: addresses are shown, which may contain one, and so is what services and git say.
pub fn without_secrets(mut checks: Vec<Check>, secrets: &HostSecrets) -> Vec<Check> {
    let redactor = secrets.redactor();
    for check in &mut checks {
        for text in [&mut check.name, &mut check.detail]
            .into_iter()
            .chain(&mut check.remedy)
        {
            *text = redactor.text(text).into_owned();
        }
    }
    checks
}

/// Checks what is left of the budget of the day. A store that cannot be read is reported by its own check.
async fn budget_check(host: &Host) -> Option<Check> {
    let spent = spending::of_day(host.store.as_ref(), &host.conversations, host.now())
        .await
        .ok()?;
    let budget = &host.runtime().config.budget;
    spending::check(spent, budget.day_usd, budget.activation_usd)
}

/// Checks whether claims pause after a crash loop; `None` if they do not.
fn claims_check(claims: ClaimsPause) -> Option<Check> {
    let left = claims.left()?;
    Some(Check::warn(
        "claims",
        format!(
            "they pause for {} s: hosts of this home crashed again and again",
            left.as_secs() + 1
        ),
        "the log says how the hosts ended",
    ))
}

/// Checks for each destination of outputs whether it would accept one.
pub async fn surface_checks(parts: &Parts) -> Vec<Check> {
    let mut checks = Vec::new();
    for (surface, examined) in &parts.surfaces {
        for report in examined.examine().await {
            let name = format!("surface {surface} {}", report.place);
            checks.push(match report.condition {
                PlaceCondition::Takes { detail } => Check::ok(name, detail),
                PlaceCondition::Doubtful { detail, remedy } => Check::warn(name, detail, remedy),
                PlaceCondition::Refuses { detail, remedy } => Check::fail(name, detail, remedy),
            });
        }
    }
    checks
}

/// Checks whether ticks were missed or refused within a day.
///
/// The time of the record counts: a missed tick can be as old as the host was down.
async fn ticks_check(store: &dyn Store, now: Timestamp) -> Check {
    let name = "ticks";
    let (mut lost, mut newest) = (0, None);
    for outcome in [TickOutcome::MissedWindow, TickOutcome::Refused] {
        let query = Query {
            limit: MAX_PAGE,
            state: Some(outcome.as_str().to_owned()),
            ..Query::default()
        };
        let page = match store.ticks(&query).await {
            Ok(page) => page,
            Err(error) => return Check::fail(name, chain(&error), "see the log"),
        };
        for tick in page.rows {
            if now.duration_since(tick.recorded_at) < RECENT {
                lost += tick.count;
                newest = newest.max(Some((tick.scheduled_at, tick.daemon.to_string())));
            }
        }
    }
    match newest {
        None => Check::ok(name, "no tick was missed within a day"),
        Some((at, daemon)) => Check::warn(
            name,
            format!("{lost} did not run, the newest of `{daemon}` at {at}"),
            "daemon-run ticks --state missed_window",
        ),
    }
}

/// Checks whether conditions wait for facts, and whether the host gave up fetching some.
async fn facts_check(host: &Host) -> Check {
    let name = "facts";
    let counts = match host.store.counts().await {
        Ok(counts) => counts,
        Err(error) => return Check::fail(name, chain(&error), "see the log"),
    };
    let count = |wanted: FactState| {
        let mut counted = counts.facts.iter();
        counted
            .find(|(state, _)| *state == wanted)
            .map_or(0, |(_, n)| *n)
    };
    let (waiting, given_up) = (count(FactState::Waiting), count(FactState::GaveUp));
    let remedy = "daemon-run events show ID says why";
    if waiting > 0 || given_up > 0 {
        let detail = format!("{waiting} wanted, {given_up} given up");
        return Check::warn(name, detail, remedy);
    }
    let registry = host.registry().get();
    let config = &host.runtime().config;
    let apis = config.sources.apis();
    // Without a token the API is not called, so that conditions on its facts wait until the facts are given up.
    let blind = apis.iter().find(|(source, access)| {
        let has_access = access.has_token() || config.surfaces.serve(*source);
        !has_access && registry.needs_of(*source)
    });
    match blind {
        Some((source, _)) => Check::warn(
            name,
            format!(
                "conditions on {source} need facts that payloads do not contain, and its API is not called"
            ),
            format!("set sources.{source}.token_file"),
        ),
        None => Check::ok(name, "no condition waits for a fact"),
    }
}

/// Checks whether the address of the HTTP listener is free.
pub fn port_check(listen: &str) -> Check {
    let name = "port";
    match std::net::TcpListener::bind(listen) {
        Ok(_) => Check::ok(name, format!("{listen} is free")),
        Err(error) => Check::warn(
            name,
            format!("{listen} cannot be bound: {error}"),
            "set host.listen, or give --listen",
        ),
    }
}

/// Checks whether the whole host is held; `None` if it is not.
///
/// # Errors
/// If the store cannot be read.
pub async fn hold_check(store: &dyn Store) -> Result<Option<Check>, StoreError> {
    let is_held = store.host_gate().await? != Gate::Open;
    Ok(is_held.then(|| {
        let detail = "the host is held: events and ticks are recorded, nothing starts";
        Check::warn("hold", detail, "daemon-run go")
    }))
}

/// Checks whether a daemon can wake.
pub fn daemon_check(daemon: &Registered) -> Check {
    let name = format!("daemon {}", daemon.row.key);
    if daemon.row.validity == Validity::Invalid {
        let first = first_error(&daemon.row.diagnostics);
        return Check::fail(
            name,
            format!("does not wake: {first}"),
            format!("daemon-run lint {}", daemon.row.path),
        );
    }
    match daemon.row.gate {
        Gate::Open => Check::ok(
            name,
            format!("rev {}", &daemon.row.rev[..daemon.row.rev.len().min(12)]),
        ),
        Gate::Held => Check::warn(name, "held", format!("daemon-run go {}", daemon.row.key.id)),
        Gate::Tripped => Check::fail(
            name,
            "tripped: it failed too often in a row",
            format!("fix it, then daemon-run go {}", daemon.row.key.id),
        ),
    }
}

fn first_error(diagnostics: &str) -> String {
    let all: Vec<Value> = serde_json::from_str(diagnostics).unwrap_or_default();
    let first = all
        .iter()
        .find(|diagnostic| diagnostic["severity"] == "error");
    match first {
        Some(error) => format!(
            "{}: {}",
            error["code"].as_str().unwrap_or("?"),
            error["message"].as_str().unwrap_or("")
        ),
        None => "its file has errors".to_owned(),
    }
}

#[cfg(test)]
mod tests;
