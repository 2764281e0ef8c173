//! The registry in the model.

use daemon_engine::{ActivationState, Gate};
use daemon_event::DaemonKey;

use super::model::{Model, StoredCoverage};
use crate::decide::{CoverageStep, cancel_reason, coverage_step, registered};
use crate::error::StoreError;
use crate::rows::{Coverage, DaemonRow, Registration, RegistryChange};

impl Model {
    /// Replaces the registry of a repository; see [`Registry::register`](crate::Registry::register).
    pub fn register(&mut self, registration: &Registration) -> RegistryChange {
        let stored: Vec<DaemonRow> = self
            .daemons
            .values()
            .filter(|row| row.key.repo == registration.repo)
            .cloned()
            .collect();
        let (rows, change) = registered(&stored, registration, self.newest_seq());
        self.daemons
            .retain(|(key, _), _| key.repo != registration.repo);
        for row in rows {
            self.daemons
                .insert((row.key.clone(), row.path.clone()), row);
        }
        self.follow_coverages(registration);
        self.cancel_orphans(registration);
        change
    }

    fn follow_coverages(&mut self, registration: &Registration) {
        let mut keys: Vec<DaemonKey> = self
            .coverages
            .iter()
            .filter(|stored| stored.is_open)
            .map(|stored| stored.coverage.daemon.clone())
            .filter(|key| key.repo == registration.repo)
            .chain(registration.daemons.iter().map(|row| row.key.clone()))
            .collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let row = self.valid_row(&key).cloned();
            let place = self
                .coverages
                .iter()
                .position(|stored| stored.is_open && stored.coverage.daemon == key);
            let open = place.map(|place| &self.coverages[place].coverage);
            match coverage_step(open, row.as_ref()) {
                CoverageStep::Keep => {}
                CoverageStep::End => self.end_coverage(place),
                CoverageStep::Start(schedule) => {
                    self.end_coverage(place);
                    let before = self
                        .coverages
                        .iter()
                        .filter(|stored| stored.coverage.daemon == key)
                        .count();
                    self.coverages.push(StoredCoverage {
                        coverage: Coverage {
                            daemon: key,
                            number: u64::try_from(before).expect("a count fits") + 1,
                            schedule: schedule.clone(),
                            cursor: registration.now,
                        },
                        is_open: true,
                    });
                }
            }
        }
    }

    fn end_coverage(&mut self, place: Option<usize>) {
        if let Some(place) = place {
            self.coverages[place].is_open = false;
        }
    }

    fn cancel_orphans(&mut self, registration: &Registration) {
        for place in 0..self.activations.len() {
            let activation = &self.activations[place];
            if activation.state != ActivationState::Pending
                || activation.daemon.repo != registration.repo
            {
                continue;
            }
            let row = self
                .valid_row(&activation.daemon)
                .or_else(|| self.rows_of(&activation.daemon).next());
            if let Some(reason) = cancel_reason(row) {
                self.activations[place].cancel(reason, registration.now);
            }
        }
    }

    /// Returns every registered daemon; see [`Registry::daemons`](crate::Registry::daemons).
    pub fn daemons(&self) -> Vec<DaemonRow> {
        self.daemons.values().cloned().collect()
    }

    /// Holds or opens a daemon; see [`Registry::set_gate`](crate::Registry::set_gate).
    ///
    /// # Errors
    /// `NotFound` for a daemon that is not registered.
    pub fn set_gate(&mut self, daemon: &DaemonKey, gate: Gate) -> Result<(), StoreError> {
        let conduct = self
            .conduct(daemon)
            .ok_or_else(|| StoreError::not_found("daemon", daemon))?;
        self.set_conduct(daemon, conduct.with_gate(gate));
        Ok(())
    }

    /// Holds or opens the host; see [`Registry::set_host_gate`](crate::Registry::set_host_gate).
    pub fn set_host_gate(&mut self, gate: Gate) {
        self.host_gate = gate;
    }

    /// Returns the host's gate; see [`Registry::host_gate`](crate::Registry::host_gate).
    pub fn host_gate(&self) -> Gate {
        self.host_gate
    }

    pub(super) fn may_start(&self, daemon: &DaemonKey) -> bool {
        self.host_gate == Gate::Open
            && self
                .valid_row(daemon)
                .is_some_and(|row| row.gate == Gate::Open)
    }
}
