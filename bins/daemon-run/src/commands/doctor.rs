//! `doctor`: checks this machine, the home, the providers and the repositories.

use std::time::{Duration, Instant};

use daemon_api::ops::Operation;
use daemon_host::config::Config;
use daemon_host::doctor::{
    Check, checks_json, examine_machine, port_check, sandbox_checks, surface_checks, token_checks,
    webhook_checks, without_secrets,
};
use daemon_host::home::Home;
use daemon_host::serve::{Compose as _, OpenFailure};
use daemon_host::servers;
use daemon_records::clock;
use daemon_records::error::chain;
use serde_json::{Map, Value};

use crate::cli::DoctorArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::own;

/// How long git may take to open the repositories; a slow one becomes a warning.
const GIT: Duration = Duration::from_secs(5);

/// Runs the checks, also those of a running host; returns whether none failed.
pub(crate) async fn run(
    args: &DoctorArgs,
    place: &Place,
    out: Out,
) -> Result<bool, CommandFailure> {
    if args.fleet {
        let config = Composer::new(place, Overrides::default()).load()?;
        let (found, hosts) = daemon_home_store::fleet_checks(place.home()?, &config.host).await?;
        let checks = array(checks_json(&found));
        return report(
            checks,
            (Some(("hosts".to_owned(), hosts)), String::new()),
            out,
        );
    }
    // An invalid configuration is not a failure here: it is one of the findings.
    let mut live = crate::session::live(place).await.unwrap_or(None);
    let host = if live.is_some() {
        HostPresence::Running
    } else {
        HostPresence::Absent
    };
    let mut found = Vec::new();
    if args.repair {
        found.push(repair(place)?);
    }
    found.extend(local(args, place, host).await);
    let mut checks = array(checks_json(&found));
    if let Some(client) = &mut live {
        let reply = client
            .call(Operation::HostDoctor, Map::new())
            .await
            .map_err(crate::session::call_failure)?;
        // The host knows its own state best: its check replaces the one of the same name.
        let of_host = array(Value::Object(reply));
        checks.retain(|check| !of_host.iter().any(|other| other["name"] == check["name"]));
        checks.extend(of_host);
    }
    let probed = match args.probe {
        true => Some(Box::pin(crate::probe::run(place, out)).await?),
        false => None,
    };
    checks.extend(
        probed
            .iter()
            .flat_map(|report| array(checks_json(&[report.check()]))),
    );
    let table = probed.as_ref().map(|report| report.text() + "\n");
    let probes = probed.map(|report| ("probes".to_owned(), report.json()));
    report(checks, (probes, table.unwrap_or_default()), out)
}

/// Prints the checks, with one more member in JSON and more text; returns whether none failed.
fn report(
    checks: Vec<Value>,
    (member, table): (Option<(String, Value)>, String),
    out: Out,
) -> Result<bool, CommandFailure> {
    let ok = checks.iter().all(|check| check["status"] != "fail");
    if out.is_json() {
        let mut map = Map::new();
        map.insert("ok".to_owned(), Value::Bool(ok));
        map.insert("checks".to_owned(), Value::Array(checks));
        map.extend(member);
        out.envelope(map)?;
    } else {
        out.text(&(table + &text(&checks)))?;
    }
    Ok(ok)
}

/// Repairs a store with a damaged log, after copying its files.
fn repair(place: &Place) -> Result<Check, CommandFailure> {
    let root = place.home()?;
    let home = Home::existing(root).ok_or_else(|| {
        let message = format!("there is no store in `{}`", root.display());
        CommandFailure::new(ExitKind::NoInput, "no-home", message)
    })?;
    let owner = own(&home)?;
    let now = clock::now().strftime("%Y%m%d-%H%M%S");
    let keep = home.root().join(format!("damaged-{now}"));
    let repaired = daemon_store_sqlite::repair(&home.store(), &keep);
    // Released before the other checks, which would report the home as owned.
    drop(owner);
    Ok(match repaired {
        Ok(None) => Check::ok("repair", "the store is not damaged"),
        Ok(Some(done)) => {
            let kept = done.kept.display();
            Check::ok(
                "repair",
                format!(
                    "lost: {}; the damaged files are kept in `{kept}`",
                    done.loss
                ),
            )
        }
        Err(error) => Check::fail("repair", chain(&error), "restore the store from a backup"),
    })
}

/// Whether a running host checks the home as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostPresence {
    Absent,
    Running,
}

fn array(mut answer: Value) -> Vec<Value> {
    match answer["checks"].take() {
        Value::Array(checks) => checks,
        _ => Vec::new(),
    }
}

fn text(checks: &[Value]) -> String {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let width = checks
        .iter()
        .map(|check| string(&check["name"]).chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let remedy = check["remedy"]
            .as_str()
            .map(|remedy| format!("      fix: {remedy}"))
            .unwrap_or_default();
        let (status, name, detail) = (
            string(&check["status"]),
            string(&check["name"]),
            string(&check["detail"]),
        );
        put!(text, "{status:<5} {name:<width$}  {detail}{remedy}\n");
    }
    text
}

/// Runs the checks that need no host.
async fn local(args: &DoctorArgs, place: &Place, host: HostPresence) -> Vec<Check> {
    let composer = Composer::new(
        place,
        Overrides {
            repos: args.repo.clone(),
            ..Overrides::default()
        },
    );
    let mut checks = vec![git(&composer)];
    checks.extend(home(place));
    let existing = place.home.as_deref().filter(|home| home.is_dir());
    let existing = existing.unwrap_or(&place.directory);
    checks.extend(examine_machine(existing, clock::now()));
    checks.push(sandbox());
    let config = match composer.load() {
        Ok(config) => config,
        Err(error) => {
            let remedy = error
                .help
                .unwrap_or_else(|| "correct config.toml".to_owned());
            checks.push(Check::fail("config", error.message, remedy));
            return checks;
        }
    };
    let path = place.home.as_ref().map(|home| home.join("config.toml"));
    checks.push(match path.filter(|path| path.exists()) {
        Some(path) => Check::ok("config", path.display().to_string()),
        None => Check::ok("config", "no file: defaults"),
    });
    checks.extend(parts(&composer, &config).await);
    checks.extend(webhook_checks(existing, &config));
    checks.extend(token_checks(existing, &config));
    checks.extend(servers::checks(existing, &config, &composer.path));
    // A running host uses the port and the store itself, and checks both.
    if host == HostPresence::Absent {
        checks.push(port_check(&config.host.listen));
        let root = place.home.as_deref();
        checks.extend(daemon_home_store::store_checks(root, &config, clock::now()).await);
    }
    let secrets = composer.secrets();
    secrets.add(daemon_host::secrets::read(existing, &config));
    without_secrets(checks, &secrets)
}

fn git(composer: &Composer) -> Check {
    let version = composer
        .git()
        .map_err(|error| error.message)
        .and_then(|git| git.version().map_err(|error| chain(&error)));
    match version {
        Ok(version) => Check::ok("git", version),
        Err(problem) => Check::fail("git", problem, "install git"),
    }
}

fn sandbox() -> Check {
    let probe = daemon_process::probe();
    let level = probe.level.number();
    let limit = crate::sandboxes::process_limit();
    let detail = format!("level {level} can be reached: {}; {limit}", probe.detail);
    match level {
        0 | 1 => Check::warn("sandbox", detail, "a kernel with Landlock, 6.2 or later"),
        _ => Check::ok("sandbox", detail),
    }
}

/// Checks whether the configured providers and repositories can be used.
async fn parts(composer: &Composer, config: &Config) -> Vec<Check> {
    let parts = match composer.parts(config, Instant::now() + GIT, OpenFailure::Refuse) {
        Ok(parts) => parts,
        Err(error) => {
            let remedy = error.help.unwrap_or_else(|| "see config.toml".to_owned());
            // A provider may be the reason, and the checks of the providers give more detail.
            let mut checks = vec![Check::fail("parts", error.message, remedy)];
            checks.extend(composer.examine_providers(config));
            return checks;
        }
    };
    let names = config.provider.written().join(", ");
    let mut checks = vec![Check::ok("providers", names)];
    checks.extend(sandbox_checks(config, &parts));
    checks.extend(composer.examine_providers(config));
    checks.extend(parts.repos.iter().map(|repo| {
        let detail = repo.repository.common_dir().display().to_string();
        Check::ok(format!("repository {}", repo.name), detail)
    }));
    checks.extend(parts.unopened.iter().map(|repo| {
        let detail = format!("git has not opened it within {} s", GIT.as_secs());
        Check::warn(
            format!("repository {}", repo.name),
            detail,
            "check that git can read it",
        )
    }));
    checks.extend(surface_checks(&parts).await);
    checks
}

fn home(place: &Place) -> Vec<Check> {
    let root = match place.home() {
        Ok(root) => root,
        Err(failure) => {
            return vec![Check::warn(
                "home",
                failure.message,
                failure.help.unwrap_or_default(),
            )];
        }
    };
    daemon_home_store::home_checks(root)
}
