//! The registry in the model.

use std::collections::BTreeMap;

use daemon_engine::{ActivationState, Gate};
use daemon_event::{DaemonKey, RepoName};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::decide::{CoverageStep, cancel_reason, coverage_step, registered};
use crate::error::StoreError;
use crate::rows::{Coverage, DaemonRow, Registration, RegistryChange, ScheduleText};

impl StoreModel {
    /// Replaces the registry of a repository; see [`Daemons::register`](crate::Daemons::register).
    pub fn register(&mut self, registration: Registration) -> RegistryChange {
        let stored: Vec<DaemonRow> = self
            .daemons
            .values()
            .flat_map(BTreeMap::values)
            .filter(|row| row.key.repo == registration.repo)
            .cloned()
            .collect();
        let (rows, change) =
            registered(&stored, &registration, self.newest_seq(registration.since));
        self.daemons.retain(|key, _| key.repo != registration.repo);
        for row in rows {
            self.daemons_once.insert(row.key.clone());
            let of_key = self.daemons.entry(row.key.clone()).or_default();
            of_key.insert(row.path.clone(), row);
        }
        self.note_removed(&registration);
        self.follow_coverages(&registration);
        self.cancel_orphans(&registration);
        change
    }

    fn note_removed(&mut self, registration: &Registration) {
        for key in &self.daemons_once {
            if self.daemons.contains_key(key) {
                self.removed.remove(key);
            } else if key.repo == registration.repo {
                self.removed.entry(key.clone()).or_insert(registration.now);
            }
        }
    }

    /// Deletes the state of daemons that were removed before an instant.
    pub fn forget_states(&mut self, before: Timestamp) {
        let removed = &self.removed;
        self.values
            .retain(|key, _| removed.get(key).is_none_or(|at| *at >= before));
    }

    fn follow_coverages(&mut self, registration: &Registration) {
        // Both lists: a removed daemon has only an open coverage, a new one only a row.
        let mut keys: Vec<DaemonKey> = self
            .open_coverages
            .keys()
            .filter(|key| key.repo == registration.repo)
            .cloned()
            .chain(registration.daemons.iter().map(|row| row.key.clone()))
            .collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let row = self.valid_row(&key).cloned();
            let place = self.open_coverages.get(&key);
            let open = place.map(|place| &self.coverages[*place]);
            match coverage_step(open, row.as_ref()) {
                CoverageStep::Keep => {}
                CoverageStep::End => self.end_coverage(&key, registration.now),
                CoverageStep::Start(schedule) => {
                    self.end_coverage(&key, registration.now);
                    self.start_coverage(key, schedule.clone(), registration.now);
                }
            }
        }
    }

    /// Gives a key a schedule, or takes it away; see [`Ticks::cover`](crate::Ticks::cover).
    pub fn cover(&mut self, daemon: DaemonKey, schedule: Option<ScheduleText>, now: Timestamp) {
        let place = self.open_coverages.get(&daemon);
        let open = place.map(|place| &self.coverages[*place].schedule);
        if open == schedule.as_ref() {
            return;
        }
        self.end_coverage(&daemon, now);
        if let Some(schedule) = schedule {
            self.start_coverage(daemon, schedule, now);
        }
    }

    fn start_coverage(&mut self, daemon: DaemonKey, schedule: ScheduleText, now: Timestamp) {
        let before = self
            .coverages
            .iter()
            .filter(|known| known.daemon == daemon)
            .count();
        let place = self.coverages.len();
        self.open_coverages.insert(daemon.clone(), place);
        self.coverages.push(Coverage {
            daemon,
            number: u64::try_from(before).expect("a count fits") + 1,
            schedule,
            cursor: now,
        });
    }

    fn end_coverage(&mut self, daemon: &DaemonKey, now: Timestamp) {
        if let Some(place) = self.open_coverages.remove(daemon) {
            let ended = self.coverages[place].clone();
            self.supersede(&ended, now);
        }
    }

    fn cancel_orphans(&mut self, registration: &Registration) {
        for place in self.unfinished.clone() {
            let activation = &self.activations[place];
            if activation.state != ActivationState::Pending
                || activation.daemon.repo != registration.repo
            {
                continue;
            }
            // Two files with one id are both invalid, and either row gives the reason.
            let row = self
                .valid_row(&activation.daemon)
                .or_else(|| self.rows_of(&activation.daemon).next());
            if let Some(reason) = cancel_reason(row) {
                self.activations[place].cancel(reason, registration.now);
                self.note_end(place);
            }
        }
    }

    /// Returns every registered daemon; see [`Daemons::daemons`](crate::Daemons::daemons).
    pub fn daemons(&self) -> Vec<DaemonRow> {
        let rows = self.daemons.values().flat_map(BTreeMap::values);
        rows.cloned().collect()
    }

    /// Returns the daemons of one repository; see [`Daemons::daemons_of`](crate::Daemons::daemons_of).
    pub fn daemons_of(&self, repo: &RepoName) -> Vec<DaemonRow> {
        let mut rows = self.daemons();
        rows.retain(|row| row.key.repo == *repo);
        rows
    }

    /// Returns every daemon that was ever registered; see
    /// [`Daemons::daemons_once`](crate::Daemons::daemons_once).
    pub fn daemons_once(&self) -> Vec<DaemonKey> {
        self.daemons_once.iter().cloned().collect()
    }

    /// Holds or opens a daemon; see [`Daemons::set_gate`](crate::Daemons::set_gate).
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

    /// Holds or opens the host; see [`Daemons::set_host_gate`](crate::Daemons::set_host_gate).
    pub fn set_host_gate(&mut self, gate: Gate) {
        self.host_gate = gate;
    }

    /// Returns the host's gate; see [`Daemons::host_gate`](crate::Daemons::host_gate).
    pub fn host_gate(&self) -> Gate {
        self.host_gate
    }
}
