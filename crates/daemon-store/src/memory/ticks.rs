//! Ticks in the model.

use daemon_engine::{ActivationState, Admission, NewTrigger};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::decide::{
    AdmittedTick, SUPPLANTED, TickRole, recorded_ticks, retraction, superseded_ticks,
    trigger_among, unrecorded_ticks,
};
use crate::rows::{Coverage, StoredTick, TickActivations, TickCommit, TickResult};

impl StoreModel {
    /// Returns open coverages; see [`Ticks::coverages`](crate::Ticks::coverages).
    pub fn coverages(&self) -> Vec<Coverage> {
        self.open_coverages
            .values()
            .map(|place| self.coverages[*place].clone())
            .collect()
    }

    /// Returns daemons' unfinished ticks; see [`Ticks::tick_activations`](crate::Ticks::tick_activations).
    pub fn tick_activations(&self, daemons: &[DaemonKey]) -> Vec<TickActivations> {
        daemons
            .iter()
            .map(|daemon| self.tick_activations_of(daemon))
            .collect()
    }

    fn tick_activations_of(&self, daemon: &DaemonKey) -> TickActivations {
        let of = |wanted: fn(ActivationState) -> bool| {
            self.unfinished()
                .filter(|row| row.daemon == *daemon && wanted(row.state) && row.has_tick())
                .map(|row| row.id.clone())
                .collect()
        };
        TickActivations {
            running: of(ActivationState::blocks_subject),
            pending: of(|state| state == ActivationState::Pending),
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
        let open = self
            .open_coverages
            .get(&commit.daemon)
            .map(|place| &mut self.coverages[*place])
            .filter(|open| open.number == commit.coverage);
        let Some(coverage) = open else {
            return TickResult::Elsewhere { cursor: None };
        };
        if coverage.cursor != commit.from {
            let cursor = Some(coverage.cursor);
            return TickResult::Elsewhere { cursor };
        }
        coverage.cursor = commit.to;
        let coverage = coverage.clone();
        let mut rows = self.unrecorded(&coverage, &commit.rows);
        // Read before the cancellation: a skipped or cancelling tick names the activation that was running.
        let unfinished = self.tick_activations_of(&commit.daemon);
        if commit.cancels == Cancels::Running {
            self.cancel_leased(&unfinished.running, commit.now);
        }
        let calendar = self.calendar(&coverage.schedule);
        let trigger = commit
            .trigger
            .and_then(|new| trigger_among(new, &mut rows, calendar, &unfinished));
        let admitted = trigger.and_then(|new| self.admit_tick(new));
        let calendar = self.calendar(&coverage.schedule);
        let rows = recorded_ticks(&rows, calendar, admitted.as_ref(), &unfinished);
        for (row, activation) in rows {
            self.put_tick(&coverage, row, activation, commit.now);
        }
        TickResult::Recorded(admitted.and_then(|admitted| admitted.admission.activation().cloned()))
    }

    /// Admits a tick that a person requested; see [`Activations::enqueue`](crate::Activations::enqueue).
    pub(super) fn enqueue_tick(&mut self, at: Timestamp, new: NewTrigger) -> Admission {
        let recorded = self.standing_tick(&new.daemon, at);
        let is_recorded = recorded.is_some();
        if let Some(known) = recorded.and_then(|tick| tick.activation.clone()) {
            return Admission::Duplicate(known);
        }
        let (daemon, now) = (new.daemon.clone(), new.trigger.recorded_at);
        let admitted = self.admit_tick(new).expect("it is a tick's");
        let coverage = self.open_coverages.get(&daemon).copied();
        if let Some(place) = coverage.filter(|_| !is_recorded) {
            let coverage = self.coverages[place].clone();
            let row = TickRow::one(at, TickOutcome::Enqueued);
            let unfinished = TickActivations::default();
            let rows = recorded_ticks(
                &[row],
                self.calendar(&coverage.schedule),
                Some(&admitted),
                &unfinished,
            );
            for (row, id) in rows {
                self.put_tick(&coverage, row, id, now);
            }
        }
        admitted.admission
    }

    fn admit_tick(&mut self, new: NewTrigger) -> Option<AdmittedTick> {
        let key = new.trigger.key.clone();
        let TriggerKey::Tick(at) = key else {
            return None;
        };
        let admission = self.admit(new);
        let first = admission
            .activation()
            .and_then(|id| self.activation_places.get(id))
            .and_then(|place| self.activations[*place].triggers.first());
        let role = match first {
            Some(first) if first.key == key => TickRole::Made,
            _ => TickRole::Joined,
        };
        Some(AdmittedTick {
            at,
            admission,
            role,
        })
    }

    fn cancel_leased(&mut self, running: &[ActivationId], now: Timestamp) {
        for id in running {
            let is_leased = self
                .activation_places
                .get(id)
                .is_some_and(|place| self.activations[*place].state.is_leased());
            if is_leased {
                self.cancel(id, SUPPLANTED, now)
                    .expect("what is leased is not final");
            }
        }
    }

    /// Records what the end of a coverage finds unrecorded.
    pub(super) fn supersede(&mut self, coverage: &Coverage, now: Timestamp) {
        let calendar = self.calendar(&coverage.schedule);
        let row = superseded_ticks(calendar, coverage.cursor, now);
        let rows: Vec<TickRow> = row.into_iter().collect();
        for row in self.unrecorded(coverage, &rows) {
            self.put_tick(coverage, row, None, now);
        }
    }

    fn unrecorded(&self, coverage: &Coverage, rows: &[TickRow]) -> Vec<TickRow> {
        #[cfg(feature = "internal-testing")]
        if self.has(crate::Canary::UniqueIndexDropped) {
            return rows.to_vec();
        }
        let mut left = Vec::new();
        for row in rows {
            let recorded: Vec<(Timestamp, Timestamp)> = self
                .recorded_since(&coverage.daemon, row.first)
                .take_while(|tick| tick.first <= row.scheduled_at)
                .map(|tick| (tick.first, tick.scheduled_at))
                .collect();
            left.extend(unrecorded_ticks(
                *row,
                self.calendar(&coverage.schedule),
                &recorded,
            ));
        }
        left
    }

    /// The standing rows that end at or after an instant, oldest first.
    fn recorded_since(
        &self,
        daemon: &DaemonKey,
        since: Timestamp,
    ) -> impl Iterator<Item = &StoredTick> {
        self.standing_ticks
            .get(daemon)
            .into_iter()
            .flat_map(move |standing| standing.range(since..))
            .map(|(_, number)| &self.ticks[number])
    }

    /// Returns the row that records an instant, if one exists.
    pub fn standing_tick(&self, daemon: &DaemonKey, at: Timestamp) -> Option<&StoredTick> {
        self.recorded_since(daemon, at)
            .next()
            .filter(|tick| tick.first <= at)
    }

    fn put_tick(
        &mut self,
        coverage: &Coverage,
        row: TickRow,
        activation: Option<ActivationId>,
        now: Timestamp,
    ) {
        self.insert_tick(StoredTick {
            daemon: coverage.daemon.clone(),
            coverage: Some(coverage.number),
            first: row.first,
            scheduled_at: row.scheduled_at,
            count: row.count,
            outcome: row.outcome,
            activation,
            recorded_at: now,
        });
    }

    fn insert_tick(&mut self, tick: StoredTick) {
        let number = self.next_tick;
        if tick.outcome != TickOutcome::Retracted {
            self.standing_of(&tick.daemon)
                .insert(tick.scheduled_at, number);
        }
        self.ticks.insert(number, tick);
        self.next_tick += 1;
    }

    fn standing_of(
        &mut self,
        daemon: &DaemonKey,
    ) -> &mut std::collections::BTreeMap<Timestamp, u64> {
        if !self.standing_ticks.contains_key(daemon) {
            self.standing_ticks
                .insert(daemon.clone(), Default::default());
        }
        self.standing_ticks
            .get_mut(daemon)
            .expect("it was put there")
    }

    /// Takes ticks back after the clock stepped back; see [`Ticks::retract`](crate::Ticks::retract).
    pub fn retract(&mut self, now: Timestamp) -> u64 {
        #[cfg(feature = "internal-testing")]
        let is_kept = self.has(crate::Canary::CursorKept);
        #[cfg(not(feature = "internal-testing"))]
        let is_kept = false;
        if !is_kept {
            for coverage in &mut self.coverages {
                coverage.cursor = coverage.cursor.min(now);
            }
        }
        for place in &self.unfinished {
            self.activations[*place].step_back(now);
        }
        self.hasten_outputs(now);
        let mut later: Vec<u64> = self
            .standing_ticks
            .values()
            .flat_map(|standing| standing.range(now..))
            .map(|(_, number)| *number)
            .collect();
        later.sort_unstable();
        let mut n_retracted = 0;
        for number in later {
            let tick = &self.ticks[&number];
            let coverage = self.coverages.iter().find(|coverage| {
                coverage.daemon == tick.daemon && Some(coverage.number) == tick.coverage
            });
            let calendar = coverage.map(|coverage| self.calendar(&coverage.schedule));
            if let Some((kept, gone)) = retraction(tick, calendar, now) {
                self.divide_tick(number, kept, gone);
                n_retracted += 1;
            }
        }
        n_retracted
    }

    fn divide_tick(&mut self, number: u64, kept: Option<TickRow>, gone: TickRow) {
        let tick = self.ticks[&number].clone();
        let standing = self.standing_of(&tick.daemon);
        standing.remove(&tick.scheduled_at);
        match kept {
            None => {
                self.ticks.insert(number, amended(tick, gone));
            }
            Some(kept) => {
                standing.insert(kept.scheduled_at, number);
                self.ticks.insert(number, amended(tick.clone(), kept));
                self.insert_tick(amended(tick, gone));
            }
        }
    }
}

fn amended(tick: StoredTick, row: TickRow) -> StoredTick {
    StoredTick {
        first: row.first,
        scheduled_at: row.scheduled_at,
        count: row.count,
        outcome: row.outcome,
        ..tick
    }
}
