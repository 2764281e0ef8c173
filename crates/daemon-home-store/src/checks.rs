//! The checks of `doctor` on a home and its store.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_host::config::Config;
use daemon_host::doctor::{Check, daemon_check, hold_check};
use daemon_host::home::Home;
use daemon_host::rates::rate_checks;
use daemon_records::error::chain;
use daemon_registry::Registered;
use daemon_store::{Store, StoreError};
use jiff::Timestamp;

use crate::opening::{existing, open_to_read, schema_version};

/// Checks the directory of a home and its lock.
pub fn home_checks(root: &Path) -> Vec<Check> {
    let shown = root.display().to_string();
    let metadata = match std::fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let detail = format!("`{shown}` does not exist");
            return vec![Check::warn("home", detail, "`daemon-run serve` creates it")];
        }
        Err(error) => {
            let detail = format!("`{shown}` cannot be read: {error}");
            return vec![Check::fail("home", detail, "give another --home")];
        }
    };
    let mode = metadata.permissions().mode() & 0o777;
    // Others could read the tokens and the run folders in it.
    let mut checks = vec![match mode & 0o077 {
        0 => Check::ok("home", format!("{shown} ({mode:04o})")),
        _ => Check::fail(
            "home",
            format!("{shown} is open to others ({mode:04o})"),
            format!("chmod 700 {shown}"),
        ),
    }];
    // The store of a home may be elsewhere.
    if Home::existing(root).is_some() || root.join("run").is_dir() {
        let home = Home::named(root);
        checks.push(match home.owner() {
            Ok(Some(pid)) => Check::ok("lock", format!("owned by process {pid}")),
            Ok(None) => Check::ok("lock", "no host is running"),
            Err(error) => Check::fail("lock", chain(&error), "check run/host.lock"),
        });
    }
    checks
}

/// Checks the store of a home, if it has one, and the daemons in it.
pub async fn store_checks(root: Option<&Path>, config: &Config, now: Timestamp) -> Vec<Check> {
    let Some(home) = root.and_then(|root| existing(root, &config.host)) else {
        return Vec::new();
    };
    let store = match open_to_read(&home, &config.host).await {
        Ok(store) => store,
        Err(failure) => {
            let remedy = failure.help.unwrap_or_else(|| {
                "make the file readable, restore it from a backup, or move it away".to_owned()
            });
            return vec![Check::fail("store", failure.message, remedy)];
        }
    };
    daemons(&*store, config, now).await
}

async fn daemons(store: &dyn Store, config: &Config, now: Timestamp) -> Vec<Check> {
    let read = async { Ok::<_, StoreError>((store.daemons().await?, hold_check(store).await?)) };
    match read.await {
        Ok((rows, hold)) => {
            let mut checks = vec![Check::ok(
                "store",
                format!(
                    "schema {}, {} daemons",
                    schema_version(&config.host),
                    rows.len()
                ),
            )];
            checks.extend(hold);
            let daemons: Vec<Registered> = rows.into_iter().map(Registered::new).collect();
            checks.extend(daemons.iter().map(daemon_check));
            let daemons: Vec<&Registered> = daemons.iter().collect();
            checks.extend(rate_checks(&daemons, &config.limits, now));
            checks
        }
        Err(error) => vec![Check::fail(
            "store",
            chain(&error),
            "check that no other program writes to it",
        )],
    }
}
