//! Ticks in the model.

use daemon_engine::{Activation, ActivationState};
use daemon_event::{DaemonKey, TriggerKey};
use daemon_schedule::TickOutcome;
use jiff::Timestamp;

use super::model::Model;
use crate::decide::{is_retracted, occupies_slot, recorded_ticks};
use crate::rows::{Coverage, StoredTick, TickActivations, TickCommit, TickResult};

impl Model {
    /// Returns open coverages; see [`Ticks::coverages`](crate::Ticks::coverages).
    pub fn coverages(&self) -> Vec<Coverage> {
        let mut open: Vec<Coverage> = self
            .coverages
            .iter()
            .filter(|stored| stored.is_open)
            .map(|stored| stored.coverage.clone())
            .collect();
        open.sort_by(|a, b| a.daemon.cmp(&b.daemon));
        open
    }

    /// Returns a daemon's unfinished ticks; see [`Ticks::tick_activations`](crate::Ticks::tick_activations).
    pub fn tick_activations(&self, daemon: &DaemonKey) -> TickActivations {
        let oldest = |wanted: fn(ActivationState) -> bool| {
            self.activations
                .iter()
                .find(|row| row.daemon == *daemon && wanted(row.state) && has_tick(row))
                .map(|row| row.id.clone())
        };
        TickActivations {
            running: oldest(occupies_slot),
            pending: oldest(|state| state == ActivationState::Pending),
        }
    }

    /// Records ticks; see [`Ticks::commit_ticks`](crate::Ticks::commit_ticks).
    pub fn commit_ticks(&mut self, commits: Vec<TickCommit>) -> Vec<TickResult> {
        commits
            .into_iter()
            .map(|commit| self.commit_tick(commit))
            .collect()
    }

    fn commit_tick(&mut self, commit: TickCommit) -> TickResult {
        let Some(open) = self.coverages.iter_mut().find(|stored| {
            stored.is_open
                && stored.coverage.daemon == commit.daemon
                && stored.coverage.number == commit.coverage
                && stored.coverage.cursor == commit.from
        }) else {
            return TickResult::Elsewhere;
        };
        open.coverage.cursor = commit.to;
        let unfinished = self.tick_activations(&commit.daemon);
        let admitted = commit.trigger.map(|new| {
            let key = new.trigger.key.clone();
            (key, self.enqueue(new))
        });
        let trigger = admitted.as_ref().map(|(key, admission)| (key, admission));
        for (row, activation) in recorded_ticks(&commit.rows, trigger, &unfinished) {
            let is_recorded = self.ticks.values().any(|tick| {
                tick.daemon == commit.daemon
                    && tick.scheduled_at == row.scheduled_at
                    && tick.outcome != TickOutcome::Retracted
            });
            if is_recorded {
                continue;
            }
            let tick = StoredTick {
                daemon: commit.daemon.clone(),
                first: row.first,
                scheduled_at: row.scheduled_at,
                count: row.count,
                outcome: row.outcome,
                activation,
                recorded_at: commit.now,
            };
            self.ticks.insert(self.next_tick, tick);
            self.next_tick += 1;
        }
        TickResult::Recorded(admitted.and_then(|(_, admission)| admission.activation().cloned()))
    }

    /// Takes ticks back after the clock stepped back; see [`Ticks::retract`](crate::Ticks::retract).
    pub fn retract(&mut self, now: Timestamp) -> u64 {
        for stored in &mut self.coverages {
            stored.coverage.cursor = stored.coverage.cursor.min(now);
        }
        let mut n_retracted = 0;
        for tick in self.ticks.values_mut() {
            if is_retracted(tick.first, tick.outcome, now) {
                tick.outcome = TickOutcome::Retracted;
                n_retracted += 1;
            }
        }
        n_retracted
    }
}

fn has_tick(activation: &Activation) -> bool {
    activation
        .triggers
        .iter()
        .any(|trigger| matches!(trigger.key, TriggerKey::Tick(_)))
}
