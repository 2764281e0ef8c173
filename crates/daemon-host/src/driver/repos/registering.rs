//! Registers the daemons of the default branch.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_event::RepoName;
use daemon_registry::Registry;
use daemon_repo::{DaemonSource, Discovery, ObjectId};
use daemon_store::{DaemonRow, Registration};
use daemon_validate::visible;

use super::{Git, RepoError, RepositoryReader, Watched, store_failed};
use crate::rates;
use crate::registration::{self, FileOrigin};

/// The daemons of a commit, checked and ready to be stored.
pub(super) struct CheckedCommit {
    discovery: Discovery,
    rows: Vec<DaemonRow>,
    tip: ObjectId,
    now: jiff::Timestamp,
}

/// Reads and checks the daemons of a commit; `None` if that commit is registered.
pub(super) async fn discover(
    reader: &RepositoryReader,
    git: &Git<'_>,
    tip: &ObjectId,
) -> Result<Option<CheckedCommit>, RepoError> {
    let repo = git.repo;
    if reader
        .registrations
        .states
        .registered_at(&repo.name)
        .as_deref()
        == Some(tip.as_str())
    {
        return Ok(None);
    }
    let commit = tip.clone();
    let work = move |repo: &Watched| repo.repository.discover(&commit);
    let discovery = git.run(work).await?;
    let now = reader.clock.now();
    let rows = daemon_rows(reader, repo, &discovery, tip, now);
    if let Some((path, kind)) = discovery.barred {
        let why = kind.why_unread();
        tracing::warn!(repo = %repo.name, "no daemon is read: `{path}` is {why}");
    }
    daemon_records::failpoint::hit("D2");
    Ok(Some(CheckedCommit {
        discovery,
        rows,
        tip: tip.clone(),
        now,
    }))
}

/// Stores the daemons of a commit and takes them into the registry. The caller has the registration lock for writing.
pub(super) async fn register(
    reader: &RepositoryReader,
    repo: &Arc<Watched>,
    found: CheckedCommit,
) -> Result<(), RepoError> {
    let CheckedCommit {
        discovery,
        rows,
        tip,
        now,
    } = found;
    let registration = Registration {
        repo: repo.name.clone(),
        commit: tip.as_str().to_owned(),
        daemons: rows,
        now,
        // Events that wait for a first reading wake the daemons that it finds, also those that an earlier host
        // acknowledged.
        since: reader
            .registrations
            .states
            .was_never_read(&repo.name)
            .then_some(jiff::Timestamp::MIN),
    };
    let change = reader
        .store
        .register(registration)
        .await
        .map_err(|source| store_failed(repo, source))?;
    let stored = reader
        .store
        .daemons_of(&repo.name)
        .await
        .map_err(|source| store_failed(repo, source))?;
    renew(reader, &repo.name, stored, discovery.daemons);
    reader
        .registrations
        .states
        .registered(&repo.name, tip.as_str());
    tracing::info!(
        repo = %repo.name, commit = tip.as_str(), added = change.added.len(), modified = change.modified.len(),
        removed = change.removed.len(), "registered"
    );
    reader.signals.ticks.notify_one();
    reader.signals.claims.notify_one();
    Ok(())
}

/// Replaces the registry of a repository by the stored rows, and logs the problems of files that this host has not read
/// before.
fn renew(
    reader: &RepositoryReader,
    repo: &RepoName,
    stored: Vec<DaemonRow>,
    sources: Vec<DaemonSource>,
) {
    let known = reader.registrations.registry.get();
    let config = reader.registrations.runtime.config();
    let mut sources: BTreeMap<String, DaemonSource> = sources
        .into_iter()
        .map(|source| (source.path(), source))
        .collect();
    for row in &stored {
        // Only for new contents: a reload reads all files again and would repeat every warning.
        if !is_seen(&known, row) {
            registration::warn_if_invalid(row);
        }
    }
    let daemons = stored.into_iter().map(|row| {
        let source = sources.remove(&row.path);
        let is_seen = is_seen(&known, &row);
        let daemon = reader.registrations.registry.renew(&known, row);
        if let Some(check) = rates::daemon_check(&daemon, &config.limits).filter(|_| !is_seen) {
            tracing::warn!("{}", visible(&check.detail));
        }
        match source {
            Some(source) => daemon.with_source(source),
            None => daemon,
        }
    });
    reader
        .registrations
        .registry
        .replace(repo, daemons.collect());
}

/// Reports whether this host has read this version of a daemon before.
fn is_seen(known: &Registry, row: &DaemonRow) -> bool {
    let seen = known.find_key(&row.key).filter(|old| old.source.is_some());
    seen.is_some_and(|old| old.row.rev == row.rev && old.row.validity == row.validity)
}

fn daemon_rows(
    reader: &RepositoryReader,
    repo: &Watched,
    discovery: &Discovery,
    tip: &ObjectId,
    now: jiff::Timestamp,
) -> Vec<DaemonRow> {
    let runtime = reader.registrations.runtime.get();
    let config = &runtime.config;
    let zone_of = |id: &str| {
        config
            .zone_of(&repo.name, id, repo.zone.as_deref())
            .to_owned()
    };
    let checked = runtime.parts.checker.check(discovery, &zone_of);
    let rows = discovery
        .daemons
        .iter()
        .zip(checked)
        .filter_map(|(source, checked)| {
            let origin = FileOrigin {
                repo: repo.name.clone(),
                commit: tip.as_str().to_owned(),
                zone: zone_of(source.dir.as_str()),
                at: now,
            };
            registration::row(source, checked, origin)
        });
    rows.collect()
}
