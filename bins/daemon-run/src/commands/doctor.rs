//! `doctor`: what works on this machine, in this home, in these repositories.

use daemon_host::doctor::{Check, checks_json, daemon_check, examine_machine};
use daemon_host::home::Home;
use daemon_host::ops::chain;
use daemon_host::registry::Registered;
use daemon_host::serve::Compose as _;
use daemon_store::Store;
use serde_json::{Map, Value};

use crate::cli::Doctor;
use crate::compose::{Composer, Overrides, open_store};
use crate::failure::Failure;
use crate::out::{Out, put};
use crate::place::Place;

/// Examines, through a live host where there is one; returns whether nothing fails.
pub(crate) async fn run(args: &Doctor, place: &Place, out: Out) -> Result<bool, Failure> {
    let mut checks = local(args, place).await;
    if let Ok(Some(mut client)) = crate::session::live(place).await {
        let told = client
            .call("host/doctor", Map::new())
            .await
            .map_err(crate::session::call_failure)?;
        checks.extend(
            told.get("checks")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        );
    }
    // A live host and this process may check the same thing: the host's word counts.
    let mut seen = std::collections::BTreeMap::new();
    for (index, check) in checks.iter().enumerate() {
        seen.insert(check["name"].as_str().unwrap_or_default().to_owned(), index);
    }
    let mut order: Vec<usize> = seen.into_values().collect();
    order.sort_unstable();
    let checks: Vec<Value> = order
        .into_iter()
        .filter_map(|index| checks.get(index).cloned())
        .collect();
    let ok = checks.iter().all(|check| check["status"] != "fail");
    if out.is_json() {
        let mut map = Map::new();
        map.insert("ok".to_owned(), Value::Bool(ok));
        map.insert("checks".to_owned(), Value::Array(checks));
        out.envelope(map)?;
    } else {
        out.text(&text(&checks))?;
    }
    Ok(ok)
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

/// Examines what this process sees by itself.
async fn local(args: &Doctor, place: &Place) -> Vec<Value> {
    let mut checks = Vec::new();
    let composer = Composer::new(
        place,
        Overrides {
            repos: args.repo.clone(),
            ..Overrides::default()
        },
    );
    match composer
        .git()
        .map_err(|error| error.message)
        .and_then(|git| git.version().map_err(|error| chain(&error)))
    {
        Ok(version) => checks.push(Check::ok("git", version)),
        Err(problem) => checks.push(Check::fail("git", problem, "install git")),
    }
    checks.extend(home(place));
    let existing = if place.home.is_dir() {
        place.home.as_path()
    } else {
        place.directory.as_path()
    };
    checks.extend(examine_machine(existing, daemon_host::random::now()));
    let probe = daemon_process::probe();
    let level = probe.level.number();
    let detail = format!("level {level} can be reached: {}", probe.detail);
    checks.push(match level {
        0 | 1 => Check::warn("sandbox", detail, "kernel 5.13 or later with Landlock"),
        _ => Check::ok("sandbox", detail),
    });
    match composer.load() {
        Err(error) => checks.push(Check::fail(
            "config",
            error.message,
            error.help.unwrap_or_else(|| "mend it".to_owned()),
        )),
        Ok(config) => {
            checks.push(Check::ok(
                "config",
                place.home.join("config.toml").display().to_string(),
            ));
            match composer.parts(&config) {
                Err(error) => checks.push(Check::fail(
                    "parts",
                    error.message,
                    error.help.unwrap_or_default(),
                )),
                Ok(parts) => {
                    for repo in &parts.repos {
                        checks.push(Check::ok(
                            format!("repository {}", repo.name),
                            repo.repository.common_dir().display().to_string(),
                        ));
                    }
                    checks.push(Check::ok(
                        "providers",
                        parts
                            .providers
                            .keys()
                            .cloned()
                            .collect::<Vec<_>>()
                            .join(", "),
                    ));
                }
            }
            checks.extend(store(place, &config.host.store).await);
        }
    }
    let json = checks_json(&checks);
    json["checks"].as_array().cloned().unwrap_or_default()
}

fn home(place: &Place) -> Vec<Check> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = place.home.display().to_string();
    let Ok(metadata) = std::fs::metadata(&place.home) else {
        return vec![Check::warn(
            "home",
            format!("`{shown}` is not there"),
            "`daemon-run serve` makes it",
        )];
    };
    let mode = metadata.permissions().mode() & 0o777;
    let mut checks = vec![match mode & 0o077 {
        0 => Check::ok("home", format!("{shown} ({mode:04o})")),
        _ => Check::fail(
            "home",
            format!("{shown} is open to others ({mode:04o})"),
            format!("chmod 700 {shown}"),
        ),
    }];
    if let Some(home) = Home::existing(&place.home) {
        checks.push(match home.owner() {
            Ok(Some(pid)) => Check::ok("lock", format!("owned by process {pid}")),
            Ok(None) => Check::ok("lock", "no host is running"),
            Err(error) => Check::fail("lock", chain(&error), "look at run/host.lock"),
        });
    }
    checks
}

async fn store(place: &Place, name: &str) -> Vec<Check> {
    let Some(home) = Home::existing(&place.home) else {
        return Vec::new();
    };
    let store = match open_store(&home, name) {
        Ok(store) => store,
        Err(failure) => {
            return vec![Check::fail(
                "store",
                failure.message,
                "restore it from a backup, or move it away",
            )];
        }
    };
    daemons(&*store).await
}

async fn daemons(store: &dyn Store) -> Vec<Check> {
    match store.daemons().await {
        Ok(rows) => {
            let mut checks = vec![Check::ok("store", format!("{} daemons", rows.len()))];
            checks.extend(
                rows.into_iter()
                    .map(|row| daemon_check(&Registered::new(row))),
            );
            checks
        }
        Err(error) => vec![Check::fail(
            "store",
            chain(&error),
            "see that nothing else writes it",
        )],
    }
}
