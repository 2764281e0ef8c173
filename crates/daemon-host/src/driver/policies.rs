//! Checks that each policy names a daemon that a watched repository has, or once had.

use std::collections::BTreeSet;

use daemon_event::DaemonKey;
use daemon_store::{Store, StoreError};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Parts;
use super::parts::Naming;
use super::repos;
use crate::config::{Config, ConfigFault, DaemonPolicy, dotted, nearest};
use daemon_registry::Registry;

/// The errors and warnings of policies of unknown daemons.
#[derive(Debug, Default)]
pub struct Named {
    /// Policies of daemons that never existed.
    pub faults: Vec<ConfigFault>,
    /// Policies of daemons that were removed, or that an unreadable repository may have.
    pub warnings: Vec<String>,
}

impl Named {
    /// Logs the warnings.
    pub fn warn(&self) {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
    }
}

/// Checks the daemons that the policies of a configuration name against the repositories in `parts`. A repository that git has
/// not read by `until` counts as unreadable.
///
/// # Errors
/// If the store fails.
pub async fn check(
    (registry, store): (&Registry, &dyn Store),
    config: &Config,
    parts: &Parts,
    (until, stop): (Instant, &CancellationToken),
) -> Result<Named, StoreError> {
    let policies = config.policy.daemon.iter();
    let unknown: Vec<&str> = policies
        // A planned policy is written before its daemon.
        .filter(|(_, policy)| !policy.planned)
        .map(|(key, _)| key.as_str())
        .filter(|key| !registry.iter().any(|daemon| names(key, &daemon.row.key)))
        .collect();
    let mut named = Named::default();
    // The repositories are read only for unknown names, because git may not respond until the deadline.
    if unknown.is_empty() {
        return Ok(named);
    }
    let present = Present::read(parts, until, stop).await;
    let once = store.daemons_once().await?;
    for key in unknown {
        present.check(key, &once, &mut named);
    }
    Ok(named)
}

/// Reports whether the key of a policy names a daemon.
fn names(key: &str, daemon: &DaemonKey) -> bool {
    let (repo, id) = DaemonPolicy::named(key);
    id == daemon.id.as_str() && repo.is_none_or(|repo| repo.to_lowercase() == daemon.repo.folded())
}

/// The current daemons of the watched repositories, which the registry may not have yet.
struct Present {
    repos: Vec<String>,
    daemons: Vec<DaemonKey>,
    /// The folded names of the repositories that cannot be read.
    unread: BTreeSet<String>,
    /// Whether the name of a repository is not known yet.
    is_incomplete: bool,
}

impl Present {
    async fn read(parts: &Parts, until: Instant, stop: &CancellationToken) -> Self {
        let unopened = parts.unopened.iter();
        let mut acc = Self {
            repos: unopened.clone().map(|repo| repo.name.to_string()).collect(),
            daemons: Vec::new(),
            unread: unopened.clone().map(|repo| repo.name.folded()).collect(),
            is_incomplete: unopened.clone().any(|repo| repo.naming == Naming::Guessed),
        };
        let read = |repo| timeout_at(until, repos::daemons(repo, stop));
        let all = futures_util::future::join_all(parts.repos.iter().map(read)).await;
        for (repo, read) in parts.repos.iter().zip(all) {
            acc.repos.push(repo.name.to_string());
            match read {
                Ok(Ok(daemons)) => acc.daemons.extend(daemons),
                // Why it cannot be read is logged where it is registered.
                Ok(Err(_)) | Err(_) => {
                    acc.unread.insert(repo.name.folded());
                }
            }
        }
        acc
    }

    fn check(&self, key: &str, once: &[DaemonKey], acc: &mut Named) {
        if self.daemons.iter().any(|daemon| names(key, daemon)) {
            return;
        }
        let path = ["policy", "daemon", key];
        let table = dotted(&path);
        // The name was once right, and a host must be able to start after a commit that removes a daemon.
        if once.iter().any(|daemon| names(key, daemon)) {
            let warning = format!("`{table}` is the policy of a daemon that is gone");
            return acc.warnings.push(warning);
        }
        let (repo, id) = DaemonPolicy::named(key);
        let is_watched = |repo: &str| {
            let mut names = self.repos.iter();
            names.any(|name| name.to_lowercase() == repo.to_lowercase())
        };
        let (problem, near) = match repo {
            _ if self.repos.is_empty() => ("no repository is watched".to_owned(), None),
            Some(_) if is_watched(key) => (
                format!("`{key}` is a repository; its daemon is named as `owner/name/id`"),
                None,
            ),
            Some(repo) if !is_watched(repo) => (
                format!("no repository `{repo}` is watched"),
                nearest(repo, self.repos.iter().map(String::as_str)),
            ),
            _ => {
                let who = repo.map_or_else(
                    || "no watched repository has a".to_owned(),
                    |repo| format!("`{repo}` has no"),
                );
                let ids = self.daemons.iter().map(|daemon| daemon.id.as_str());
                (format!("{who} daemon `{id}`"), nearest(id, ids))
            }
        };
        let near = near.map(|near| format!(", did you mean `{near}`?"));
        let message = format!("`{table}`: {problem}{}", near.unwrap_or_default());
        let is_unread = match repo {
            Some(repo) => self.unread.contains(&repo.to_lowercase()),
            None => !self.unread.is_empty(),
        };
        if is_unread || self.is_incomplete {
            let warning = format!("{message}; a repository that cannot be read may have it");
            acc.warnings.push(warning);
        } else {
            acc.faults.push(ConfigFault::of_key(&path, message));
        }
    }
}
