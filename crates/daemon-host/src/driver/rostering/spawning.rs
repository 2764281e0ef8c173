//! What the host finds out about a spawn before it is confirmed, and the packet of an order.

use std::path::PathBuf;
use std::sync::Arc;

use daemon_event::RepoName;
use daemon_records::HeldRoster;
use daemon_roster::{
    AllowlistState, BridgeError, CharterValues, DaemonName, Harness, PacketHash, Project, Roster,
    SpawnFacts, SpawnOrder, WantedSpawn, kickoff_packet, successor_packet,
};
use daemon_runner::RunContext;
use daemon_runner::emanation::standing;

use super::allowlist;
use crate::charters::Charters;
use crate::driver::registrations::Registrations;
use crate::driver::repos::Watched;

/// What the plans and the packets of spawns are made from; a clone shares it.
#[derive(Clone)]
pub(crate) struct Spawning {
    pub(crate) registrations: Registrations,
    pub(crate) runs: Arc<RunContext>,
    pub(crate) roster: Arc<HeldRoster>,
    pub(crate) charters: Charters,
}

impl Spawning {
    /// Finds out what the checks of a plan need. It only writes charters: one that did not exist is created, and the version that is
    /// read is kept.
    pub(crate) async fn facts(&self, wanted: &WantedSpawn) -> SpawnFacts {
        let root = self.root(&wanted.project);
        let charter = {
            let (charters, role) = (self.charters.clone(), wanted.role.clone());
            let read = tokio::task::spawn_blocking(move || charters.read_and_keep(&role));
            match read.await {
                Ok(Ok(charter)) => charter,
                Ok(Err(error)) => {
                    tracing::warn!(role = %wanted.role, %error, "a charter could not be read");
                    None
                }
                Err(error) => {
                    tracing::error!(%error, "reading a charter panicked");
                    None
                }
            }
        };
        SpawnFacts {
            n_destinations: usize::from(root.is_some()),
            root_exists: root.is_some_and(|root| root.is_dir()),
            harness_answers: standing::is_harness(&self.runs, wanted.harness.as_str()),
            charter,
            process_names: self.process_names(),
            allowlist: self.allowlist(&wanted.project).await,
        }
    }

    /// Compares the permissions of a project with the allowlist of the host.
    pub(crate) async fn allowlist(&self, project: &Project) -> AllowlistState {
        let config = self.registrations.runtime.config();
        match self.watched(project).zip(self.commit(project)) {
            Some((repo, commit)) => allowlist::state(repo, commit, &config.roster).await,
            // A repository that was not read yet has no place for agents either.
            None => AllowlistState::Absent,
        }
    }

    /// Returns the commit of the default branch of a project that was read last.
    pub(super) fn commit(&self, project: &Project) -> Option<String> {
        let repo = self.watched(project)?;
        self.registrations.states.registered_at(&repo.name)
    }

    /// Returns the directory of a project.
    pub(super) fn root(&self, project: &Project) -> Option<PathBuf> {
        let repo = self.watched(project)?;
        let repository = &repo.repository;
        let root = repository.work_tree().unwrap_or(repository.common_dir());
        Some(root.to_owned())
    }

    fn watched(&self, project: &Project) -> Option<Arc<Watched>> {
        let name: RepoName = project.as_str().parse().ok()?;
        self.registrations.runtime.repo(&name)
    }

    /// Returns the names of agents whose processes were not closed yet, also of retired ones.
    fn process_names(&self) -> std::collections::BTreeSet<String> {
        let view = self.roster.view();
        let rows = view.tables().rows.values();
        let open = rows.filter(|row| row.has_process());
        open.map(|row| row.name.to_string()).collect()
    }

    /// Returns what the agent of an order reads first, and keeps the charter as a version.
    pub(super) fn packet(&self, order: &SpawnOrder) -> Result<String, BridgeError> {
        let view = self.roster.view();
        let failed = |reason: String| BridgeError::Failed {
            action: "render the packet",
            reason,
        };
        let values = values(&view, order).ok_or_else(|| failed("it has no harness".to_owned()))?;
        if order.predecessor.is_some() {
            // It reads the charter of its role, of which its row has the version.
            let kept = self.charters.read_and_keep(&order.role);
            kept.map_err(|error| failed(error.to_string()))?;
            return Ok(successor_packet(&values));
        }
        let mut plans = view.tables().plans.values();
        let plan = plans.find(|plan| plan.row.as_ref() == Some(&order.row));
        let confirmed = plan.map(|plan| plan.packet);
        let current = self.charters.read(&order.role);
        let current = current.map_err(|error| failed(error.to_string()))?;
        let kept = self.charters.kept();
        let kept = kept.map_err(|error| failed(error.to_string()))?;
        // The charter may have been edited since the confirmation, before a host that died had started the process.
        let versions = current
            .into_iter()
            .chain(kept.into_iter().map(|(_, text)| text));
        for text in versions {
            if let Ok(packet) = kickoff_packet(&text, &values)
                && confirmed.is_none_or(|confirmed| confirmed == PacketHash::of(&packet))
            {
                return Ok(packet);
            }
        }
        Err(failed(
            "no version of the charter makes the packet that was confirmed".to_owned(),
        ))
    }
}

/// Returns the values of the placeholders for an order.
fn values(roster: &Roster, order: &SpawnOrder) -> Option<CharterValues> {
    let name_of = |row| roster.tables().rows.get(row).map(|row| row.name.clone());
    let predecessor: Option<DaemonName> = order.predecessor.as_ref().and_then(name_of);
    let harness: Option<Harness> = order.harness.clone();
    Some(CharterValues {
        project: order.project.clone(),
        name: order.name.clone(),
        role: order.role.clone(),
        harness: harness?,
        heartbeat_minutes: roster.settings().heartbeat.as_mins(),
        predecessor,
        handoff: None,
    })
}
